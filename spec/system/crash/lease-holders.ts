import type { Subscription } from 'rxjs'
import { connect, type StateStore } from '../../../src/client/index.js'
import { lease } from '../../../src/client/lease/index.js'
import { isNewer } from '../../support/version.js'

const LOCK = 'line/lock'
/** The duration of a lease in ms, longer than a restart, so that a holder keeps its lease. */
const LEASE_DURATION_MS = 4_000

/** Clients that compete for a lease across all processes and release it occasionally. */
export class LeaseHolders {
  readonly #stores: readonly StateStore[]
  readonly #requests = new Map<StateStore, Subscription>()
  readonly #violations: string[] = []
  #holder: StateStore | undefined
  #newest: string | undefined
  holderChanges = 0

  constructor(url: string, count: number) {
    this.#stores = Array.from({ length: count }, (_, i) =>
      connect(url, { clientId: `holder-${i}`, sessionExpiry: 0, reconnect: { initial: 10, max: 50 } }),
    )
    for (const store of this.#stores) this.#request(store)
  }

  /** Makes the holder release the lease and request it again. */
  passLease(): void {
    const holder = this.#holder
    if (holder === undefined) return
    this.#holder = undefined
    this.#requests.get(holder)?.unsubscribe()
    this.#request(holder)
  }

  findViolations(): string[] {
    return this.#violations.splice(0)
  }

  async close(): Promise<void> {
    for (const contender of this.#requests.values()) contender.unsubscribe()
    await Promise.all(this.#stores.map(async store => store.close()))
  }

  #request(store: StateStore): void {
    const contender = lease(store, LOCK, { duration: LEASE_DURATION_MS }).subscribe(state => {
      if (state.status === 'held') this.#recordHolder(store, state.token.toString())
      else if (this.#holder === store) this.#holder = undefined
    })
    this.#requests.set(store, contender)
  }

  #recordHolder(store: StateStore, token: string): void {
    if (this.#holder === store && token === this.#newest) return
    if (this.#holder !== undefined && this.#holder !== store)
      this.#violations.push(`two clients hold the lease (${token})`)
    if (this.#newest !== undefined && !isNewer(token, this.#newest))
      this.#violations.push(`a holder got the token ${token} after ${this.#newest}`)
    this.#holder = store
    this.#newest = token
    this.holderChanges++
  }
}
