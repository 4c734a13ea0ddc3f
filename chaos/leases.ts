import { StateStoreError, text } from 'rx-statestore'
import { lease } from 'rx-statestore/lease'
import type { Subscription } from 'rxjs'
import type { LeaseHolding } from '../harness/judges/leases.js'
import { now } from './now.js'
import type { Participant } from './participant.js'
import type { Run } from './run.js'

const LOCKS = 3
const LEASE_DURATION_MS = 1_500
/**
 * The expected error codes of a fenced write, because another client held the lease in between or because of a fault.
 */
const EXPECTED_CODES = ['fencing-token-stale', 'timeout', 'closed', 'request-rejected', 'outcome-unknown']

/** All periods in which a client held a lease. */
export type LeaseHoldings = LeaseHolding[]

/** The lease that one client acquires, uses for writes, and releases. */
export class Leases {
  #run
  #holdings
  #participant
  #lock
  #writes = 0
  #subscription: Subscription | undefined
  #holding: LeaseHolding | undefined

  /** @param number - number of the client */
  constructor(run: Run, holdings: LeaseHoldings, participant: Participant, number: number) {
    this.#run = run
    this.#holdings = holdings
    this.#participant = participant
    this.#lock = `lock/${number % LOCKS}`
  }

  /** Starts without a lease. The previous client and its lease have ended. */
  start() {
    this.stop()
  }

  /** Starts or stops requesting the lease. */
  toggle() {
    if (this.#subscription) this.stop()
    else this.#request()
  }

  /** Writes with the fencing token if the lease is held. */
  write() {
    const { token } = this.#holding ?? {}
    if (token === undefined) return
    const { tally, violations } = this.#run
    const { store, name, incarnation } = this.#participant
    tally.add('fenced writes')
    store
      .key(`fence/${this.#lock}`, text)
      .set(`${name}.${incarnation}.${this.#writes++}`, { fencingToken: token })
      .subscribe({
        error: error => {
          const code = error instanceof StateStoreError ? error.code : ''
          if (code === 'fencing-token-stale') tally.add('fenced writes: stale token')
          if (!EXPECTED_CODES.includes(code)) violations.add('unexpected error of a fenced write', error)
        },
      })
  }

  stop() {
    this.#recordLost()
    this.#subscription?.unsubscribe()
    this.#subscription = undefined
  }

  #request() {
    const { store, name, incarnation } = this.#participant
    this.#subscription = lease(store, this.#lock, { duration: LEASE_DURATION_MS }).subscribe({
      next: state => {
        if (state.status !== 'held') return this.#recordLost()
        const token = String(state.token)
        if (this.#holding?.token !== token) this.#recordHeld(token, `${name}.${incarnation}`)
        // The library's expiry is on another monotonic clock, so it is converted.
        if (this.#holding) this.#holding.until = state.expiresAtMonotonic - performance.now() + now()
      },
      error: error => {
        // The client of the lease is being replaced.
        if (error instanceof StateStoreError && error.code === 'closed') this.#recordLost()
        else this.#run.violations.add('lease error', error)
      },
      complete: () => this.#recordLost(),
    })
  }

  #recordHeld(token: string, holder: string) {
    this.#recordLost()
    const holding = { lock: this.#lock, holder, token, from: now(), until: 0 }
    this.#holding = holding
    this.#holdings.push(holding)
  }

  #recordLost() {
    if (this.#holding) this.#holding.until = Math.min(this.#holding.until, now())
    this.#holding = undefined
  }
}
