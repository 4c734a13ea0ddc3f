import { Observable, of, retry, Subscription, tap, throwError } from 'rxjs'
import { type Hlc, type StateStore, StateStoreError } from '../../src/client/index.js'
import { type Leadership, LeaseLostError, type LeaseState, leadership, withLock } from '../../src/client/lease/index.js'
import { lease } from '../../src/client/lease/lease.js'
import type { EventLoop } from './event-loop.js'
import { type Believer, LOCK, type Referee } from './lease-referee.js'
import type { CandidatePlan } from './lease-schedule.js'
import type { LeaseWrites } from './lease-writes.js'

export interface LeaseClient {
  readonly store: StateStore
  readonly loop: EventLoop
}

interface Court {
  readonly referee: Referee
  readonly writes: LeaseWrites
  readonly complain: (what: string) => void
  /** Called at the end of a handler, which may then act or throw. */
  readonly handled: (candidate: Candidate) => void
}

type Standing = { readonly status: 'held' | 'waiting'; readonly holder: string } | { readonly status: 'none' }

const NONE: Standing = { status: 'none' }

/** A candidate that requests the lease from time to time, by one of the APIs, and writes while it holds it. */
export class Candidate implements Believer {
  readonly name: string
  readonly plan: CandidatePlan
  readonly client: LeaseClient
  readonly #court: Court
  #run: Subscription | undefined
  #working: Hlc | undefined
  /** Token of its last holding, which may have ended. */
  #token: Hlc | undefined
  standing = NONE

  constructor(name: string, plan: CandidatePlan, client: LeaseClient, court: Court) {
    this.name = name
    this.plan = plan
    this.client = client
    this.#court = court
  }

  get frozen(): boolean {
    return this.client.loop.frozen
  }

  get clockWasSet(): boolean {
    return this.client.loop.clockWasSet
  }

  /** Whether it currently requests the lease. */
  get asking(): boolean {
    return this.#run !== undefined
  }

  subscribe(): void {
    if (this.#run) return
    const run = new Subscription()
    this.#run = run
    const observed = this.#observe().subscribe({
      next: () => this.#court.handled(this),
      error: error => this.#ended(run, error),
      complete: () => this.#ended(run),
    })
    run.add(observed)
  }

  unsubscribe(): void {
    const run = this.#run
    this.#run = undefined
    this.standing = NONE
    // First, as it must hold nothing from the moment it releases.
    this.#court.referee.left(this)
    run?.unsubscribe()
    if (this.#working) this.#complain('continues to work after unsubscribing')
  }

  /** Writes if it may, or deliberately with an old token. */
  write(late: boolean): void {
    if (this.#working && !this.#court.referee.beliefOf(this)) this.#complain('works without holding the lease')
    const held = this.plan.means === 'withLock' ? this.#working : this.standing.status === 'held' && this.#token
    const token = late ? this.#token : held
    if (token) this.#court.writes.write(this, this.client.store, token)
  }

  #observe(): Observable<unknown> {
    const { store } = this.client
    const { duration, means } = this.plan
    if (means === 'leadership') return leadership(store, LOCK, { duration }).pipe(tap(role => this.#leads(role)))
    const lease$ = lease(store, LOCK, { duration }).pipe(tap(state => this.#hear(state, true)))
    if (means === 'lease') return lease$
    const again = (error: unknown): Observable<unknown> =>
      error instanceof LeaseLostError && error.reason !== 'ended' ? of(0) : throwError(() => error)
    return withLock(lease$, token => this.#work(token)).pipe(retry({ delay: again }))
  }

  #hear(state: LeaseState, exact: boolean): void {
    this.standing = state.status === 'lost' ? NONE : { status: state.status, holder: state.holder }
    if (state.status === 'held') this.#token = state.token
    this.#court.referee.heard(this, state, exact)
  }

  #leads(role: Leadership): void {
    const { leader } = role
    if (role.role === 'leader')
      this.#hear(
        { status: 'held', token: role.token, expiresAtMonotonic: Number.POSITIVE_INFINITY, holder: role.leader },
        false,
      )
    else if (leader !== undefined) this.#hear({ status: 'waiting', holder: leader }, false)
    else if (this.#court.referee.beliefOf(this))
      this.#hear({ status: 'lost', cause: new LeaseLostError('ended', LOCK) }, false)
  }

  #work(token: Hlc): Observable<Hlc> {
    return new Observable<Hlc>(subscriber => {
      const belief = this.#court.referee.beliefOf(this)
      if (belief?.token.compareTo(token) !== 0) this.#complain(`works with ${token} without holding the lease by it`)
      this.#working = token
      subscriber.add(() => {
        this.#working = undefined
      })
      subscriber.next(token)
    })
  }

  #ended(run: Subscription, error?: unknown): void {
    if (this.#working) this.#complain('continues to work after its stream has ended')
    this.#court.referee.ended(this)
    if (this.#run !== run) return
    this.#run = undefined
    this.standing = NONE
    const code = error instanceof StateStoreError ? error.code : String(error)
    const lost = error instanceof LeaseLostError && error.reason === 'ended'
    // A client whose id is taken over before its first connection is rejected.
    const isExpected = lost || code === 'closed' || code === 'connection-refused'
    if (error !== undefined && !isExpected) this.#complain(`its stream failed: ${code}`)
    this.#court.handled(this)
  }

  #complain(what: string): void {
    this.#court.complain(`${this.name} ${what}`)
  }
}
