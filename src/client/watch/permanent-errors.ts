import { type ErrorCode, RequestRejectedError, StateStoreError } from '../../core/util/errors.js'

/** MQTT 5.0, section 2.4. */
const NOT_AUTHORIZED = 135

/** Troubles of network, load and clocks: the same request may well succeed later. */
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
 * Codes after which a watch or a lease tries again besides those; any other ends it, for no later attempt could mend it and
 * the caller must know. They are answers that do not fit the request: a fault of the store or of the broker, which may be
 * gone with the next answer. The reasons are in docs/decisions/errors-that-end-a-watch.md.
 */
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
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

/** Returns whether an error is a trouble of network, load or clocks, after which a later write may well succeed. */
export const isTransient = (error: unknown): boolean => error instanceof StateStoreError && TRANSIENT.has(error.code)

/** Whether trying again is pointless; also for an error that is not of ours, and so a fault in here. */
export function isPermanentError(error: unknown): boolean {
  if (!(error instanceof StateStoreError)) return true
  if (error instanceof RequestRejectedError && error.status === NOT_AUTHORIZED) return true
  return !PASSING.has(error.code) && !TRANSIENT.has(error.code)
}
