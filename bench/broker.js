// Compares the built-in broker with the broker of another checkout, Mosquitto and aedes.
import { spawnSync } from 'node:child_process'
import { measureAttached } from './broker/attached.js'
import { startAedes, startMosquitto, startOurs } from './broker/brokers.js'
import { measureFanOut } from './broker/fan-out.js'
import { measureIdle } from './broker/idle.js'
import { measureRequests } from './broker/requests.js'
import { measureTraffic } from './broker/traffic.js'
import { progress } from './report.js'

/** @type {Record<string, () => Promise<import('./broker/brokers.js').Broker>>} */
const OTHERS = {
  Mosquitto: startMosquitto,
  'aedes 1.2': () => startAedes('aedes 1.2', 'aedes', 4),
  'aedes 2 beta': () => startAedes('aedes 2 beta', 'aedes-next', 5),
}

/**
 * @param {import('./rounds.js').Effort} effort
 * @param {(reason: string) => void} reportMissing
 * @param {string} [before] - directory of another built checkout to compare with
 * @returns {Promise<import('./report.js').Table[]>}
 */
export async function measureBroker(effort, reportMissing, before) {
  const stores = [{ name: 'rx-statestore' }, ...(before === undefined ? [] : [{ name: 'before', directory: before }])]
  return [
    await measureOrdinary(stores, effort, reportMissing),
    await measureRequests(stores, effort),
    ...(await measureExistingBroker(effort, reportMissing)),
    await measureFanOut(stores, effort),
    ...(await measureIdle(stores, effort)),
  ]
}

/**
 * @param {import('./rounds.js').Effort} effort
 * @param {(reason: string) => void} reportMissing
 */
async function measureExistingBroker(effort, reportMissing) {
  if (spawnSync('mosquitto', ['-h']).error === undefined) return [await measureAttached(effort)]
  reportMissing('a store attached to Mosquitto: mosquitto is not installed')
  return []
}

/**
 * @param {readonly { name: string, directory?: string }[]} stores
 * @param {import('./rounds.js').Effort} effort
 * @param {(reason: string) => void} reportMissing
 */
async function measureOrdinary(stores, effort, reportMissing) {
  const brokers = []
  for (const { name, directory } of stores) brokers.push(await startOurs(name, directory))
  for (const [name, start] of Object.entries(OTHERS)) {
    progress(`starting ${name}`)
    await start().then(
      broker => brokers.push(broker),
      error => reportMissing(`${name}: ${error.message}`),
    )
  }
  const table = await measureTraffic(brokers, effort)
  for (const { close } of brokers) await close()
  return table
}
