// Measures requests to this store and to the store of another checkout.
import { startStore } from '../child.js'
import { ours } from '../contestants.js'
import { cpuTime } from '../cpu.js'
import { median, microseconds } from '../report.js'
import { compare, medianRate, takeTurns, warmUp } from '../rounds.js'

/**
 * @param {readonly { name: string, directory?: string }[]} stores - the first one is this store
 * @param {import('../rounds.js').Effort} effort
 * @returns {Promise<import('../report.js').Table>}
 */
export async function measureRequests(stores, effort) {
  /** @type {import('../report.js').Table} */
  const table = { title: 'Broker, client requests of 16 B', rows: [] }
  const contestants = []
  for (const { name, directory } of stores) {
    const store = await startStore(directory)
    const client = await ours(store.url, new Uint8Array(16))
    contestants.push({ ...client, name, store })
  }
  await warmUp(contestants, effort)
  for (const verb of /** @type {const} */ (['SET', 'GET'])) {
    for (const inFlight of [1, 256]) {
      /** @type {number[][]} */
      const costs = contestants.map(() => [])
      const runners = contestants.map(({ name, run, store: { pid } }, i) => ({
        name,
        run: async (/** @type {number} */ count) => {
          const before = cpuTime(pid)
          await run(verb, inFlight, count)
          costs[i]?.push((cpuTime(pid) - before) / count)
        },
      }))
      const rates = await takeTurns(
        `${verb}, ${inFlight} in flight`,
        runners,
        effort,
        inFlight === 1 ? 20 : 4 * inFlight,
      )
      for (const [i, { name }] of contestants.entries()) {
        const cost = costs.map(each => each.slice(-effort.rounds))
        const { ratio, spread } = compare(rates[0] ?? [], rates[i] ?? [])
        const cpu = compare(cost[i] ?? [], cost[0] ?? []).ratio
        const comparison =
          i === 0
            ? { 'ours / theirs': '', spread: '', 'CPU, theirs / ours': '' }
            : { 'ours / theirs': ratio, spread, 'CPU, theirs / ours': cpu }
        const cells = { request: verb, 'in flight': inFlight, broker: name, rate: medianRate(rates[i] ?? []) }
        table.rows.push({ ...cells, 'CPU of the store': microseconds(1000 * median(cost[i] ?? [])), ...comparison })
      }
    }
  }
  for (const { close, store } of contestants) {
    await close()
    await store.close()
  }
  return table
}
