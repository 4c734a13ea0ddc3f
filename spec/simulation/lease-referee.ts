import { Hlc } from '../../src/client/index.js'
import type { LeaseState } from '../../src/client/lease/index.js'
import type { History } from './history.js'
import type { VirtualTime } from './virtual-time.js'

export const LOCK = 'lock'
/** Interval of checks on a frozen process, ms. */
const AWAKE = 50

/** A candidate that may believe it holds the lease. */
export interface Believer {
  readonly name: string
  /** Whether its process is frozen. */
  readonly frozen: boolean
  /** Whether its clocks suggest that it slept. */
  readonly clockWasSet: boolean
}

/** The belief of a candidate that received `held`, until it expires or is revoked. */
export interface Belief {
  readonly token: Hlc
  readonly holder: string
  readonly since: number
  /** ms on virtual time; unknown for `leadership`. */
  readonly expiresAtMonotonic: number
}

/** Times at which guarantees do not hold, as the lock key was deleted or the store lost it. */
interface Disturbance {
  readonly from: number
  until: number
}

interface Parts {
  readonly time: VirtualTime
  readonly history: History
  /** The longest lease of the simulation, ms: for so long a holder may believe in a deleted lock key. */
  readonly longest: number
  readonly complain: (what: string) => void
}

/** Checks all states of all candidates of a lease. */
export class Referee {
  readonly #parts: Parts
  readonly #beliefs = new Map<Believer, Belief>()
  readonly #waitsFor = new Map<Believer, string>()
  readonly #disturbances: Disturbance[] = []
  /** Newest token of each store instance, and all tokens. */
  readonly #newest = new Map<number, Hlc>()
  readonly #tokens = new Set<string>()
  holdings = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  beliefOf(believer: Believer): Belief | undefined {
    return this.#beliefs.get(believer)
  }

  /** Whether it may believe it holds the lease. */
  valid(who: Believer): boolean {
    const belief = this.#beliefs.get(who)
    return belief !== undefined && belief.expiresAtMonotonic > this.#parts.time.now
  }

  /** Call before the lock key may be deleted; the returned function says that it was, or never will be. */
  disturb(): () => void {
    const { time, longest } = this.#parts
    const disturbance: Disturbance = { from: time.now, until: Number.POSITIVE_INFINITY }
    this.#disturbances.push(disturbance)
    return () => {
      disturbance.until = time.now + longest
    }
  }

  /** Whether the lock key may just have been deleted by force, so that a holder may not know yet. */
  get disturbed(): boolean {
    return this.#disturbances.some(({ until }) => until >= this.#parts.time.now)
  }

  /** A candidate received a state. `exact`: with the time of its expiry. */
  heard(who: Believer, state: LeaseState, exact: boolean): void {
    if (state.status === 'held') this.#held(who, state, exact)
    else if (state.status === 'lost') this.#lost(who, state.cause.reason, exact)
    else this.#waits(who, state.holder)
  }

  /** Its stream ended: before that, it must have received the loss of the lease. */
  ended(who: Believer): void {
    if (this.#beliefs.has(who)) this.#complain(who, 'its stream ended without the loss of the lease')
    this.left(who)
  }

  /** It unsubscribed. */
  left(who: Believer): void {
    this.#beliefs.delete(who)
    this.#waitsFor.delete(who)
  }

  #held(who: Believer, state: LeaseState & { status: 'held' }, exact: boolean): void {
    const { now } = this.#parts.time
    const before = this.#beliefs.get(who)
    const expiresAtMonotonic = exact ? state.expiresAtMonotonic : Number.POSITIVE_INFINITY
    if (before) this.#judgeRenewal(who, before, state)
    else this.#judgeHolding(who, state)
    if (expiresAtMonotonic <= now) this.#complain(who, `received a lease that expired at ${expiresAtMonotonic}`)
    this.#judgeRivals(who)
    const belief = { token: state.token, holder: state.holder, since: before?.since ?? now, expiresAtMonotonic }
    this.#beliefs.set(who, belief)
    this.#waitsFor.delete(who)
    if (exact) this.#parts.time.after(expiresAtMonotonic - now + 1, () => this.#judgeEnd(who, belief))
  }

  #judgeRenewal(
    who: Believer,
    before: Belief,
    { token, holder, expiresAtMonotonic }: LeaseState & { status: 'held' },
  ): void {
    if (token.compareTo(before.token) !== 0) this.#complain(who, 'has another token without a loss')
    if (holder !== before.holder) this.#complain(who, 'has another name without a loss')
    if (expiresAtMonotonic <= before.expiresAtMonotonic) this.#complain(who, 'received a renewal that extends nothing')
  }

  #judgeHolding(who: Believer, { token, holder }: LeaseState & { status: 'held' }): void {
    const { history } = this.#parts
    this.holdings++
    const place = history.placeOf(String(token))
    const change = place === undefined ? undefined : history.all[place]
    if (change?.key !== LOCK || change.op !== 'set' || change.value !== holder) {
      this.#complain(who, `holds by ${token}, which is not a version of the lock key with its name`)
      return
    }
    const id = `${change.life} ${token}`
    if (this.#tokens.has(id)) this.#complain(who, `holds by ${token}, the token of another holding`)
    this.#tokens.add(id)
    const newest = this.#newest.get(change.life)
    if (newest && token.compareTo(newest) < 0 && !this.disturbed)
      this.#complain(who, `holds by ${token}, older than ${newest} of an earlier holding`)
    if (newest === undefined || token.compareTo(newest) > 0) this.#newest.set(change.life, token)
  }

  #judgeRivals(who: Believer): void {
    const { now } = this.#parts.time
    for (const [rival, { expiresAtMonotonic }] of this.#beliefs) {
      const unaware = expiresAtMonotonic === Number.POSITIVE_INFINITY && rival.frozen
      if (rival === who || expiresAtMonotonic <= now || unaware || this.disturbed) continue
      this.#complain(who, `holds, and so does ${rival.name} until ${expiresAtMonotonic}`)
    }
  }

  #judgeEnd(who: Believer, belief: Belief): void {
    if (this.#beliefs.get(who) !== belief) return
    if (who.frozen) this.#parts.time.after(AWAKE, () => this.#judgeEnd(who, belief))
    else this.#complain(who, 'did not receive the loss of its lease')
  }

  #lost(who: Believer, reason: string, exact: boolean): void {
    const belief = this.#beliefs.get(who)
    this.left(who)
    if (belief === undefined) this.#complain(who, 'received a loss without holding the lease')
    else if (exact && reason !== 'ended' && this.#tooSoon(who, belief))
      this.#complain(who, `lost (${reason}) a lease that it held until ${belief.expiresAtMonotonic}`)
  }

  #tooSoon(who: Believer, { expiresAtMonotonic }: Belief): boolean {
    return expiresAtMonotonic > this.#parts.time.now && !who.clockWasSet && !this.disturbed
  }

  #waits(who: Believer, holder: string): void {
    if (this.#beliefs.has(who)) this.#complain(who, 'waits without the loss of its lease')
    if (this.#waitsFor.get(who) === holder) this.#complain(who, `received the holder ${holder} twice`)
    this.#waitsFor.set(who, holder)
  }

  #complain(who: Believer, what: string): void {
    this.#parts.complain(`${this.#parts.time.now} ms ${who.name}: ${what}`)
  }
}

/** The token named in a value of the protected key. */
export const tokenOf = (value: string): Hlc => Hlc.parse(value.split(' ').at(-1) ?? '')
