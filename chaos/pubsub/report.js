import { HEAP_BOUND } from '../resources.js'
import { table } from '../table.js'

/**
 * What a run came to, for people.
 *
 * @param {object} run
 * @param {import('./counts.js').Counts} run.counts
 * @param {import('./ledger.js').Ledger} run.ledger
 * @param {import('../resources.js').Resources} run.early - at the end of the first quarter
 * @param {import('../resources.js').Resources} run.late
 * @param {import('../complaints.js').Complaints} run.complaints
 */
export function report({ counts, ledger, early, late, complaints }) {
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

/** @param {number} bytes */
const mebibytes = bytes => (bytes / 1024 / 1024).toFixed(1)
