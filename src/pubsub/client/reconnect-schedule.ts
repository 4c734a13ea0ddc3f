import { type BackoffOptions, backoff } from '../../core/util/backoff.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { failuresAfter, reconnectDelay, STABLE_AFTER_MS } from '../../core/util/reconnect-delay.js'
import type { MachineSettings } from './events.js'

type ScheduleSettings = Pick<MachineSettings, 'recoveryPause' | 'reconnectStrategy' | 'backoff'>

const NEVER = Number.POSITIVE_INFINITY

/**
 * Schedules attempts. The first attempt follows immediately after a stable connection, and the delays before further
 * attempts grow. After a connection that held for a shorter time, they shrink by a part. The delays of recoveries stay
 * short. Recoveries and new connections are counted separately. Pure. All times are in ms.
 */
export class ReconnectSchedule {
  readonly #settings: ScheduleSettings
  #recoveries = 0
  #connects = 0
  #upSince = 0
  #at = NEVER

  constructor(settings: ScheduleSettings) {
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
    const heldMs = now - this.#upSince
    this.#recoveries = this.#attemptsAfter(this.#recoveries, heldMs)
    this.#connects = this.#attemptsAfter(this.#connects, heldMs)
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

  /** The first attempt has no delay, so it does not count as a failure; see {@link failuresAfter}. */
  #attemptsAfter(attempts: number, heldMs: number): number {
    if (attempts === 0 || heldMs >= STABLE_AFTER_MS) return 0
    return 1 + failuresAfter(attempts - 1, heldMs, this.#settings.backoff)
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
  readonly backoff: BackoffOptions
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
    backoff: options,
  }
}
