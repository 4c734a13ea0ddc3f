// Measures messages from publishers to subscribers through each broker.
import { compareWithFirst, takeTurns } from '../support/rounds.js'
import { PubSubLoad } from './pubsub-load.js'

/** @type {readonly Pick<import('./pubsub-load.js').Shape, 'name' | 'publishers' | 'subscribers' | 'inFlight'>[]} */
const SHAPES = [
  { name: '1 to 1', publishers: 1, subscribers: 1, inFlight: 256 },
  { name: '10 to 10', publishers: 10, subscribers: 1, inFlight: 256 },
  { name: '1 to 100', publishers: 1, subscribers: 100, inFlight: 32 },
]

/**
 * @param {readonly import('./brokers.js').Broker[]} brokers - the first one is the built-in broker
 * @param {import('../support/rounds.js').Effort} effort
 * @returns {Promise<import('../support/report.js').Table>}
 */
export async function measureTraffic(brokers, effort) {
  /** @type {import('../support/report.js').Table} */
  const table = { title: 'Brokers, messages from publishers to subscribers', rows: [] }
  for (const qos of /** @type {const} */ ([0, 1]))
    for (const size of effort.quick ? [16] : [16, 1024])
      for (const shape of SHAPES) table.rows.push(...(await measureShape(brokers, { ...shape, qos, size }, effort)))
  return table
}

/**
 * @param {readonly import('./brokers.js').Broker[]} brokers
 * @param {import('./pubsub-load.js').Shape} shape
 * @param {import('../support/rounds.js').Effort} effort
 */
async function measureShape(brokers, shape, effort) {
  const loads = []
  for (const broker of brokers) loads.push(await PubSubLoad.open(broker, shape))
  const label = `${shape.name}, QoS ${shape.qos}, ${shape.size} B`
  const measured = await takeTurns(label, loads, effort, 2 * shape.inFlight)
  for (const load of loads) load.close()
  return compareWithFirst(measured).map(({ name, cells }) => ({
    traffic: shape.name,
    QoS: shape.qos,
    bytes: shape.size,
    broker: name,
    ...cells,
  }))
}
