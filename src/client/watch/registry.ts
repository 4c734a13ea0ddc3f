import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { parseNotification } from '../../core/protocol/notifications.js'
import { goneReasonOf, versionOf } from '../../core/protocol/properties.js'
import type { Clock } from '../../core/util/clock.js'
import { reason, StateStoreError } from '../../core/util/errors.js'
import type { InboundMessage } from '../session/session.js'
import { DelayedTeardown } from './delayed-teardown.js'
import { ErrorRateLimiter } from './error-rate-limiter.js'
import { keyOfId } from './key-name.js'
import { reconcile } from './reconcile.js'
import type { Arrival, CoveredWatches, Covering, RegistryOptions, WatchedGlobs } from './shared-registration.js'
import { VerificationScheduler } from './verification-scheduler.js'
import { type Known, type SharedRegistration, Watch, type WatchObserver } from './watch.js'
import { WatchRequests } from './watch-requests.js'
import { type Change, endedFreshness, freshnessOf, type WatchEvent } from './watch-state.js'

/** What a registry has to know of a connection. */
export interface WatchedConnection {
  /** The broker kept nothing of an earlier one, so nothing of it can come. */
  readonly fresh: boolean
  /** What the broker adds to messages for the subscription made on it, where it does. */
  readonly subscriptionId: number | undefined
  /**
   * The store is not part of its broker and does not see connections end: what it told to registrations of before, or tells
   * once more as it does not know whether it arrived, may come on this one like any other.
   */
  readonly late: boolean
}

/** A watch with a registration of its own. */
const ALONE: Covering = { cover: undefined, arrival: 'found' }

/**
 * All watched keys of a client: one registration per key at the store, renewed on every connection. It carries out what
 * `reconcile` decides.
 */
export class Registry implements CoveredWatches {
  readonly #options: RegistryOptions
  readonly #watches = new Map<string, Watch>()
  readonly #errors: ErrorRateLimiter
  readonly #requests: WatchRequests
  readonly #verifying: VerificationScheduler<Watch>
  readonly #endings: DelayedTeardown<Watch>
  #synced = 0
  #globs: WatchedGlobs | undefined
  #connection: WatchedConnection | undefined
  /** When the last connection was lost, ms since the Unix epoch. */
  #lostAt = 0
  /** Of a watch that was ended notifications may still come on this connection. */
  #stopped = false
  /** Why there are no notifications on this connection. */
  #refusal: StateStoreError | undefined
  #closed: { readonly error: StateStoreError | undefined } | undefined

  constructor(options: RegistryOptions) {
    this.#options = options
    this.#verifying = new VerificationScheduler(options.clock, options.verifyEvery, this.#watches, watch =>
      this.#step(watch, { type: 'verify' }),
    )
    this.#endings = new DelayedTeardown(options.clock, watch => this.#end(watch, undefined))
    this.#errors = new ErrorRateLimiter(options.clock, options.report)
    this.#requests = new WatchRequests(options, {
      answered: (watch, event) => this.#step(watch, event),
      unanswered: watch => this.#step(watch, { type: 'unanswered' }),
      failed: (watch, error, registered) => {
        // Nobody need listen to its error: a value$ without an error callback is how most watches are written.
        this.#errors.report(error)
        this.#end(watch, error, registered)
      },
      report: error => this.#errors.report(error),
      isRegistered: ({ id }) => this.#watches.has(id) && this.#watches.get(id)?.cover === undefined,
    })
  }

  get clock(): Clock {
    return this.#options.clock
  }

  /** Watched globs, where somebody asks for them; the first who does brings them along. */
  globs<G extends WatchedGlobs>(type: new (options: RegistryOptions, watches: CoveredWatches) => G): G {
    if (this.#globs instanceof type) return this.#globs
    const globs = new type(this.#options, this)
    this.#globs = globs
    if (this.#connection) globs.connected()
    return globs
  }

  /** Tells of a fault that ends nothing, but of one kind no more than ten in ten seconds. */
  report(error: StateStoreError): void {
    this.#errors.report(error)
  }

  /** Number of watched keys. */
  get size(): number {
    return this.#watches.size
  }

  /** Number of keys whose value has been read on this connection. */
  get synced(): number {
    return this.#synced
  }

  /** Listens to a key, with one registration for all who do. Errors with what the caller must know, completes on close. */
  join(key: KeyName, observer: WatchObserver): void {
    this.cover(key, observer, ALONE)
  }

  cover(key: KeyName, observer: WatchObserver, { cover, arrival }: Covering): Watch | undefined {
    if (this.ended(observer)) return undefined
    const known = this.#watches.get(key.id)
    const watch = known ?? new Watch(key, cover)
    this.#endings.callOff(watch)
    watch.join(observer)
    if (known === undefined) this.#begin(watch, arrival)
    else if (cover && arrival === 'appeared' && watch.isToldBy(cover)) this.#step(watch, { type: 'appeared' })
    else if (cover?.registered) this.covered(key, cover)
    // What came of that may have made it leave.
    watch.greet(observer, watch.state.entry, freshnessOf(watch.state, this.#lostAt))
    return watch
  }

  /** Tells somebody who comes too late that it is over, if it is. */
  ended(observer: Pick<WatchObserver, 'error' | 'complete'>): boolean {
    const error = this.#closed?.error ?? this.#refusal
    if (error) observer.error(error)
    else if (this.#closed) observer.complete()
    return this.#closed !== undefined || error !== undefined
  }

  covered({ id }: KeyName, cover: SharedRegistration): void {
    const watch = this.#watches.get(id)
    if (watch?.takes(cover) && watch.state.phase === 'registering') this.#step(watch, { type: 'registered' })
  }

  uncover(key: KeyName, cover: SharedRegistration, other: SharedRegistration | undefined): void {
    const watch = this.#watches.get(key.id)
    if (watch?.cover !== cover) return
    watch.cover = other
    // One whose turn on a new connection is still to come asks for itself then.
    if (this.#connection === undefined || watch.state.phase === 'offline') return
    if (other?.registered) this.covered(key, other)
    else if (watch.state.phase !== 'registering') {
      // An answer to what was asked before would be taken for a later one.
      this.#requests.leave(watch)
      this.#step(watch, { type: 'connected', rejoined: true })
    } else if (other === undefined) this.#requests.send(watch, 'KEYNOTIFY')
  }

  floorOf({ id }: KeyName): Hlc | undefined | 'unsettled' {
    const state = this.#watches.get(id)?.state
    return state && state.phase !== 'live' ? 'unsettled' : state?.floor
  }

  /** Listens no longer. */
  leave({ id }: KeyName, observer: WatchObserver, stopDelay = this.#options.stopDelay): void {
    const watch = this.#watches.get(id)
    if (watch?.leave(observer) && watch.abandoned) this.#endings.end(watch, stopDelay)
  }

  /** What is known of a key now, if anybody listens to it. */
  peek({ id }: KeyName): Known | undefined {
    const watch = this.#watches.get(id)
    return watch && { raw: watch.state.entry, freshness: freshnessOf(watch.state, this.#lostAt) }
  }

  /** The notification topic is subscribed. */
  connected(connection: WatchedConnection): void {
    this.#connection = connection
    this.#stopped = connection.late
    this.#verifying.start()
    // A copy: listeners may begin a watch, which asks for itself at once, and end others, or the connection.
    for (const watch of Array.from(this.#watches.values()))
      if (this.#connection === connection && watch.state.phase === 'offline')
        this.#step(watch, { type: 'connected', rejoined: connection.late })
    if (this.#connection === connection) this.#globs?.connected()
  }

  /** The connection is gone, and with it all registrations at the store. */
  disconnected(): void {
    this.#refusal = undefined
    if (this.#connection === undefined) return
    this.#forgetConnection()
    this.#lostAt = this.#options.clock.now()
    this.#globs?.disconnected(this.#lostAt)
    // A copy: listeners may begin and end others.
    for (const watch of Array.from(this.#watches.values())) this.#step(watch, { type: 'disconnected' })
  }

  /** Ends all watches, with the error or as complete; with `stop` their registrations too, on a connection that goes on. */
  close(error: StateStoreError | undefined, stop: boolean): void {
    if (!stop) this.#forgetConnection()
    this.#closed = { error }
    this.#globs?.close(error, stop)
    for (const watch of Array.from(this.#watches.values())) this.#end(watch, error)
    this.#forgetConnection()
  }

  /** Fails all watches, and those that come while the connection lasts: the client may not have notifications. */
  refuse(error: StateStoreError): void {
    this.#refusal = error
    this.#errors.report(error)
    this.#globs?.close(error, false)
    for (const watch of Array.from(this.#watches.values())) this.#end(watch, error)
  }

  /** Takes a message of a notification topic; anything malformed is reported, and nothing else is lost. */
  received(message: InboundMessage): void {
    const id = message.topic.slice(this.#options.notificationPrefix.length).toUpperCase()
    const age = ageOf(message, this.#connection)
    if (age === 'stale') return
    const key = this.#watches.get(id)?.key ?? keyOfId(id)
    if (key === undefined) {
      this.report(new StateStoreError('payload', `A notification has no key: ${message.topic}`))
      return
    }
    if (this.#globs === undefined && !this.#watches.has(id)) return
    const [change, certain] = [changeIn(message, error => this.report(error)), age === 'certain']
    this.#globs?.stray({ key, change, certain })
    const watch = this.#watches.get(id)
    if (watch) this.#step(watch, { type: 'notified', change, certain })
  }

  #begin(watch: Watch, arrival: Arrival): void {
    this.#watches.set(watch.key.id, watch)
    const event: WatchEvent =
      arrival === 'appeared'
        ? { type: 'appeared' }
        : { type: 'connected', rejoined: this.#stopped || arrival === 'heard' }
    if (this.#connection) this.#step(watch, event)
    // Last, for who is told may end it.
    this.#options.changed()
  }

  #end(watch: Watch, error: StateStoreError | undefined, registered = true): void {
    if (this.#watches.get(watch.key.id) !== watch) return
    this.#watches.delete(watch.key.id)
    this.#endings.callOff(watch)
    this.#requests.leave(watch)
    this.#synced -= Number(watch.state.synced)
    if (registered && this.#connection && watch.state.phase !== 'offline') this.#unregister(watch)
    const lostAt = watch.state.synced ? this.#options.clock.now() : this.#lostAt
    watch.end(endedFreshness(watch.state, lostAt), error)
    // Last, for who is told may watch the key once more: that is to come behind the end of the registration.
    this.#options.changed()
  }

  #unregister(watch: Watch): void {
    this.#stopped = true
    if (watch.cover === undefined) this.#requests.unregister(watch, this.#closed !== undefined)
  }

  #step(watch: Watch, event: WatchEvent): void {
    if (watch.isOver) return
    const before = freshnessOf(watch.state, this.#lostAt)
    const { state, emit, send } = reconcile(watch.state, event)
    const progress = Number(state.synced) - Number(watch.state.synced)
    this.#synced += progress
    watch.state = state
    const stoodIn = send === 'KEYNOTIFY' ? watch.cover : undefined
    if (send && !stoodIn) this.#requests.send(watch, send)
    const after = freshnessOf(state, this.#lostAt)
    if (emit.length > 0) watch.tell(emit, after)
    else if (after.state !== before.state) watch.tell([state.entry], after)
    if (stoodIn?.registered) this.covered(watch.key, stoodIn)
    if (progress > 0 || (progress < 0 && event.type === 'unanswered')) this.#options.changed()
  }

  #forgetConnection(): void {
    this.#connection = undefined
    this.#verifying.stop()
    this.#requests.clear()
    // What is called off tells nobody.
    for (const watch of this.#watches.values()) watch.cancel()
  }
}

/** Something changed, whatever it was: a read will show it. */
const UNREADABLE = { op: 'set', value: undefined, version: undefined } as const

/** What a notification tells. What cannot be read is reported. */
function changeIn(message: InboundMessage, report: (error: StateStoreError) => void): Change {
  try {
    const notification = parseNotification(message.payload)
    const version = versionOf(message)
    if (notification.op === 'set') return { op: 'set', value: notification.value, version }
    return { op: 'delete', value: undefined, version, reason: goneReasonOf(message) }
  } catch (error) {
    report(error instanceof StateStoreError ? error : new StateStoreError('payload', reason(error), { cause: error }))
    return UNREADABLE
  }
}

/**
 * Whether a notification was told on a connection, or queued before (MQTT 5.0, section 3.3.4), or whether that is not
 * known.
 */
function ageOf(
  { subscriptionIds }: InboundMessage,
  connection: WatchedConnection | undefined,
): 'certain' | 'stale' | 'unknown' {
  if (connection === undefined) return 'unknown'
  const { fresh, subscriptionId } = connection
  if (fresh) return 'certain'
  if (subscriptionId === undefined || subscriptionIds.length === 0) return 'unknown'
  return subscriptionIds.includes(subscriptionId) ? 'certain' : 'stale'
}
