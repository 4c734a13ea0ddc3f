// From a change in one client to its notice in others.
import { median, ms, progress, quantile, spread, times } from '../report.js'

/** Clients that are opened at a time. */
const BATCH = 50

/** A peer with clients that watch, and what waits for all of them. */
class Audience {
  /** @param {import('./peer.js').Peer} peer */
  constructor(peer) {
    this.peer = peer
    /** @type {(() => Promise<unknown>)[]} */
    this.watchers = []
    this.number = 0
    this.expected = ''
    this.seen = 0
    this.done = () => {}
  }

  /** @param {number} size */
  async grow(size) {
    const open = () => this.peer.watch(value => this.#saw(value))
    while (this.watchers.length < size) {
      const few = Math.min(BATCH, size - this.watchers.length)
      this.watchers.push(...(await Promise.all(Array.from({ length: few }, open))))
    }
  }

  /** Changes the key once. @returns {Promise<number>} ms until the last watcher knows */
  async change() {
    this.expected = String(++this.number).padStart(16, '0')
    this.seen = 0
    /** @type {Promise<number>} */
    const known = new Promise(resolve => {
      this.done = () => resolve(performance.now())
    })
    const started = performance.now()
    const written = this.peer.change(this.expected)
    const took = (await known) - started
    await written
    return took
  }

  /** @param {string} value */
  #saw(value) {
    if (value === this.expected && ++this.seen === this.watchers.length) this.done()
  }

  async close() {
    for (const close of this.watchers) await close()
  }
}

/**
 * @param {readonly import('./peer.js').Peer[]} peers
 * @param {import('../rounds.js').Effort} effort
 * @param {readonly number[]} [sizes] - watching clients, the first one 1
 * @returns {Promise<import('../report.js').Table[]>}
 */
export async function measureNotices(peers, effort, sizes = effort.quick ? [1, 100] : [1, 100, 1000]) {
  const audiences = peers.map(peer => new Audience(peer))
  /** @type {import('../report.js').Table} */
  const latency = { title: 'Change to notification, one change at a time, one watching client', rows: [] }
  /** @type {import('../report.js').Table} */
  const fanOut = { title: 'Fan-out, from a change until the last watching client knows', rows: [] }
  for (const size of sizes) {
    for (const audience of audiences) {
      progress(`opening ${size} watching clients of ${audience.peer.name}`)
      await audience.grow(size)
    }
    const rounds = await changeInTurns(`fan-out to ${size}`, audiences, effort)
    for (const [i, { peer }] of audiences.entries()) {
      const took = rounds.map(round => round[i] ?? [])
      if (size === 1) latency.rows.push({ store: peer.name, ...quantiles(took.flat()), ...against(rounds, i) })
      fanOut.rows.push({ store: peer.name, clients: size, median: ms(median(took.flat())), ...against(rounds, i) })
    }
  }
  for (const audience of audiences) await audience.close()
  return [latency, fanOut]
}

/** @param {number[]} took */
const quantiles = took => ({ changes: took.length, p50: ms(median(took)), p99: ms(quantile(took, 0.99)) })

/**
 * ms of every change, by round and audience.
 *
 * @param {string} label
 * @param {readonly Audience[]} audiences
 * @param {import('../rounds.js').Effort} effort
 */
async function changeInTurns(label, audiences, effort) {
  /** @type {number[][][]} */
  const rounds = []
  for (const audience of audiences) for (let i = 0; i < 10; i++) await audience.change()
  for (let round = 0; round < effort.rounds; round++) {
    /** @type {number[][]} */
    const took = audiences.map(() => [])
    for (let turn = 0; turn < audiences.length; turn++) {
      const i = (round + turn) % audiences.length
      progress(`${label}: round ${round + 1} of ${effort.rounds}, ${audiences[i]?.peer.name}`)
      const end = performance.now() + effort.ms
      do took[i]?.push((await audiences[i]?.change()) ?? Number.NaN)
      while (performance.now() < end)
    }
    rounds.push(took)
  }
  return rounds
}

/** Their median time divided by ours, round by round: more is better for us. @param {number[][][]} rounds @param {number} i */
function against(rounds, i) {
  if (i === 0) return { 'theirs / ours': '', spread: '' }
  const ratios = rounds.map(round => median(round[i] ?? []) / median(round[0] ?? []))
  return { 'theirs / ours': times(median(ratios)), spread: times(spread(ratios)) }
}
