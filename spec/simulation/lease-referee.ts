import { Hlc } from '../../src/client/index.js'
import type { LeaseState } from '../../src/client/lease/index.js'
import type { History } from './history.js'
import type { VirtualTime } from './virtual-time.js'

export const LOCK = 'lock'
/** ms between looks at one who is frozen. */
const AWAKE = 50

/** One who may believe to hold the lease. */
export interface Believer {
  readonly name: string
  /** Whether it has no chance to notice anything. */
  readonly frozen: boolean
  /** Whether it may think that it slept. */
  readonly clockWasSet: boolean
}

/** What one who was told `held` believes, until the time is over or it is told otherwise. */
export interface Belief {
  readonly token: Hlc
  readonly holder: string
  readonly since: number
  /** ms on virtual time; not known of one that uses `leadership`. */
  readonly expiresAtMonotonic: number
}

/** When promises do not hold, for somebody deleted the lock key or the store lost it. */
interface Disturbance {
  readonly from: number
  until: number
}

interface Parts {
  readonly time: VirtualTime
  readonly history: History
  /** The longest lease of the world, ms: so long may somebody believe in a lock key that is gone. */
  readonly longest: number
  readonly complain: (what: string) => void
}

/** Holds all contenders of a lease to their promises, state by state. */
export class Referee {
  readonly #parts: Parts
  readonly #beliefs = new Map<Believer, Belief>()
  readonly #waitsFor = new Map<Believer, string>()
  readonly #disturbances: Disturbance[] = []
  /** Newest token of each life of the store, and all there were. */
  readonly #newest = new Map<number, Hlc>()
  readonly #tokens = new Set<string>()
  holdings = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  beliefOf(believer: Believer): Belief | undefined {
    return this.#beliefs.get(believer)
  }

  /** Whether it may believe to hold the lease. */
  valid(who: Believer): boolean {
    const belief = this.#beliefs.get(who)
    return belief !== undefined && belief.expiresAtMonotonic > this.#parts.time.now
  }

  /** From now on the lock key may be gone; the returned function says that it has happened, or never will. */
  disturb(): () => void {
    const { time, longest } = this.#parts
    const disturbance: Disturbance = { from: time.now, until: Number.POSITIVE_INFINITY }
    this.#disturbances.push(disturbance)
    return () => {
      disturbance.until = time.now + longest
    }
  }

  /** Whether the lock key may have gone by force just now, so that a holder need not have heard of it. */
  get disturbed(): boolean {
    return this.#disturbances.some(({ until }) => until >= this.#parts.time.now)
  }

  /** A contender was told something. `exact`: with the time at which it is over. */
  heard(who: Believer, state: LeaseState, exact: boolean): void {
    if (state.status === 'held') this.#held(who, state, exact)
    else if (state.status === 'lost') this.#lost(who, state.cause.reason, exact)
    else this.#waits(who, state.holder)
  }

  /** Its stream ended: then it must have been told before that it holds nothing any more. */
  ended(who: Believer): void {
    if (this.#beliefs.has(who)) this.#complain(who, 'its stream ended, but it was not told that the lease is lost')
    this.left(who)
  }

  /** It went by itself. */
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
    if (expiresAtMonotonic <= now) this.#complain(who, `was told of a lease that is over since ${expiresAtMonotonic}`)
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
    if (token.compareTo(before.token) !== 0) this.#complain(who, 'has another token, though it lost nothing')
    if (holder !== before.holder) this.#complain(who, 'has another name, though it lost nothing')
    if (expiresAtMonotonic <= before.expiresAtMonotonic)
      this.#complain(who, 'was told of a renewal that makes nothing longer')
  }

  #judgeHolding(who: Believer, { token, holder }: LeaseState & { status: 'held' }): void {
    const { history } = this.#parts
    this.holdings++
    const place = history.placeOf(String(token))
    const change = place === undefined ? undefined : history.all[place]
    if (change?.key !== LOCK || change.op !== 'set' || change.value !== holder) {
      this.#complain(who, `holds by ${token}, which is no version of the lock key with its name`)
      return
    }
    const id = `${change.life} ${token}`
    if (this.#tokens.has(id)) this.#complain(who, `holds by ${token}, the token of another holding`)
    this.#tokens.add(id)
    const newest = this.#newest.get(change.life)
    if (newest && token.compareTo(newest) < 0 && !this.disturbed)
      this.#complain(who, `holds by ${token}, older than ${newest} of a holding before`)
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
    else this.#complain(who, 'was not told that its lease is over')
  }

  #lost(who: Believer, reason: string, exact: boolean): void {
    const belief = this.#beliefs.get(who)
    this.left(who)
    if (belief === undefined) this.#complain(who, 'lost what it did not hold')
    else if (exact && reason !== 'ended' && this.#tooSoon(who, belief))
      this.#complain(who, `lost (${reason}) what was its until ${belief.expiresAtMonotonic}`)
  }

  #tooSoon(who: Believer, { expiresAtMonotonic }: Belief): boolean {
    return expiresAtMonotonic > this.#parts.time.now && !who.clockWasSet && !this.disturbed
  }

  #waits(who: Believer, holder: string): void {
    if (this.#beliefs.has(who)) this.#complain(who, 'waits, but was not told that the lease is lost')
    if (this.#waitsFor.get(who) === holder) this.#complain(who, `was told twice that ${holder} holds`)
    this.#waitsFor.set(who, holder)
  }

  #complain(who: Believer, what: string): void {
    this.#parts.complain(`${this.#parts.time.now} ms ${who.name}: ${what}`)
  }
}

/** The token that a value of the protected key names. */
export const tokenOf = (value: string): Hlc => Hlc.parse(value.split(' ').at(-1) ?? '')
