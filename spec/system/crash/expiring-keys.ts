import type { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

/** The earliest and the latest time at which a key expires, in ms since the Unix epoch. */
interface ExpiryRange {
  readonly earliest: number
  readonly latest: number
}

/** The longest lifetime of a key in ms, longer than a restart, so that some keys expire while no store runs. */
const MAX_LIFETIME_MS = 5_000

/** Keys that expire. The store uses the clock of the machine, as does this process. */
export class ExpiringKeys {
  readonly #expiries = new Map<string, ExpiryRange>()
  readonly #random: () => number
  #count = 0
  readonly observed: { alive: number; expired: number } = { alive: 0, expired: 0 }

  constructor(random: () => number) {
    this.#random = random
  }

  async write(client: StoreClient): Promise<void> {
    const key = `soon/${this.#count++}`
    const lifetimeMs = 1 + Math.floor(MAX_LIFETIME_MS * this.#random() ** 2)
    const sent = Date.now()
    await client.request(command(`SET ${key} v PX ${lifetimeMs}`), { timestamp: `${sent}:0:${client.id}` })
    this.#expiries.set(key, { earliest: sent + lifetimeMs, latest: Date.now() + lifetimeMs })
  }

  async findViolations(client: StoreClient): Promise<string[]> {
    const all = await Promise.all(Array.from(this.#expiries, async ([key, end]) => this.#checkKey(client, key, end)))
    return all.flat()
  }

  async #checkKey(client: StoreClient, key: string, { earliest, latest }: ExpiryRange): Promise<string[]> {
    const sent = Date.now()
    const { text } = await client.request(command(`GET ${key}`))
    const exists = !text.startsWith('$-1')
    this.observed[exists ? 'alive' : 'expired']++
    if (!exists) this.#expiries.delete(key)
    if (exists && sent >= latest) return [`${key} exists ${sent - latest} ms after its expiry`]
    if (!exists && Date.now() < earliest) return [`${key} is missing ${earliest - Date.now()} ms before its expiry`]
    return []
  }
}
