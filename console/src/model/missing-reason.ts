import type { Entry } from 'rx-statestore'

export type MissingReason = 'not found' | 'expired' | 'deleted'

/**
 * Returns why a key has no value. A read after a reconnect does not reveal the reason; the value counts as expired if
 * its expiry had passed by then.
 *
 * @param expiresAt - expiry of the last value, ms on the store's clock
 */
export function missingReason(entry: Entry<unknown>, expiresAt?: number): MissingReason {
  if (entry.op === 'absent') return 'not found'
  if (entry.op !== 'delete' || entry.reason !== 'unknown')
    return entry.op === 'delete' && entry.reason === 'expired' ? 'expired' : 'deleted'
  const goneAt = entry.version?.wallClock ?? Number.POSITIVE_INFINITY
  return expiresAt !== undefined && goneAt >= expiresAt ? 'expired' : 'deleted'
}
