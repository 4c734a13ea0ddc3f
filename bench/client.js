// Compares the client with a hand-written mqtt.js loop on the same store.
import { startStore } from './child.js'
import { handWritten, ours } from './contestants.js'
import { compare, medianRate, takeTurns, warmUp } from './rounds.js'

const SIZES = [16, 1024, 64 * 1024]

/**
 * @param {import('./rounds.js').Effort} effort
 * @returns {Promise<import('./report.js').Table[]>}
 */
export async function measureClient(effort) {
  const store = await startStore()
  /** @type {import('./report.js').Table} */
  const table = { title: 'Client and hand-written mqtt.js loop, requests', rows: [] }
  for (const size of SIZES) {
    const value = new Uint8Array(size)
    const contestants = [await ours(store.url, value), await handWritten(store.url, value)]
    await warmUp(contestants, effort)
    for (const verb of /** @type {const} */ (['SET', 'GET'])) {
      for (const inFlight of [1, 256]) {
        const label = `${verb} of ${size} B, ${inFlight} in flight`
        const runners = contestants.map(({ name, run }) => ({
          name,
          run: (/** @type {number} */ count) => run(verb, inFlight, count),
        }))
        const [own = [], loop = []] = await takeTurns(label, runners, effort, inFlight === 1 ? 20 : 4 * inFlight)
        const rates = { ours: medianRate(own), 'mqtt.js loop': medianRate(loop) }
        table.rows.push({ request: verb, bytes: size, 'in flight': inFlight, ...rates, ...compare(own, loop) })
      }
    }
    for (const { close } of contestants) await close()
  }
  await store.close()
  return [table]
}
