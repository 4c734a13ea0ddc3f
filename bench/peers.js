// Compares client and store with alternatives. Each alternative has its own client and server on loopback.
import { startEtcd } from './peers/etcd.js'
import { startNats } from './peers/nats.js'
import { measureNotifications } from './peers/notifications.js'
import { startOurs } from './peers/ours.js'
import { startInstalled } from './peers/peer.js'
import { startRedis } from './peers/redis.js'
import { measureRequests } from './peers/requests.js'

/**
 * @param {import('./support/rounds.js').Effort} effort
 * @param {(reason: string) => void} reportMissing
 * @returns {Promise<import('./support/report.js').Table[]>}
 */
export async function measurePeers(effort, reportMissing) {
  const others = { Redis: startRedis, 'NATS KV': startNats, etcd: startEtcd }
  const peers = [await startOurs(), ...(await startInstalled(others, reportMissing))]
  const rows = await measureRequests(peers, effort)
  const notifications = await measureNotifications(peers, effort)
  for (const { close } of peers) await close()
  return [{ title: 'Client and store, and others: requests of 16 B', rows }, ...notifications]
}
