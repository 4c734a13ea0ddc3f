// Measures SET and GET, one at a time and 256 in flight.
import { progress } from '../support/report.js'
import { compareWithFirst, takeTurns } from '../support/rounds.js'

const VERBS = /** @type {const} */ (['SET', 'GET'])
const IN_FLIGHT = [1, 256]

/**
 * Returns a row for each verb, number in flight and contestant.
 *
 * @param {readonly import('./peer.js').Contestant[]} contestants
 * @param {import('../support/rounds.js').Effort} effort
 * @param {{ header?: string, bytes?: number }} [labels] - `header` of the ratio of the first contestant to another one
 * @returns {Promise<import('../support/report.js').Table['rows']>}
 */
export async function measureRequests(contestants, effort, { header = 'ours / theirs', ...labels } = {}) {
  await warmUp(contestants, effort)
  const rows = []
  for (const verb of VERBS) {
    for (const inFlight of IN_FLIGHT) {
      const runners = contestants.map(({ name, pid, run }) => ({
        name,
        pid,
        run: (/** @type {number} */ count) => run(verb, inFlight, count),
      }))
      const label = `${verb}, ${inFlight} in flight`
      const measured = await takeTurns(label, runners, effort, inFlight === 1 ? 20 : 4 * inFlight)
      for (const { name, cells } of compareWithFirst(measured, header))
        rows.push({ request: verb, 'in flight': inFlight, ...labels, store: name, ...cells })
    }
  }
  return rows
}

/**
 * Runs both verbs, so that the code is optimised before the first measurement.
 *
 * @param {readonly import('./peer.js').Contestant[]} contestants
 * @param {import('../support/rounds.js').Effort} effort
 */
async function warmUp(contestants, { ms }) {
  for (const { name, run } of contestants) {
    for (const verb of VERBS) {
      progress(`warm-up: ${verb} of ${name}`)
      const end = performance.now() + 2 * ms
      do await run(verb, 64, 256)
      while (performance.now() < end)
    }
  }
}
