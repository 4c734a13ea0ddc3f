// Compares writes that are on disk before they are acknowledged. Each server has its own client, and all use the same
// disk.

import { startEtcd } from './peers/etcd.js'
import { startOurs } from './peers/ours.js'
import { startInstalled } from './peers/peer.js'
import { startRedis } from './peers/redis.js'
import { measureRequests } from './peers/requests.js'
import { onDisk } from './peers/server.js'
import { writeKeys } from './raw/client.js'
import { startStore } from './support/child.js'
import { bytes, progress } from './support/report.js'

/**
 * @param {import('./support/rounds.js').Effort} effort
 * @param {(reason: string) => void} reportMissing
 * @returns {Promise<import('./support/report.js').Table[]>}
 */
export async function measureDurable(effort, reportMissing) {
  const others = {
    'Redis, appendfsync always': () => startRedis('Redis, always', onDisk()),
    etcd: () => startEtcd(onDisk()),
  }
  const ours = [await startOurs('durable', onDisk()), await startOurs('in memory')]
  const peers = [...ours, ...(await startInstalled(others, reportMissing))]
  const rows = await measureRequests(peers, effort, { header: 'durable / theirs' })
  for (const { close } of peers) await close()
  return [{ title: 'Durable writes of 16 B, on the same disk', rows }, await measureStart(effort.quick ? 1e4 : 1e6)]
}

/** Measures the start of a store with `keys` keys of 100 bytes. @param {number} keys */
async function measureStart(keys) {
  progress(`a start with ${keys} keys`)
  const data = onDisk()
  const child = await startStore(undefined, data)
  await writeKeys(child.url, keys)
  await child.close()
  const started = performance.now()
  const restarted = await startStore(undefined, data)
  const seconds = (performance.now() - started) / 1000
  const restoredKeys = Object(await restarted.ask({ type: 'stats' })).keys
  const peakBytes = Number(await restarted.ask({ type: 'peak' }))
  if (restoredKeys !== keys) throw new Error(`The restarted store has ${restoredKeys} of ${keys} keys`)
  await restarted.close()
  return {
    title: 'Durable store, start',
    rows: [{ keys, each: '100 B', 'listens after': `${seconds.toFixed(2)} s`, 'peak memory': bytes(peakBytes) }],
  }
}
