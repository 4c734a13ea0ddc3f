import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const START_TIMEOUT_MS = 20_000

export const freePort = async () => (await freePorts(1))[0] ?? 0

/** Returns distinct free ports. @param {number} count */
export async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map(server => once(server, 'listening')))
  const ports = servers.map(server => Number(Object(server.address()).port))
  await Promise.all(servers.map(server => once(server.close(), 'close')))
  return ports
}

/** Creates a folder for a server without an in-memory mode, on an in-memory file system if the machine has one. */
export const scratch = () => folderIn(['/dev/shm', tmpdir()])

/** Creates a folder on disk. All servers use the same disk. */
export const onDisk = () => folderIn([new URL('..', import.meta.url).pathname])

/** @param {readonly string[]} parents */
function folderIn(parents) {
  for (const parent of parents) {
    try {
      const folder = mkdtempSync(join(parent, '.bench-'))
      process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
      return folder
    } catch {
      // The parent is not writable, so the next one is tried.
    }
  }
  throw new Error(`None of these folders is writable: ${parents.join(', ')}`)
}

/**
 * Starts the server of a Debian package and waits until it listens. The server is killed when this process exits.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {number} port
 * @returns {Promise<{ pid: number, stop: () => Promise<void> }>}
 */
export async function startServer(command, args, port) {
  // PATH may lack the folders of services.
  const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` }
  const child = spawn(command, args, { env, stdio: 'ignore' })
  /** @type {Promise<never>} */
  const failed = new Promise((_resolve, reject) => {
    child.once('error', () => reject(new Error(`${command} is not installed: apt-get install ${command}`)))
    child.once('exit', code => reject(new Error(`${command} exited with code ${code}`)))
  })
  const kill = () => void child.kill('SIGKILL')
  // The server is killed before its folder is deleted, because it would write to the folder again.
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
  for (const end = Date.now() + START_TIMEOUT_MS; Date.now() < end; await sleep(50)) {
    const socket = connect(port, '127.0.0.1')
    const isConnected = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isConnected) return
  }
  throw new Error(`nothing listens on port ${port} after ${START_TIMEOUT_MS / 1000} s`)
}
