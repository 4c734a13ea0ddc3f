import type { Entry } from 'rx-statestore'

export function missingReason(entry: Entry<unknown>): 'not found' | 'expired' | 'deleted' {
  if (entry.op === 'absent') return 'not found'
  return entry.op === 'delete' && entry.reason === 'expired' ? 'expired' : 'deleted'
}
