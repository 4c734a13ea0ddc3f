// Compares the built-in broker with the broker of another checkout, Mosquitto and aedes.
import { spawnSync } from 'node:child_process'
import { bytes } from 'rx-statestore'
import { measureAttached } from './broker/attached.js'
import { startAedes, startMosquitto, startOurs } from './broker/brokers.js'
import { measureBrokerFanOut } from './broker/fan-out.js'
import { measureIdle } from './broker/idle.js'
import { measureTraffic } from './broker/traffic.js'
import { openOurs } from './peers/ours.js'
import { startInstalled } from './peers/peer.js'
import { measureRequests } from './peers/requests.js'

const OTHERS = {
  Mosquitto: startMosquitto,
  'aedes 1.2': () => startAedes('aedes 1.2', 'aedes', 4),
  'aedes 2 beta': () => startAedes('aedes 2 beta', 'aedes-next', 5),
}

/**
 * @param {import('./support/rounds.js').Effort} effort
 * @param {(reason: string) => void} reportMissing
 * @param {string} [before] - directory of another built checkout to compare with
 * @returns {Promise<import('./support/report.js').Table[]>}
 */
export async function measureBroker(effort, reportMissing, before) {
  const stores = [{ name: 'rx-statestore' }, ...(before === undefined ? [] : [{ name: 'before', directory: before }])]
  return [
    ...(await measureBrokers(stores, effort, reportMissing)),
    ...(await measureExistingBroker(effort, reportMissing)),
    await measureBrokerFanOut(stores, effort),
    ...(await measureIdle(stores, effort)),
  ]
}

/**
 * Measures ordinary messages of all brokers, and requests of the client of this package to the stores.
 *
 * @param {readonly { name: string, directory?: string }[]} stores
 * @param {import('./support/rounds.js').Effort} effort
 * @param {(reason: string) => void} reportMissing
 */
async function measureBrokers(stores, effort, reportMissing) {
  const ours = await Promise.all(stores.map(({ name, directory }) => startOurs(name, directory)))
  const others = await startInstalled(OTHERS, reportMissing)
  const traffic = await measureTraffic([...ours, ...others], effort)
  for (const { close } of others) await close()
  const clients = []
  for (const { name, url, pid } of ours)
    clients.push({ ...(await openOurs([url], name, bytes, new Uint8Array(16))), pid })
  const rows = await measureRequests(clients, effort)
  for (const { close } of [...clients, ...ours]) await close()
  return [traffic, { title: 'Broker, client requests of 16 B', rows }]
}

/**
 * @param {import('./support/rounds.js').Effort} effort
 * @param {(reason: string) => void} reportMissing
 */
async function measureExistingBroker(effort, reportMissing) {
  if (spawnSync('mosquitto', ['-h']).error === undefined) return [await measureAttached(effort)]
  reportMissing('a store attached to Mosquitto: mosquitto is not installed')
  return []
}
