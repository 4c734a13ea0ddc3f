import { createServer } from 'node:net'
import { join } from 'node:path'
import { mosquitto } from './beside/mosquitto.js'
import { Link } from './link.js'
import { ManagedProcess, requestStats, startScript } from './managed-process.js'
import type { Random } from './random.js'
import type { Row } from './run.js'

export interface Stats {
  keys: number
  watches: number
  connections: number
  watched: [client: string, keys: string[]][]
}

interface Ports {
  port: number
  wsPort: number
}

type OnViolation = (what: string) => void

class Store extends ManagedProcess {
  readonly journals: string[] = []
  kills = 0

  /** @param args - returns the arguments of the script, to which the path of the journal is added */
  constructor(script: URL, directory: string, args: () => readonly unknown[], onViolation: OnViolation) {
    const start = () => {
      const journal = join(directory, `journal-${this.journals.length}.jsonl`)
      this.journals.push(journal)
      return startScript(script, [...args(), journal])
    }
    super('the store', start, onViolation)
  }
}

/** Runs the store, kills it, and restarts it on the same ports, either empty or with its stored keys. */
export class Supervisor {
  #store

  /**
   * @param directory - directory for the journals
   * @param data - data directory of the store, or '' for none
   */
  constructor(directory: string, { port, wsPort }: Ports, onViolation: OnViolation, data: string) {
    const script = new URL('./store-process.js', import.meta.url)
    this.#store = new Store(script, directory, () => [port, wsPort, data], onViolation)
  }

  get kills() {
    return this.#store.kills
  }

  get killRows(): Row[] {
    return [['broker kills', this.kills]]
  }

  get journals(): readonly string[] {
    return this.#store.journals
  }

  start() {
    return this.#store.start()
  }

  /** Kills the store. Resolves when its process has ended. */
  async kill() {
    this.#store.kills++
    await this.#store.kill()
  }

  stats() {
    return requestStats<Stats>(this.#store)
  }

  /** Ends the last store without counting a kill. */
  stop() {
    return this.#store.kill()
  }
}

/** Runs another broker, and a store attached to it over a link. Kills either or both of them. */
export class AttachedSupervisor {
  /** The link between the store and the broker. */
  readonly link
  #random
  #broker
  #brokerKills = 0
  #store
  #url = ''

  /** @param directory - directory for the journals and the keys */
  constructor(directory: string, ports: Ports, onViolation: OnViolation, random: Random) {
    this.#random = random
    this.#broker = new ManagedProcess('Mosquitto', mosquitto(join(directory, 'mosquitto.conf'), ports), onViolation)
    const script = new URL('./beside/service-process.js', import.meta.url)
    this.#store = new Store(script, directory, () => [this.#url, join(directory, 'data')], onViolation)
    this.link = new Link(ports.port, random.fork())
  }

  get kills() {
    return this.#brokerKills + this.#store.kills
  }

  get killRows(): Row[] {
    return [
      ['broker kills', this.#brokerKills],
      ['service kills', this.#store.kills],
    ]
  }

  get journals(): readonly string[] {
    return this.#store.journals
  }

  async start() {
    if (this.#url === '') this.#url = `mqtt://127.0.0.1:${await this.link.listen()}`
    await Promise.all([this.#broker.start(), this.#store.start()])
  }

  /** Kills the broker, the store, or both. */
  async kill() {
    const dice = this.#random.next()
    const [killsBroker, killsStore] = [dice < 0.6, dice > 0.3]
    this.#brokerKills += Number(killsBroker)
    this.#store.kills += Number(killsStore)
    await Promise.all([killsBroker && this.#broker.kill(), killsStore && this.#store.kill()])
  }

  stats() {
    return requestStats<Stats>(this.#store)
  }

  async stop() {
    await Promise.all([this.#broker.kill(), this.#store.kill()])
    await this.link.close()
  }
}

/** Returns two free ports. See {@link findFreePorts}. */
export async function findPortPair(random: Random) {
  const [port = 0, wsPort = 0] = await findFreePorts(random, 2)
  return { port, wsPort }
}

/**
 * Returns free ports below the ephemeral range. With an ephemeral port, a client that connects to the store while it is
 * down could get the same port as its local port and connect to itself.
 */
export async function findFreePorts(random: Random, count: number) {
  const found: number[] = []
  for (let tries = 0; tries < 50 * count && found.length < count; tries++) {
    const port = random.int(20_000, 30_000)
    if (!found.includes(port) && (await isFree(port))) found.push(port)
  }
  if (found.length < count) throw new Error('Found no free port between 20000 and 30000')
  return found
}

const isFree = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
