import { type BackoffOptions, backoff } from '../../core/util/backoff.js'

/** With the jitter of the backoff a pause of 1 to 2 s, ms. */
const LONGEST_RECOVERY_PAUSE = 2_000

/** Pauses between attempts, ms; 1 is the one after the first attempt. */
export interface Pauses {
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
export function pausesOf(options: BackoffOptions = {}): Pauses {
  const { maximum = LONGEST_RECOVERY_PAUSE } = options
  const shortened = { ...options, maximum: Math.min(maximum, LONGEST_RECOVERY_PAUSE) }
  return {
    pause: attempt => backoff(attempt, options),
    recoveryPause: attempt => backoff(attempt, shortened),
  }
}
