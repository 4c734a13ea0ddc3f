// Compares three nodes on three NATS servers with NATS KV on the same servers and with three members of etcd, all on
// the same disk.
import { measureFailover } from './cluster/failover.js'
import { startNatsServers } from './cluster/nats-servers.js'
import { startNode, startNodes } from './cluster/nodes.js'
import { startMembers } from './peers/etcd.js'
import { openNats } from './peers/nats.js'
import { measureNotifications } from './peers/notifications.js'
import { onDisk } from './peers/server.js'
import { numbered, RawClient } from './raw/client.js'
import { bytes, ms, progress } from './report.js'
import { compare, medianRate, takeTurns } from './rounds.js'

const VERBS = /** @type {const} */ (['SET', 'GET'])

/**
 * @param {import('./rounds.js').Effort} effort
 * @param {(reason: string) => void} reportMissing
 * @param {number} [keys] - number of keys when a new node starts
 * @returns {Promise<import('./report.js').Table[]>}
 */
export async function measureCluster(effort, reportMissing, keys = effort.quick ? 2e3 : 1e5) {
  progress('starting three NATS servers and three nodes')
  // The members start in parallel, because the election of leaders takes seconds.
  const etcd = startMembers([onDisk(), onDisk(), onDisk()])
  etcd.catch(() => undefined)
  const nats = await startNatsServers().catch(error => reportMissing(`a cluster of NATS: ${error.message}`))
  if (!nats) return []
  const nodes = await startNodes(nats.servers)
  /** @type {import('./peers/peer.js').Peer[]} */
  const peers = [nodes]
  const others = {
    'NATS KV': () => openNats(nats.servers, { storage: 'file', replicas: 3, history: 1 }),
    etcd: () => etcd,
  }
  for (const [name, start] of Object.entries(others)) {
    progress(`starting ${name}`)
    await start().then(
      peer => peers.push(peer),
      error => reportMissing(`${name}: ${error.message}`),
    )
  }
  const tables = [
    await measureRequests(peers, effort),
    ...(await measureNotifications(peers, effort, effort.quick ? [1, 30] : [1, 1000])),
  ]
  for (const { close } of peers.slice(1)) await close()
  tables.push(await measureFailover(nats, nodes.nodes, effort))
  tables.push(await measureStart(nats.servers, nodes.nodes, keys))
  await nodes.close()
  await nats.stop()
  return tables
}

/**
 * @param {readonly import('./peers/peer.js').Peer[]} peers
 * @param {import('./rounds.js').Effort} effort
 */
async function measureRequests(peers, effort) {
  /** @type {import('./report.js').Table} */
  const table = { title: 'Three servers each, requests of 16 B, flushed before the response', rows: [] }
  for (const verb of effort.quick ? VERBS.slice(0, 1) : VERBS) {
    for (const inFlight of [1, 256]) {
      const runners = peers.map(({ name, run }) => ({
        name,
        run: (/** @type {number} */ count) => run(verb, inFlight, count),
      }))
      const rates = await takeTurns(
        `${verb}, ${inFlight} in flight`,
        runners,
        effort,
        inFlight === 1 ? 20 : 4 * inFlight,
      )
      const [ours = []] = rates
      for (const [i, { name }] of peers.entries()) {
        const theirs = rates[i] ?? []
        const { ratio, spread } = compare(ours, theirs)
        const compared = i === 0 ? { 'ours / theirs': '', spread: '' } : { 'ours / theirs': ratio, spread }
        table.rows.push({ store: name, request: verb, 'in flight': inFlight, rate: medianRate(theirs), ...compared })
      }
    }
  }
  return table
}

/**
 * Measures the time until a new node listens, with `keys` keys of 100 bytes in the log.
 *
 * @param {readonly string[]} servers
 * @param {readonly import('./cluster/nodes.js').Node[]} nodes
 * @param {number} keys
 */
async function measureStart(servers, nodes, keys) {
  progress(`a start with ${keys} keys`)
  const client = await RawClient.connect(nodes[0]?.url ?? '', 'bench-load')
  let next = 0
  const loadingAt = performance.now()
  await client.run(['SET', numbered('k'), 'x'.repeat(100)], keys, () => next++)
  const loadedAt = performance.now()
  client.close()
  const node = await startNode(servers, 'd')
  const took = performance.now() - loadedAt
  const loadedKeys = Object(await node.child().ask({})).keys
  const peakBytes = Number(await node.child().ask({ type: 'peak' }))
  if (loadedKeys < keys) throw new Error(`The new node has ${loadedKeys} of ${keys} keys`)
  await node.child().close()
  /** @type {import('./report.js').Table} */
  return {
    title: 'Start of an empty node',
    rows: [
      {
        keys,
        each: '100 B',
        'written in': ms(loadedAt - loadingAt),
        'listens after': ms(took),
        'peak memory': bytes(peakBytes),
      },
    ],
  }
}
