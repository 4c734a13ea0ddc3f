import { table } from '../table.js'

/**
 * What a run came to, for people.
 *
 * @param {object} run
 * @param {import('../counts.js').Counts} run.counts
 * @param {import('./incidents.js').Incidents['counts']} run.incidents
 * @param {import('./nodes.js').StoreNodes['counts']} run.nodes
 * @param {import('./takeovers.js').Takeovers['words']} run.takeovers
 * @param {import('./leases.js').Holdings} run.holdings
 * @param {import('./replay.js').Replayed} run.log
 * @param {{ watched: number, converged: number, watchers: number, globs: number, failedGlobs: number }} run.end
 * @param {number} run.equal - nodes that hold the same
 * @param {import('./porcupine.js').Verdict | undefined} run.verdict - of histories, if there is a checker
 * @param {import('../complaints.js').Complaints} run.complaints
 */
export function report({ counts, incidents, nodes, takeovers, holdings, log, end, equal, verdict, complaints }) {
  return table([
    .../** @type {[string, number][]} */ (Object.entries(incidents)),
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

/**
 * @param {import('./porcupine.js').Verdict} verdict
 * @returns {[string, string | number][]}
 */
const histories = ({ keys, operations, unknown, illegal, undecided }) => [
  ['linearizable keys, by porcupine', `${keys - illegal.length - undecided.length} of ${keys}`],
  ['  operations, those with an unknown outcome', `${operations.toLocaleString('en')}, ${unknown}`],
]
