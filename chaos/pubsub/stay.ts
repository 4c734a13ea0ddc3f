import type { Complaints } from '../complaints.js'
import type { Counts } from './counts.js'
import type { Ledger } from './ledger.js'
import { Numbers } from './numbers.js'

/** What one client saw of one group in one session. */
export interface Stay {
  client: string
  connectionId: string
  /** of the hub */
  life: number
  group: number
  /** messages, in the order they came */
  seen: Numbers
  /** when the hub made it a member; Infinity if it did not */
  joinedAt: number
  /** whether an earlier session was lost of which it has not been told yet */
  owed: boolean
}

export const newStay = (beginning: Pick<Stay, 'client' | 'connectionId' | 'life' | 'group' | 'owed'>): Stay => ({
  ...beginning,
  seen: new Numbers(),
  joinedAt: Number.POSITIVE_INFINITY,
})

/**
 * Compares what was seen in a stay with what the hub published: no hole, nothing twice, nothing in another order; nothing
 * missing that was sent after the hub had made the client a member; and nothing missing at the end, if it is still there.
 *
 * @param isLast - whether the session lives on, and all is quiet
 */
export function judgeStay(
  stay: Stay,
  { ledger, counts, complaints }: { ledger: Ledger; counts: Counts; complaints: Complaints },
  isLast: boolean,
) {
  const { client, connectionId, life, group, seen, joinedAt } = stay
  const order = ledger.orderOf(life, group)
  const about = `${client} in group ${group}, session ${connectionId.slice(0, 6)}, ${seen.length} messages seen`
  const places = Array.from(seen.all, id => ledger.placeOf(id, life))
  const first = places[0] ?? (isLast ? order.length : 0)
  // A hub that ends does not wait for a slow witness.
  if (ledger.isOver(life)) while (places.at(-1) === -1) places.pop()
  if (places.includes(-1)) complaints.add('nobody else saw it', about)
  for (let place = 0; place < first; place++) {
    if (ledger.sentAt(order.at(place)) <= joinedAt) continue
    counts.losses++
    complaints.add('lost at the beginning', `${about}: message ${order.at(place)}`)
  }
  const known = new Set()
  for (const [i, place] of places.entries()) {
    const expected = (places[i - 1] ?? place - 1) + 1
    if (known.has(place)) counts.duplicates++
    else if (place < expected) counts.reorderings++
    else counts.losses += place - expected
    if (place !== expected) complaints.add('a hole, a double or a wrong order', `${about}: ${expected}, not ${place}`)
    known.add(place)
  }
  const rest = isLast && places.length > 0 ? order.length - 1 - (places.at(-1) ?? 0) : 0
  counts.losses += rest
  if (rest > 0) complaints.add('lost at the end', `${about}: ${rest} messages`)
  if (isLast && stay.owed) complaints.add('a loss that was not announced', about)
}
