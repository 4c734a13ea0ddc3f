import { StateStoreError, text } from 'rx-statestore'
import { lease } from 'rx-statestore/lease'
import type { Subscription } from 'rxjs'
import { type Holding, overlaps } from '../../spec/judges/leases.js'
import type { Complaints } from '../complaints.js'
import { now } from '../now.js'
import type { Participant } from '../participant.js'

const LOCKS = 3
const DURATION = 1_500
/** Expected outcomes of a fenced write: another holder came in between, or a fault. */
const EXPECTED = ['fencing-token-stale', 'timeout', 'closed', 'request-rejected', 'outcome-unknown']

/** All periods in which a client held a lease. */
export class Holdings {
  all: Holding[] = []
  fenced = 0
  stale = 0

  judge(complaints: Complaints) {
    for (const wrong of overlaps(this.all)) complaints.add('lease', wrong)
  }
}

/** The lease that one client acquires, uses for writes, and releases. */
export class Leases {
  #holdings
  #participant
  #lock
  #complaints
  #writes = 0
  #subscription: Subscription | undefined
  #holding: Holding | undefined

  /** @param number - of the client */
  constructor(holdings: Holdings, participant: Participant, number: number, complaints: Complaints) {
    this.#holdings = holdings
    this.#participant = participant
    this.#lock = `lock/${number % LOCKS}`
    this.#complaints = complaints
  }

  /** The previous client and its lease have ended. */
  enter() {
    this.leave()
  }

  /** Starts or stops requesting the lease. */
  turn() {
    if (this.#subscription) this.leave()
    else this.#want()
  }

  /** Writes with the token if the lease is held. */
  act() {
    const { token } = this.#holding ?? {}
    if (token === undefined) return
    const { store, name, life } = this.#participant
    this.#holdings.fenced++
    store
      .key(`fence/${this.#lock}`, text)
      .set(`${name}.${life}.${this.#writes++}`, { fencingToken: token })
      .subscribe({
        error: error => {
          const code = error instanceof StateStoreError ? error.code : ''
          if (code === 'fencing-token-stale') this.#holdings.stale++
          if (!EXPECTED.includes(code)) this.#complaints.add('unexpected error of a fenced write', error)
        },
      })
  }

  leave() {
    this.#lost()
    this.#subscription?.unsubscribe()
    this.#subscription = undefined
  }

  #want() {
    const { store, name, life } = this.#participant
    this.#subscription = lease(store, this.#lock, { duration: DURATION }).subscribe({
      next: state => {
        if (state.status !== 'held') return this.#lost()
        const token = String(state.token)
        if (this.#holding?.token !== token) this.#held(token, `${name}.${life}`)
        // The expiry is given on another monotonic clock.
        if (this.#holding) this.#holding.until = state.expiresAtMonotonic - performance.now() + now()
      },
      error: error => {
        // Its client is being replaced.
        if (error instanceof StateStoreError && error.code === 'closed') this.#lost()
        else this.#complaints.add('lease error', error)
      },
      complete: () => this.#lost(),
    })
  }

  #held(token: string, who: string) {
    this.#lost()
    const holding = { lock: this.#lock, who, token, from: now(), until: 0 }
    this.#holding = holding
    this.#holdings.all.push(holding)
  }

  #lost() {
    if (this.#holding) this.#holding.until = Math.min(this.#holding.until, now())
    this.#holding = undefined
  }
}
