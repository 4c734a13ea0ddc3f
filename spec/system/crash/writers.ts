import { RawClient } from '../../support/raw-client.js'
import { isNewer } from '../../support/version.js'
import { command } from '../../support/words.js'
import { Expiries } from './expiries.js'
import { Guards } from './guards.js'
import type { Held } from './watch.js'

/** What a key may hold by what was answered, and what was asked for and not answered. */
interface Known {
  /** The last that was answered; without a value it was deleted. */
  value: string | undefined
  version: string | undefined
  /** Asked for since, in order. */
  open: (string | undefined)[]
}

/** Each client writes to so many. */
const KEYS = 5

/** Clients that write to keys of their own, and remember what they were answered. */
export class Writers {
  readonly #known = new Map<string, Known>()
  readonly #random: () => number
  readonly expiries: Expiries
  readonly guards: Guards = new Guards()
  /** The newest version that any of them was told. */
  newest = ''
  answered = 0
  #count = 0

  constructor(random: () => number) {
    this.#random = random
    this.expiries = new Expiries(random)
  }

  /** Has so many clients connect; what is returned has them write until their connections end. */
  async connect(url: string, clients: number): Promise<() => Promise<void>> {
    const connected = await Promise.all(
      Array.from({ length: clients }, async (_, i) => RawClient.ready(url, `w${i}-${this.#count++}`)),
    )
    return async () => {
      await Promise.all(connected.map(async (client, i) => this.#client(client, `w${i}`)))
    }
  }

  /** What the keys hold, by the last judgement. */
  get held(): ReadonlyMap<string, Held> {
    return this.#known
  }

  /** All keys that they write to. @param clients - how many there are */
  static keys(clients: number): string[] {
    return Array.from({ length: clients * KEYS }, (_, i) => `w${i % clients}/${Math.floor(i / clients)}`)
  }

  /**
   * What is not as it has to be, in words.
   *
   * @param seen - what somebody was shown of a key: it must last, though its writer may not have been answered
   */
  async judge(client: RawClient, seen: (key: string) => string | undefined): Promise<string[]> {
    const complaints: string[] = []
    for (const [key, known] of this.#known) {
      const { text, version } = await client.request(command(`GET ${key}`))
      const found = text.startsWith('$-1') ? undefined : text.split('\r\n')[1]
      const places = [known.value, ...known.open]
      const place = places.lastIndexOf(found)
      const shown = seen(key)
      if (shown !== undefined && places.lastIndexOf(shown) > place)
        complaints.push(`${key} is ${found}, and a watch had shown ${shown}`)
      if (place < 0) complaints.push(`${key} is ${found}, and was ${known.value}, then ${known.open.join(' ')}`)
      if (place === 0 && found !== undefined && version !== known.version)
        complaints.push(`${key} has version ${version} and had ${known.version}`)
      Object.assign(known, { value: found, version, open: [] })
    }
    const { version = '' } = await client.request(command('SET judge x'), { timestamp: `${Date.now()}:0:judge` })
    if (this.newest !== '' && !isNewer(version, this.newest))
      complaints.push(`version ${version} came after ${this.newest}`)
    this.newest = version
    return complaints
  }

  async #client(client: RawClient, name: string): Promise<void> {
    const over = client.closed.then(() => true)
    for (let ended = false; !ended; ) {
      const batch = Array.from({ length: 1 + Math.floor(8 * this.#random()) }, async () => this.#write(client, name))
      batch.push(this.expiries.write(client), this.guards.write(client, name))
      ended = await Promise.race([
        over,
        Promise.all(batch).then(
          () => false,
          () => true,
        ),
      ])
    }
  }

  async #write(client: RawClient, name: string): Promise<void> {
    const key = `${name}/${Math.floor(KEYS * this.#random())}`
    const known = this.#known.get(key) ?? { value: undefined, version: undefined, open: [] }
    this.#known.set(key, known)
    const value = this.#random() < 0.2 ? undefined : `${this.#count++}`
    known.open.push(value)
    const words = value === undefined ? `DEL ${key}` : `SET ${key} ${value}`
    const { text, version } = await client.request(command(words), { timestamp: `${Date.now()}:0:${name}` })
    if (!/^[+:]/.test(text)) throw new Error(`${words} was answered ${text}`)
    this.answered++
    // Answers come in the order of what was asked for.
    known.open.splice(0, known.open.indexOf(value) + 1)
    Object.assign(known, { value, version })
    if (version !== undefined && (this.newest === '' || isNewer(version, this.newest))) this.newest = version
  }
}
