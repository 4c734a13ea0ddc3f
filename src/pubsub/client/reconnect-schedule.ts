import { type BackoffOptions, backoff } from '../../core/util/backoff.js'
import {
  ArgumentError,
  ConnectionLostError,
  formatValue,
  reason,
  type StateStoreError,
} from '../../core/util/errors.js'
import type { MachineSettings } from './events.js'

/** A connection that held for this long resets the attempt counts, ms. */
const STABLE_AFTER_MS = 5_000
const NEVER = Number.POSITIVE_INFINITY

/**
 * Schedules attempts: immediately after a stable connection, then with growing delays, which stay short for recoveries.
 * Recoveries and new connections are counted separately. Pure; times in ms.
 */
export class ReconnectSchedule {
  readonly #settings: Pick<MachineSettings, 'recoveryPause' | 'reconnectStrategy'>
  #recoveries = 0
  #connects = 0
  #upSince = 0
  #at = NEVER

  constructor(settings: Pick<MachineSettings, 'recoveryPause' | 'reconnectStrategy'>) {
    this.#settings = settings
  }

  get retryAt(): number {
    return this.#at
  }

  get attempts(): number {
    return this.#connects
  }

  get recoveryAttempts(): number {
    return this.#recoveries
  }

  /** Counts the first attempt, which does not consult the strategy. */
  start(): void {
    this.#connects = 1
  }

  onConnected(now: number): void {
    this.#upSince = now
  }

  onDisconnected(now: number): void {
    if (now - this.#upSince < STABLE_AFTER_MS) return
    this.#recoveries = 0
    this.#connects = 0
  }

  scheduleRecovery(now: number): void {
    const previousAttempts = this.#recoveries++
    this.#at = now + (previousAttempts === 0 ? 0 : this.#settings.recoveryPause(previousAttempts))
  }

  /** Schedules the next connection attempt, or returns why there is none. */
  scheduleConnect(cause: StateStoreError, now: number): StateStoreError | undefined {
    this.#connects++
    try {
      const delay = this.#settings.reconnectStrategy(this.#connects, cause)
      if (delay === false) return cause
      this.#at = now + delay
      if (Number.isFinite(this.#at) && delay >= 0) return undefined
      return new ArgumentError(`Expected the reconnect strategy to return ms or false, got \`${formatValue(delay)}\``)
    } catch (error) {
      return new ArgumentError(`The reconnect strategy failed: ${reason(error)}`, { cause: error })
    }
  }

  clear(): void {
    this.#at = NEVER
  }
}

export interface LinkEnd {
  /** Close code of the WebSocket, if the peer or the network closed it. */
  readonly code: number | undefined
  readonly reason: string
  readonly cause: StateStoreError
}

/** The end of a link closed by the peer or the network. `reason` may be empty. */
export const closedByPeer = (code: number, reason: string): LinkEnd => ({
  code,
  reason,
  cause: new ConnectionLostError(`The connection to the hub was closed (${code}${reason && `: ${reason}`})`),
})

/** Prefers the reason of the hub's `disconnected` frame to the failure of the last recovery attempt. */
export function withDisconnectReason(hubReason: string, end: LinkEnd): LinkEnd {
  if (hubReason === '') return end
  return end.code === undefined ? { ...end, reason: hubReason } : closedByPeer(end.code, hubReason)
}

export const failure = (message: string, options?: ErrorOptions): LinkEnd => ({
  code: undefined,
  reason: message,
  cause: new ConnectionLostError(message, options),
})

/** With jitter, a delay of 1 to 2 s. */
const MAX_RECOVERY_PAUSE_MS = 2_000

export interface RetryDelays {
  /** Before a message is resent or a new connection is opened. */
  readonly pause: (attempt: number) => number
  /** Before another recovery attempt. */
  readonly recoveryPause: (attempt: number) => number
}

/**
 * Growing delays with jitter. Recovery delays stay short: a hub may keep a session for only 30 s, and a client still
 * waiting when the hub is reachable again would lose it ("Reconnection": try again for a minute, or until closed with
 * 1008).
 *
 * @example
 * ```ts
 * retryDelays().recoveryPause(20) // 1000 to 2000
 * ```
 */
export function retryDelays(options: BackoffOptions = {}): RetryDelays {
  const { max = MAX_RECOVERY_PAUSE_MS } = options
  const shortened = { ...options, max: Math.min(max, MAX_RECOVERY_PAUSE_MS) }
  return {
    pause: attempt => backoff(attempt, options),
    recoveryPause: attempt => backoff(attempt, shortened),
  }
}
