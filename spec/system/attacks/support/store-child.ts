import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { HubStats } from '../../../../src/pubsub/hub/pubsub-server.js'
import type { ServeOptions, StoreStats } from '../../../../src/server/index.js'
import type { Program } from '../../../support/bundle.js'

/** Listen addresses of a store; console and hub are optional. */
export interface StoreAddresses {
  readonly url: string
  readonly wsUrl: string
  readonly console: string
  /** Of the hub. */
  readonly hub: string
}

/** bytes */
export interface Memory {
  /** Reachable memory: the heap and its external memory. */
  readonly held: number
  readonly rss: number
  /** Largest `rss` so far. */
  readonly peak: number
}

export interface ChildOptions extends Omit<ServeOptions, 'clock' | 'authenticate' | 'warn'> {
  readonly console?: boolean
  /**
   * A hub in the same process, behind a local proxy: `?user=` names the user, `&may=all` permits joining and sending to
   * groups, and `&slow` never gets a decision. With `key`, it accepts tokens signed with it instead.
   */
  readonly hub?: boolean | { readonly key: string }
  /** Keys of valid tokens, in addition to passwords that reverse the name; of a store with a policy. */
  readonly jwks?: string
}

/** MB; like a small container, so that an attack exhausts it quickly. */
const HEAP_MB = 2_048
/** Kept output of a crashed process, characters. */
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

  /** Returns how the process ended and its last output, or `running`. */
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

  /** Advances its wall clock. */
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
