import { type BackoffOptions, backoff, chanceOf } from '../../core/util/backoff.js'
import type { Clock } from '../../core/util/clock.js'
import {
  ArgumentError,
  ConnectionLostError,
  formatValue,
  reason,
  type StateStoreError,
} from '../../core/util/errors.js'
import type { AddressRouter } from './addresses.js'
import type { ConnectionLoss } from './connection-loss.js'
import { changeOptions } from './mqttjs-internals.js'
import { type Authentication, type Credentials, withCredentials } from './mqttjs-options.js'
import { isElsewhere, isFatalReason, TAKEN_OVER } from './reasons.js'
import { Reauthenticator } from './reauthenticator.js'
import type { Retry } from './session.js'

/**
 * When to try again after a lost connection or a failed attempt: ms to wait, or `false` to give up. `attempt` is 1 for
 * the first retry, and again after a connection that held for five seconds. With several addresses it is asked when all of
 * them have failed, and `attempt` counts these rounds.
 */
export type ReconnectStrategy = (attempt: number, cause: StateStoreError) => number | false

/** Exponential backoff with jitter, for ever. */
export const backingOff =
  (options: BackoffOptions): ReconnectStrategy =>
  attempt =>
    backoff(attempt, options)

/** How a connection of our own comes back. */
export interface Reconnecting {
  readonly strategy: ReconnectStrategy
  /** Asked before every attempt to connect; without it the credentials stay those of the options. */
  readonly credentials: (() => Credentials | Promise<Credentials>) | undefined
  /** Whether to come back though another one has taken the client id; default never. */
  readonly contests?: () => boolean
  /**
   * Whether to come back whatever the broker says when it ends a connection that it had accepted, unless another client has
   * the client id or the broker is elsewhere: a refusal that lasts is repeated in CONNACK. Default false.
   */
  readonly isPersistent?: boolean
  /** How the strategy backs off, if it does: whence chance comes, and how near to each other attempts may be. */
  readonly backoff?: BackoffOptions
}

/** What it tells. */
interface DiallerEvents {
  waiting(cause: StateStoreError, retry: Retry): void
  gaveUp(cause: StateStoreError): void
}

/** A connection that held for so long starts the count of attempts anew, ms. */
const STABLE_AFTER = 5_000

/** Within so long the next of several addresses is tried, ms. */
const MOST_SPREAD = 100

/** So long a CONNECT may be under way, ms. */
const LATE_CONNECT = 60_000

/**
 * Decides when to connect, where to, and with which credentials. Attempts are made in rounds of all addresses: within one
 * the next address is tried at once, and only when all have failed there is a pause, which the strategy decides.
 */
export class ConnectionManager {
  readonly #addressRouter: AddressRouter
  readonly #reconnecting: Reconnecting
  readonly #clock: Clock
  readonly #events: DiallerEvents
  readonly #reauthenticator: Reauthenticator | undefined
  /** With which the last attempt was made. */
  #authentication: Authentication | undefined
  /** Attempts and rounds that failed since a connection held. */
  #attempt = 0
  #round = 0
  /** Addresses that failed in this round. */
  #tried = 0
  #connectedAt: number | undefined
  /** When an attempt was given up that got no answer. */
  #abandonedAt: number | undefined
  #waiting = false
  #cancel: () => void = () => undefined
  #dialled = false
  /** Whether the connection was ended to begin a new session. */
  #isRenewing = false

  constructor(route: AddressRouter, reconnecting: Reconnecting, clock: Clock, events: DiallerEvents) {
    this.#addressRouter = route
    this.#reconnecting = reconnecting
    this.#clock = clock
    this.#events = events
    const { credentials } = reconnecting
    this.#reauthenticator =
      credentials && new Reauthenticator(credentials, clock, packet => route.client.stream.write(packet))
  }

  /** Whether there was an attempt; mqtt.js cannot end what was never begun. */
  get dialled(): boolean {
    return this.#dialled
  }

  /** What to call the address that is in use, or tried next. */
  get url(): string {
    return this.#addressRouter.name
  }

  /** The first attempt. Throws what the options make mqtt.js throw. */
  start(): void {
    this.#waiting = false
    const { credentials } = this.#reconnecting
    if (credentials) this.#ask(credentials)
    else this.#dial()
  }

  connected(): void {
    this.#connectedAt = this.#clock.monotonic()
    this.#addressRouter.connected()
    this.#reauthenticator?.connected(this.#authentication)
  }

  /** The connection is about to be ended: the next session is to be a new one, at once. */
  beginAnew(): void {
    this.#isRenewing = true
    this.#addressRouter.beginAnew()
  }

  /**
   * Whether an attempt that was given up may have reached the broker after a later one, and taken our own session over.
   * The network may hold its CONNECT back for a while.
   */
  get #mayHaveTakenOver(): boolean {
    return this.#abandonedAt !== undefined && this.#clock.monotonic() - this.#abandonedAt < LATE_CONNECT
  }

  /** The connection is gone, or was not made: tries again, or gives up where that is of no use. */
  lost(loss: ConnectionLoss): void {
    // A broker that sends us elsewhere may leave us somewhere to go.
    const isLed =
      isElsewhere(loss.reasonCode) && (this.#addressRouter.refer(loss.reference) || this.#addressRouter.count > 1)
    if (!isLed && this.#isFatal(loss)) this.#events.gaveUp(loss.refusal)
    else this.#retry(loss.error, loss.stays)
  }

  #isFatal({ reasonCode, wasConnected }: ConnectionLoss): boolean {
    const { contests, isPersistent = false } = this.#reconnecting
    if (reasonCode === TAKEN_OVER && (this.#mayHaveTakenOver || contests?.())) return false
    if (isPersistent && wasConnected && reasonCode !== TAKEN_OVER && !isElsewhere(reasonCode)) return false
    return isFatalReason(reasonCode)
  }

  /** @param stays - whether a connection that held is looked for where it was, as its session is there */
  #retry(cause: StateStoreError, stays: boolean): void {
    const stable = this.#connectedAt !== undefined && this.#clock.monotonic() - this.#connectedAt >= STABLE_AFTER
    if (this.#dialled && this.#connectedAt === undefined) this.#abandonedAt = this.#clock.monotonic()
    this.#connectedAt = undefined
    this.#reauthenticator?.stop()
    if (this.#isRenewing) {
      this.#isRenewing = false
      this.#wait(0, cause)
      return
    }
    if (stable) this.#attempt = this.#round = this.#tried = 0
    const several = this.#addressRouter.count > 1
    if (!(several && stable && stays)) {
      this.#tried++
      this.#addressRouter.next()
    }
    if (this.#tried < this.#addressRouter.count) this.#wait(this.#spread(), cause)
    else this.#pause(cause)
  }

  /** Does not wait out the pause before the next attempt. */
  hurry(): void {
    if (!this.#waiting) return
    this.#cancel()
    this.#again()
  }

  cancel(): void {
    this.#waiting = false
    this.#reauthenticator?.stop()
    this.#cancel()
  }

  // What mqtt.js throws then, for malformed credentials, would go unheard.
  #again(): void {
    try {
      this.start()
    } catch (cause) {
      this.#retry(new ConnectionLostError(`Cannot connect: ${reason(cause)}`, { cause }), false)
    }
  }

  /** After a round. */
  #pause(cause: StateStoreError): void {
    this.#tried = 0
    this.#round++
    const delay = this.#delay(cause)
    if (typeof delay === 'number') this.#wait(delay, cause)
    else this.#events.gaveUp(delay)
  }

  #wait(delay: number, cause: StateStoreError): void {
    this.#attempt++
    this.#waiting = true
    this.#cancel = this.#clock.schedule(delay, () => this.#again())
    this.#events.waiting(cause, { attempt: this.#attempt, at: this.#clock.now() + delay })
  }

  /** Not at once: a broker that ends has many clients. */
  #spread(): number {
    const { backoff = {} } = this.#reconnecting
    return Math.round(Math.min(backoff.initial ?? MOST_SPREAD, MOST_SPREAD) * chanceOf(backoff)())
  }

  /** ms until the next round, or why there is none. */
  #delay(cause: StateStoreError): number | StateStoreError {
    try {
      const delay = this.#reconnecting.strategy(this.#round, cause)
      if (delay === false) return cause
      if (Number.isFinite(delay) && delay >= 0) return delay
      return new ArgumentError(`Expected the reconnect strategy to give ms or false, got \`${formatValue(delay)}\``)
    } catch (error) {
      return new ArgumentError(`The reconnect strategy failed: ${reason(error)}`, { cause: error })
    }
  }

  #ask(credentials: () => Credentials | Promise<Credentials>): void {
    let cancelled = false
    this.#cancel = () => {
      cancelled = true
    }
    const failed = (cause: unknown): void => {
      // No other address has any.
      if (!cancelled) this.#pause(new ConnectionLostError(`There are no credentials: ${reason(cause)}`, { cause }))
    }
    const connect = (fresh: Credentials): void => {
      if (cancelled) return
      this.#authentication = fresh.authentication
      this.#dial(fresh)
    }
    // A function that throws fails like one that rejects, and so do malformed credentials.
    Promise.resolve().then(credentials).then(connect).catch(failed)
  }

  #dial(fresh?: Credentials): void {
    const { client } = this.#addressRouter
    this.#addressRouter.prepare(this.#round)
    if (fresh) changeOptions(client, withCredentials(client.options, fresh))
    client.reconnect()
    this.#dialled = true
  }
}
