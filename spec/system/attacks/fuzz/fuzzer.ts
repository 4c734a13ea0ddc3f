import type { StoreChild } from '../support/store-child.js'
import { play } from './play.js'
import { type FuzzSession, sessionOf } from './session.js'
import { shrink } from './shrink.js'

const CONCURRENT_SESSIONS = 48
/** The number of sessions to check when a store crashes: those in progress and some earlier ones. */
const SUSPECTS = 200

/** Sends mutated packets to a store until the store has processed enough of them or has crashed. */
export class Fuzzer {
  readonly #store: StoreChild
  readonly #suspects: number[] = []
  #next: number
  /** The number of mutated packets that the store has processed. */
  packets = 0
  sessions = 0

  /** @param seed - of the first session; later seeds are consecutive */
  constructor(store: StoreChild, seed: number) {
    this.#store = store
    this.#next = seed
  }

  /** The seeds of the latest sessions. */
  get suspects(): readonly number[] {
    return this.#suspects
  }

  async run(packets: number): Promise<void> {
    await Promise.all(Array.from({ length: CONCURRENT_SESSIONS }, async () => this.#runSessions(packets)))
  }

  async #runSessions(packets: number): Promise<void> {
    while (this.packets < packets && !this.#store.ended) {
      const seed = this.#next++
      this.#suspects.push(seed)
      if (this.#suspects.length > SUSPECTS) this.#suspects.shift()
      const packets = await play(this.#store.addresses, sessionOf(seed))
      this.packets += packets
      this.sessions++
    }
  }
}

/**
 * Returns the session that crashes a fresh store, with the bytes that suffice, or `undefined` if no single session
 * does.
 */
export async function findCulprit(
  seeds: readonly number[],
  start: () => Promise<StoreChild>,
): Promise<{ readonly seed: number; readonly packets: readonly string[] } | undefined> {
  for (const seed of [...seeds].reverse()) {
    const session = sessionOf(seed)
    const crashesStore = async (packets: readonly Buffer[]): Promise<boolean> => {
      const store = await start()
      const isEnded = await isFatal(store, { ...session, packets: packets.map(bytes => ({ bytes, mutated: true })) })
      await store.end()
      return isEnded
    }
    const packets = session.packets.map(({ bytes }) => bytes)
    if (await crashesStore(packets))
      return { seed, packets: (await shrink(packets, crashesStore)).map(one => one.toString('hex')) }
  }
  return undefined
}

async function isFatal(store: StoreChild, session: FuzzSession): Promise<boolean> {
  await play(store.addresses, session)
  // The response shows that all earlier packets have been processed.
  await store.stats().catch(() => undefined)
  return store.ended
}
