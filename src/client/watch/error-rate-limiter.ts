import type { Clock } from '../../core/util/clock.js'
import type { ErrorCode, StateStoreError } from '../../core/util/errors.js'

const MAX_ERRORS_PER_WINDOW = 10
const WINDOW_MS = 10_000

/** Reports at most ten errors per code in ten seconds, because ten thousand rejected watches share one cause. */
export class ErrorRateLimiter {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #onError: (error: StateStoreError) => void
  readonly #windows = new Map<ErrorCode, { readonly since: number; count: number }>()

  constructor(clock: Pick<Clock, 'monotonic'>, onError: (error: StateStoreError) => void) {
    this.#clock = clock
    this.#onError = onError
  }

  report(error: StateStoreError): void {
    const window = this.#windowOf(error.code)
    if (window.count >= MAX_ERRORS_PER_WINDOW) return
    window.count++
    this.#onError(error)
  }

  #windowOf(code: ErrorCode): { count: number } {
    const now = this.#clock.monotonic()
    const current = this.#windows.get(code)
    if (current !== undefined && now - current.since < WINDOW_MS) return current
    const next = { since: now, count: 0 }
    this.#windows.set(code, next)
    return next
  }
}
