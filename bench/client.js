// Compares the client with a hand-written mqtt.js loop on the same store.
import { bytes } from 'rx-statestore'
import { handWritten } from './peers/hand-written.js'
import { openOurs } from './peers/ours.js'
import { measureRequests } from './peers/requests.js'
import { startStore } from './support/child.js'

const SIZES = [16, 1024, 64 * 1024]

/**
 * @param {import('./support/rounds.js').Effort} effort
 * @returns {Promise<import('./support/report.js').Table[]>}
 */
export async function measureClient(effort) {
  const store = await startStore()
  const rows = []
  for (const size of SIZES) {
    const value = new Uint8Array(size)
    const ours = await openOurs([store.url], 'rx-statestore', bytes, value)
    const contestants = [ours, await handWritten(store.url, value)]
    rows.push(...(await measureRequests(contestants, effort, { bytes: size })))
    for (const { close } of contestants) await close()
  }
  await store.close()
  return [{ title: 'Client and hand-written mqtt.js loop, requests', rows }]
}
