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
  // Applies the rule of MQTT 5 to clients of 3.1.1: the copy with the highest QoS (3.1.1, 3.3.5-1).
  'allow_duplicate_messages true',
  'max_inflight_messages 0',
  'log_dest stderr',
  'log_type information',
  'connection_messages false',
]

/** How it is to run. */
export interface MosquittoOptions {
  /** Default a free port. */
  readonly port?: number
  /** More lines of its configuration. */
  readonly lines?: readonly string[]
  /** Lines of an ACL file; default all clients may do everything. */
  readonly acl?: readonly string[]
}

/** Eclipse Mosquitto in a separate process on a free port. */
export class Mosquitto {
  readonly port: number
  readonly #process: ChildProcess
  readonly #folder: string

  private constructor(port: number, process: ChildProcess, folder: string) {
    this.port = port
    this.#process = process
    this.#folder = folder
  }

  /** Settles when it listens. */
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

  /** Asks it for something, as SIGUSR1 for its state on disk. */
  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  /** Stops it. With SIGKILL it sends no DISCONNECT. Settles when it has ended. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const ended = new Promise<void>(resolve => this.#process.once('exit', () => resolve()))
    this.#process.kill(signal)
    await ended
    await rm(this.#folder, { recursive: true })
  }
}
