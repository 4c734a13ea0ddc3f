import { RequestRejectedError, StateStoreError } from '../../core/util/errors.js'

/** Codes of what ends without anybody doing something to it. */
const PASSING: ReadonlySet<string> = new Set([
  'timeout',
  'outcome-unknown',
  'no-store',
  'connection-lost',
  'overflow',
  'quota-exceeded',
])
/** MQTT 5.0, section 3.4.2.1: unspecified, implementation specific, quota exceeded. */
const PASSING_REASONS: ReadonlySet<number> = new Set([128, 131, 151])

/** Whether after an error the newest value is worth another attempt. */
export function isPassing(error: unknown): boolean {
  if (error instanceof RequestRejectedError && PASSING_REASONS.has(error.status)) return true
  return error instanceof StateStoreError && PASSING.has(error.code)
}
