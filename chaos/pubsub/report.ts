import type { Complaints } from '../complaints.js'
import type { Resources } from '../resources.js'
import { HEAP_BOUND } from '../resources.js'
import { table } from '../table.js'
import type { Counts } from './counts.js'
import type { Ledger } from './ledger.js'

/**
 * What a run came to, for people.
 *
 * @param run.early - at the end of the first quarter
 */
export function report({
  counts,
  ledger,
  early,
  late,
  complaints,
}: {
  counts: Counts
  ledger: Ledger
  early: Resources
  late: Resources
  complaints: Complaints
}) {
  const { acked, unknown, timeout, closed, cancelled, overflow, refused } = ledger.tally
  return table([
    ['connections cut', counts.cuts],
    ['stalls', counts.stalls],
    ['half-closes', counts.halfCloses],
    ['throttled, split', `${counts.throttles}, ${counts.splits}`],
    ['refusing links', counts.refusals],
    ['hub restarts', counts.restarts],
    ['clients replaced', counts.rebirths],
    ['recoveries', counts.recoveries],
    ['new sessions', counts.sessions],
    ['  ended by retention', counts.expired],
    ['  ended by overflow', counts.overflowed],
    ['gaps announced', counts.gaps],
    ['messages sent', ledger.size],
    ['  acknowledged', acked],
    ['    as copies', counts.copies],
    ['    unseen by a witness as the hub ended', ledger.unseen],
    ['  outcome unknown', unknown],
    ['  timeout', timeout],
    ['  closed, cancelled', `${closed}, ${cancelled}`],
    ['  overflow, refused', `${overflow}, ${refused}`],
    ['delivered', counts.delivered],
    ['  duplicates', counts.duplicates],
    ['  losses', counts.losses],
    ['  reorderings', counts.reorderings],
    [`heap MiB (+ ${mebibytes(HEAP_BOUND)})`, `${mebibytes(early.heap)} -> ${mebibytes(late.heap)}`],
    ['timers', `${early.timers} -> ${late.timers}`],
    ['violations', complaints.count],
  ])
}

const mebibytes = (bytes: number) => (bytes / 1024 / 1024).toFixed(1)
