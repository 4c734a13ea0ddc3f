import { Observable, Subscription, take } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { ClosedError, StateStoreError } from '../../core/util/errors.js'
import type { KeySource } from '../keys/source.js'
import type { Freshness } from '../watch/freshness.js'
import { BOTH, type KnownState, type WatchObserver } from '../watch/watch.js'
import type { RawEntry } from '../watch/watch-state.js'
import type { ConfirmedState } from './confirmed-state.js'
import { KeyTracker, type WriteOutcome } from './key-tracker.js'
import type { OptimisticSettings } from './options.js'
import { QueuedWrite } from './queued-write.js'
import type { OptimisticResult, OptimisticState } from './state.js'
import { StateBuilder, StateEmitter, type StateInputs } from './state-builder.js'
import { createWrite, type UserWrite, writeBase } from './user-write.js'
import { WriteSender } from './write-sender.js'

const NOTHING: Pick<StateInputs<unknown>, 'failure' | 'late'> = { failure: undefined, late: undefined }

interface ActiveWatch {
  readonly statusSubscription: Subscription
  isConnected: boolean
  known: KnownState
}

const UNWATCHED: KnownState = { raw: undefined, freshness: { state: 'connecting' } }

/**
 * Controls the writes and the watch of one key. One write is in flight at a time, and the newest one waits. Active
 * while there are subscribers or writes without a result.
 */
export class WriteController<T> implements WatchObserver {
  readonly emits = BOTH
  readonly #source: KeySource<T>
  readonly #stateBuilder: StateBuilder<T>
  readonly #keyTracker: KeyTracker<T>
  readonly #writeSender: WriteSender<T>
  readonly #queuedWrite: QueuedWrite<T>
  #stateEmitter = new StateEmitter(() => this.state)
  #activeWatch: ActiveWatch | undefined
  #lastResult = NOTHING
  #subscriberCount = 0

  constructor(source: KeySource<T>, settings: OptimisticSettings<T>) {
    this.#source = source
    this.#stateBuilder = new StateBuilder(source)
    this.#keyTracker = new KeyTracker(source, settings.timeout, {
      changed: () => this.#advance(),
      resolved: (write, outcome, error) => this.#onResolved(write, outcome, error),
    })
    this.#queuedWrite = new QueuedWrite(source, settings, {
      retry: () => this.#advance(),
      refused: (write, error) => this.#onRefused(write, error),
      superseded: ({ lateness }, by) => {
        this.#lastResult = {
          failure: undefined,
          late: lateness && { ...by, lateness: { ...lateness, superseded: true } },
        }
      },
    })
    this.#writeSender = new WriteSender(source, settings, {
      applied: (write, value, version) => this.#onApplied(write, value, version),
      outdated: write => this.#onOutdated(write),
      lost: (write, error) => this.#onLost(write, error),
      unsent: (write, error) => this.#onUnsent(write, error),
      refused: (write, error) => this.#onRefused(write, error),
    })
  }

  readonly state$ = new Observable<OptimisticState<T>>(subscriber => {
    this.#subscriberCount++
    subscriber.add(() => {
      this.#subscriberCount--
      this.#stopIfIdle()
    })
    subscriber.add(this.#stateEmitter.listen(subscriber))
    // The subscriber may have completed with the first state.
    if (!subscriber.closed) this.#start()
  })

  /**
   * Returns a write's result, which starts on subscription. Unsubscribing withdraws a write that has not been
   * sent.
   */
  write(value: T): Observable<OptimisticResult<T>> {
    return new Observable(subscriber => {
      const write = this.#tryCreateWrite(value, error => void subscriber.error(error))
      if (write === undefined) return
      write.observer = subscriber
      subscriber.add(() => {
        this.#queuedWrite.withdraw(write)
        if (this.#writeSender.tryWithdraw(write)) this.#requeueUnsent(write)
        this.#advance()
      })
      this.#enqueue(write)
    })
  }

  signal(entries: readonly RawEntry[], freshness: Freshness): void {
    const activeWatch = this.#activeWatch
    if (activeWatch === undefined) return
    const { raw: before, freshness: earlier } = activeWatch.known
    const wasLive = earlier.state === 'live'
    const isLive = freshness.state === 'live'
    activeWatch.known = { raw: entries.at(-1), freshness }
    if (wasLive && !isLive) this.#keyTracker.observe({ type: 'lost' })
    for (const raw of entries) {
      const isNew = raw !== before
      // The last watched value is also the store's value on this connection, whatever earlier connections reported,
      // although the version of a watched deletion may be outdated.
      if (isNew || (isLive && !wasLive))
        this.#keyTracker.observe({
          type: 'watched',
          bytes: raw.value,
          version: isNew || raw.value ? raw.version : undefined,
        })
    }
    this.#advance()
  }

  error(error: StateStoreError): void {
    this.#end(error).error(error)
  }

  complete(): void {
    this.#end(new ClosedError()).complete()
  }

  get #shown(): UserWrite<T> | undefined {
    return this.#queuedWrite.write ?? this.#writeSender.active ?? this.#keyTracker.unresolved
  }

  /** The state to show. Without subscribers, the state is derived from other watches of the key. */
  get state(): OptimisticState<T> {
    const { unresolved, error } = this.#keyTracker
    const { freshness } = this.#watch
    const shown = this.#shown
    const outcomeError = shown && shown === unresolved ? error : undefined
    return this.#stateBuilder.build({ ...this.#lastResult, known: this.#known, shown, outcomeError, freshness })
  }

  get #isConnected(): boolean {
    return this.#activeWatch?.isConnected ?? false
  }

  get #watch(): KnownState {
    const { host, key } = this.#source
    return this.#activeWatch?.known ?? host.registry.peek(key) ?? UNWATCHED
  }

  get #known(): ConfirmedState['known'] {
    const { raw } = this.#watch
    return this.#activeWatch || !raw
      ? this.#keyTracker.confirmed.known
      : { bytes: raw.value, version: raw.version, epoch: 0 }
  }

  #tryCreateWrite(value: T, failed: (error: unknown) => undefined): UserWrite<T> | undefined {
    try {
      return createWrite(this.#source, value, writeBase(this.#queuedWrite.write, this.#shown, this.#known))
    } catch (error) {
      if (!(error instanceof StateStoreError)) throw error
      this.#lastResult = { failure: error, late: undefined }
      this.#stateEmitter.emit()
      return failed(error)
    }
  }

  #enqueue(write: UserWrite<T>): void {
    this.#lastResult = NOTHING
    // A handler of `status$` may write before this view is notified of the change.
    if (this.#activeWatch)
      this.#source.host.status$.pipe(take(1)).subscribe(({ state }) => this.#onConnectionChanged(state === 'connected'))
    this.#queuedWrite.enqueue(write)
    this.#start()
    this.#advance()
  }

  #start(): void {
    if (this.#activeWatch) return
    const { host, key } = this.#source
    const activeWatch: ActiveWatch = { statusSubscription: new Subscription(), isConnected: false, known: UNWATCHED }
    this.#activeWatch = activeWatch
    // A write after the end of the client fails, and must not replace the stored one.
    if (host.registry.endIfClosed(this)) return
    this.#queuedWrite.open()
    // A callback may have unsubscribed, or written.
    if (this.#activeWatch !== activeWatch) return
    activeWatch.statusSubscription.add(
      host.status$.subscribe(({ state }) => this.#onConnectionChanged(state === 'connected')),
    )
    if (this.#activeWatch === activeWatch) host.registry.join(key, this)
  }

  #onConnectionChanged(isConnected: boolean): void {
    if (this.#activeWatch === undefined || isConnected === this.#activeWatch.isConnected) return
    this.#activeWatch.isConnected = isConnected
    if (!isConnected) this.#queuedWrite.cancelApproval()
    this.#keyTracker.setConnected(isConnected)
    this.#advance()
  }

  #advance(): void {
    this.#keyTracker.tryResolve()
    const { needsRead, position, confirmed } = this.#keyTracker
    const isBusy = this.#writeSender.active !== undefined
    const isLive = this.#activeWatch?.known.freshness.state === 'live' && !needsRead
    const current = this.#stateBuilder.decode(confirmed.known).value
    const write = this.#queuedWrite.next({
      isConnected: this.#isConnected,
      isBusy,
      isLive,
      current,
      known: confirmed.known,
    })
    if (write) {
      this.#keyTracker.onSent()
      this.#writeSender.send(write, confirmed.known, position)
    }
    this.#stateEmitter.emit()
    this.#stopIfIdle()
  }

  #onApplied(write: UserWrite<T>, value: T, version: Hlc | undefined): void {
    const { bytes, sentPosition } = write
    if (
      this.#activeWatch &&
      sentPosition &&
      !this.#keyTracker.observe({ type: 'written', bytes, version, from: sentPosition })
    )
      this.#keyTracker.trackUnresolved(write, undefined, this.#isConnected)
    this.#updateSeen({ bytes, version })
    const { lateness } = write
    this.#lastResult = { failure: undefined, late: lateness && { lateness, bytes, version } }
    this.#stateEmitter.emit()
    write.settle(this.#source.key.text, 'applied', value, version)
    this.#advance()
  }

  #onOutdated(write: UserWrite<T>): void {
    this.#keyTracker.requestRead()
    this.#requeue(write)
    this.#advance()
  }

  #onUnsent(write: UserWrite<T>, error: StateStoreError | undefined): void {
    if (error) {
      this.#keyTracker.onUnsent(this.#isConnected)
      this.#onRefused(write, error)
      return
    }
    this.#requeueUnsent(write)
    // The status follows the lost request.
    this.#onConnectionChanged(false)
    this.#advance()
  }

  #requeueUnsent(write: UserWrite<T>): void {
    this.#keyTracker.onUnsent(this.#isConnected)
    this.#requeue(write)
  }

  /** Requeues a write that was not applied, unless it is withdrawn. */
  #requeue(write: UserWrite<T>): void {
    // A newer write is based on this one, even if this one is withdrawn.
    if (!write.isWithdrawn || this.#queuedWrite.write) this.#queuedWrite.requeue(write)
    if (this.#activeWatch === undefined) this.#queuedWrite.end(new ClosedError())
  }

  #onLost(write: UserWrite<T>, error: StateStoreError): void {
    if (this.#activeWatch) this.#keyTracker.trackUnresolved(write, error, this.#isConnected)
    this.#stateEmitter.emit()
    write.fail(error)
    this.#advance()
  }

  #onRefused(write: UserWrite<T>, error: StateStoreError): void {
    this.#lastResult = { failure: error, late: undefined }
    this.#stateEmitter.emit()
    write.fail(error)
    this.#advance()
  }

  #onResolved({ bytes }: UserWrite<T>, outcome: WriteOutcome, error: StateStoreError | undefined): void {
    if (outcome === 'written') this.#updateSeen({ bytes, version: this.#keyTracker.confirmed.known?.version })
    if (outcome === 'not written') this.#lastResult = { failure: error, late: undefined }
  }

  /** Bases a queued write on the one just applied. */
  #updateSeen(seen: UserWrite<T>['seen']): void {
    const next = this.#queuedWrite.write
    if (next) next.seen = seen
  }

  #end(error: StateStoreError): StateEmitter<OptimisticState<T>> {
    const ended = this.#stateEmitter
    this.#stateEmitter = new StateEmitter(() => this.state)
    this.#stop()
    this.#queuedWrite.end(error)
    return ended
  }

  #stopIfIdle(): void {
    if (this.#activeWatch === undefined || this.#subscriberCount > 0 || this.#shown) return
    // Stops first, because a callback may subscribe again once the watch ends.
    this.#stop()
    this.#source.host.registry.leave(this.#source.key, this)
  }

  #stop(): void {
    this.#activeWatch?.statusSubscription.unsubscribe()
    this.#activeWatch = undefined
    this.#keyTracker.stop()
    this.#queuedWrite.close()
  }
}
