import type { Clock } from '../../core/util/clock.js'
import type { ErrorCode, StateStoreError } from '../../core/util/errors.js'

/** Errors with one code that are told in a {@link WINDOW}. */
const MOST = 10
/** ms */
const WINDOW = 10_000

/**
 * Tells errors, but of one code no more than ten in ten seconds: ten thousand watches that are refused have one story.
 */
export class ErrorRateLimiter {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #tell: (error: StateStoreError) => void
  readonly #windows = new Map<ErrorCode, { readonly since: number; told: number }>()

  constructor(clock: Pick<Clock, 'monotonic'>, tell: (error: StateStoreError) => void) {
    this.#clock = clock
    this.#tell = tell
  }

  report(error: StateStoreError): void {
    const window = this.#windowOf(error.code)
    if (window.told >= MOST) return
    window.told++
    this.#tell(error)
  }

  #windowOf(code: ErrorCode): { told: number } {
    const now = this.#clock.monotonic()
    const known = this.#windows.get(code)
    if (known !== undefined && now - known.since < WINDOW) return known
    const fresh = { since: now, told: 0 }
    this.#windows.set(code, fresh)
    return fresh
  }
}
