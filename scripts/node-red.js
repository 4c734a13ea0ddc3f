import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = new URL('..', import.meta.url).pathname
const PACKAGE = join(ROOT, 'integrations/node-red')
const RUNTIMES = join(ROOT, 'spec/system/runtimes/node_modules')
/** It asks for more than Node 20. */
const NODE = join(RUNTIMES, `node-22-${process.platform}-${process.arch}/bin/node`)
const RED = join(RUNTIMES, 'node-red/red.js')

/** Whether `npm run runtimes` has installed it. */
export const hasNodeRed = existsSync(NODE) && existsSync(RED)

/** A Node-RED in a process and a folder of its own, with our nodes in it. */
export class NodeRed {
  /** Of its editor and of the HTTP nodes. @readonly @type {string} */
  url
  /** @type {string[]} */
  #said = []
  /** @type {Set<() => void>} */
  #waiters = new Set()
  /** @type {import('node:child_process').ChildProcess} */
  #process
  /** @type {string} */
  #folder

  /** @param {number} port @param {string} folder */
  constructor(port, folder) {
    this.url = `http://127.0.0.1:${port}`
    this.#folder = folder
    // Nothing of what surrounds us: neither settings of a user nor those of a run of specs.
    const env = { PATH: process.env['PATH'], HOME: folder }
    this.#process = spawn(NODE, [RED, '--userDir', folder], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    if (this.#process.stdout === null) throw new Error('Node-RED has no output')
    createInterface({ input: this.#process.stdout }).on('line', line => this.#hear(line))
    // Whoever ends without having stopped it leaves none behind.
    const kill = () => this.#process.kill('SIGKILL')
    process.once('exit', kill)
    this.#process.once('exit', () => process.off('exit', kill))
    this.#process.once('exit', code => this.#hear(`Node-RED ended (${code})`))
  }

  /** Settles when it runs, without flows. */
  static async start() {
    const folder = await mkdtemp(join(tmpdir(), 'rx-statestore-node-red-'))
    const port = await freePort()
    await install(folder)
    await writeFile(join(folder, 'settings.js'), `module.exports = ${JSON.stringify(settingsOf(port))}`)
    const red = new NodeRed(port, folder)
    await Promise.all([red.says(/Server now running/), red.says(/Started flows/)])
    return red
  }

  /** Settles as soon as it has said so, or when it did before. @param {RegExp} what */
  async says(what) {
    return this.#saysAfter(0, what)
  }

  /**
   * Replaces all flows, and settles when the new ones have started.
   *
   * @param {readonly object[]} flows
   * @param {'full' | 'nodes'} [type] - whether all nodes start anew, or only those that were changed
   */
  async deploy(flows, type = 'full') {
    const from = this.#said.length
    const headers = { 'content-type': 'application/json', 'node-red-deployment-type': type }
    const response = await fetch(`${this.url}/flows`, { method: 'POST', headers, body: JSON.stringify(flows) })
    if (!response.ok) throw new Error(`Node-RED refused the flows: ${await response.text()}`)
    await this.#saysAfter(from, /Started (flows|modified nodes)/)
  }

  async stop() {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, 'exit')
      this.#process.kill('SIGTERM')
      await ended
    }
    await rm(this.#folder, { recursive: true })
  }

  /** @param {string} line */
  #hear(line) {
    this.#said.push(line)
    for (const look of Array.from(this.#waiters)) look()
  }

  /** @param {number} from @param {RegExp} what @returns {Promise<void>} */
  #saysAfter(from, what) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const later = this.#said.slice(from)
        if (later.some(line => what.test(line))) resolve()
        else if (this.#said.at(-1)?.startsWith('Node-RED ended')) reject(new Error(this.#said.join('\n')))
        else return
        this.#waiters.delete(look)
      }
      this.#waiters.add(look)
      look()
    })
  }
}

/**
 * A flow of the examples, at a store of ours.
 *
 * @param {'thermostat' | 'lock'} name
 * @param {string} url
 * @returns {Promise<{ readonly id: string, readonly z?: string, readonly type: string }[]>}
 */
export async function exampleFlow(name, url) {
  const text = await readFile(join(PACKAGE, 'examples', `${name}.json`), 'utf8')
  return JSON.parse(text.replaceAll('mqtt://localhost:1883', url))
}

/** What a registry would get of our nodes, beside the library as it was built. @param {string} folder */
async function install(folder) {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json'], { cwd: PACKAGE })
  const [packed] = Object.values(JSON.parse(stdout))
  const modules = join(folder, 'node_modules')
  for (const { path } of packed.files)
    await cp(join(PACKAGE, path), join(modules, 'node-red-contrib-rx-statestore', path))
  await mkdir(modules, { recursive: true })
  await symlink(ROOT, join(modules, 'rx-statestore'))
  const dependencies = { 'node-red-contrib-rx-statestore': '*' }
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'flows', private: true, dependencies }))
}

/** Nothing of it goes out: no palette of others, no questions, no news. @param {number} port */
const settingsOf = port => ({
  uiHost: '127.0.0.1',
  uiPort: port,
  flowFile: 'flows.json',
  credentialSecret: false,
  telemetry: { enabled: false, updateNotification: false },
  externalModules: { autoInstall: false, palette: { allowInstall: false } },
  editorTheme: { tours: false, palette: { catalogues: [] } },
})

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('No port')
  return address.port
}
