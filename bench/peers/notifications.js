// Measures the time from a change by one client to its notification at other clients.
import { median, ms, progress, quantile, spread, times } from '../report.js'

/** Number of clients that are opened concurrently. */
const BATCH_SIZE = 50

/** A store with clients that watch a key. */
class WatchedStore {
  /** @param {import('./peer.js').Peer} peer */
  constructor(peer) {
    this.peer = peer
    /** @type {(() => Promise<unknown>)[]} */
    this.watchers = []
    this.number = 0
    this.expected = ''
    this.notifiedCount = 0
    this.done = () => {}
  }

  /** @param {number} size */
  async openWatchers(size) {
    const open = () => this.peer.watch(value => this.#onValue(value))
    while (this.watchers.length < size) {
      const batchSize = Math.min(BATCH_SIZE, size - this.watchers.length)
      this.watchers.push(...(await Promise.all(Array.from({ length: batchSize }, open))))
    }
  }

  /** Changes the key once. @returns {Promise<number>} ms until the last watcher is notified */
  async change() {
    this.expected = String(++this.number).padStart(16, '0')
    this.notifiedCount = 0
    /** @type {Promise<number>} */
    const notified = new Promise(resolve => {
      this.done = () => resolve(performance.now())
    })
    const started = performance.now()
    const written = this.peer.change(this.expected)
    const took = (await notified) - started
    await written
    return took
  }

  /** @param {string} value */
  #onValue(value) {
    if (value === this.expected && ++this.notifiedCount === this.watchers.length) this.done()
  }

  async close() {
    for (const close of this.watchers) await close()
  }
}

/**
 * @param {readonly import('./peer.js').Peer[]} peers
 * @param {import('../rounds.js').Effort} effort
 * @param {readonly number[]} [sizes] - numbers of watching clients; the first must be 1
 * @returns {Promise<import('../report.js').Table[]>}
 */
export async function measureNotifications(peers, effort, sizes = effort.quick ? [1, 100] : [1, 100, 1000]) {
  const stores = peers.map(peer => new WatchedStore(peer))
  /** @type {import('../report.js').Table} */
  const latency = { title: 'Change to notification, one change at a time, one watching client', rows: [] }
  /** @type {import('../report.js').Table} */
  const fanOut = { title: 'Fan-out, from a change until the last watching client is notified', rows: [] }
  for (const size of sizes) {
    for (const store of stores) {
      progress(`opening ${size} watching clients of ${store.peer.name}`)
      await store.openWatchers(size)
    }
    const rounds = await changeInTurns(`fan-out to ${size}`, stores, effort)
    for (const [i, { peer }] of stores.entries()) {
      const took = rounds.map(round => round[i] ?? [])
      if (size === 1) latency.rows.push({ store: peer.name, ...quantiles(took.flat()), ...comparison(rounds, i) })
      fanOut.rows.push({ store: peer.name, clients: size, median: ms(median(took.flat())), ...comparison(rounds, i) })
    }
  }
  for (const store of stores) await store.close()
  return [latency, fanOut]
}

/** @param {number[]} took */
const quantiles = took => ({ changes: took.length, p50: ms(median(took)), p99: ms(quantile(took, 0.99)) })

/**
 * Returns the duration of every change, ms, by round and store.
 *
 * @param {string} label
 * @param {readonly WatchedStore[]} stores
 * @param {import('../rounds.js').Effort} effort
 */
async function changeInTurns(label, stores, effort) {
  /** @type {number[][][]} */
  const rounds = []
  for (const store of stores) for (let i = 0; i < 10; i++) await store.change()
  for (let round = 0; round < effort.rounds; round++) {
    /** @type {number[][]} */
    const took = stores.map(() => [])
    for (let turn = 0; turn < stores.length; turn++) {
      const i = (round + turn) % stores.length
      progress(`${label}: round ${round + 1} of ${effort.rounds}, ${stores[i]?.peer.name}`)
      const end = performance.now() + effort.ms
      do took[i]?.push((await stores[i]?.change()) ?? Number.NaN)
      while (performance.now() < end)
    }
    rounds.push(took)
  }
  return rounds
}

/**
 * Divides the median time of a peer by the time of this library within each round; higher is better for this library.
 *
 * @param {number[][][]} rounds @param {number} i
 */
function comparison(rounds, i) {
  if (i === 0) return { 'theirs / ours': '', spread: '' }
  const ratios = rounds.map(round => median(round[i] ?? []) / median(round[0] ?? []))
  return { 'theirs / ours': times(median(ratios)), spread: times(spread(ratios)) }
}
