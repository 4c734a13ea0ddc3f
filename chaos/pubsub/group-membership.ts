import type { Violations } from '../violations.js'
import type { Counts } from './counts.js'
import type { Ledger } from './ledger.js'
import { Numbers } from './numbers.js'

/** The messages that one client received from one group in one session. */
export interface GroupMembership {
  client: string
  connectionId: string
  run: number
  group: number
  /** messages in order of arrival */
  seen: Numbers
  /** time when the hub added the client as a member, or Infinity if it did not */
  joinedAt: number
  /** whether the client must still report the loss of an earlier session */
  isGapOwed: boolean
}

export const newMembership = (
  beginning: Pick<GroupMembership, 'client' | 'connectionId' | 'run' | 'group' | 'isGapOwed'>,
): GroupMembership => ({
  ...beginning,
  seen: new Numbers(),
  joinedAt: Number.POSITIVE_INFINITY,
})

/**
 * Compares the received messages with the messages that the hub published. There must be no gaps, duplicates or
 * reordering. All messages sent after the client became a member must have arrived, up to the last one if the client is
 * still a member.
 *
 * @param isLast - whether the session is still open and all activity has ended
 */
export function checkMembership(
  membership: GroupMembership,
  { ledger, counts, violations }: { ledger: Ledger; counts: Counts; violations: Violations },
  isLast: boolean,
) {
  const { client, connectionId, run, group, seen, joinedAt } = membership
  const order = ledger.orderOf(run, group)
  const about = `${client} in group ${group}, session ${connectionId.slice(0, 6)}, ${seen.length} messages seen`
  const positions = Array.from(seen.all, id => ledger.positionOf(id, run))
  const first = positions[0] ?? (isLast ? order.length : 0)
  // A stopping hub does not wait for a slow witness.
  if (ledger.hasEnded(run)) while (positions.at(-1) === -1) positions.pop()
  if (positions.includes(-1)) violations.add('not seen by the witness', about)
  for (let position = 0; position < first; position++) {
    if (ledger.sentAt(order.at(position)) <= joinedAt) continue
    counts.losses++
    violations.add('lost at the beginning', `${about}: message ${order.at(position)}`)
  }
  const known = new Set()
  for (const [i, position] of positions.entries()) {
    const expected = (positions[i - 1] ?? position - 1) + 1
    if (known.has(position)) counts.duplicates++
    else if (position < expected) counts.reorderings++
    else counts.losses += position - expected
    if (position !== expected) violations.add('gap, duplicate or reordering', `${about}: ${expected}, not ${position}`)
    known.add(position)
  }
  const rest = isLast && positions.length > 0 ? order.length - 1 - (positions.at(-1) ?? 0) : 0
  counts.losses += rest
  if (rest > 0) violations.add('lost at the end', `${about}: ${rest} messages`)
  if (isLast && membership.isGapOwed) violations.add('unreported loss', about)
}
