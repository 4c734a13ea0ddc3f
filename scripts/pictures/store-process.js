import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const COMMAND = new URL('../../dist/cli/main.js', import.meta.url).pathname

/**
 * Starts `rx-statestore` in a separate process.
 *
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} [options]
 * @param {readonly string[]} [nodeFlags]
 */
export const startCommand = (args, options = {}, nodeFlags = []) =>
  spawn(process.execPath, [...nodeFlags, COMMAND, ...args], { stdio: ['ignore', 'pipe', 'inherit'], ...options })

/**
 * Starts `serve --config` with a directory and metrics, as an operator does.
 *
 * @param {import('node:child_process').SpawnOptions} [options]
 * @param {readonly string[]} [nodeFlags]
 */
export async function startConfiguredStore(options = {}, nodeFlags = []) {
  const folder = await mkdtemp(join(tmpdir(), 'rx-statestore-picture-'))
  const settings = ['port: 0', 'ws-port: 0', `data: ${JSON.stringify(join(folder, 'data'))}`, 'metrics: 0']
  await writeFile(join(folder, 'store.yaml'), settings.join('\n'))
  const child = startCommand(['serve', '--json', '--config', join(folder, 'store.yaml')], options, nodeFlags)
  if (child.stdout === null) throw new Error('the store has no output')
  const [line] = await once(child.stdout, 'data')
  const { url, metrics } = JSON.parse(String(line))
  return {
    /** @type {string} */
    url,
    /** The address of `/metrics`. @type {string} */
    metrics,
    stop: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true })
    },
  }
}
