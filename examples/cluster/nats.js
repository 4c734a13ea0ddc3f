import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts, run } from './processes.js'

/**
 * Starts three NATS servers that keep acknowledged messages, as in docs/cluster.md.
 *
 * @param {string} command
 */
export async function startNats(command) {
  const folder = mkdtempSync(join(tmpdir(), 'rx-statestore-demo-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const names = ['a', 'b', 'c']
  const ports = await freePorts(2 * names.length)
  const routes = ports.slice(names.length).map(port => `nats://127.0.0.1:${port}`)
  const running = await Promise.all(
    names.map((name, at) => {
      const own = join(folder, name)
      mkdirSync(own)
      const lines = [
        `server_name: ${name}`,
        `listen: "127.0.0.1:${ports[at]}"`,
        `jetstream { store_dir: ${JSON.stringify(own)}, sync_interval: always }`,
        `cluster { name: demo, listen: "127.0.0.1:${ports[names.length + at]}", routes: [${routes.join(', ')}] }`,
      ]
      const file = join(own, 'nats.conf')
      writeFileSync(file, lines.join('\n'))
      return run(command, ['-c', file], /Server is ready/)
    }),
  )
  return {
    servers: names.map((_, at) => `nats://127.0.0.1:${ports[at]}`).join(','),
    stop: () => Promise.all(running.map(({ end }) => end('SIGKILL'))),
  }
}
