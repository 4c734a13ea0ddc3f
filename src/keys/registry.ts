import { fromHex } from '../base/bytes.js'
import { type ClosedError, reason, StateStoreError } from '../base/errors.js'
import type { InboundMessage } from '../mqtt/session.js'
import type { KeyName } from '../protocol/key-name.js'
import { parseNotification } from '../protocol/notifications.js'
import { versionOf } from '../protocol/version.js'
import { endedFreshness, type Freshness, freshnessOf } from './freshness.js'
import { reconcile } from './reconcile.js'
import type { RegistryOptions } from './registry-options.js'
import { Sparing } from './sparing.js'
import { Verifying } from './verifying.js'
import { Watch, type WatchObserver } from './watch.js'
import { WatchRequests } from './watch-requests.js'
import type { RawEntry, WatchEvent } from './watch-state.js'

/** What a watch knows of its key. */
export interface Known {
  readonly raw: RawEntry | undefined
  readonly freshness: Freshness
}

/** What a registry has to know of a connection. */
export interface WatchedConnection {
  /** The broker kept nothing of an earlier one, so nothing of it can come. */
  readonly fresh: boolean
  /** What the broker adds to messages for the subscription made on it, where it does. */
  readonly subscriptionId: number | undefined
}

const UNREADABLE = { op: 'set', value: undefined, version: undefined } as const

/**
 * All watched keys of a client: one registration per key at the store, renewed on every connection. It carries out what
 * `reconcile` decides.
 */
export class Registry {
  readonly #options: RegistryOptions
  readonly #watches = new Map<string, Watch>()
  readonly #errors: Sparing
  readonly #requests: WatchRequests
  readonly #verifying: Verifying<Watch>
  /** Calls off the end of watches that have no listener any more. */
  readonly #ending = new Map<Watch, () => void>()
  #synced = 0
  #connection: WatchedConnection | undefined
  /** When the last connection was lost, ms since the Unix epoch. */
  #lostAt = 0
  /** On this connection a watch was ended, of which notifications may still come. */
  #stopped = false
  /** Why there are no notifications on this connection. */
  #refusal: StateStoreError | undefined
  #closed: { readonly error: ClosedError | undefined } | undefined

  constructor(options: RegistryOptions) {
    this.#options = options
    this.#verifying = new Verifying(options.clock, options.verifyEvery, this.#watches, watch =>
      this.#step(watch, { type: 'verify' }),
    )
    this.#errors = new Sparing(options.clock, options.report)
    this.#requests = new WatchRequests(options, {
      answered: (watch, event) => this.#step(watch, event),
      unanswered: watch => this.#step(watch, { type: 'unanswered' }),
      failed: (watch, error, registered) => {
        // Nobody need listen to its error: a value$ without an error callback is how most watches are written.
        this.#report(error)
        this.#end(watch, error, registered)
      },
      report: error => this.#report(error),
      isWatched: ({ id }) => this.#watches.has(id),
    })
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
    if (this.#refusal) {
      observer.error(this.#refusal)
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

  /** The notification topic is subscribed. */
  connected(connection: WatchedConnection): void {
    this.#connection = connection
    this.#stopped = false
    this.#verifying.start()
    for (const watch of this.#watches.values()) this.#step(watch, { type: 'connected', rejoined: false })
  }

  /** The connection is gone, and with it all registrations at the store. */
  disconnected(): void {
    this.#refusal = undefined
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

  /** Fails all watches, and those that come while the connection lasts: the client may not have notifications. */
  refuse(error: StateStoreError): void {
    this.#refusal = error
    this.#report(error)
    for (const watch of Array.from(this.#watches.values())) this.#end(watch, error)
  }

  /** Takes a message of a notification topic; anything malformed is reported, and nothing else is lost. */
  received(message: InboundMessage): void {
    const hex = message.topic.slice(this.#options.notificationPrefix.length).toUpperCase()
    const watch = this.#watches.get(hex)
    const age = this.#ageOf(message)
    if (age === 'stale') return
    if (watch === undefined) {
      if (fromHex(hex) === undefined)
        this.#report(new StateStoreError('payload', `A notification has no key: ${message.topic}`))
      return
    }
    try {
      const notification = parseNotification(message.payload)
      const value = notification.op === 'set' ? notification.value : undefined
      const change = { op: notification.op, value, version: versionOf(message) }
      this.#step(watch, { type: 'notified', change, certain: age === 'certain' })
    } catch (error) {
      this.#report(error)
      // Something changed, whatever it was: a read will show it.
      this.#step(watch, { type: 'notified', change: UNREADABLE, certain: age === 'certain' })
    }
  }

  #begin(watch: Watch): void {
    this.#watches.set(watch.key.id, watch)
    this.#options.changed()
    if (this.#connection) this.#step(watch, { type: 'connected', rejoined: this.#stopped })
  }

  /**
   * Whether a notification was told on this connection, or queued before (MQTT 5.0, section 3.3.4), or whether that is
   * not known.
   */
  #ageOf({ subscriptionIds }: InboundMessage): 'certain' | 'stale' | 'unknown' {
    if (this.#connection === undefined) return 'unknown'
    const { fresh, subscriptionId } = this.#connection
    if (fresh) return 'certain'
    if (subscriptionId === undefined || subscriptionIds.length === 0) return 'unknown'
    return subscriptionIds.includes(subscriptionId) ? 'certain' : 'stale'
  }

  #end(watch: Watch, error: StateStoreError | undefined, registered = true): void {
    if (!this.#watches.delete(watch.key.id)) return
    this.#callOffEnd(watch)
    this.#requests.leave(watch)
    this.#synced -= Number(watch.state.synced)
    this.#options.changed()
    if (registered && this.#connection && watch.state.phase !== 'offline') this.#unregister(watch)
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
    this.#requests.unregister(watch, this.#closed !== undefined)
  }

  #step(watch: Watch, event: WatchEvent): void {
    const before = freshnessOf(watch.state, this.#lostAt)
    const { state, emit, send } = reconcile(watch.state, event)
    const progress = Number(state.synced) - Number(watch.state.synced)
    this.#synced += progress
    watch.state = state
    if (progress > 0 || (progress < 0 && event.type === 'unanswered')) this.#options.changed()
    if (send) this.#requests.send(watch, send)
    const after = freshnessOf(state, this.#lostAt)
    for (const entry of emit) watch.tell(entry, after)
    if (emit.length === 0 && after.state !== before.state) watch.tell(state.entry, after)
  }

  #forgetConnection(): void {
    this.#connection = undefined
    this.#verifying.stop()
    this.#requests.clear()
    for (const watch of this.#watches.values()) watch.cancel()
  }

  #report(error: unknown): void {
    this.#errors.report(
      error instanceof StateStoreError ? error : new StateStoreError('payload', reason(error), { cause: error }),
    )
  }
}
