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
 * Decides when to reconnect after a lost connection or a failed attempt: returns the delay in ms, or `false` to give
 * up. `attempt` is 1 for the first retry, and again after a connection that lasted five seconds. With several addresses
 * it is called once all of them have failed, and `attempt` counts these rounds.
 */
export type ReconnectStrategy = (attempt: number, cause: StateStoreError) => number | false

/** Returns a strategy that retries without limit, with exponential backoff and jitter. */
export const backingOff =
  (options: BackoffOptions): ReconnectStrategy =>
  attempt =>
    backoff(attempt, options)

/** How an owned connection reconnects. */
export interface Reconnecting {
  readonly strategy: ReconnectStrategy
  /** Called before every attempt to connect. Default: the credentials of the options. */
  readonly credentials: (() => Credentials | Promise<Credentials>) | undefined
  /** Whether to reconnect after another client has taken over the client id. Default: never. */
  readonly contests?: () => boolean
  /**
   * Whether to reconnect after any DISCONNECT of an accepted connection, unless another client took over the client id
   * or the broker moved. Permanent refusals are repeated in CONNACK. Default `false`.
   */
  readonly isPersistent?: boolean
  /** Backoff of the strategy, if any: supplies the random source and the spread of attempts. */
  readonly backoff?: BackoffOptions
}

interface DiallerEvents {
  waiting(cause: StateStoreError, retry: Retry): void
  gaveUp(cause: StateStoreError): void
}

/** A connection that lasted this long resets the attempt count, ms. */
const STABLE_AFTER = 5_000

/** Maximum delay before the next of several addresses, ms. */
const MOST_SPREAD = 100

/** Maximum time in which the network may still deliver an old CONNECT, ms. */
const LATE_CONNECT = 60_000

/**
 * Decides when, where and with which credentials to connect. A round tries all addresses in quick succession; once all
 * have failed, the strategy decides the pause.
 */
export class ConnectionManager {
  readonly #addressRouter: AddressRouter
  readonly #reconnecting: Reconnecting
  readonly #clock: Clock
  readonly #events: DiallerEvents
  readonly #reauthenticator: Reauthenticator | undefined
  /** Credentials of the last attempt. */
  #authentication: Authentication | undefined
  /** Failed attempts and rounds since the last stable connection. */
  #attempt = 0
  #round = 0
  #tried = 0
  #connectedAt: number | undefined
  /** When the last attempt without a response was abandoned, monotonic ms. */
  #abandonedAt: number | undefined
  #waiting = false
  #cancel: () => void = () => undefined
  #dialled = false
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

  /** Whether an attempt was made; mqtt.js cannot end a client that never connected. */
  get dialled(): boolean {
    return this.#dialled
  }

  get url(): string {
    return this.#addressRouter.name
  }

  /** Makes the first attempt. Throws if mqtt.js rejects the options. */
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

  /** Makes the next attempt immediate, and its session a new one; the caller then ends the connection. */
  beginAnew(): void {
    this.#isRenewing = true
    this.#addressRouter.beginAnew()
  }

  /** Whether an abandoned attempt of ours may have taken over our newer session: the network can delay its CONNECT. */
  get #mayHaveTakenOver(): boolean {
    return this.#abandonedAt !== undefined && this.#clock.monotonic() - this.#abandonedAt < LATE_CONNECT
  }

  /** Handles a lost connection or failed attempt: retries, or gives up if retrying is pointless. */
  lost(loss: ConnectionLoss): void {
    // A redirected client may have another address to try.
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

  /** @param stays - whether to retry the address of a stable connection, which has its session */
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

  // Without this, nothing would report what mqtt.js throws for malformed credentials.
  #again(): void {
    try {
      this.start()
    } catch (cause) {
      this.#retry(new ConnectionLostError(`Cannot connect: ${reason(cause)}`, { cause }), false)
    }
  }

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

  /** Random delay that spreads the clients of a stopped broker. */
  #spread(): number {
    const { backoff = {} } = this.#reconnecting
    return Math.round(Math.min(backoff.initial ?? MOST_SPREAD, MOST_SPREAD) * chanceOf(backoff)())
  }

  /** Returns the ms until the next round, or the error that ends the retries. */
  #delay(cause: StateStoreError): number | StateStoreError {
    try {
      const delay = this.#reconnecting.strategy(this.#round, cause)
      if (delay === false) return cause
      if (Number.isFinite(delay) && delay >= 0) return delay
      return new ArgumentError(`Expected the reconnect strategy to return ms or false, got \`${formatValue(delay)}\``)
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
      // Credentials are the same for all addresses, so the round ends here.
      if (!cancelled) this.#pause(new ConnectionLostError(`Cannot get credentials: ${reason(cause)}`, { cause }))
    }
    const connect = (fresh: Credentials): void => {
      if (cancelled) return
      this.#authentication = fresh.authentication
      this.#dial(fresh)
    }
    // Synchronous throws and malformed credentials fail like rejections.
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
