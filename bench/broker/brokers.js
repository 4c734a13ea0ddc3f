import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, scratch, startServer } from '../peers/server.js'
import { start, startStore } from '../support/child.js'

/**
 * A broker that runs as a separate process.
 *
 * @typedef {object} Broker
 * @property {string} name
 * @property {string} url
 * @property {4 | 5} version - latest supported MQTT protocol version
 * @property {number} pid
 * @property {() => Promise<unknown>} close
 */

/**
 * @param {string} name
 * @param {string} [directory] - another checkout to run
 * @returns {Promise<Broker>}
 */
export const startOurs = async (name, directory) => ({ ...(await startStore(directory)), name, version: 5 })

/** @param {string} name @param {string} client - package in bench/clients @param {4 | 5} version @returns {Promise<Broker>} */
export async function startAedes(name, client, version) {
  const child = await start('./broker/aedes-process.js', [client])
  return { ...child, name, url: String(child.ready), version }
}

/**
 * Starts Mosquitto without queue limits and, like the other brokers, without Nagle's algorithm.
 *
 * @returns {Promise<Broker>}
 */
export async function startMosquitto() {
  const port = await freePort()
  const config = join(scratch(), 'mosquitto.conf')
  const lines = [`listener ${port} 127.0.0.1`, 'allow_anonymous true', 'set_tcp_nodelay true']
  writeFileSync(config, [...lines, 'max_inflight_messages 0', 'max_queued_messages 0', ''].join('\n'))
  const { pid, stop } = await startServer('mosquitto', ['-c', config], port)
  return { name: 'Mosquitto', url: `mqtt://127.0.0.1:${port}`, version: 5, pid, close: stop }
}
