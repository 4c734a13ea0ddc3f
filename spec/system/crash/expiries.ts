import type { RawClient } from '../../support/raw-client.js'
import { command } from '../../support/words.js'

/** When a key ends, at the earliest and at the latest, ms since the Unix epoch. */
interface End {
  readonly earliest: number
  readonly latest: number
}

/** Longer than a store needs to start again, so that some end while none runs, ms. */
const LONGEST = 5_000

/** Keys that run out; the store's clock is that of the machine, and so is ours. */
export class Expiries {
  readonly #ends = new Map<string, End>()
  readonly #random: () => number
  #count = 0
  /** How many were found alive, and over. */
  readonly found: { alive: number; over: number } = { alive: 0, over: 0 }

  constructor(random: () => number) {
    this.#random = random
  }

  /** Sets a key that runs out. */
  async write(client: RawClient): Promise<void> {
    const key = `soon/${this.#count++}`
    const life = 1 + Math.floor(LONGEST * this.#random() ** 2)
    const sent = Date.now()
    await client.request(command(`SET ${key} v PX ${life}`), { timestamp: `${sent}:0:${client.id}` })
    this.#ends.set(key, { earliest: sent + life, latest: Date.now() + life })
  }

  /** What is not as it has to be, in words. */
  async judge(client: RawClient): Promise<string[]> {
    const all = await Promise.all(Array.from(this.#ends, async ([key, end]) => this.#judge(client, key, end)))
    return all.flat()
  }

  async #judge(client: RawClient, key: string, { earliest, latest }: End): Promise<string[]> {
    const sent = Date.now()
    const { text } = await client.request(command(`GET ${key}`))
    const isThere = !text.startsWith('$-1')
    this.found[isThere ? 'alive' : 'over']++
    if (!isThere) this.#ends.delete(key)
    if (isThere && sent >= latest) return [`${key} is there ${sent - latest} ms after its end`]
    if (!isThere && Date.now() < earliest) return [`${key} is gone ${earliest - Date.now()} ms before its end`]
    return []
  }
}
