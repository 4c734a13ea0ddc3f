import { type BackoffOptions, randomOf } from './backoff.js'
import { ArgumentError, formatValue, reason, type StateStoreError } from './errors.js'

/** Returns the delay in ms that a reconnect strategy determines, or the error that ends the attempts. */
export function reconnectDelay(
  strategy: (attempt: number, cause: StateStoreError) => number | false,
  attempt: number,
  cause: StateStoreError,
): number | StateStoreError {
  try {
    const delay = strategy(attempt, cause)
    if (delay === false) return cause
    if (Number.isFinite(delay) && delay >= 0) return delay
    return new ArgumentError(`Expected the reconnect strategy to return ms or false, got \`${formatValue(delay)}\``)
  } catch (error) {
    return new ArgumentError(`The reconnect strategy failed: ${reason(error)}`, { cause: error })
  }
}

/** Time after which a connection counts as stable, ms: its loss starts a new count of attempts. */
export const STABLE_AFTER_MS = 5_000

/** Maximum of the time that a connection must hold to shorten the delays after its loss, ms. The minimum is half. */
const MAX_PROOF_MS = 200

/**
 * Returns the number of failed attempts that count after a connection was lost. A connection that was lost at once
 * counts as a failed attempt. After a longer one, the next delay is about as long as the connection held, so that a
 * short outage ends soon even if it follows a long one, while a broker that stops again and again gets fewer attempts
 * the faster it stops.
 *
 * @param heldMs - how long the connection held
 *
 * @example
 * ```ts
 * // The delay before the next attempt is 200 to 400 ms.
 * failuresAfter(9, 500, { initial: 100 }) // 2
 * ```
 */
export function failuresAfter(failures: number, heldMs: number, options: BackoffOptions = {}): number {
  if (heldMs >= STABLE_AFTER_MS) return 0
  if (failures === 0 || heldMs < MAX_PROOF_MS * (0.5 + randomOf(options)() / 2)) return failures
  return Math.min(failures, Math.max(0, Math.floor(Math.log2(heldMs / (options.initial ?? 100)))))
}
