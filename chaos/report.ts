import type { Complaints } from './complaints.js'
import type { Counts } from './counts.js'
import type { Resources } from './resources.js'
import { HEAP_BOUND } from './resources.js'
import { table } from './table.js'

/**
 * What a run came to, for people.
 *
 * @param run.deaths - who was killed, and how often
 * @param run.early - at the end of the first quarter
 * @param run.registrations - where they can be known
 */
export function report({
  counts,
  deaths,
  early,
  late,
  end,
  registrations,
  complaints,
}: {
  counts: Counts
  deaths: [string, number][]
  early: Resources
  late: Resources
  end: { watched: number; converged: number; watchers: number; globs: number; failedGlobs: number }
  registrations: { keys: number; globs: number } | undefined
  complaints: Complaints
}) {
  const rows = [
    ['connections cut', counts.cuts],
    ['stalls', counts.stalls],
    ['half-closes', counts.halfCloses],
    ['throttled, split', `${counts.throttles}, ${counts.splits}`],
    ['refusing links', counts.refusals],
    ...deaths,
    ['clients replaced', counts.rebirths],
    ['reconnects', counts.reconnects],
    ['writes tried', counts.tried],
    ['  applied', counts.applied],
    ['  refused', counts.refused],
    ['  timeout', counts.timeout],
    ['  no store', counts.absent],
    ['  outcome unknown', counts.unknown],
    ['  closed', counts.closed],
    ['  cancelled', counts.cancelled],
    ['reads', counts.reads],
    ['watchers', counts.watches],
    ['  of globs', counts.globs],
    ['notifications', counts.notifications],
    ['resyncs', counts.resyncs],
    ['keys converged', `${end.converged} of ${end.watched}`],
    ['  by watchers', end.watchers],
    ['globs converged', `${end.globs - end.failedGlobs} of ${end.globs}`],
    ...(registrations
      ? [['registrations of keys, of globs, after', `${registrations.keys}, ${registrations.globs}, 0`]]
      : []),
    [`heap MiB (+ ${mebibytes(HEAP_BOUND)})`, `${mebibytes(early.heap)} -> ${mebibytes(late.heap)}`],
    ['timers', `${early.timers} -> ${late.timers}`],
    ['listeners per client', `${early.listeners} -> ${late.listeners}`],
    ['violations', complaints.count],
  ] as [string, string | number][]
  return table(rows)
}

const mebibytes = (bytes: number) => (bytes / 1024 / 1024).toFixed(1)
