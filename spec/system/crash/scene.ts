import type { Program } from '../../support/bundle.js'
import { RawClient } from '../../support/raw-client.js'
import { Holders } from './holders.js'
import { Victim } from './victim.js'
import { Watch } from './watch.js'
import { Writers } from './writers.js'

const CLIENTS = 4

/** All who deal with a store that is killed and started again, and the judge of what becomes of that. */
export class Scene {
  readonly writers: Writers
  readonly watch: Watch
  readonly holders: Holders
  readonly #program: Program
  readonly #data: string
  readonly #port: number
  readonly #url: string
  #victim: Victim | undefined

  /** @param program - the store; @param random - in [0, 1) */
  constructor(program: Program, data: string, port: number, random: () => number) {
    this.#program = program
    this.#data = data
    this.#port = port
    this.#url = `mqtt://127.0.0.1:${port}`
    this.writers = new Writers(random)
    this.watch = new Watch(this.#url, Writers.keys(CLIENTS))
    this.holders = new Holders(this.#url, 2)
  }

  async start(): Promise<void> {
    this.#victim = await Victim.start(this.#program, this.#data, this.#port)
  }

  /** Has all write until the store is ended by a signal, which `moment` waits for. */
  async write(moment: () => Promise<void>, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const write = await this.writers.connect(this.#url, CLIENTS)
    const writing = write()
    await moment()
    await this.#victim?.end(signal)
    await writing
  }

  /** What is not as it has to be, in words. */
  async judge(): Promise<string[]> {
    const { writers, watch, holders } = this
    const client = await RawClient.ready(this.#url, 'judge')
    const complaints = [
      ...(await writers.expiries.judge(client)),
      ...(await writers.judge(client, key => watch.seen(key))),
      ...(await writers.guards.judge(client)),
      ...(await watch.judge(writers.held)),
      ...holders.judge(),
    ]
    await client.end()
    return complaints
  }

  async end(): Promise<void> {
    await Promise.all([this.watch.close(), this.holders.close()])
    await this.#victim?.end('SIGTERM')
  }
}
