import { watchChannel } from '../../core/diagnostics/client-channels.js'
import type { WatchFreshness } from '../../core/diagnostics/client-events.js'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { parseNotification } from '../../core/protocol/notifications.js'
import { readGoneReason, readVersion } from '../../core/protocol/properties.js'
import type { Clock } from '../../core/util/clock.js'
import { type ErrorCode, reason, StateStoreError } from '../../core/util/errors.js'
import { ReportLimiter } from '../../core/util/report-limiter.js'
import type { InboundMessage } from '../session/session.js'
import { DelayedTeardown } from './delayed-teardown.js'
import { endedFreshness, freshnessOf } from './freshness.js'
import { keyFromId } from './key-name.js'
import { reconcile } from './reconcile.js'
import type { Discovery, JoinDetails, KeyWatches, RegistryOptions, WatchedGlobs } from './shared-registration.js'
import { VerificationScheduler } from './verification-scheduler.js'
import { type KnownState, type SharedRegistration, Watch, type WatchObserver } from './watch.js'
import { WatchRequests } from './watch-requests.js'
import type { NotifiedChange, RawEntry, WatchEvent, WatchState } from './watch-state.js'

export interface WatchedConnection {
  /** Whether the broker kept no session, so that no message of an earlier connection can arrive. */
  readonly isNewSession: boolean
  readonly subscriptionId: number | undefined
  /**
   * Whether the store is separate from its broker and does not see connections end. Redelivered notifications, and
   * notifications for earlier registrations, may then arrive on this connection like any other.
   */
  readonly isStoreAttached: boolean
}

/** Limits of reports with the same code, because ten thousand rejected watches share one cause. */
const MAX_REPORTS = 10
const REPORT_INTERVAL_MS = 10_000

const OWN_REGISTRATION: JoinDetails = { registration: undefined, discovery: 'found' }

/**
 * All watched keys of a client. Each key has one registration at the store, which is renewed on every connection.
 * Executes the steps that `reconcile` returns.
 */
export class Registry implements KeyWatches {
  readonly #options: RegistryOptions
  readonly #watches = new Map<string, Watch>()
  readonly #reportLimiter: ReportLimiter<ErrorCode>
  readonly #requests: WatchRequests
  readonly #verification: VerificationScheduler<Watch>
  readonly #teardowns: DelayedTeardown<Watch>
  #synced = 0
  #globs: WatchedGlobs | undefined
  #connection: WatchedConnection | undefined
  /** Time when the last connection was lost, ms since the Unix epoch. */
  #lostAt = 0
  /** Whether notifications for an ended watch may still arrive on this connection. */
  #hasUnregistered = false
  #rejection: StateStoreError | undefined
  #closed: { readonly error: StateStoreError | undefined } | undefined

  constructor(options: RegistryOptions) {
    this.#options = options
    this.#verification = new VerificationScheduler(options.clock, options.verifyEvery, this.#watches, watch =>
      this.#step(watch, { type: 'verify' }),
    )
    this.#teardowns = new DelayedTeardown(options.clock, watch => this.#end(watch, undefined))
    this.#reportLimiter = new ReportLimiter(options.clock, REPORT_INTERVAL_MS, MAX_REPORTS)
    this.#requests = new WatchRequests(options, {
      answered: (watch, event) => this.#step(watch, event),
      unanswered: watch => this.#step(watch, { type: 'unanswered' }),
      failed: (watch, error, mayBeRegistered) => {
        // The error is also reported, because most subscribers of `value$` have no error callback.
        this.report(error)
        this.#end(watch, error, mayBeRegistered)
      },
      report: error => this.report(error),
      isRegistered: ({ id }) => this.#watches.has(id) && this.#watches.get(id)?.registration === undefined,
    })
  }

  get clock(): Clock {
    return this.#options.clock
  }

  /** Returns the watched globs. They are created on first use, so that only clients that use them bundle them. */
  globs<G extends WatchedGlobs>(type: new (options: RegistryOptions, watches: KeyWatches) => G): G {
    if (this.#globs instanceof type) return this.#globs
    const globs = new type(this.#options, this)
    this.#globs = globs
    if (this.#connection) globs.connected()
    return globs
  }

  report(error: StateStoreError): void {
    if (this.#reportLimiter.admit(error.code) !== undefined) this.#options.report(error)
  }

  get size(): number {
    return this.#watches.size
  }

  get synced(): number {
    return this.#synced
  }

  join(key: KeyName, observer: WatchObserver): void {
    this.joinShared(key, observer, OWN_REGISTRATION)
  }

  joinShared(key: KeyName, observer: WatchObserver, { registration, discovery }: JoinDetails): Watch | undefined {
    if (this.endIfClosed(observer)) return undefined
    const known = this.#watches.get(key.id)
    const watch = known ?? new Watch(key, registration)
    this.#teardowns.cancel(watch)
    watch.join(observer)
    if (known === undefined) this.#begin(watch, discovery)
    else if (registration && discovery === 'appeared' && watch.tryFollow(registration))
      this.#step(watch, { type: 'appeared' })
    else if (registration?.isRegistered) this.confirmShared(key, registration)
    watch.notifyOne(observer, currentEntry(watch.state), freshnessOf(watch.state, this.#lostAt))
    return watch
  }

  endIfClosed(observer: Pick<WatchObserver, 'error' | 'complete'>): boolean {
    const error = this.#closed?.error ?? this.#rejection
    if (error) observer.error(error)
    else if (this.#closed) observer.complete()
    return this.#closed !== undefined || error !== undefined
  }

  confirmShared({ id }: KeyName, registration: SharedRegistration): void {
    const watch = this.#watches.get(id)
    if (watch?.tryAdopt(registration) && watch.state.phase === 'registering') this.#step(watch, { type: 'registered' })
  }

  replaceShared(key: KeyName, registration: SharedRegistration, other: SharedRegistration | undefined): void {
    const watch = this.#watches.get(key.id)
    if (watch?.registration !== registration) return
    watch.registration = other
    // An offline watch registers when `connected` reaches it.
    if (this.#connection === undefined || watch.state.phase === 'offline') return
    if (other?.isRegistered) this.confirmShared(key, other)
    else if (watch.state.phase !== 'registering') {
      // Otherwise a response to the earlier request would be mistaken for a later one.
      this.#requests.leave(watch)
      this.#step(watch, { type: 'connected', rejoined: true })
    } else if (other === undefined) this.#requests.send(watch, 'KEYNOTIFY')
  }

  floorOf({ id }: KeyName): Hlc | undefined | 'unsettled' {
    const state = this.#watches.get(id)?.state
    return state && state.phase !== 'live' ? 'unsettled' : state?.floor
  }

  leave({ id }: KeyName, observer: WatchObserver, stopDelay = this.#options.stopDelay): void {
    const watch = this.#watches.get(id)
    if (watch?.leave(observer) && watch.isUnobserved) this.#teardowns.schedule(watch, stopDelay)
  }

  peek({ id }: KeyName): KnownState | undefined {
    const watch = this.#watches.get(id)
    return watch && { raw: watch.state.entry, freshness: freshnessOf(watch.state, this.#lostAt) }
  }

  connected(connection: WatchedConnection): void {
    this.#connection = connection
    this.#hasUnregistered = connection.isStoreAttached
    this.#verification.start()
    // Iterates over a copy, because observers may start watches, which register themselves, and end others or the
    // connection.
    for (const watch of Array.from(this.#watches.values()))
      if (this.#connection === connection && watch.state.phase === 'offline')
        this.#step(watch, { type: 'connected', rejoined: connection.isStoreAttached })
    if (this.#connection === connection) this.#globs?.connected()
  }

  /** Handles a lost connection, which ends all registrations at the store. */
  disconnected(): void {
    this.#rejection = undefined
    if (this.#connection === undefined) return
    this.#forgetConnection()
    this.#lostAt = this.#options.clock.now()
    this.#globs?.disconnected(this.#lostAt)
    for (const watch of Array.from(this.#watches.values())) this.#step(watch, { type: 'disconnected' })
  }

  /** Ends all watches. @param stop - also ends their registrations, on a connection that stays */
  close(error: StateStoreError | undefined, stop: boolean): void {
    if (!stop) this.#forgetConnection()
    this.#closed = { error }
    this.#globs?.close(error, stop)
    for (const watch of Array.from(this.#watches.values())) this.#end(watch, error)
    this.#forgetConnection()
  }

  /** Fails all watches, and new ones until the connection ends, because the broker rejected the notification topic. */
  reject(error: StateStoreError): void {
    this.#rejection = error
    this.report(error)
    this.#globs?.close(error, false)
    for (const watch of Array.from(this.#watches.values())) this.#end(watch, error)
  }

  receive(message: InboundMessage): void {
    const id = message.topic.slice(this.#options.notificationPrefix.length).toUpperCase()
    const origin = originOf(message, this.#connection)
    if (origin === 'stale') return
    const key = this.#watches.get(id)?.key ?? keyFromId(id)
    if (key === undefined) {
      this.report(new StateStoreError('payload', `A notification has no key: ${message.topic}`))
      return
    }
    if (this.#globs === undefined && !this.#watches.has(id)) return
    if (watchChannel.hasSubscribers) {
      const { userProperties } = message
      watchChannel.publish({ type: 'notification', clientId: this.#options.clientId, key: key.text, userProperties })
    }
    const [change, certain] = [parseChange(message, error => this.report(error)), origin === 'certain']
    this.#globs?.onChange({ key, change, certain })
    const watch = this.#watches.get(id)
    if (watch) this.#step(watch, { type: 'notified', change, certain })
  }

  #begin(watch: Watch, discovery: Discovery): void {
    this.#watches.set(watch.key.id, watch)
    this.#publishFreshness(watch, undefined, freshnessOf(watch.state, this.#lostAt).state)
    const event: WatchEvent =
      discovery === 'appeared'
        ? { type: 'appeared' }
        : { type: 'connected', rejoined: this.#hasUnregistered || discovery === 'changed' }
    if (this.#connection) this.#step(watch, event)
    // Called last, because the callback may end the watch.
    this.#options.changed()
  }

  #end(watch: Watch, error: StateStoreError | undefined, mayBeRegistered = true): void {
    if (this.#watches.get(watch.key.id) !== watch) return
    this.#watches.delete(watch.key.id)
    this.#teardowns.cancel(watch)
    this.#requests.leave(watch)
    this.#synced -= Number(watch.state.isSynced)
    if (mayBeRegistered && this.#connection && watch.state.phase !== 'offline') this.#unregister(watch)
    this.#publishFreshness(watch, freshnessOf(watch.state, this.#lostAt).state, undefined)
    const lostAt = watch.state.isSynced ? this.#options.clock.now() : this.#lostAt
    watch.end(endedFreshness(watch.state, lostAt), error)
    // Called last, because the callback may watch the key again, which must follow the STOP.
    this.#options.changed()
  }

  #unregister(watch: Watch): void {
    this.#hasUnregistered = true
    if (watch.registration === undefined) this.#requests.unregister(watch, this.#closed !== undefined)
  }

  #step(watch: Watch, event: WatchEvent): void {
    if (watch.isEnded) return
    const before = freshnessOf(watch.state, this.#lostAt)
    const { state, emit, send } = reconcile(watch.state, event)
    const progress = Number(state.isSynced) - Number(watch.state.isSynced)
    this.#synced += progress
    watch.state = state
    const shared = send === 'KEYNOTIFY' ? watch.registration : undefined
    if (send && !shared) this.#requests.send(watch, send)
    const after = freshnessOf(state, this.#lostAt)
    if (after.state !== before.state) this.#publishFreshness(watch, before.state, after.state)
    if (emit.length > 0 || after.state !== before.state)
      watch.notify(emit.length > 0 ? emit : currentEntry(state), after)
    if (shared?.isRegistered) this.confirmShared(watch.key, shared)
    if (progress > 0 || (progress < 0 && event.type === 'unanswered')) this.#options.changed()
  }

  #publishFreshness({ key }: Watch, from: WatchFreshness | undefined, to: WatchFreshness | undefined): void {
    if (!watchChannel.hasSubscribers) return
    watchChannel.publish({ type: 'freshness', clientId: this.#options.clientId, key: key.text, from, to })
  }

  #forgetConnection(): void {
    this.#connection = undefined
    this.#verification.stop()
    this.#requests.clear()
    for (const watch of this.#watches.values()) watch.cancel()
  }
}

const currentEntry = ({ entry }: WatchState): readonly RawEntry[] => (entry ? [entry] : [])

/** Stands for an unreadable change. Without a value it causes a read. */
const UNREADABLE = { op: 'set', value: undefined, version: undefined } as const

function parseChange(message: InboundMessage, report: (error: StateStoreError) => void): NotifiedChange {
  try {
    const notification = parseNotification(message.payload)
    const version = readVersion(message)
    if (notification.op === 'set') return { op: 'set', value: notification.value, version }
    return { op: 'delete', value: undefined, version, reason: readGoneReason(message) }
  } catch (error) {
    report(error instanceof StateStoreError ? error : new StateStoreError('payload', reason(error), { cause: error }))
    return UNREADABLE
  }
}

/**
 * Returns whether a notification was certainly sent on a connection or may have been queued before it (MQTT 5.0,
 * section 3.3.4).
 */
function originOf(
  { subscriptionIds }: InboundMessage,
  connection: WatchedConnection | undefined,
): 'certain' | 'stale' | 'unknown' {
  if (connection === undefined) return 'unknown'
  const { isNewSession, subscriptionId } = connection
  if (isNewSession) return 'certain'
  if (subscriptionId === undefined || subscriptionIds.length === 0) return 'unknown'
  return subscriptionIds.includes(subscriptionId) ? 'certain' : 'stale'
}
