import { Observable, of, retry, Subscription, tap, throwError } from 'rxjs'
import { type Hlc, StateStoreError } from '../../../src/client/index.js'
import {
  type Leadership,
  LeaseLostError,
  type LeaseState,
  leadership,
  withLock,
} from '../../../src/client/lease/index.js'
import { lease } from '../../../src/client/lease/lease.js'
import { type LeaseOracle, LOCK } from './lease-oracle.js'
import type { CandidatePlan } from './lease-schedule.js'
import type { LeaseWrites } from './lease-writes.js'
import type { SimClient } from './sim-client.js'

interface CandidateHost {
  readonly oracle: LeaseOracle
  readonly writes: LeaseWrites
  readonly complain: (what: string) => void
  readonly handled: () => void
}

type CandidateState = { readonly status: 'held' | 'waiting'; readonly holder: string } | { readonly status: 'none' }

const NONE: CandidateState = { status: 'none' }

/** A candidate that repeatedly requests the lease by one of the APIs, and writes while it holds the lease. */
export class Candidate {
  readonly name: string
  readonly plan: CandidatePlan
  readonly client: SimClient
  readonly #host: CandidateHost
  #run: Subscription | undefined
  #isWorking: Hlc | undefined
  /** The token of the last holding, which may have ended. */
  #token: Hlc | undefined
  state = NONE

  constructor(name: string, plan: CandidatePlan, client: SimClient, host: CandidateHost) {
    this.name = name
    this.plan = plan
    this.client = client
    this.#host = host
  }

  get isSubscribed(): boolean {
    return this.#run !== undefined
  }

  subscribe(): void {
    if (this.#run) return
    const run = new Subscription()
    this.#run = run
    const observed = this.#observe().subscribe({
      next: () => this.#host.handled(),
      error: error => this.#ended(run, error),
      complete: () => this.#ended(run),
    })
    run.add(observed)
  }

  unsubscribe(): void {
    const run = this.#run
    this.#run = undefined
    this.state = NONE
    // Notifies the oracle first, because the candidate must hold nothing from the moment it releases the lease.
    this.#host.oracle.onUnsubscribe(this)
    run?.unsubscribe()
    if (this.#isWorking) this.#complain('continues to work after unsubscribing')
  }

  /** Writes with the current token if the candidate may write, or deliberately with an old token. */
  write(isLate: boolean): void {
    if (this.#isWorking && !this.#host.oracle.beliefOf(this)) this.#complain('works without holding the lease')
    const held = this.plan.means === 'withLock' ? this.#isWorking : this.state.status === 'held' && this.#token
    const token = isLate ? this.#token : held
    if (token) this.#host.writes.write(this, token)
  }

  #observe(): Observable<unknown> {
    const { store } = this.client
    const { duration, means } = this.plan
    if (means === 'leadership') return leadership(store, LOCK, { duration }).pipe(tap(role => this.#leads(role)))
    const lease$ = lease(store, LOCK, { duration }).pipe(tap(state => this.#onState(state, true)))
    if (means === 'lease') return lease$
    const again = (error: unknown): Observable<unknown> =>
      error instanceof LeaseLostError && error.reason !== 'ended' ? of(0) : throwError(() => error)
    return withLock(lease$, token => this.#work(token)).pipe(retry({ delay: again }))
  }

  #onState(state: LeaseState, hasExpiry: boolean): void {
    this.state = state.status === 'lost' ? NONE : { status: state.status, holder: state.holder }
    if (state.status === 'held') this.#token = state.token
    this.#host.oracle.onState(this, state, hasExpiry)
  }

  #leads(role: Leadership): void {
    const { leader } = role
    if (role.role === 'leader')
      this.#onState(
        { status: 'held', token: role.token, expiresAtMonotonic: Number.POSITIVE_INFINITY, holder: role.leader },
        false,
      )
    else if (leader !== undefined) this.#onState({ status: 'waiting', holder: leader }, false)
    else if (this.#host.oracle.beliefOf(this))
      this.#onState({ status: 'lost', cause: new LeaseLostError('ended', LOCK) }, false)
  }

  #work(token: Hlc): Observable<Hlc> {
    return new Observable<Hlc>(subscriber => {
      const belief = this.#host.oracle.beliefOf(this)
      if (belief?.token.compareTo(token) !== 0) this.#complain(`works with ${token} without holding the lease by it`)
      this.#isWorking = token
      subscriber.add(() => {
        this.#isWorking = undefined
      })
      subscriber.next(token)
    })
  }

  #ended(run: Subscription, error?: unknown): void {
    if (this.#isWorking) this.#complain('continues to work after its stream has ended')
    this.#host.oracle.onEnd(this)
    if (this.#run !== run) return
    this.#run = undefined
    this.state = NONE
    const code = error instanceof StateStoreError ? error.code : String(error)
    const lost = error instanceof LeaseLostError && error.reason === 'ended'
    // A client whose id is taken over before its first connection is rejected.
    const isExpected = lost || code === 'closed' || code === 'connection-refused'
    if (error !== undefined && !isExpected) this.#complain(`its stream failed: ${code}`)
    this.#host.handled()
  }

  #complain(what: string): void {
    this.#host.complain(`${this.name} ${what}`)
  }
}
