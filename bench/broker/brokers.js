import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { start, startStore } from '../child.js'
import { freePort, scratch, startServer } from '../peers/server.js'

/**
 * A broker in a process of its own.
 *
 * @typedef {object} Broker
 * @property {string} name
 * @property {number} port
 * @property {4 | 5} version - of MQTT, the newest it speaks
 * @property {number} pid
 * @property {() => Promise<unknown>} close
 */

/** @param {string} url */
const portOf = url => Number(new URL(url).port)

/**
 * @param {string} name
 * @param {string} [directory] - of another checkout
 * @returns {Promise<Broker>}
 */
export async function startOurs(name, directory) {
  const { url, pid, close } = await startStore(directory)
  return { name, port: portOf(url), version: 5, pid, close }
}

/** @param {string} name @param {string} client - in bench/clients @param {4 | 5} version @returns {Promise<Broker>} */
export async function startAedes(name, client, version) {
  const { ready, pid, close } = await start('./broker/aedes-process.js', [client])
  return { name, port: portOf(String(ready)), version, pid, close }
}

/** With its own limits on what waits out of the way, and without the delay of small packets, as the others. @returns {Promise<Broker>} */
export async function startMosquitto() {
  const port = await freePort()
  const config = join(scratch(), 'mosquitto.conf')
  const lines = [`listener ${port} 127.0.0.1`, 'allow_anonymous true', 'set_tcp_nodelay true']
  writeFileSync(config, [...lines, 'max_inflight_messages 0', 'max_queued_messages 0', ''].join('\n'))
  const { pid, stop } = await startServer('mosquitto', ['-c', config], port)
  return { name: 'Mosquitto', port, version: 5, pid, close: stop }
}
