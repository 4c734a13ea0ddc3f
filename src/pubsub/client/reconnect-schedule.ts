import { type BackoffOptions, backoff } from '../../core/util/backoff.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { reconnectDelay } from '../../core/util/reconnect-delay.js'
import type { MachineSettings } from './events.js'

/** The time in ms for which a connection must hold to reset the attempt counts. */
const STABLE_AFTER_MS = 5_000
const NEVER = Number.POSITIVE_INFINITY

/**
 * Schedules attempts. The first attempt follows immediately after a stable connection, and the delays before further
 * attempts grow. The delays of recoveries stay short. Recoveries and new connections are counted separately. Pure. All
 * times are in ms.
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

  /** Counts the first attempt, for which the strategy is not called. */
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

  /** Schedules the next connection attempt, or returns the reason why there is none. */
  scheduleConnect(cause: StateStoreError, now: number): StateStoreError | undefined {
    this.#connects++
    const delay = reconnectDelay(this.#settings.reconnectStrategy, this.#connects, cause)
    if (typeof delay !== 'number') return delay
    this.#at = now + delay
    return undefined
  }

  clear(): void {
    this.#at = NEVER
  }
}

/** The cap on the delay between recovery attempts, which is 1 to 2 s with jitter. */
const MAX_RECOVERY_PAUSE_MS = 2_000

export interface RetryDelays {
  /** Returns the delay before a message is resent or a new connection is opened. */
  readonly pause: (attempt: number) => number
  /** Returns the delay before another recovery attempt. */
  readonly recoveryPause: (attempt: number) => number
}

/**
 * Creates growing delays with jitter. Recovery delays stay short, because a hub may keep a session for only 30 s, and a
 * client that is still waiting when the hub is reachable again would lose the session ("Reconnection": try again for a
 * minute, or until closed with 1008).
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
