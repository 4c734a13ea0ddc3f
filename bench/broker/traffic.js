// Messages from publishers to subscribers, through one broker and the other.
import { cpuTime } from '../cpu.js'
import { median, microseconds } from '../report.js'
import { compare, medianRate, takeTurns } from '../rounds.js'
import { Crowd } from './crowd.js'

/** @type {readonly Pick<import('./crowd.js').Shape, 'name' | 'publishers' | 'subscribers' | 'inFlight'>[]} */
const SHAPES = [
  { name: '1 to 1', publishers: 1, subscribers: 1, inFlight: 256 },
  { name: '10 to 10', publishers: 10, subscribers: 1, inFlight: 256 },
  { name: '1 to 100', publishers: 1, subscribers: 100, inFlight: 32 },
]

/** A broker under one kind of traffic, and what every message costs it. */
class Contestant {
  /** CPU time of a message in each run, ms. @type {number[]} */
  costs = []

  /** @param {import('./brokers.js').Broker} broker @param {Crowd} crowd */
  constructor(broker, crowd) {
    this.name = broker.name
    this.pid = broker.pid
    this.crowd = crowd
  }

  /** @param {number} count */
  run = async count => {
    const before = cpuTime(this.pid)
    await this.crowd.run(count)
    this.costs.push((cpuTime(this.pid) - before) / count)
  }
}

/**
 * @param {readonly import('./brokers.js').Broker[]} brokers - the first one is ours
 * @param {import('../rounds.js').Effort} effort
 * @returns {Promise<import('../report.js').Table>}
 */
export async function measureTraffic(brokers, effort) {
  /** @type {import('../report.js').Table} */
  const table = { title: 'Broker against others, messages from publishers to subscribers', rows: [] }
  for (const qos of /** @type {const} */ ([0, 1]))
    for (const size of effort.quick ? [16] : [16, 1024])
      for (const shape of SHAPES) table.rows.push(...(await measureShape(brokers, { ...shape, qos, size }, effort)))
  return table
}

/**
 * @param {readonly import('./brokers.js').Broker[]} brokers
 * @param {import('./crowd.js').Shape} shape
 * @param {import('../rounds.js').Effort} effort
 */
async function measureShape(brokers, shape, effort) {
  const contestants = []
  for (const broker of brokers) contestants.push(new Contestant(broker, await Crowd.gather(broker, shape)))
  const label = `${shape.name}, QoS ${shape.qos}, ${shape.size} B`
  const rates = await takeTurns(label, contestants, effort, 2 * shape.inFlight)
  for (const { crowd } of contestants) crowd.close()
  const costs = contestants.map(({ costs }) => costs.slice(-effort.rounds))
  const [ours = []] = rates
  const [ourCosts = []] = costs
  return contestants.map(({ name }, i) => {
    const theirs = rates[i] ?? []
    const { ratio, spread } = compare(ours, theirs)
    const cpu = compare(costs[i] ?? [], ourCosts).ratio
    const against = i === 0 ? {} : { 'ours / theirs': ratio, spread, 'CPU, theirs / ours': cpu }
    const cells = { traffic: shape.name, QoS: shape.qos, bytes: shape.size, broker: name, rate: medianRate(theirs) }
    return { ...cells, 'CPU each': microseconds(1000 * median(costs[i] ?? [])), ...BLANK, ...against }
  })
}

const BLANK = { 'ours / theirs': '', spread: '', 'CPU, theirs / ours': '' }
