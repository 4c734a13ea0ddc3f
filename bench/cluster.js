// Compares three nodes on three NATS servers with NATS KV on the same servers and with three members of etcd, all on
// the same disk.
import { measureFailover } from './cluster/failover.js'
import { startNatsServers } from './cluster/nats-servers.js'
import { startNode, startNodes } from './cluster/nodes.js'
import { startMembers } from './peers/etcd.js'
import { openNats } from './peers/nats.js'
import { measureNotifications } from './peers/notifications.js'
import { startInstalled } from './peers/peer.js'
import { measureRequests } from './peers/requests.js'
import { onDisk } from './peers/server.js'
import { writeKeys } from './raw/client.js'
import { bytes, ms, progress } from './support/report.js'

/**
 * @param {import('./support/rounds.js').Effort} effort
 * @param {(reason: string) => void} reportMissing
 * @param {number} [keys] - number of keys when a new node starts
 * @returns {Promise<import('./support/report.js').Table[]>}
 */
export async function measureCluster(effort, reportMissing, keys = effort.quick ? 2e3 : 1e5) {
  progress('starting three NATS servers and three nodes')
  // The members start in parallel, because the election of leaders takes seconds.
  const etcd = startMembers([onDisk(), onDisk(), onDisk()])
  etcd.catch(() => undefined)
  const nats = await startNatsServers().catch(error => reportMissing(`a cluster of NATS: ${error.message}`))
  if (!nats) return []
  const nodes = await startNodes(nats.servers)
  const natsKv = () => openNats(nats.servers, { storage: 'file', replicas: 3, history: 1 })
  const others = await startInstalled({ 'NATS KV': natsKv, etcd: () => etcd }, reportMissing)
  const peers = [nodes, ...others]
  const title = 'Three servers each, requests of 16 B, flushed before the response'
  const tables = [
    { title, rows: await measureRequests(peers, effort) },
    ...(await measureNotifications(peers, effort, effort.quick ? [1, 30] : [1, 1000])),
  ]
  for (const { close } of others) await close()
  tables.push(await measureFailover(nats, nodes.nodes, effort))
  tables.push(await measureStart(nats.servers, nodes.nodes, keys))
  await nodes.close()
  await nats.stop()
  return tables
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
  const loadingAt = performance.now()
  await writeKeys(nodes[0]?.url ?? '', keys)
  const loadedAt = performance.now()
  const node = await startNode(servers, 'd')
  const took = performance.now() - loadedAt
  const loadedKeys = Object(await node.child().ask({})).keys
  const peakBytes = Number(await node.child().ask({ type: 'peak' }))
  if (loadedKeys < keys) throw new Error(`The new node has ${loadedKeys} of ${keys} keys`)
  await node.child().close()
  const written = { keys, each: '100 B', 'written in': ms(loadedAt - loadingAt) }
  return {
    title: 'Start of an empty node',
    rows: [{ ...written, 'listens after': ms(took), 'peak memory': bytes(peakBytes) }],
  }
}
