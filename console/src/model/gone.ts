import type { Entry } from 'rx-statestore'

/** Describes why an entry has no value. */
export function missingReason(entry: Entry<unknown>): 'not found' | 'expired' | 'deleted' {
  if (entry.op === 'absent') return 'not found'
  return entry.op === 'delete' && entry.reason === 'expired' ? 'expired' : 'deleted'
}
