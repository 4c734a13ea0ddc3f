import { StoreClient } from '../../support/store-client.js'
import { isNewer } from '../../support/version.js'
import { command } from '../../support/words.js'
import { ExpiringKeys } from './expiring-keys.js'
import { FencedKeys } from './fenced-keys.js'
import type { Held } from './watching-client.js'

/** The possible values of a key, from requests with and without a response. */
interface PossibleValues {
  /** The last acknowledged value, or `undefined` if the key was deleted. */
  value: string | undefined
  version: string | undefined
  /** The values requested since then, in order. */
  unanswered: (string | undefined)[]
}

const KEYS_PER_CLIENT = 5

/** Clients that write separate keys and remember the responses. */
export class Writers {
  readonly #known = new Map<string, PossibleValues>()
  readonly #random: () => number
  readonly expiries: ExpiringKeys
  readonly fencedKeys: FencedKeys = new FencedKeys()
  newest = ''
  answeredWrites = 0
  #count = 0

  constructor(random: () => number) {
    this.#random = random
    this.expiries = new ExpiringKeys(random)
  }

  /** Connects some clients. The returned function makes them write until their connections end. */
  async connect(url: string, clients: number): Promise<() => Promise<void>> {
    const connected = await Promise.all(
      Array.from({ length: clients }, async (_, i) => StoreClient.ready(url, `w${i}-${this.#count++}`)),
    )
    return async () => {
      await Promise.all(connected.map(async (client, i) => this.#writeUntilClosed(client, `w${i}`)))
    }
  }

  /** The content of the keys at the last check. */
  get held(): ReadonlyMap<string, Held> {
    return this.#known
  }

  /**
   * Returns all keys of some clients.
   *
   * @param clients - their number
   */
  static keys(clients: number): string[] {
    return Array.from({ length: clients * KEYS_PER_CLIENT }, (_, i) => `w${i % clients}/${Math.floor(i / clients)}`)
  }

  /**
   * Returns descriptions of all violations.
   *
   * @param seen - the value of a key that a watch has shown, which must survive even if its writer got no response
   */
  async findViolations(client: StoreClient, seen: (key: string) => string | undefined): Promise<string[]> {
    const violations: string[] = []
    for (const [key, known] of this.#known) {
      const { text, version } = await client.request(command(`GET ${key}`))
      const found = text.startsWith('$-1') ? undefined : text.split('\r\n')[1]
      const places = [known.value, ...known.unanswered]
      const place = places.lastIndexOf(found)
      const shown = seen(key)
      if (shown !== undefined && places.lastIndexOf(shown) > place)
        violations.push(`${key} is ${found}, and a watch had shown ${shown}`)
      if (place < 0) violations.push(`${key} is ${found}, and was ${known.value}, then ${known.unanswered.join(' ')}`)
      if (place === 0 && found !== undefined && version !== known.version)
        violations.push(`${key} has version ${version} and had ${known.version}`)
      Object.assign(known, { value: found, version, open: [] })
    }
    const { version = '' } = await client.request(command('SET judge x'), { timestamp: `${Date.now()}:0:judge` })
    if (this.newest !== '' && !isNewer(version, this.newest))
      violations.push(`version ${version} came after ${this.newest}`)
    this.newest = version
    return violations
  }

  async #writeUntilClosed(client: StoreClient, name: string): Promise<void> {
    const closed = client.closed.then(() => true)
    for (let isClosed = false; !isClosed; ) {
      const batch = Array.from({ length: 1 + Math.floor(8 * this.#random()) }, async () => this.#write(client, name))
      batch.push(this.expiries.write(client), this.fencedKeys.write(client, name))
      isClosed = await Promise.race([
        closed,
        Promise.all(batch).then(
          () => false,
          () => true,
        ),
      ])
    }
  }

  async #write(client: StoreClient, name: string): Promise<void> {
    const key = `${name}/${Math.floor(KEYS_PER_CLIENT * this.#random())}`
    const known = this.#known.get(key) ?? { value: undefined, version: undefined, unanswered: [] }
    this.#known.set(key, known)
    const value = this.#random() < 0.2 ? undefined : `${this.#count++}`
    known.unanswered.push(value)
    const words = value === undefined ? `DEL ${key}` : `SET ${key} ${value}`
    const { text, version } = await client.request(command(words), { timestamp: `${Date.now()}:0:${name}` })
    if (!/^[+:]/.test(text)) throw new Error(`${words} was answered ${text}`)
    this.answeredWrites++
    // Responses arrive in the order of the requests.
    known.unanswered.splice(0, known.unanswered.indexOf(value) + 1)
    Object.assign(known, { value, version })
    if (version !== undefined && (this.newest === '' || isNewer(version, this.newest))) this.newest = version
  }
}
