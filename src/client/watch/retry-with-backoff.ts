import { type MonoTypeOperatorFunction, retry, throwError } from 'rxjs'
import { backoff } from '../../core/util/backoff.js'
import type { Clock } from '../../core/util/clock.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { isPermanentError } from '../../core/util/transient-errors.js'
import { after } from '../requests/after.js'

/**
 * Repeats a request with backoff. Reports the error before each repetition. Fails with a permanent error, and with an
 * error that is final.
 *
 * @param isFinal - returns whether the error of an attempt, counted from 1, ends the attempts
 */
export const retryWithBackoff = <T>(
  clock: Clock,
  report: (error: StateStoreError) => void,
  isFinal: (error: StateStoreError, attempt: number) => boolean,
): MonoTypeOperatorFunction<T> =>
  retry({
    resetOnSuccess: true,
    delay: (error, attempt) => {
      if (isPermanentError(error) || isFinal(error, attempt)) return throwError(() => error)
      report(error)
      return after(backoff(attempt), clock)
    },
  })
