import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { freePort } from '../../harness/free-port.js'
import { MOSQUITTO_CONFIGURATION } from '../../harness/mosquitto-configuration.js'
import { RunningProgram } from './running-program.js'
import { temporaryFolder } from './temporary-folder.js'
import { INVOKE_TOPIC, notificationTopicOf } from './topics.js'

/** Returns the lines of an ACL file with the access rules of docs/any-broker.md for a store and one watching client. */
export const accessRules = (clientId: string): readonly string[] => [
  `pattern write ${INVOKE_TOPIC}`,
  'pattern read clients/%u/services/statestore/#',
  'pattern read rx-statestore/v1/life',
  '',
  'user store',
  'topic readwrite #',
  '',
  `user ${clientId}`,
  `topic read ${notificationTopicOf(clientId)}`,
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
  readonly #program: RunningProgram
  readonly #folder: string

  private constructor(port: number, program: RunningProgram, folder: string) {
    this.port = port
    this.#program = program
    this.#folder = folder
  }

  /** Resolves when Mosquitto listens. */
  static async start({ port: wanted, lines = [], acl }: MosquittoOptions = {}): Promise<Mosquitto> {
    const port = wanted ?? (await freePort())
    const folder = temporaryFolder()
    const file = join(folder, 'mosquitto.conf')
    const rights = join(folder, 'acl')
    if (acl !== undefined) await writeFile(rights, acl.join('\n'), { mode: 0o644 })
    const more = acl === undefined ? lines : [...lines, `acl_file ${rights}`]
    await chmod(folder, 0o755)
    await writeFile(file, [`listener ${port} 127.0.0.1`, ...MOSQUITTO_CONFIGURATION, ...more].join('\n'))
    const program = new RunningProgram('mosquitto', ['-c', file])
    await program.line(/ running$/)
    return new Mosquitto(port, program, folder)
  }

  /** Starts Mosquitto, which is stopped at the end of the test. */
  static async launch(options?: MosquittoOptions): Promise<Mosquitto> {
    const broker = await Mosquitto.start(options)
    onTestFinished(async () => broker.stop())
    return broker
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`
  }

  /** Sends a signal to Mosquitto. SIGUSR1 requests that it writes its state to disk. */
  signal(signal: NodeJS.Signals): void {
    this.#program.child.kill(signal)
  }

  /** Stops Mosquitto. With SIGKILL, no DISCONNECT is sent. Resolves when the process has ended. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#program.isRunning) await this.#program.end(signal)
    await rm(this.#folder, { recursive: true, force: true })
  }
}
