import type { Violations } from '../violations.js'
import type { Counts } from './counts.js'
import type { Ledger } from './ledger.js'
import type { Member } from './member.js'

export interface PubSubChaosContext {
  options: { readonly clients: number; readonly groups: number; readonly stress: number }
  ledger: Ledger
  counts: Counts
  violations: Violations
  /** the members by user id, which is unique to each client */
  members: Map<string, Member>
}
