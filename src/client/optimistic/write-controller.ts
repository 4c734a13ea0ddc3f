import { Observable, Subscription, take } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { ClosedError, StateStoreError } from '../../core/util/errors.js'
import type { KeySource } from '../keys/source.js'
import type { Freshness } from '../watch/freshness.js'
import type { KnownState, WatchObserver } from '../watch/watch.js'
import type { RawEntry } from '../watch/watch-state.js'
import type { ConfirmedState } from './confirmed-state.js'
import { type Fate, KeyTracker } from './key-tracker.js'
import type { Terms } from './options.js'
import { QueuedWrite } from './queued-write.js'
import type { OptimisticResult, OptimisticState } from './state.js'
import { StateBuilder, StateEmitter, type StateInputs } from './state-builder.js'
import { type UserWrite, writeBase, writeOf } from './user-write.js'
import { WriteSender } from './write-sender.js'

const NOTHING: Pick<StateInputs<unknown>, 'failure' | 'late'> = { failure: undefined, late: undefined }

interface Watching {
  readonly link: Subscription
  isUp: boolean
  known: KnownState
}

const UNWATCHED: KnownState = { raw: undefined, freshness: { state: 'connecting' } }

/**
 * Controls the writes and the watch of one key. One write is in flight at a time, the newest waits. Active while there
 * are subscribers or writes without a result.
 */
export class WriteController<T> implements WatchObserver {
  readonly #source: KeySource<T>
  readonly #stateBuilder: StateBuilder<T>
  readonly #keyTracker: KeyTracker<T>
  readonly #writeSender: WriteSender<T>
  readonly #queuedWrite: QueuedWrite<T>
  #stateEmitter = new StateEmitter(() => this.state)
  #watching: Watching | undefined
  /** Outcome of the last write. */
  #last = NOTHING
  #lookers = 0

  constructor(source: KeySource<T>, terms: Terms<T>) {
    this.#source = source
    this.#stateBuilder = new StateBuilder(source)
    this.#keyTracker = new KeyTracker(source, terms.timeout, {
      changed: () => this.#go(),
      decided: (write, fate, error) => this.#decided(write, fate, error),
    })
    this.#queuedWrite = new QueuedWrite(source, terms, {
      again: () => this.#go(),
      refused: (write, error) => this.#refuse(write, error),
    })
    this.#writeSender = new WriteSender(source, terms, {
      applied: (write, value, version) => this.#applied(write, value, version),
      outdated: write => this.#outdated(write),
      lost: (write, error) => this.#lost(write, error),
      refused: (write, error) => this.#refuse(write, error),
    })
  }

  readonly state$ = new Observable<OptimisticState<T>>(subscriber => {
    this.#lookers++
    subscriber.add(() => {
      this.#lookers--
      this.#rest()
    })
    subscriber.add(this.#stateEmitter.listen(subscriber))
    // The subscriber may have completed with the first state.
    if (!subscriber.closed) this.#start()
  })

  /** Unsubscribing withdraws a write that has not been sent. */
  write(value: T): Observable<OptimisticResult<T>> {
    return new Observable(subscriber => {
      const write = this.#written(value, error => void subscriber.error(error))
      if (write === undefined) return
      write.observer = subscriber
      subscriber.add(() => {
        this.#queuedWrite.withdraw(write)
        this.#go()
      })
      this.#begin(write)
    })
  }

  signal(raw: RawEntry | undefined, freshness: Freshness): void {
    const watching = this.#watching
    if (watching === undefined) return
    const { raw: before, freshness: earlier } = watching.known
    const wasLive = earlier.state === 'live'
    const isLive = freshness.state === 'live'
    watching.known = { raw, freshness }
    if (wasLive && !isLive) this.#keyTracker.learn({ type: 'lost' })
    if (raw && raw !== before) this.#keyTracker.learn({ type: 'told', bytes: raw.value, version: raw.version })
    // The last watched value is also the store's on this connection, whatever earlier connections reported. The version
    // of a watched deletion may be outdated, though.
    else if (raw && isLive && !wasLive)
      this.#keyTracker.learn({ type: 'told', bytes: raw.value, version: raw.value && raw.version })
    this.#go()
  }

  error(error: StateStoreError): void {
    this.#end(error).error(error)
  }

  complete(): void {
    this.#end(new ClosedError()).complete()
  }

  get #shown(): UserWrite<T> | undefined {
    return this.#queuedWrite.write ?? this.#writeSender.active ?? this.#keyTracker.held
  }

  /** Without subscribers, uses the state of other watches of the key. */
  get state(): OptimisticState<T> {
    const { held, error } = this.#keyTracker
    const { freshness } = this.#watch
    const shown = this.#shown
    const doubt = shown && shown === held ? error : undefined
    return this.#stateBuilder.stateOf({ ...this.#last, known: this.#known, shown, doubt, freshness })
  }

  get #isUp(): boolean {
    return this.#watching?.isUp ?? false
  }

  get #watch(): KnownState {
    const { host, key } = this.#source
    return this.#watching?.known ?? host.registry.peek(key) ?? UNWATCHED
  }

  get #known(): ConfirmedState['known'] {
    const { raw } = this.#watch
    return this.#watching || !raw ? this.#keyTracker.truth.known : { bytes: raw.value, version: raw.version, epoch: 0 }
  }

  #written(value: T, failed: (error: unknown) => undefined): UserWrite<T> | undefined {
    try {
      return writeOf(this.#source, value, writeBase(this.#queuedWrite.write, this.#shown, this.#known))
    } catch (error) {
      if (!(error instanceof StateStoreError)) throw error
      this.#last = { failure: error, late: undefined }
      this.#stateEmitter.tell()
      return failed(error)
    }
  }

  #begin(write: UserWrite<T>): void {
    this.#last = NOTHING
    // A handler of `status$` may write before this view is notified of the change.
    if (this.#watching)
      this.#source.host.link$.pipe(take(1)).subscribe(({ state }) => this.#linked(state === 'connected'))
    this.#queuedWrite.put(write)
    this.#start()
    this.#go()
  }

  #start(): void {
    if (this.#watching) return
    const { host, key } = this.#source
    const watching: Watching = { link: new Subscription(), isUp: false, known: UNWATCHED }
    this.#watching = watching
    watching.link.add(host.link$.subscribe(({ state }) => this.#linked(state === 'connected')))
    // A callback may have unsubscribed, or written.
    if (this.#watching !== watching) return
    host.registry.join(key, this)
    if (this.#watching === watching) this.#queuedWrite.open()
  }

  #linked(isUp: boolean): void {
    if (this.#watching === undefined || isUp === this.#watching.isUp) return
    this.#watching.isUp = isUp
    if (!isUp) this.#queuedWrite.lost()
    this.#keyTracker.link(isUp)
    this.#go()
  }

  /** Sends what can be sent, and emits the state. */
  #go(): void {
    this.#keyTracker.review()
    const { isDoubtful, place, truth } = this.#keyTracker
    const isBusy = this.#writeSender.active !== undefined
    const isLive = this.#watching?.known.freshness.state === 'live' && !isDoubtful
    const current = this.#stateBuilder.decode(truth.known).value
    const write = this.#queuedWrite.next({ isUp: this.#isUp, isBusy, isLive, current })
    if (write) {
      this.#keyTracker.sent()
      this.#writeSender.send(write, truth.known, place)
    }
    this.#stateEmitter.tell()
    this.#rest()
  }

  #applied(write: UserWrite<T>, value: T, version: Hlc | undefined): void {
    const { bytes, from } = write
    if (this.#watching && from && !this.#keyTracker.learn({ type: 'written', bytes, version, from }))
      this.#keyTracker.hold(write, undefined, this.#isUp)
    this.#follow({ bytes, version })
    this.#last = { failure: undefined, late: write.lateness }
    this.#stateEmitter.tell()
    write.settle(this.#source.key.text, 'applied', value, version)
    this.#go()
  }

  #outdated(write: UserWrite<T>): void {
    this.#keyTracker.doubt()
    this.#queuedWrite.back(write)
    if (this.#watching === undefined) this.#queuedWrite.end(new ClosedError())
    this.#go()
  }

  #lost(write: UserWrite<T>, error: StateStoreError): void {
    if (this.#watching) this.#keyTracker.hold(write, error, this.#isUp)
    this.#stateEmitter.tell()
    write.fail(error)
    this.#go()
  }

  #refuse(write: UserWrite<T>, error: StateStoreError): void {
    this.#last = { failure: error, late: undefined }
    this.#stateEmitter.tell()
    write.fail(error)
    this.#go()
  }

  #decided({ bytes }: UserWrite<T>, fate: Fate, error: StateStoreError | undefined): void {
    if (fate === 'written') this.#follow({ bytes, version: this.#keyTracker.truth.known?.version })
    if (fate === 'not written') this.#last = { failure: error, late: undefined }
  }

  /** An own write was applied, and the next one is based on it. */
  #follow(seen: UserWrite<T>['seen']): void {
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

  /** Stops if there are no subscribers and no writes. */
  #rest(): void {
    if (this.#watching === undefined || this.#lookers > 0 || this.#shown) return
    // First, because a callback may subscribe again once the watch ends.
    this.#stop()
    this.#source.host.registry.leave(this.#source.key, this)
  }

  #stop(): void {
    this.#watching?.link.unsubscribe()
    this.#watching = undefined
    this.#keyTracker.stop()
    this.#queuedWrite.close()
  }
}
