import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../harness/free-port.js'
import { RunningProgram } from './running-program.js'
import { temporaryFolder } from './temporary-folder.js'

const run = promisify(execFile)
const FOLDER = new URL('../system/interop/hivemq/', import.meta.url).pathname
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'rx-statestore')
const PROGRAM = join(CACHE, 'hivemq-2024.3')
/** The server is restarted often, so its startup time matters more than its throughput. */
const FLAGS = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xmx512m', '-cp']
const CLASSES = `${PROGRAM}:${join(PROGRAM, '*')}`

/** Downloads and compiles HiveMQ CE unless that was done before. The 100 MB are shared by all checkouts. */
export async function buildHiveMq(): Promise<void> {
  if (await exists(PROGRAM)) return
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(`${PROGRAM}-`)
  const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${folder}`]
  await run('mvn', ['-q', '-B', '-f', join(FOLDER, 'pom.xml'), ...goal])
  await run('javac', ['-cp', join(folder, '*'), '-d', folder, join(FOLDER, 'HiveMq.java')])
  // Another checkout may have completed the same build first.
  await rename(folder, PROGRAM).catch(async () => rm(folder, { recursive: true }))
}

const exists = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** A HiveMQ CE in a separate process on a free port, with its default of ten messages in flight per client. */
export class HiveMq {
  readonly port: number
  readonly #folder: string
  #program: RunningProgram

  private constructor(port: number, folder: string, program: RunningProgram) {
    this.port = port
    this.#folder = folder
    this.#program = program
  }

  /** Resolves when HiveMQ listens. @param more - elements to add to the configuration */
  static async start(more = ''): Promise<HiveMq> {
    const port = await freePort()
    const folder = temporaryFolder()
    for (const name of ['conf', 'data', 'extensions']) await mkdir(join(folder, name))
    const listener = `<tcp-listener><port>${port}</port><bind-address>127.0.0.1</bind-address></tcp-listener>`
    const silence = '<anonymous-usage-statistics><enabled>false</enabled></anonymous-usage-statistics>'
    const configuration = `<hivemq><listeners>${listener}</listeners>${silence}${more}</hivemq>`
    await writeFile(join(folder, 'conf', 'config.xml'), configuration)
    return new HiveMq(port, folder, await begin(folder))
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`
  }

  /** Kills HiveMQ. Resolves when the process has ended. */
  async kill(): Promise<void> {
    await this.#program.end()
  }

  /** Restarts HiveMQ with its data. Resolves when it listens. */
  async startAgain(): Promise<void> {
    this.#program = await begin(this.#folder)
  }

  /** Stops HiveMQ and removes its data. */
  async stop(): Promise<void> {
    await this.kill()
    await rm(this.#folder, { recursive: true })
  }
}

async function begin(folder: string): Promise<RunningProgram> {
  const program = new RunningProgram('java', [...FLAGS, CLASSES, 'HiveMq', folder])
  await program.line(/^running$/)
  return program
}
