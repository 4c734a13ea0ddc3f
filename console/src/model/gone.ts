import type { Entry } from 'rx-statestore'

/** Why there is no value, in a word or two. */
export function goneWord(entry: Entry<unknown>): 'no such key' | 'expired' | 'deleted' {
  if (entry.op === 'absent') return 'no such key'
  return entry.op === 'delete' && entry.reason === 'expired' ? 'expired' : 'deleted'
}
