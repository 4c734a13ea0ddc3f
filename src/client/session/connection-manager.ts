import { type BackoffOptions, backoff, randomOf } from '../../core/util/backoff.js'
import type { Clock } from '../../core/util/clock.js'
import { ConnectionLostError, reason, type StateStoreError } from '../../core/util/errors.js'
import { failuresAfter, reconnectDelay, STABLE_AFTER_MS } from '../../core/util/reconnect-delay.js'
import type { AddressRouter } from './addresses.js'
import type { ConnectionLoss } from './connection-loss.js'
import { type CredentialsSource, requestCredentials } from './credentials-request.js'
import type { Authentication, Credentials } from './mqttjs-options.js'
import { isFatalReason, isLoginRefusal, isOverloadReason, isRedirect, TAKEN_OVER } from './reasons.js'
import { Reauthenticator } from './reauthenticator.js'
import type { Retry } from './session.js'

/**
 * Decides when to reconnect after a lost connection or a failed attempt: returns the delay in ms, or `false` to give
 * up. `attempt` is 1 for the first retry, and again after a connection that lasted five seconds; after a shorter one
 * it is smaller than before. With several addresses, the strategy is called once all of them have failed, and `attempt`
 * counts these rounds.
 */
export type ReconnectStrategy = (attempt: number, cause: StateStoreError) => number | false

/** Default maximum of the delays, ms, and while the broker responds that it is overloaded. */
const MAX_DELAY_MS = 5_000
const MAX_BUSY_DELAY_MS = 30_000

/** Returns a strategy that retries without limit, with exponential backoff and jitter. */
export const backoffStrategy =
  (options: BackoffOptions): ReconnectStrategy =>
  (attempt, cause) => {
    const { max = isOverloaded(cause) ? MAX_BUSY_DELAY_MS : MAX_DELAY_MS } = options
    return backoff(attempt, { ...options, max })
  }

const isOverloaded = (cause: StateStoreError): boolean =>
  cause instanceof ConnectionLostError && isOverloadReason(cause.reasonCode)

export interface ReconnectSettings {
  readonly strategy: ReconnectStrategy
  /** Returns the credentials. Called before every attempt to connect. Default: the credentials of the options. */
  readonly credentials: CredentialsSource | undefined
  /** Whether to reconnect after another client has taken over the client id. Default: never. */
  readonly shouldReclaimClientId?: () => boolean
  /**
   * Whether to reconnect after any DISCONNECT of an accepted connection, unless another client took over the client id
   * or the broker moved. The broker repeats a permanent refusal in CONNACK. Default `false`.
   */
  readonly isPersistent?: boolean
  /** Backoff of the strategy, if any, which supplies the random source and the spread of attempts. */
  readonly backoff?: BackoffOptions
}

interface ConnectionManagerEvents {
  retryScheduled(cause: StateStoreError, retry: Retry): void
  gaveUp(cause: StateStoreError): void
  failed(error: StateStoreError): void
  /** Called for any error of the stream of an attempt, before the connection is lost. */
  streamFailed(error: Error): void
}

/** Maximum delay before an attempt at the next of several addresses, ms. */
const MAX_SPREAD_MS = 100

/** Maximum time in which the network may still deliver an old CONNECT, ms. */
const LATE_CONNECT_MS = 60_000

/**
 * Decides when, where and with which credentials to connect. A round tries all addresses in quick succession. Once all
 * addresses have failed, the strategy determines the pause.
 */
export class ConnectionManager {
  readonly #router: AddressRouter
  readonly #settings: ReconnectSettings
  readonly #clock: Clock
  readonly #events: ConnectionManagerEvents
  readonly #reauthenticator: Reauthenticator | undefined
  #authentication: Authentication | undefined
  /** Number of failed attempts, and of rounds, since the last stable connection. */
  #attempt = 0
  #round = 0
  #triedAddresses = 0
  #connectedAt: number | undefined
  /** Time when the last attempt without a response was abandoned, monotonic ms. */
  #unansweredAt: number | undefined
  #isWaiting = false
  #cancel: () => void = () => undefined
  #hasAttempted = false
  #hasConnected = false
  #isStartingNewSession = false

  constructor(router: AddressRouter, settings: ReconnectSettings, clock: Clock, events: ConnectionManagerEvents) {
    this.#router = router
    this.#settings = settings
    this.#clock = clock
    this.#events = events
    const { credentials } = settings
    this.#reauthenticator =
      credentials &&
      new Reauthenticator(credentials, clock, router.connectTimeout, {
        send: packet => router.client.stream.write(packet),
        failed: error => events.failed(error),
      })
  }

  /** Whether an attempt was made. Otherwise mqtt.js cannot end the client. */
  get hasAttempted(): boolean {
    return this.#hasAttempted
  }

  get url(): string {
    return this.#router.name
  }

  /** Starts connecting. Throws if mqtt.js rejects the options. */
  start(): void {
    this.#isWaiting = false
    const { credentials } = this.#settings
    if (credentials) this.#fetchCredentials(credentials)
    else this.#attemptConnect()
  }

  connected(): void {
    this.#hasConnected = true
    this.#connectedAt = this.#clock.monotonic()
    this.#router.connected()
    this.#reauthenticator?.connected(this.#authentication)
  }

  /** Makes the next attempt immediate and its session a new one. The caller then ends the connection. */
  startNewSession(): void {
    this.#isStartingNewSession = true
    this.#router.startNewSession()
  }

  /**
   * Whether an abandoned attempt of this client may have taken over the newer session: the network can delay its
   * CONNECT.
   */
  get #mayHaveTakenOver(): boolean {
    return this.#unansweredAt !== undefined && this.#clock.monotonic() - this.#unansweredAt < LATE_CONNECT_MS
  }

  lost(loss: ConnectionLoss): void {
    // A redirected client may have another address to try.
    const isRedirected =
      isRedirect(loss.reasonCode) &&
      (this.#router.followServerReference(loss.serverReference) || this.#router.count > 1)
    if (!isRedirected && this.#isFatal(loss)) this.#events.gaveUp(loss.refusal)
    else
      this.#retry(
        !loss.wasConnected && this.#isLoginRefused(loss) ? loss.refusal : loss.error,
        loss.shouldRetrySameAddress,
        loss.isRejection,
      )
  }

  /**
   * Whether the broker refuses a login that it accepted before: a new one, or by DISCONNECT renewed credentials or
   * rights. An operator can make that mistake, and must be able to undo it without a restart of every client.
   */
  #isLoginRefused({ reasonCode }: ConnectionLoss): boolean {
    return this.#hasConnected && isLoginRefusal(reasonCode)
  }

  #isFatal(loss: ConnectionLoss): boolean {
    const { reasonCode, wasConnected } = loss
    const { shouldReclaimClientId, isPersistent = false } = this.#settings
    if (this.#isLoginRefused(loss)) return false
    if (reasonCode === TAKEN_OVER && (this.#mayHaveTakenOver || shouldReclaimClientId?.())) return false
    if (isPersistent && wasConnected && reasonCode !== TAKEN_OVER && !isRedirect(reasonCode)) return false
    return isFatalReason(reasonCode)
  }

  /**
   * @param shouldRetrySameAddress - whether to retry the address of a stable connection, which has the session
   * @param isRejection - whether only a stable connection shortens the delays
   */
  #retry(cause: StateStoreError, shouldRetrySameAddress: boolean, isRejection: boolean): void {
    const heldMs = this.#connectedAt === undefined ? 0 : this.#clock.monotonic() - this.#connectedAt
    const isStable = heldMs >= STABLE_AFTER_MS
    if (this.#hasAttempted && this.#connectedAt === undefined) this.#unansweredAt = this.#clock.monotonic()
    this.#connectedAt = undefined
    this.#reauthenticator?.stop()
    if (this.#isStartingNewSession) {
      this.#isStartingNewSession = false
      this.#scheduleRetry(0, cause)
      return
    }
    if (isStable) this.#attempt = this.#triedAddresses = 0
    if (isStable || (heldMs > 0 && !isRejection))
      this.#round = failuresAfter(this.#round, heldMs, this.#settings.backoff)
    const hasSeveral = this.#router.count > 1
    if (!(hasSeveral && isStable && shouldRetrySameAddress)) {
      this.#triedAddresses++
      this.#router.next()
    }
    if (this.#triedAddresses < this.#router.count) this.#scheduleRetry(this.#spreadDelay(), cause)
    else this.#endRound(cause)
  }

  /** Makes the attempt that is waiting now. Further delays start small again. */
  skipRetryDelay(): void {
    if (!this.#isWaiting) return
    this.#cancel()
    this.#round = 0
    this.#retryNow()
  }

  cancel(): void {
    this.#isWaiting = false
    this.#reauthenticator?.stop()
    this.#cancel()
  }

  // mqtt.js throws for malformed credentials; without the catch, the error would not be reported.
  #retryNow(): void {
    try {
      this.start()
    } catch (cause) {
      this.#retry(new ConnectionLostError(`Cannot connect: ${reason(cause)}`, { cause }), false, false)
    }
  }

  #endRound(cause: StateStoreError): void {
    this.#triedAddresses = 0
    this.#round++
    const delay = reconnectDelay(this.#settings.strategy, this.#round, cause)
    if (typeof delay === 'number') this.#scheduleRetry(delay, cause)
    else this.#events.gaveUp(delay)
  }

  #scheduleRetry(delay: number, cause: StateStoreError): void {
    this.#attempt++
    this.#isWaiting = true
    this.#cancel = this.#clock.schedule(delay, () => this.#retryNow())
    this.#events.retryScheduled(cause, { attempt: this.#attempt, at: this.#clock.now() + delay })
  }

  /** Returns a random delay that spreads the clients of a stopped broker. */
  #spreadDelay(): number {
    const { backoff = {} } = this.#settings
    return Math.round(Math.min(backoff.initial ?? MAX_SPREAD_MS, MAX_SPREAD_MS) * randomOf(backoff)())
  }

  #fetchCredentials(source: CredentialsSource): void {
    this.#cancel = requestCredentials(source, this.#clock, this.#router.connectTimeout, {
      received: credentials => {
        this.#authentication = credentials.authentication
        this.#attemptConnect(credentials)
      },
      // Credentials are the same for all addresses, so the round ends here.
      failed: cause => this.#endRound(new ConnectionLostError(`Cannot get credentials: ${reason(cause)}`, { cause })),
    })
  }

  #attemptConnect(credentials?: Credentials): void {
    this.#router.prepare(this.#round, credentials)
    const { client } = this.#router
    client.reconnect()
    // mqtt.js hides errors without a code, such as a refused upgrade to WebSocket.
    client.stream.on('error', error => this.#events.streamFailed(error))
    this.#hasAttempted = true
  }
}
