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
