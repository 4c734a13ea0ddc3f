// Measures messages from publishers to subscribers through each broker.
import { cpuTime } from '../cpu.js'
import { median, microseconds } from '../report.js'
import { compare, medianRate, takeTurns } from '../rounds.js'
import { PubSubLoad } from './pubsub-load.js'

/** @type {readonly Pick<import('./pubsub-load.js').Shape, 'name' | 'publishers' | 'subscribers' | 'inFlight'>[]} */
const SHAPES = [
  { name: '1 to 1', publishers: 1, subscribers: 1, inFlight: 256 },
  { name: '10 to 10', publishers: 10, subscribers: 1, inFlight: 256 },
  { name: '1 to 100', publishers: 1, subscribers: 100, inFlight: 32 },
]

/** A broker under one traffic pattern, and its CPU time per message. */
class Contestant {
  /** CPU time per message in each run, ms. @type {number[]} */
  costs = []

  /** @param {import('./brokers.js').Broker} broker @param {PubSubLoad} load */
  constructor(broker, load) {
    this.name = broker.name
    this.pid = broker.pid
    this.load = load
  }

  /** @param {number} count */
  run = async count => {
    const before = cpuTime(this.pid)
    await this.load.run(count)
    this.costs.push((cpuTime(this.pid) - before) / count)
  }
}

/**
 * @param {readonly import('./brokers.js').Broker[]} brokers - the first one is the built-in broker
 * @param {import('../rounds.js').Effort} effort
 * @returns {Promise<import('../report.js').Table>}
 */
export async function measureTraffic(brokers, effort) {
  /** @type {import('../report.js').Table} */
  const table = { title: 'Brokers, messages from publishers to subscribers', rows: [] }
  for (const qos of /** @type {const} */ ([0, 1]))
    for (const size of effort.quick ? [16] : [16, 1024])
      for (const shape of SHAPES) table.rows.push(...(await measureShape(brokers, { ...shape, qos, size }, effort)))
  return table
}

/**
 * @param {readonly import('./brokers.js').Broker[]} brokers
 * @param {import('./pubsub-load.js').Shape} shape
 * @param {import('../rounds.js').Effort} effort
 */
async function measureShape(brokers, shape, effort) {
  const contestants = []
  for (const broker of brokers) contestants.push(new Contestant(broker, await PubSubLoad.open(broker, shape)))
  const label = `${shape.name}, QoS ${shape.qos}, ${shape.size} B`
  const rates = await takeTurns(label, contestants, effort, 2 * shape.inFlight)
  for (const { load } of contestants) load.close()
  const costs = contestants.map(({ costs }) => costs.slice(-effort.rounds))
  const [ours = []] = rates
  const [ourCosts = []] = costs
  return contestants.map(({ name }, i) => {
    const theirs = rates[i] ?? []
    const { ratio, spread } = compare(ours, theirs)
    const cpu = compare(costs[i] ?? [], ourCosts).ratio
    const comparison = i === 0 ? {} : { 'ours / theirs': ratio, spread, 'CPU, theirs / ours': cpu }
    const cells = { traffic: shape.name, QoS: shape.qos, bytes: shape.size, broker: name, rate: medianRate(theirs) }
    return { ...cells, 'CPU per message': microseconds(1000 * median(costs[i] ?? [])), ...BLANK, ...comparison }
  })
}

const BLANK = { 'ours / theirs': '', spread: '', 'CPU, theirs / ours': '' }
