import { type BackoffOptions, backoff } from '../../core/util/backoff.js'
import {
  ArgumentError,
  ConnectionLostError,
  formatValue,
  reason,
  type StateStoreError,
} from '../../core/util/errors.js'
import type { MachineSettings } from './events.js'

/** A connection that held for so long resets the count of attempts, ms. */
const STABLE_AFTER = 5_000
const NEVER = Number.POSITIVE_INFINITY

/**
 * When to try again: at once after a connection that held, then after growing pauses, which stay short for recoveries.
 * Recoveries of a session and new connections are counted apart. Pure; times in ms.
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

  /** When the next attempt is due, if one is. */
  get at(): number {
    return this.#at
  }

  /** The attempt to connect, or to recover, that is due or under way. */
  get connects(): number {
    return this.#connects
  }

  get recoveries(): number {
    return this.#recoveries
  }

  /** The first attempt is made without asking. */
  start(): void {
    this.#connects = 1
  }

  up(now: number): void {
    this.#upSince = now
  }

  down(now: number): void {
    if (now - this.#upSince < STABLE_AFTER) return
    this.#recoveries = 0
    this.#connects = 0
  }

  /** The next attempt to recover. */
  recover(now: number): void {
    const earlier = this.#recoveries++
    this.#at = now + (earlier === 0 ? 0 : this.#settings.recoveryPause(earlier))
  }

  /** The next attempt to connect, or why there is none. */
  connect(cause: StateStoreError, now: number): StateStoreError | undefined {
    this.#connects++
    try {
      const delay = this.#settings.reconnectStrategy(this.#connects, cause)
      if (delay === false) return cause
      this.#at = now + delay
      if (Number.isFinite(this.#at) && delay >= 0) return undefined
      return new ArgumentError(`Expected the reconnect strategy to give ms or false, got \`${formatValue(delay)}\``)
    } catch (error) {
      return new ArgumentError(`The reconnect strategy failed: ${reason(error)}`, { cause: error })
    }
  }

  /** The attempt is made, or called off. */
  clear(): void {
    this.#at = NEVER
  }
}

/** Why a link ended, or was not made. */
export interface LinkEnd {
  /** Close code of the WebSocket, if it was closed by the other side or by the network. */
  readonly code: number | undefined
  readonly reason: string
  readonly cause: StateStoreError
}

/** Closed by the other side or by the network. `reason` may be empty. */
export const closedWith = (code: number, reason: string): LinkEnd => ({
  code,
  reason,
  cause: new ConnectionLostError(`The connection to the hub was closed (${code}${reason && `: ${reason}`})`),
})

/** What the hub said before it closed the link that led to this end says more than how the last attempt failed. */
export function afterFarewell(farewell: string, end: LinkEnd): LinkEnd {
  if (farewell === '') return end
  return end.code === undefined ? { ...end, reason: farewell } : closedWith(end.code, farewell)
}

/** Given up here. */
export const failure = (message: string, options?: ErrorOptions): LinkEnd => ({
  code: undefined,
  reason: message,
  cause: new ConnectionLostError(message, options),
})

/** With the jitter of the backoff a pause of 1 to 2 s, ms. */
const LONGEST_RECOVERY_PAUSE = 2_000

/** Pauses between attempts, ms; 1 is the one after the first attempt. */
export interface RetryDelays {
  /** Before a message is sent again, or a new connection is made. */
  readonly pause: (attempt: number) => number
  /** Before another attempt to recover a session. */
  readonly recoveryPause: (attempt: number) => number
}

/**
 * Growing pauses with jitter. Those of a recovery stay short: a hub keeps a session for as little as 30 s, and a client
 * that is still pausing when the hub can be reached again is too late ("Reconnection": try again for a minute, or until
 * closed with 1008).
 *
 * @example
 * ```ts
 * pausesOf().recoveryPause(20) // 1000 to 2000
 * ```
 */
export function pausesOf(options: BackoffOptions = {}): RetryDelays {
  const { max = LONGEST_RECOVERY_PAUSE } = options
  const shortened = { ...options, max: Math.min(max, LONGEST_RECOVERY_PAUSE) }
  return {
    pause: attempt => backoff(attempt, options),
    recoveryPause: attempt => backoff(attempt, shortened),
  }
}
