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
/** The Node for Node-RED, which requires a version newer than 20. */
const NODE = join(RUNTIMES, `node-22-${process.platform}-${process.arch}/bin/node`)
const RED = join(RUNTIMES, 'node-red/red.js')

/** Whether `npm run runtimes` has installed Node-RED. */
export const hasNodeRed = existsSync(NODE) && existsSync(RED)

/** A Node-RED with the nodes of this package, in a separate process with a separate folder. */
export class NodeRed {
  /** The address of the editor and of the HTTP nodes. @readonly @type {string} */
  url
  /** @type {string[]} */
  #output = []
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
    // The environment inherits nothing, neither settings of the user nor settings of a run of specs.
    const env = { PATH: process.env['PATH'], HOME: folder }
    this.#process = spawn(NODE, [RED, '--userDir', folder], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    if (this.#process.stdout === null) throw new Error('Node-RED has no output')
    createInterface({ input: this.#process.stdout }).on('line', line => this.#onLine(line))
    // A process that exits without stopping Node-RED leaves no Node-RED running.
    const kill = () => this.#process.kill('SIGKILL')
    process.once('exit', kill)
    this.#process.once('exit', () => process.off('exit', kill))
    this.#process.once('exit', code => this.#onLine(`Node-RED ended (${code})`))
  }

  /** Starts Node-RED without flows. Resolves once it runs. @param {number} [port] - default: a free port */
  static async start(port) {
    const folder = await mkdtemp(join(tmpdir(), 'rx-statestore-node-red-'))
    const uiPort = port ?? (await freePort())
    await install(folder)
    await writeFile(join(folder, 'settings.js'), `module.exports = ${JSON.stringify(settingsOf(uiPort))}`)
    const red = new NodeRed(uiPort, folder)
    await Promise.all([red.says(/Server now running/), red.says(/Started flows/)])
    return red
  }

  /** Resolves once the output contains a match, even an earlier one. @param {RegExp} what */
  async says(what) {
    return this.#saysAfter(0, what)
  }

  /**
   * Replaces all flows. Resolves when the new flows have started.
   *
   * @param {readonly object[]} flows
   * @param {'full' | 'nodes'} [type] - whether to restart all nodes or only the changed ones
   */
  async deploy(flows, type = 'full') {
    const from = this.#output.length
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
  #onLine(line) {
    this.#output.push(line)
    for (const check of Array.from(this.#waiters)) check()
  }

  /** @param {number} from @param {RegExp} what @returns {Promise<void>} */
  #saysAfter(from, what) {
    return new Promise((resolve, reject) => {
      const check = () => {
        const later = this.#output.slice(from)
        if (later.some(line => what.test(line))) resolve()
        else if (this.#output.at(-1)?.startsWith('Node-RED ended')) reject(new Error(this.#output.join('\n')))
        else return
        this.#waiters.delete(check)
      }
      this.#waiters.add(check)
      check()
    })
  }
}

/**
 * Returns a flow of the examples that uses the store at a URL.
 *
 * @param {'thermostat' | 'lock'} name
 * @param {string} url
 * @returns {Promise<{ readonly id: string, readonly z?: string, readonly type: string }[]>}
 */
export async function exampleFlow(name, url) {
  const text = await readFile(join(PACKAGE, 'examples', `${name}.json`), 'utf8')
  return JSON.parse(text.replaceAll('mqtt://localhost:1883', url))
}

/** Installs the nodes as a registry would receive them, next to the built library. @param {string} folder */
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

/**
 * Returns settings without network access: no palette of other nodes, no telemetry, no update check.
 *
 * @param {number} port
 */
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
