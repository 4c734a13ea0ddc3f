// Measures the time from a change by one client to its notification at other clients.
import { cpuTime } from '../support/cpu.js'
import { median, ms, progress, quantile } from '../support/report.js'
import { compare, inTurns } from '../support/rounds.js'

/** Number of clients that are opened concurrently. */
const BATCH_SIZE = 50
const WARM_UP_CHANGES = 20

/** A duration and CPU times, ms. @typedef {{ took: number, store: number, watchers: number }} Change */

/** A store with clients that watch a key. */
class WatchedStore {
  /** Changes by round. @type {Change[][]} */
  rounds = []
  /** @type {(() => unknown)[]} */
  #watchers = []
  #number = 0
  #expected = ''
  #notifiedCount = 0
  #done = () => {}

  /** @param {import('./peer.js').Watched} peer */
  constructor(peer) {
    this.name = peer.name
    this.peer = peer
  }

  /** @param {number} size */
  async openWatchers(size) {
    const open = () => this.peer.watch(value => this.#onValue(value))
    while (this.#watchers.length < size) {
      const batchSize = Math.min(BATCH_SIZE, size - this.#watchers.length)
      this.#watchers.push(...(await Promise.all(Array.from({ length: batchSize }, open))))
    }
    for (let i = 0; i < WARM_UP_CHANGES; i++) await this.#change()
  }

  /** Changes the key until a round is over. @param {number} roundMs */
  async round(roundMs) {
    const changes = []
    const end = performance.now() + roundMs
    do changes.push(await this.#change())
    while (performance.now() < end)
    this.rounds.push(changes)
  }

  /** Changes the key once and waits until the last watcher is notified. @returns {Promise<Change>} */
  async #change() {
    const { pid } = this.peer
    this.#expected = String(++this.#number).padStart(16, '0')
    this.#notifiedCount = 0
    /** @type {Promise<number>} */
    const notified = new Promise(resolve => {
      this.#done = () => resolve(performance.now())
    })
    const cpuTimes = () => (pid === undefined ? [0, 0] : [cpuTime(pid), cpuTime(process.pid)])
    const [storeBefore = 0, watchersBefore = 0] = cpuTimes()
    const started = performance.now()
    const written = this.peer.change(this.#expected)
    const took = (await notified) - started
    await written
    const [store = 0, watchers = 0] = cpuTimes()
    return { took, store: store - storeBefore, watchers: watchers - watchersBefore }
  }

  /** @param {string} value */
  #onValue(value) {
    if (value === this.#expected && ++this.#notifiedCount === this.#watchers.length) this.#done()
  }

  /** Returns the medians of all rounds. @param {keyof Change} part */
  medians(part) {
    return this.rounds.map(changes => median(changes.map(change => change[part])))
  }

  async close() {
    for (const close of this.#watchers) await close()
  }
}

/**
 * Opens watching clients and changes the key of each store in turn.
 *
 * @param {readonly WatchedStore[]} stores
 * @param {number} size - number of watching clients of each store
 * @param {import('../support/rounds.js').Effort} effort
 */
async function changeInTurns(stores, size, effort) {
  for (const store of stores) {
    progress(`opening ${size} watching clients of ${store.name}`)
    await store.openWatchers(size)
    store.rounds = []
  }
  await inTurns(`fan-out to ${size}`, stores, effort.rounds, store => store.round(effort.ms))
}

/**
 * Divides the median time of a store by the time of this library within each round; higher is better for this library.
 *
 * @param {readonly WatchedStore[]} stores @param {WatchedStore} store
 */
function comparison([ours], store) {
  if (ours === undefined || ours === store) return {}
  const { ratio, spread } = compare(store.medians('took'), ours.medians('took'))
  return { 'theirs / ours': ratio, spread }
}

/**
 * @param {readonly import('./peer.js').Peer[]} peers
 * @param {import('../support/rounds.js').Effort} effort
 * @param {readonly number[]} [sizes] - numbers of watching clients; the first must be 1
 * @returns {Promise<import('../support/report.js').Table[]>}
 */
export async function measureNotifications(peers, effort, sizes = effort.quick ? [1, 100] : [1, 100, 1000]) {
  const stores = peers.map(peer => new WatchedStore(peer))
  /** @type {import('../support/report.js').Table} */
  const latency = { title: 'Change to notification, one change at a time, one watching client', rows: [] }
  /** @type {import('../support/report.js').Table} */
  const fanOut = { title: 'Fan-out, from a change until the last watching client is notified', rows: [] }
  for (const size of sizes) {
    await changeInTurns(stores, size, effort)
    for (const store of stores) {
      const took = store.rounds.flat().map(change => change.took)
      const compared = comparison(stores, store)
      const quantiles = { changes: took.length, p50: ms(median(took)), p99: ms(quantile(took, 0.99)) }
      if (size === 1) latency.rows.push({ store: store.name, ...quantiles, ...compared })
      fanOut.rows.push({ store: store.name, clients: size, median: ms(median(took)), ...compared })
    }
  }
  for (const store of stores) await store.close()
  return [latency, fanOut]
}

/**
 * Measures one change to many watching clients, with the CPU time of the stores and of this process.
 *
 * @param {readonly import('./peer.js').Watched[]} watched
 * @param {number} size
 * @param {import('../support/rounds.js').Effort} effort
 */
export async function measureFanOut(watched, size, effort) {
  const stores = watched.map(each => new WatchedStore(each))
  await changeInTurns(stores, size, effort)
  const [ours] = stores
  const rows = stores.map(store => ({
    broker: store.name,
    median: ms(median(store.medians('took'))),
    'CPU of the store': ms(median(store.medians('store'))),
    'of the watchers': ms(median(store.medians('watchers'))),
    ...comparison(stores, store),
    ...(ours !== store && {
      'CPU, theirs / ours': compare(store.medians('store'), ours?.medians('store') ?? []).ratio,
    }),
  }))
  for (const store of stores) await store.close()
  return rows
}
