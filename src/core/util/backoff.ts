/** How long to wait before the next attempt; see {@link backoff}. All times in ms. */
export interface BackoffOptions {
  /** Delay before the first retry, ms. Default 100. */
  readonly initial?: number | undefined
  /** The delay never grows beyond this, ms. Default 30,000. */
  readonly max?: number | undefined
  /** Source of chance in [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined
}

/** Where chance comes from. */
export const chanceOf = ({ random = Math.random }: BackoffOptions = {}): (() => number) => random

/**
 * Exponential backoff with jitter: the delay before attempt `attempt` (1 is the first retry) lies between a half and
 * the whole of `initial * 2^(attempt - 1)`, capped. The jitter keeps a thousand panels from coming back as one herd.
 *
 * @example
 * ```ts
 * backoff(3, { initial: 100 }) // 200 to 400
 * ```
 */
export function backoff(attempt: number, options: BackoffOptions = {}): number {
  const { initial = 100, max = 30_000 } = options
  const ceiling = Math.min(max, initial * 2 ** Math.min(attempt - 1, 30))
  return Math.round(ceiling * (0.5 + chanceOf(options)() / 2))
}
