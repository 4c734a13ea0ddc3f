import type { Replayed } from '../../spec/judges/replay.js'
import type { Complaints } from '../complaints.js'
import type { Counts } from '../counts.js'
import { table } from '../table.js'
import type { Incidents } from './incidents.js'
import type { Holdings } from './leases.js'
import type { StoreNodes } from './nodes.js'
import type { Verdict } from './porcupine.js'
import type { Takeovers } from './takeovers.js'

/**
 * What a run came to, for people.
 *
 * @param run.equal - nodes that hold the same
 * @param run.verdict - of histories, if there is a checker
 */
export function report({
  counts,
  incidents,
  nodes,
  takeovers,
  holdings,
  log,
  end,
  equal,
  verdict,
  complaints,
}: {
  counts: Counts
  incidents: Incidents['counts']
  nodes: StoreNodes['counts']
  takeovers: Takeovers['words']
  holdings: Holdings
  log: Replayed
  end: { watched: number; converged: number; watchers: number; globs: number; failedGlobs: number }
  equal: number
  verdict: Verdict | undefined
  complaints: Complaints
}) {
  return table([
    ...(Object.entries(incidents) as [string, number][]),
    ['cables cut', counts.cuts],
    ['  stalled', counts.stalls],
    ['  half-closed', counts.halfCloses],
    ['  throttled, split', `${counts.throttles}, ${counts.splits}`],
    ['  refusing', counts.refusals],
    ['nodes that waited for the log', nodes.waits],
    ['nodes that did not come up at once', nodes.retries],
    ['clients replaced', counts.rebirths],
    ['reconnects', counts.reconnects],
    ['takeover from a node: median, most', takeovers.nodes],
    ['takeover from a leader: median, most', takeovers.leaders],
    ['writes tried', counts.tried],
    ['  applied', counts.applied],
    ['  refused', counts.refused],
    ['  timeout', counts.timeout],
    ['  turned away', counts.absent],
    ['  outcome unknown', counts.unknown],
    ['  closed', counts.closed],
    ['  cancelled', counts.cancelled],
    ['reads', counts.reads],
    ['watchers', counts.watches],
    ['  of globs', counts.globs],
    ['notifications', counts.notifications],
    ['leases held', holdings.all.length],
    ['  writes by their tokens, refused', `${holdings.fenced}, ${holdings.stale}`],
    ['messages in the log', log.messages],
    ['  writes', log.requests],
    ['keys converged', `${end.converged} of ${end.watched}`],
    ['  by watchers', end.watchers],
    ['globs converged', `${end.globs - end.failedGlobs} of ${end.globs}`],
    ['nodes with the same', equal],
    ...(verdict === undefined ? [] : histories(verdict)),
    ['violations', complaints.count],
  ])
}

const histories = ({ keys, operations, unknown, illegal, undecided }: Verdict): [string, string | number][] => [
  ['linearizable keys, by porcupine', `${keys - illegal.length - undecided.length} of ${keys}`],
  ['  operations, those with an unknown outcome', `${operations.toLocaleString('en')}, ${unknown}`],
]
