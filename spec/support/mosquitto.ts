import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from './free-port.js'

const CONFIGURATION = [
  'allow_anonymous true',
  'set_tcp_nodelay true',
  'persistence false',
  'max_queued_messages 0',
  // Applies the rule of MQTT 5 to clients of MQTT 3.1.1: the copy with the highest QoS is delivered (3.1.1, 3.3.5-1).
  'allow_duplicate_messages true',
  'max_inflight_messages 0',
  'log_dest stderr',
  'log_type information',
  'connection_messages false',
]

/** The options of a Mosquitto process. */
export interface MosquittoOptions {
  /** The port. The default is a free port. */
  readonly port?: number
  /** Lines to add to the configuration. */
  readonly lines?: readonly string[]
  /** The lines of an ACL file. By default, all clients may do everything. */
  readonly acl?: readonly string[]
}

/** An Eclipse Mosquitto in a separate process on a free port. */
export class Mosquitto {
  readonly port: number
  readonly #process: ChildProcess
  readonly #folder: string

  private constructor(port: number, process: ChildProcess, folder: string) {
    this.port = port
    this.#process = process
    this.#folder = folder
  }

  /** Resolves when Mosquitto listens. */
  static async start({ port: wanted, lines = [], acl }: MosquittoOptions = {}): Promise<Mosquitto> {
    const port = wanted ?? (await freePort())
    const folder = await mkdtemp(join(tmpdir(), 'mosquitto-'))
    const file = join(folder, 'mosquitto.conf')
    const rights = join(folder, 'acl')
    if (acl !== undefined) await writeFile(rights, acl.join('\n'), { mode: 0o644 })
    const more = acl === undefined ? lines : [...lines, `acl_file ${rights}`]
    await chmod(folder, 0o755)
    await writeFile(file, [`listener ${port} 127.0.0.1`, ...CONFIGURATION, ...more].join('\n'))
    const process = spawn('mosquitto', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] })
    const output: string[] = []
    await new Promise<void>((resolve, reject) => {
      process.once('error', reject)
      process.once('exit', code => reject(new Error(`mosquitto ended (${code}): ${output.join('\n')}`)))
      createInterface({ input: process.stderr }).on('line', line => {
        output.push(line)
        if (/ running$/.test(line)) resolve()
      })
    })
    return new Mosquitto(port, process, folder)
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`
  }

  /** Sends a signal to Mosquitto. SIGUSR1 requests that it writes its state to disk. */
  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  /** Stops Mosquitto. With SIGKILL, no DISCONNECT is sent. Resolves when the process has ended. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const ended = new Promise<void>(resolve => this.#process.once('exit', () => resolve()))
    this.#process.kill(signal)
    await ended
    await rm(this.#folder, { recursive: true })
  }
}
