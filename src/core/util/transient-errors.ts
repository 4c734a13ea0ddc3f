import { type ErrorCode, RequestRejectedError, StateStoreError } from './errors.js'

/** The reason code for a missing permission (MQTT 5.0, section 2.4). */
const NOT_AUTHORIZED = 135

const TRANSIENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'timeout',
  'outcome-unknown',
  'overflow',
  'connection-lost',
  'no-store',
  'clock-skew',
  'quota-exceeded',
  'service-unknown',
])

/**
 * Unspecified error, implementation specific error and quota exceeded (MQTT 5.0, section 3.4.2.1), and the timeout of a
 * request (RPC status). Of the RPC statuses, all from 500 are transient as well.
 */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([128, 131, 151, 408])

/**
 * Responses that do not fit the request, because of a fault of the store or the broker that the next response may not
 * have. A watch or a lease retries after these errors and the transient ones; any other error ends it, because no retry
 * can succeed. Reasons: docs/decisions/errors-that-end-a-watch.md.
 */
const UNEXPECTED_RESPONSES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'payload',
  'decode',
  'hlc',
  'request-rejected',
  'syntax-error',
  'unknown-command',
  'wrong-argument-count',
  'timestamp-missing',
  'timestamp-malformed',
  'key-empty',
  'fencing-token-required',
  'fencing-token-stale',
  'fencing-token-skew',
])

/**
 * Returns whether an error is caused by network, load or clocks, so that the same request may succeed later. A write
 * with the code `outcome-unknown` may have been applied, so read the key before repeating it.
 *
 * @example
 * ```ts
 * key.set(21).pipe(
 *   retry({
 *     count: 3,
 *     delay: e => (isTransient(e) ? timer(1_000) : throwError(() => e)),
 *   }),
 * )
 * ```
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof RequestRejectedError && (TRANSIENT_STATUSES.has(error.status) || error.status >= 500))
    return true
  return error instanceof StateStoreError && TRANSIENT.has(error.code)
}

/**
 * Returns whether a retry cannot succeed. True for errors other than `StateStoreError`, which are bugs of this client.
 */
export function isPermanentError(error: unknown): boolean {
  if (!(error instanceof StateStoreError)) return true
  if (error instanceof RequestRejectedError && error.status === NOT_AUTHORIZED) return true
  return !UNEXPECTED_RESPONSES.has(error.code) && !TRANSIENT.has(error.code)
}
