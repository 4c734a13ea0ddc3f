import type { HubStats } from '../../../../src/pubsub/hub/pubsub-server.js'
import type { ServeOptions, StoreStats } from '../../../../src/server/index.js'
import { AnsweringProgram } from '../../../support/running-program.js'
import type { Work } from './work.js'

/** The listen addresses of a store. Console and hub are optional. */
export interface StoreAddresses {
  readonly url: string
  readonly wsUrl: string
  readonly console: string
  /** The hub's address. */
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
   * instead. The default of `maxWaitingBytes` is 32 MiB.
   */
  readonly hub?: boolean | { readonly key?: string; readonly maxWaitingBytes?: number }
  /** The keys of valid tokens, for a store with a policy. Passwords that reverse the user name are valid as well. */
  readonly jwks?: string
}

/** The heap size in MB, as in a small container, so that an attack exhausts the heap quickly. */
const HEAP_MB = 2_048
/** A store in a child process, which is killed at the end of the test. */
export class StoreChild {
  readonly addresses: StoreAddresses
  readonly #program: AnsweringProgram

  private constructor(program: AnsweringProgram, addresses: StoreAddresses) {
    this.#program = program
    this.addresses = addresses
  }

  static async start(path: string, options: ChildOptions = {}): Promise<StoreChild> {
    const flags = ['--expose-gc', `--max-old-space-size=${HEAP_MB}`]
    const { program, ready } = await AnsweringProgram.launch(path, [JSON.stringify(options)], flags)
    return new StoreChild(program, ready)
  }

  /** Returns how the process ended with its output, or `running`. */
  get exitStatus(): string {
    return this.#program.status
  }

  get ended(): boolean {
    return !this.#program.isRunning
  }

  async memory(): Promise<Memory> {
    return this.#program.ask('memory')
  }

  async stats(): Promise<StoreStats> {
    return this.#program.ask('stats')
  }

  async hubStats(): Promise<HubStats | undefined> {
    return this.#program.ask('hub')
  }

  async work(): Promise<Work> {
    return this.#program.ask('work')
  }

  /** Advances the wall clock of the store. */
  async jump(ms: number): Promise<void> {
    await this.#program.ask(ms)
  }

  async end(): Promise<void> {
    await this.#program.end()
  }
}
