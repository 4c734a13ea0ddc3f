// Compares client and store with alternatives. Each alternative has its own client and server on loopback.
import { startEtcd } from './peers/etcd.js'
import { startNats } from './peers/nats.js'
import { measureNotifications } from './peers/notifications.js'
import { startOurs } from './peers/ours.js'
import { startRedis } from './peers/redis.js'
import { progress } from './report.js'
import { compare, medianRate, takeTurns, warmUp } from './rounds.js'

const OTHERS = { Redis: startRedis, 'NATS KV': startNats, etcd: startEtcd }

/**
 * @param {import('./rounds.js').Effort} effort
 * @param {(reason: string) => void} reportMissing
 * @returns {Promise<import('./report.js').Table[]>}
 */
export async function measurePeers(effort, reportMissing) {
  const peers = [await startOurs()]
  for (const [name, start] of Object.entries(OTHERS)) {
    progress(`starting ${name}`)
    await start().then(
      peer => peers.push(peer),
      error => reportMissing(`${name}: ${error.message}`),
    )
  }
  await warmUp(peers, effort)
  const tables = [await measureRequests(peers, effort), ...(await measureNotifications(peers, effort))]
  for (const { close } of peers) await close()
  return tables
}

/**
 * @param {readonly import('./peers/peer.js').Peer[]} peers
 * @param {import('./rounds.js').Effort} effort
 */
async function measureRequests(peers, effort) {
  /** @type {import('./report.js').Table} */
  const table = { title: 'Client and store, and others: requests of 16 B', rows: [] }
  for (const verb of /** @type {const} */ (['SET', 'GET'])) {
    for (const inFlight of [1, 256]) {
      const runners = peers.map(({ name, run }) => ({
        name,
        run: (/** @type {number} */ count) => run(verb, inFlight, count),
      }))
      const label = `${verb}, ${inFlight} in flight`
      const rates = await takeTurns(label, runners, effort, inFlight === 1 ? 20 : 4 * inFlight)
      const [ours = []] = rates
      for (const [i, { name }] of peers.entries()) {
        const theirs = rates[i] ?? []
        const cells = { request: verb, 'in flight': inFlight, rate: medianRate(theirs) }
        table.rows.push({ store: name, ...cells, ...comparison(ours, theirs) })
      }
    }
  }
  return table
}

/** @param {readonly number[]} ours @param {readonly number[]} theirs */
function comparison(ours, theirs) {
  const { ratio, spread } = compare(ours, theirs)
  return { 'ours / theirs': ours === theirs ? '' : ratio, spread: ours === theirs ? '' : spread }
}
