// Compares writes that are on disk before they are acknowledged. Each server has its own client, and all use the same
// disk.
import { startStore } from './child.js'
import { startEtcd } from './peers/etcd.js'
import { startOurs } from './peers/ours.js'
import { startRedis } from './peers/redis.js'
import { onDisk } from './peers/server.js'
import { numbered, RawClient } from './raw/client.js'
import { bytes, progress } from './report.js'
import { compare, medianRate, takeTurns, warmUp } from './rounds.js'

/**
 * @param {import('./rounds.js').Effort} effort
 * @param {(reason: string) => void} reportMissing
 * @returns {Promise<import('./report.js').Table[]>}
 */
export async function measureDurable(effort, reportMissing) {
  const peers = [await startOurs('durable', onDisk()), await startOurs('in memory')]
  const others = {
    'Redis, appendfsync always': () => startRedis('Redis, always', onDisk()),
    etcd: () => startEtcd(onDisk()),
  }
  for (const [name, start] of Object.entries(others)) {
    progress(`starting ${name}`)
    await start().then(
      peer => peers.push(peer),
      error => reportMissing(`${name}: ${error.message}`),
    )
  }
  await warmUp(peers, effort)
  const tables = [await measureRequests(peers, effort)]
  for (const { close } of peers) await close()
  return [...tables, await measureStart(effort.quick ? 1e4 : 1e6)]
}

/**
 * @param {readonly import('./peers/peer.js').Peer[]} peers
 * @param {import('./rounds.js').Effort} effort
 */
async function measureRequests(peers, effort) {
  /** @type {import('./report.js').Table} */
  const table = { title: 'Durable writes of 16 B, on the same disk', rows: [] }
  for (const verb of /** @type {const} */ (['SET', 'GET'])) {
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
        const compared = i === 0 ? { 'durable / theirs': '', spread: '' } : { 'durable / theirs': ratio, spread }
        table.rows.push({ store: name, request: verb, 'in flight': inFlight, rate: medianRate(theirs), ...compared })
      }
    }
  }
  return table
}

/** Measures the start of a store with `keys` keys of 100 bytes. @param {number} keys */
async function measureStart(keys) {
  progress(`a start with ${keys} keys`)
  const data = onDisk()
  const child = await startStore(undefined, data)
  const client = await RawClient.connect(child.url, 'bench-load')
  let next = 0
  await client.run(['SET', numbered('k'), 'x'.repeat(100)], keys, () => next++)
  client.close()
  await child.close()
  const started = performance.now()
  const restarted = await startStore(undefined, data)
  const seconds = (performance.now() - started) / 1000
  const restoredKeys = Object(await restarted.ask({ type: 'stats' })).keys
  const peakBytes = Number(await restarted.ask({ type: 'peak' }))
  if (restoredKeys !== keys) throw new Error(`The restarted store has ${restoredKeys} of ${keys} keys`)
  await restarted.close()
  /** @type {import('./report.js').Table} */
  return {
    title: 'Durable store, start',
    rows: [{ keys, each: '100 B', 'listens after': `${seconds.toFixed(2)} s`, 'peak memory': bytes(peakBytes) }],
  }
}
