// Compares three stores: this store attached to Mosquitto, a hand-written store on Mosquitto, and this store with its
// built-in broker.
import { bytes } from 'rx-statestore'
import { handWritten } from '../peers/hand-written.js'
import { openOurs } from '../peers/ours.js'
import { measureRequests } from '../peers/requests.js'
import { start, startStore } from '../support/child.js'
import { startMosquitto } from './brokers.js'

const VALUE = new Uint8Array(16)

/**
 * @param {string} name
 * @param {string} service - script of the store
 * @param {(url: string) => Promise<import('../peers/peer.js').Contestant>} openClient
 */
async function openAtMosquitto(name, service, openClient) {
  const broker = await startMosquitto()
  const store = await start(service, [broker.url])
  const client = await openClient(broker.url)
  return { ...client, name, close: () => client.close().then(store.close).then(broker.close) }
}

/**
 * @param {import('../support/rounds.js').Effort} effort
 * @returns {Promise<import('../support/report.js').Table>}
 */
export async function measureAttached(effort) {
  const ours = (/** @type {string} */ url) => openOurs([url], 'rx-statestore, built-in broker', bytes, VALUE)
  const builtIn = await startStore()
  const contestants = [
    await openAtMosquitto('rx-statestore on Mosquitto', './broker/attached-process.js', ours),
    await openAtMosquitto('hand-written on Mosquitto', './broker/responder-process.js', url => handWritten(url, VALUE)),
    await ours(builtIn.url),
  ]
  const rows = await measureRequests(contestants, effort, { header: 'first / this' })
  for (const { close } of contestants) await close()
  await builtIn.close()
  return { title: 'Store attached to Mosquitto, requests of 16 B', rows }
}
