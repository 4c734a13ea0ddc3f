import { defer, map, Observable, ReplaySubject, type Subscription, share } from 'rxjs'
import { backoff } from '../backoff.js'
import { fromHex, toHex } from '../bytes.js'
import type { Clock } from '../clock.js'
import { type ClosedError, type ErrorCode, reason, ServiceError, StateStoreError } from '../errors.js'
import type { InboundMessage } from '../mqtt/session.js'
import { parseNotification } from '../protocol/notifications.js'
import { type KeyName, type Store, versionOf } from '../store.js'
import { type Freshness, freshnessOf } from './freshness.js'
import { INITIAL, type RawEntry, reconcile, type WatchEvent, type WatchState } from './reconcile.js'
import { Turns } from './turns.js'

/** What a watch says at a time: the entry it emitted last, and whether that can be relied on. */
export interface WatchSignal {
  readonly entry: RawEntry | undefined
  readonly freshness: Freshness
}

/** What a registry needs to know. */
export interface RegistryOptions {
  readonly store: Store
  readonly clock: Clock
  /** Everything of a notification topic before the key. */
  readonly notificationPrefix: string
  /** ms a KEYNOTIFY or GET of a watch may take before it is tried again. */
  readonly timeout: number
  /** ms a registration outlives its last subscriber. */
  readonly stopDelay: number
  /** The number of watched keys changed, or of those that are {@link Registry.synced}. */
  readonly changed: () => void
  /** Faults that end no stream: malformed notifications, failed STOPs. */
  readonly report: (error: StateStoreError) => void
}

interface Watch {
  readonly key: KeyName
  readonly hex: string
  state: WatchState
  lostAt: number
  signal: (signal: WatchSignal) => void
  fail: (error: StateStoreError) => void
  complete: () => void
  /** The request under way, or the pause before it is tried again. */
  request: { unsubscribe(): void } | undefined
  attempts: number
}

type Request = 'KEYNOTIFY' | 'GET'

/** What a watch gets over by trying again; a device without a clock gets its time from the network a little later. */
const TRANSIENT: ReadonlySet<ErrorCode> = new Set(['timeout', 'overflow', 'clock-skew', 'quota-exceeded'] as const)

/** So many requests of watches are under way at a time; 10,000 keys come back in as many steps as needed. */
const CONCURRENCY = 128

/**
 * All watched keys of a client: one registration per key at the store, renewed on every connection. It carries out what
 * `reconcile` decides, for at most {@link CONCURRENCY} keys at a time.
 */
export class Registry {
  readonly #options: RegistryOptions
  readonly #watches = new Map<string, Watch>()
  readonly #shared = new Map<string, Observable<WatchSignal>>()
  readonly #turns = new Turns<Watch>(CONCURRENCY)
  readonly #stops = new Set<Subscription>()
  #synced = 0
  #connection: { readonly fresh: boolean } | undefined
  #stopped = false
  #closed: { readonly error: ClosedError | undefined } | undefined

  constructor(options: RegistryOptions) {
    this.#options = options
  }

  /** Number of watched keys. */
  get size(): number {
    return this.#watches.size
  }

  /** Number of keys whose value has been read on this connection. */
  get synced(): number {
    return this.#synced
  }

  /**
   * Watches a key while anybody subscribes: hot, one registration for all, the latest signal first. Errors with what
   * the caller must know, completes when the client is closed.
   */
  watch(key: KeyName): Observable<WatchSignal> {
    return defer(() => this.#shared.get(toHex(key.bytes)) ?? this.#share(key))
  }

  /** The notification topic is subscribed. `fresh`: the broker kept nothing of an earlier connection. */
  connected(fresh: boolean): void {
    this.#connection = { fresh }
    this.#stopped = false
    for (const watch of this.#watches.values()) this.#step(watch, { type: 'connected', trusted: fresh })
  }

  /** The connection is gone, and with it all registrations at the store. */
  disconnected(): void {
    if (this.#connection === undefined) return
    this.#forgetConnection()
    const now = this.#options.clock.now()
    for (const watch of this.#watches.values()) {
      watch.lostAt = now
      this.#step(watch, { type: 'disconnected' })
    }
  }

  /** Ends all watches, with the error or as complete; with `stop` their registrations too, on a connection that goes on. */
  close(error: ClosedError | undefined, stop: boolean): void {
    if (!stop) this.#forgetConnection()
    this.#closed = { error }
    for (const watch of Array.from(this.#watches.values())) {
      if (error) watch.fail(error)
      else watch.complete()
    }
    this.#forgetConnection()
  }

  /** Fails all watches, and forgets them: the client may not have notifications. */
  refuse(error: StateStoreError): void {
    for (const watch of Array.from(this.#watches.values())) watch.fail(error)
  }

  /** Takes a message of a notification topic; anything malformed is reported, and nothing else is lost. */
  received(message: InboundMessage): void {
    const hex = message.topic.slice(this.#options.notificationPrefix.length).toUpperCase()
    const watch = this.#watches.get(hex)
    if (watch === undefined) {
      if (fromHex(hex) === undefined)
        this.#report(new StateStoreError('payload', `A notification has no key: ${message.topic}`))
      return
    }
    try {
      const notification = parseNotification(message.payload)
      const value = notification.op === 'set' ? notification.value : undefined
      this.#step(watch, { type: 'notified', change: { op: notification.op, value, version: versionOf(message) } })
    } catch (error) {
      this.#report(error)
    }
  }

  #forgetConnection(): void {
    this.#connection = undefined
    this.#turns.clear()
    for (const stop of this.#stops) stop.unsubscribe()
    for (const watch of this.#watches.values()) this.#cancel(watch)
  }

  #share(key: KeyName): Observable<WatchSignal> {
    const { stopDelay, clock } = this.#options
    const shared$ = this.#open(key).pipe(
      share({
        connector: () => new ReplaySubject<WatchSignal>(1),
        resetOnError: true,
        resetOnComplete: true,
        resetOnRefCountZero: stopDelay > 0 ? () => after(clock, stopDelay) : true,
      }),
    )
    this.#shared.set(toHex(key.bytes), shared$)
    return shared$
  }

  #open(key: KeyName): Observable<WatchSignal> {
    return new Observable<WatchSignal>(subscriber => {
      const watch = this.#join(key)
      subscriber.add(() => this.#leave(watch))
      if (this.#closed?.error) return subscriber.error(this.#closed.error)
      if (this.#closed) return subscriber.complete()
      watch.signal = signal => subscriber.next(signal)
      watch.fail = error => subscriber.error(error)
      watch.complete = () => subscriber.complete()
      this.#tell(watch, undefined)
      if (this.#connection) this.#step(watch, { type: 'connected', trusted: this.#connection.fresh && !this.#stopped })
    })
  }

  #join(key: KeyName): Watch {
    const hex = toHex(key.bytes)
    const watch: Watch = {
      key,
      hex,
      state: INITIAL,
      lostAt: this.#options.clock.now(),
      signal: () => undefined,
      fail: () => undefined,
      complete: () => undefined,
      request: undefined,
      attempts: 0,
    }
    this.#watches.set(hex, watch)
    this.#options.changed()
    return watch
  }

  #leave(watch: Watch): void {
    this.#watches.delete(watch.hex)
    this.#shared.delete(watch.hex)
    this.#turns.leave(watch)
    this.#cancel(watch)
    this.#synced -= Number(watch.state.synced)
    this.#options.changed()
    if (this.#connection === undefined || watch.state.phase === 'offline') return
    this.#stopped = true
    // A client that closes does not wait for its turn: nothing else will be sent.
    if (this.#closed) this.#stop(watch)
    else this.#turns.take(watch, () => this.#stop(watch))
  }

  /** Bound to this connection: on the next one it would end a registration made there. */
  #stop(watch: Watch): Subscription {
    const stop = this.#options.store.notify(watch.key, true, this.#options.timeout).subscribe({
      error: error => this.#report(error),
    })
    this.#stops.add(stop)
    stop.add(() => this.#stops.delete(stop))
    return stop
  }

  #step(watch: Watch, event: WatchEvent): void {
    const before = freshnessOf(watch.state, watch.lostAt)
    const { state, emit, send } = reconcile(watch.state, event)
    const progress = Number(state.synced) - Number(watch.state.synced)
    this.#synced += progress
    watch.state = state
    if (progress > 0) this.#options.changed()
    if (send) this.#enqueue(watch, send)
    for (const entry of emit) this.#tell(watch, entry)
    const after = freshnessOf(state, watch.lostAt)
    if (emit.length === 0 && after.state !== before.state) this.#tell(watch, state.entry)
  }

  #tell(watch: Watch, entry: RawEntry | undefined): void {
    watch.signal({ entry, freshness: freshnessOf(watch.state, watch.lostAt) })
  }

  #enqueue(watch: Watch, request: Request): void {
    this.#turns.take(watch, () => this.#request(watch, request))
  }

  #request(watch: Watch, request: Request): Subscription {
    const { store, timeout } = this.#options
    const event$: Observable<WatchEvent> =
      request === 'KEYNOTIFY'
        ? store.notify(watch.key, false, timeout).pipe(map(() => ({ type: 'registered' })))
        : store.get(watch.key, timeout).pipe(map(found => ({ type: 'read', found })))
    const subscription = event$.subscribe({
      next: event => {
        watch.attempts = 0
        this.#step(watch, event)
      },
      error: error => this.#failed(watch, request, error),
    })
    if (!subscription.closed) watch.request = subscription
    return subscription
  }

  #failed(watch: Watch, request: Request, error: StateStoreError): void {
    if (!TRANSIENT.has(error.code)) {
      watch.fail(error)
      return
    }
    if (error instanceof ServiceError) this.#report(error)
    const delay = backoff(++watch.attempts)
    const cancel = this.#options.clock.schedule(delay, () => this.#enqueue(watch, request))
    watch.request = { unsubscribe: cancel }
  }

  #cancel(watch: Watch): void {
    watch.request?.unsubscribe()
    watch.request = undefined
    watch.attempts = 0
  }

  #report(error: unknown): void {
    this.#options.report(
      error instanceof StateStoreError ? error : new StateStoreError('payload', reason(error), { cause: error }),
    )
  }
}

const after = (clock: Clock, delay: number): Observable<void> =>
  new Observable<void>(subscriber => clock.schedule(delay, () => subscriber.next()))
