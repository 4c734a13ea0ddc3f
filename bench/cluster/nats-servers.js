import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NO_NATS_SERVER, natsServer } from '../../scripts/nats-server.js'
import { freePorts, onDisk, startServer } from '../peers/server.js'

/**
 * Three NATS servers, each of which can be killed and run again.
 *
 * @typedef {object} NatsServers
 * @property {string[]} servers - addresses for clients
 * @property {(at: number) => Promise<void>} run
 * @property {(at: number) => Promise<void>} kill
 * @property {() => Promise<void>} stop
 */

/**
 * Each flushes what it acknowledges, and all have their files on the disk of the checkout.
 *
 * @returns {Promise<NatsServers>}
 */
export async function startNatsServers() {
  const command = natsServer()
  if (command === undefined) throw new Error(NO_NATS_SERVER)
  const folder = onDisk()
  const places = [0, 1, 2]
  const ports = await freePorts(2 * places.length)
  const [clients, routes] = [ports.slice(0, places.length), ports.slice(places.length)]
  const files = places.map(at => {
    const own = join(folder, String(at))
    mkdirSync(own)
    const file = join(own, 'nats.conf')
    const lines = [
      `server_name: n${at}`,
      `listen: "127.0.0.1:${clients[at]}"`,
      `jetstream { store_dir: ${JSON.stringify(own)}, sync_interval: always }`,
      `cluster { name: bench, listen: "127.0.0.1:${routes[at]}", routes: [${routes.map(port => `nats://127.0.0.1:${port}`)}] }`,
    ]
    writeFileSync(file, lines.join('\n'))
    return file
  })
  /** @type {(undefined | Awaited<ReturnType<typeof startServer>>)[]} */
  const processes = []
  const run = async (/** @type {number} */ at) => {
    processes[at] = await startServer(command, ['-c', files[at] ?? ''], clients[at] ?? 0)
  }
  const kill = async (/** @type {number} */ at) => {
    const running = processes[at]
    processes[at] = undefined
    await running?.stop()
  }
  const stop = async () => void (await Promise.all(places.map(kill)))
  await Promise.all(places.map(run))
  return { servers: clients.map(port => `nats://127.0.0.1:${port}`), run, kill, stop }
}
