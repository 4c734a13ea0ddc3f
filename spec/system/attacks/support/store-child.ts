import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { HubStats } from '../../../../src/pubsub/hub/pubsub-server.js'
import type { ServeOptions, StoreStats } from '../../../../src/server/index.js'
import type { Program } from '../../../support/bundle.js'

/** The listen addresses of a store. Console and hub are optional. */
export interface StoreAddresses {
  readonly url: string
  readonly wsUrl: string
  readonly console: string
  /** The address of the hub. */
  readonly hub: string
}

/** The memory of the store's process, in bytes. */
export interface Memory {
  /** The reachable memory: the heap and its external memory. */
  readonly held: number
  readonly rss: number
  /** The largest `rss` so far. */
  readonly peak: number
}

export interface ChildOptions extends Omit<ServeOptions, 'clock' | 'authenticate' | 'warn'> {
  readonly console?: boolean
  /**
   * Whether a hub runs in the same process, behind a local proxy. `?user=` names the user, `&may=all` permits joining
   * and sending to groups, and `&slow` never gets a decision. With `key`, the hub accepts tokens signed with this key
   * instead.
   */
  readonly hub?: boolean | { readonly key: string }
  /** The keys of valid tokens, for a store with a policy. Passwords that reverse the user name are valid as well. */
  readonly jwks?: string
}

/** The heap size in MB, as in a small container, so that an attack exhausts the heap quickly. */
const HEAP_MB = 2_048
/** The maximum length of the output that is kept of a crashed process, in characters. */
const MAX_OUTPUT_LENGTH = 4_000

/** A store in a child process. */
export class StoreChild implements AsyncDisposable {
  readonly addresses: StoreAddresses
  readonly #process: ChildProcess
  readonly #ended: Promise<never>
  #output = ''

  private constructor(child: ChildProcess, addresses: StoreAddresses) {
    this.#process = child
    this.addresses = addresses
    this.#ended = once(child, 'exit').then(() => {
      throw new Error(`The store ${this.exitStatus}`)
    })
    this.#ended.catch(() => undefined)
    child.stderr?.on('data', data => {
      this.#output = (this.#output + data).slice(-MAX_OUTPUT_LENGTH)
    })
  }

  static async start({ path }: Program, options: ChildOptions = {}): Promise<StoreChild> {
    const child = fork(path, [JSON.stringify(options)], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      execArgv: ['--expose-gc', `--max-old-space-size=${HEAP_MB}`],
      env: { PATH: process.env['PATH'] },
    })
    let output = ''
    child.stderr?.on('data', data => {
      output = (output + data).slice(-MAX_OUTPUT_LENGTH)
    })
    const failed = once(child, 'exit').then(() => {
      throw new Error(`The store did not start: ${output}`)
    })
    const [addresses] = await Promise.race([once(child, 'message'), failed])
    failed.catch(() => undefined)
    return new StoreChild(child, addresses)
  }

  /** Returns how the process ended with its last output, or `running`. */
  get exitStatus(): string {
    const { exitCode, signalCode } = this.#process
    return exitCode === null && signalCode === null ? 'running' : `ended (${signalCode ?? exitCode}): ${this.#output}`
  }

  get ended(): boolean {
    return this.exitStatus !== 'running'
  }

  async memory(): Promise<Memory> {
    return this.#ask('memory')
  }

  async stats(): Promise<StoreStats> {
    return this.#ask('stats')
  }

  async hubStats(): Promise<HubStats | undefined> {
    return this.#ask('hub')
  }

  /** Advances the wall clock of the store. */
  async jump(ms: number): Promise<void> {
    await this.#ask(ms)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.ended) return
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
  }

  async #ask(question: string | number) {
    const answer = once(this.#process, 'message')
    if (!this.ended) this.#process.send(question)
    const [value] = await Promise.race([answer, this.#ended])
    return value
  }
}
