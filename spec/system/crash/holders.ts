import type { Subscription } from 'rxjs'
import { connect, type StateStore } from '../../../src/client/index.js'
import { lease } from '../../../src/client/lease/index.js'
import { isNewer } from '../../support/version.js'

const LOCK = 'line/lock'
/** Longer than a store needs to start again: who holds it keeps it, ms. */
const DURATION = 4_000

/** Clients that want the same lease, from the first process to the last, and give it away now and then. */
export class Holders {
  readonly #stores: readonly StateStore[]
  readonly #contenders = new Map<StateStore, Subscription>()
  readonly #complaints: string[] = []
  #holder: StateStore | undefined
  #newest: string | undefined
  /** How often it changed hands. */
  holdings = 0

  constructor(url: string, count: number) {
    this.#stores = Array.from({ length: count }, (_, i) =>
      connect(url, { clientId: `holder-${i}`, sessionExpiry: 0, reconnect: { initial: 10, max: 50 } }),
    )
    for (const store of this.#stores) this.#contend(store)
  }

  /** Whoever has it gives it back, and asks anew. */
  pass(): void {
    const holder = this.#holder
    if (holder === undefined) return
    this.#holder = undefined
    this.#contenders.get(holder)?.unsubscribe()
    this.#contend(holder)
  }

  /** What was not as it has to be, in words. */
  judge(): string[] {
    return this.#complaints.splice(0)
  }

  async close(): Promise<void> {
    for (const contender of this.#contenders.values()) contender.unsubscribe()
    await Promise.all(this.#stores.map(async store => store.close()))
  }

  #contend(store: StateStore): void {
    const contender = lease(store, LOCK, { duration: DURATION }).subscribe(state => {
      if (state.status === 'held') this.#held(store, state.token.toString())
      else if (this.#holder === store) this.#holder = undefined
    })
    this.#contenders.set(store, contender)
  }

  #held(store: StateStore, token: string): void {
    if (this.#holder === store && token === this.#newest) return
    if (this.#holder !== undefined && this.#holder !== store) this.#complaints.push(`two hold the lease (${token})`)
    if (this.#newest !== undefined && !isNewer(token, this.#newest))
      this.#complaints.push(`a holder was given the token ${token} after ${this.#newest}`)
    this.#holder = store
    this.#newest = token
    this.holdings++
  }
}
