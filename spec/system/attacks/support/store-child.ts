import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { HubStats } from '../../../../src/pubsub/hub/pubsub-server.js'
import type { ServeOptions, StoreStats } from '../../../../src/server/index.js'
import type { Program } from '../../../support/bundle.js'

/** Where a store listens; console and hub only if there are any. */
export interface StoreAddresses {
  readonly url: string
  readonly wsUrl: string
  readonly console: string
  /** Of the hub. */
  readonly hub: string
}

/** bytes */
export interface Memory {
  /** What is reachable: the heap and what it holds outside. */
  readonly held: number
  readonly rss: number
  /** The most there ever was of `rss`. */
  readonly peak: number
}

export interface ChildOptions extends Omit<ServeOptions, 'clock' | 'authenticate' | 'warn'> {
  readonly console?: boolean
  /**
   * A hub in the same process, behind a proxy on this machine: `?user=` says who one is, `&may=all` that one may join and
   * send to groups, and `&slow` that it is never known; or, with `key`, tokens that are signed with it.
   */
  readonly hub?: boolean | { readonly key: string }
  /** Keys of tokens that are believed, besides names that are backwards; of a store with a policy. */
  readonly jwks?: string
}

/** MB; as in a small container, so that an attack need not fill a large machine. */
const HEAP = 2_048
/** Of what a process that died said, characters. */
const LAST_WORDS = 4_000

/** A store in a process of its own. */
export class StoreChild implements AsyncDisposable {
  readonly addresses: StoreAddresses
  readonly #process: ChildProcess
  readonly #ended: Promise<never>
  #said = ''

  private constructor(child: ChildProcess, addresses: StoreAddresses) {
    this.#process = child
    this.addresses = addresses
    this.#ended = once(child, 'exit').then(() => {
      throw new Error(`The store ${this.fate}`)
    })
    this.#ended.catch(() => undefined)
    child.stderr?.on('data', data => {
      this.#said = (this.#said + data).slice(-LAST_WORDS)
    })
  }

  static async start({ path }: Program, options: ChildOptions = {}): Promise<StoreChild> {
    const child = fork(path, [JSON.stringify(options)], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      execArgv: ['--expose-gc', `--max-old-space-size=${HEAP}`],
      env: { PATH: process.env['PATH'] },
    })
    let said = ''
    child.stderr?.on('data', data => {
      said = (said + data).slice(-LAST_WORDS)
    })
    const failed = once(child, 'exit').then(() => {
      throw new Error(`The store did not start: ${said}`)
    })
    const [addresses] = await Promise.race([once(child, 'message'), failed])
    failed.catch(() => undefined)
    return new StoreChild(child, addresses)
  }

  /** How it ended, with its last words, or `running`. */
  get fate(): string {
    const { exitCode, signalCode } = this.#process
    return exitCode === null && signalCode === null ? 'running' : `ended (${signalCode ?? exitCode}): ${this.#said}`
  }

  get ended(): boolean {
    return this.fate !== 'running'
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

  /** Moves its wall clock by so many ms. */
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
