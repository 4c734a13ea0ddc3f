import type { Subscription } from 'rxjs'
import { backoff } from '../backoff.js'
import { fromHex } from '../bytes.js'
import { type ClosedError, type ErrorCode, reason, ServiceError, StateStoreError } from '../errors.js'
import type { InboundMessage } from '../mqtt/session.js'
import { parseNotification } from '../protocol/notifications.js'
import { type KeyName, versionOf } from '../store.js'
import { endedFreshness, type Freshness, freshnessOf } from './freshness.js'
import { type RawEntry, reconcile, type WatchEvent } from './reconcile.js'
import type { RegistryOptions } from './registry-options.js'
import { Turns } from './turns.js'
import { Watch, type WatchObserver } from './watch.js'

/** What a watch knows of its key. */
export interface Known {
  readonly raw: RawEntry | undefined
  readonly freshness: Freshness
}

type Request = 'KEYNOTIFY' | 'GET'

/** What a watch gets over by trying again; a device without a clock gets its time from the network a little later. */
const TRANSIENT: ReadonlySet<ErrorCode> = new Set(['timeout', 'overflow', 'clock-skew', 'quota-exceeded'] as const)

/** So many requests of watches are under way at a time; 10,000 keys come back in as many steps as needed. */
const CONCURRENCY = 256

/**
 * All watched keys of a client: one registration per key at the store, renewed on every connection. It carries out what
 * `reconcile` decides, for at most {@link CONCURRENCY} keys at a time.
 */
export class Registry {
  readonly #options: RegistryOptions
  readonly #watches = new Map<string, Watch>()
  readonly #turns = new Turns<Watch>(CONCURRENCY)
  readonly #stops = new Set<Subscription>()
  /** How often a request has failed, of those that have. */
  readonly #attempts = new Map<Watch, number>()
  /** Calls off the end of watches that nobody listens to any more. */
  readonly #ending = new Map<Watch, () => void>()
  #synced = 0
  #connection: { readonly fresh: boolean } | undefined
  /** When the last connection was lost, ms since the Unix epoch. */
  #lostAt = 0
  /** On this connection a watch was ended, of which notifications may still come. */
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
   * Listens to a key: one registration for all who do, made for the first, ended with the last. Errors with what the
   * caller must know, completes when the client is closed.
   */
  join(key: KeyName, observer: WatchObserver): void {
    if (this.#closed) {
      if (this.#closed.error) observer.error(this.#closed.error)
      else observer.complete()
      return
    }
    const known = this.#watches.get(key.id)
    const watch = known ?? new Watch(key)
    this.#callOffEnd(watch)
    watch.join(observer)
    if (known === undefined) this.#begin(watch)
    observer.signal(watch.state.entry, freshnessOf(watch.state, this.#lostAt))
  }

  /** Listens no longer. */
  leave({ id }: KeyName, observer: WatchObserver): void {
    const { stopDelay, clock } = this.#options
    const watch = this.#watches.get(id)
    if (watch === undefined || !watch.leave(observer) || !watch.abandoned) return
    if (stopDelay > 0)
      this.#ending.set(
        watch,
        clock.schedule(stopDelay, () => this.#end(watch, undefined)),
      )
    else this.#end(watch, undefined)
  }

  /** What is known of a key now, if anybody listens to it. */
  peek({ id }: KeyName): Known | undefined {
    const watch = this.#watches.get(id)
    return watch && { raw: watch.state.entry, freshness: freshnessOf(watch.state, this.#lostAt) }
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
    this.#lostAt = this.#options.clock.now()
    for (const watch of this.#watches.values()) this.#step(watch, { type: 'disconnected' })
  }

  /** Ends all watches, with the error or as complete; with `stop` their registrations too, on a connection that goes on. */
  close(error: ClosedError | undefined, stop: boolean): void {
    if (!stop) this.#forgetConnection()
    this.#closed = { error }
    for (const watch of Array.from(this.#watches.values())) this.#end(watch, error)
    this.#forgetConnection()
  }

  /** Fails all watches, and forgets them: the client may not have notifications. */
  refuse(error: StateStoreError): void {
    for (const watch of Array.from(this.#watches.values())) this.#end(watch, error)
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

  #begin(watch: Watch): void {
    this.#watches.set(watch.key.id, watch)
    this.#options.changed()
    const connection = this.#connection
    if (connection) this.#step(watch, { type: 'connected', trusted: connection.fresh && !this.#stopped })
  }

  #end(watch: Watch, error: StateStoreError | undefined): void {
    if (!this.#watches.delete(watch.key.id)) return
    this.#callOffEnd(watch)
    this.#turns.leave(watch)
    this.#attempts.delete(watch)
    watch.cancel()
    this.#synced -= Number(watch.state.synced)
    this.#options.changed()
    if (this.#connection && watch.state.phase !== 'offline') this.#unregister(watch)
    const lostAt = watch.state.synced ? this.#options.clock.now() : this.#lostAt
    watch.tell(watch.state.entry, endedFreshness(watch.state, lostAt))
    watch.end(error)
  }

  #callOffEnd(watch: Watch): void {
    this.#ending.get(watch)?.()
    this.#ending.delete(watch)
  }

  #unregister(watch: Watch): void {
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
    const before = freshnessOf(watch.state, this.#lostAt)
    const { state, emit, send } = reconcile(watch.state, event)
    const progress = Number(state.synced) - Number(watch.state.synced)
    this.#synced += progress
    watch.state = state
    if (progress > 0) this.#options.changed()
    if (send) this.#enqueue(watch, send)
    const after = freshnessOf(state, this.#lostAt)
    for (const entry of emit) watch.tell(entry, after)
    if (emit.length === 0 && after.state !== before.state) watch.tell(state.entry, after)
  }

  #enqueue(watch: Watch, request: Request): void {
    this.#turns.take(watch, () => this.#request(watch, request))
  }

  #request(watch: Watch, request: Request): Subscription {
    const { store, timeout } = this.#options
    const error = (cause: StateStoreError): void => this.#failed(watch, request, cause)
    const subscription =
      request === 'KEYNOTIFY'
        ? store
            .notify(watch.key, false, timeout)
            .subscribe({ next: () => this.#answered(watch, { type: 'registered' }), error })
        : store
            .get(watch.key, timeout)
            .subscribe({ next: found => this.#answered(watch, { type: 'read', found }), error })
    if (!subscription.closed) watch.request = subscription
    return subscription
  }

  #answered(watch: Watch, event: WatchEvent): void {
    this.#attempts.delete(watch)
    watch.request = undefined
    this.#step(watch, event)
  }

  #failed(watch: Watch, request: Request, error: StateStoreError): void {
    if (!TRANSIENT.has(error.code)) {
      this.#end(watch, error)
      return
    }
    if (error instanceof ServiceError) this.#report(error)
    const attempt = (this.#attempts.get(watch) ?? 0) + 1
    this.#attempts.set(watch, attempt)
    const cancel = this.#options.clock.schedule(backoff(attempt), () => this.#enqueue(watch, request))
    watch.request = { unsubscribe: cancel }
  }

  #forgetConnection(): void {
    this.#connection = undefined
    this.#turns.clear()
    this.#attempts.clear()
    for (const stop of this.#stops) stop.unsubscribe()
    for (const watch of this.#watches.values()) watch.cancel()
  }

  #report(error: unknown): void {
    this.#options.report(
      error instanceof StateStoreError ? error : new StateStoreError('payload', reason(error), { cause: error }),
    )
  }
}
