import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NO_NATS_SERVER, natsServer } from '../../scripts/nats-server.js'
import { freePorts, onDisk, startServer } from '../peers/server.js'

/**
 * Three NATS servers, each of which can be killed and restarted.
 *
 * @typedef {object} NatsServers
 * @property {string[]} servers - addresses for clients
 * @property {(index: number) => Promise<void>} run
 * @property {(index: number) => Promise<void>} kill
 * @property {() => Promise<void>} stop
 */

/**
 * Starts servers that flush each message before they acknowledge it, with their files on the disk of the checkout.
 *
 * @returns {Promise<NatsServers>}
 */
export async function startNatsServers() {
  const command = natsServer()
  if (command === undefined) throw new Error(NO_NATS_SERVER)
  const folder = onDisk()
  const indexes = [0, 1, 2]
  const ports = await freePorts(2 * indexes.length)
  const [clients, routes] = [ports.slice(0, indexes.length), ports.slice(indexes.length)]
  const files = indexes.map(index => {
    const directory = join(folder, String(index))
    mkdirSync(directory)
    const file = join(directory, 'nats.conf')
    const lines = [
      `server_name: n${index}`,
      `listen: "127.0.0.1:${clients[index]}"`,
      `jetstream { store_dir: ${JSON.stringify(directory)}, sync_interval: always }`,
      `cluster { name: bench, listen: "127.0.0.1:${routes[index]}", routes: [${routes.map(port => `nats://127.0.0.1:${port}`)}] }`,
    ]
    writeFileSync(file, lines.join('\n'))
    return file
  })
  /** @type {(undefined | Awaited<ReturnType<typeof startServer>>)[]} */
  const processes = []
  const run = async (/** @type {number} */ index) => {
    processes[index] = await startServer(command, ['-c', files[index] ?? ''], clients[index] ?? 0)
  }
  const kill = async (/** @type {number} */ index) => {
    const running = processes[index]
    processes[index] = undefined
    await running?.stop()
  }
  const stop = async () => void (await Promise.all(indexes.map(kill)))
  await Promise.all(indexes.map(run))
  return { servers: clients.map(port => `nats://127.0.0.1:${port}`), run, kill, stop }
}
