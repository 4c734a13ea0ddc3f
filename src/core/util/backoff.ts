/** Delays between attempts; see {@link backoff}. All times are in ms. */
export interface BackoffOptions {
  /** Delay before the first retry, ms. Default 100. */
  readonly initial?: number | undefined
  /** Maximum delay, ms. Default 30,000. */
  readonly max?: number | undefined
  /** Returns random numbers in [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined
}

export const randomOf = ({ random = Math.random }: BackoffOptions = {}): (() => number) => random

/**
 * Returns a delay by exponential backoff with jitter. The delay before attempt `attempt` (1 is the first retry) is
 * between half of `initial * 2^(attempt - 1)` and the whole of it, capped at `max`. The jitter spreads the reconnects
 * of many clients.
 *
 * @example
 * ```ts
 * backoff(3, { initial: 100 }) // 200 to 400
 * ```
 */
export function backoff(attempt: number, options: BackoffOptions = {}): number {
  const { initial = 100, max = 30_000 } = options
  const ceiling = Math.min(max, initial * 2 ** Math.min(attempt - 1, 30))
  return Math.round(ceiling * (0.5 + randomOf(options)() / 2))
}
