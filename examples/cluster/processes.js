import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'

/**
 * A running process.
 *
 * @typedef {object} Running
 * @property {string} line - the line of output by which the process was ready
 * @property {(signal: 'SIGTERM' | 'SIGKILL') => Promise<unknown>} end
 */

/**
 * Starts a process and waits until it is ready. The process ends with this one.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RegExp} ready
 * @returns {Promise<Running>}
 */
export async function run(command, args, ready) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = () => void child.kill('SIGKILL')
  process.prependOnceListener('exit', kill)
  const exited = once(child, 'exit')
  /** @type {string[]} */
  const output = []
  /** @type {Promise<string>} */
  const line = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`${command} ended (${code}): ${output.slice(-5).join('\n')}`)))
    for (const input of [child.stdout, child.stderr])
      createInterface({ input }).on('line', each => {
        output.splice(0, output.length - 20)
        output.push(each)
        if (ready.test(each)) resolve(each)
      })
  })
  const end = (/** @type {'SIGTERM' | 'SIGKILL'} */ signal) => {
    process.off('exit', kill)
    child.kill(signal)
    return exited
  }
  return { line: await line, end }
}

/** Returns ports that were free a moment ago. @param {number} count */
export async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map(server => once(server, 'listening')))
  const ports = servers.map(server => Object(server.address()).port)
  await Promise.all(servers.map(server => once(server.close(), 'close')))
  return ports
}
