import type { Entry } from 'rx-statestore'

export type MissingReason = 'not found' | 'expired' | 'deleted'

/**
 * Returns why a key has no value. A read after a reconnect finds only that the value is gone; the value has expired if its
 * time was over.
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
