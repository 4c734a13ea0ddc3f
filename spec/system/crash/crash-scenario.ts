import { StoreClient } from '../../support/store-client.js'
import { LeaseHolders } from './lease-holders.js'
import { StoreProcess } from './store-process.js'
import { WatchingClient } from './watching-client.js'
import { Writers } from './writers.js'

const CLIENTS = 4

/** All clients of a store that is killed and restarted, with the checks of what they observed. */
export class CrashScenario {
  readonly writers: Writers
  readonly watch: WatchingClient
  readonly holders: LeaseHolders
  readonly #program: string
  readonly #data: string
  readonly #port: number
  readonly #url: string
  #store: StoreProcess | undefined

  /**
   * @param program - the path of the store's program
   * @param random - in [0, 1)
   */
  constructor(program: string, data: string, port: number, random: () => number) {
    this.#program = program
    this.#data = data
    this.#port = port
    this.#url = `mqtt://127.0.0.1:${port}`
    this.writers = new Writers(random)
    this.watch = new WatchingClient(this.#url, Writers.keys(CLIENTS))
    this.holders = new LeaseHolders(this.#url, 2)
  }

  async start(): Promise<void> {
    this.#store = await StoreProcess.start(this.#program, this.#data, this.#port)
  }

  /** Lets all clients write until `moment` resolves and a signal ends the store. */
  async write(moment: () => Promise<void>, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const write = await this.writers.connect(this.#url, CLIENTS)
    const writing = write()
    await moment()
    await this.#store?.end(signal)
    await writing
  }

  async findViolations(): Promise<string[]> {
    const { writers, watch, holders } = this
    const client = await StoreClient.ready(this.#url, 'judge')
    const violations = [
      ...(await writers.expiries.findViolations(client)),
      ...(await writers.findViolations(client, key => watch.lastSeen(key))),
      ...(await writers.fencedKeys.findViolations(client)),
      ...(await watch.findViolations(writers.held)),
      ...holders.findViolations(),
    ]
    await client.disconnect()
    return violations
  }

  async end(): Promise<void> {
    await Promise.all([this.watch.close(), this.holders.close()])
    await this.#store?.end('SIGTERM')
  }
}
