// Compares three stores: this store attached to Mosquitto, a hand-written store on Mosquitto, and this store with its
// built-in broker.
import { start, startStore } from '../child.js'
import { handWritten, ours } from '../contestants.js'
import { compare, medianRate, takeTurns, warmUp } from '../rounds.js'
import { startMosquitto } from './brokers.js'

/** @type {readonly { name: string, service: string, client: typeof ours }[]} */
const PAIRS = [
  { name: 'rx-statestore on Mosquitto', service: './broker/attached-process.js', client: ours },
  { name: 'hand-written on Mosquitto', service: './broker/responder-process.js', client: handWritten },
]

/**
 * @param {import('../rounds.js').Effort} effort
 * @returns {Promise<import('../report.js').Table>}
 */
export async function measureAttached(effort) {
  /** @type {import('../report.js').Table} */
  const table = { title: 'Store attached to Mosquitto, requests of 16 B', rows: [] }
  const value = new Uint8Array(16)
  const contestants = []
  for (const { name, service, client } of PAIRS) {
    const broker = await startMosquitto()
    const url = `mqtt://127.0.0.1:${broker.port}`
    const { close: stopService } = await start(service, [url])
    const contestant = await client(url, value)
    const close = async () => {
      await contestant.close()
      await stopService()
      await broker.close()
    }
    contestants.push({ ...contestant, name, close })
  }
  const builtIn = await startStore()
  const direct = await ours(builtIn.url, value)
  contestants.push({
    ...direct,
    name: 'rx-statestore, built-in broker',
    close: async () => {
      await direct.close()
      await builtIn.close()
    },
  })
  await warmUp(contestants, effort)
  for (const verb of /** @type {const} */ (['SET', 'GET'])) {
    for (const inFlight of [1, 256]) {
      const runners = contestants.map(({ name, run }) => ({
        name,
        run: (/** @type {number} */ count) => run(verb, inFlight, count),
      }))
      const minCount = inFlight === 1 ? 20 : 4 * inFlight
      const rates = await takeTurns(`${verb}, ${inFlight} in flight, attached`, runners, effort, minCount)
      for (const [i, { name }] of contestants.entries()) {
        const { ratio, spread } = compare(rates[0] ?? [], rates[i] ?? [])
        const comparison = i === 0 ? { 'first / this': '', spread: '' } : { 'first / this': ratio, spread }
        table.rows.push({
          request: verb,
          'in flight': inFlight,
          store: name,
          rate: medianRate(rates[i] ?? []),
          ...comparison,
        })
      }
    }
  }
  for (const { close } of contestants) await close()
  return table
}
