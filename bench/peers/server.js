import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const PATIENCE = 20_000

/** A port that is free at the moment. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return address !== null && typeof address === 'object' ? address.port : 0
}

/** Ports that are free at the moment, all different. @param {number} count */
export async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map(server => once(server, 'listening')))
  const ports = servers.map(server => Number(Object(server.address()).port))
  await Promise.all(servers.map(server => once(server.close(), 'close')))
  return ports
}

/** A folder for what a server insists on writing: in memory where there is such a place, as our store keeps nothing. */
export const scratch = () => folderIn(['/dev/shm', tmpdir()])

/** A folder on the disk, the same for all who are compared. */
export const onDisk = () => folderIn([new URL('..', import.meta.url).pathname])

/** @param {readonly string[]} parents */
function folderIn(parents) {
  for (const parent of parents) {
    try {
      const folder = mkdtempSync(join(parent, '.bench-'))
      process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
      return folder
    } catch {
      // The next place will do.
    }
  }
  throw new Error('there is nowhere to write')
}

/**
 * Starts the server of a Debian package and waits until it listens. It ends with us, however we end.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {number} port
 * @returns {Promise<{ pid: number, stop: () => Promise<void> }>}
 */
export async function startServer(command, args, port) {
  // Not every login has the folders of services on its path.
  const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` }
  const child = spawn(command, args, { env, stdio: 'ignore' })
  /** @type {Promise<never>} */
  const failed = new Promise((_resolve, reject) => {
    child.once('error', () => reject(new Error(`${command} is not installed: apt-get install ${command}`)))
    child.once('exit', code => reject(new Error(`${command} ended with exit code ${code}`)))
  })
  const kill = () => void child.kill('SIGKILL')
  // Before its folder goes, into which it would write again.
  process.prependOnceListener('exit', kill)
  await Promise.race([failed, listening(port)])
  failed.catch(() => undefined)
  const stop = async () => {
    const exited = once(child, 'exit')
    kill()
    await exited
    process.off('exit', kill)
  }
  return { pid: child.pid ?? 0, stop }
}

/** @param {number} port */
async function listening(port) {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await sleep(50)) {
    const socket = connect(port, '127.0.0.1')
    const open = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (open) return
  }
  throw new Error(`nothing listens on port ${port}`)
}
