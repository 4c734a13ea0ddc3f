import { Hlc } from '../../src/client/index.js'
import type { LeaseState } from '../../src/client/lease/index.js'
import type { History } from './history.js'
import type { VirtualTime } from './virtual-time.js'

export const LOCK = 'lock'
const AWAKE_CHECK_MS = 50

/** A candidate that may believe it holds the lease. */
export interface LeaseParticipant {
  readonly name: string
  readonly isFrozen: boolean
  /** Whether the candidate's clocks suggest that its machine slept. */
  readonly wasClockSet: boolean
}

/** The belief of a candidate that received `held`. It lasts until the lease expires or is revoked. */
export interface Belief {
  readonly token: Hlc
  readonly holder: string
  readonly since: number
  /** The expiry on virtual time in milliseconds. It is unknown for `leadership`. */
  readonly expiresAtMonotonic: number
}

/** A period in which guarantees do not hold, because the lock key was deleted or the store lost it. */
interface Disturbance {
  readonly from: number
  until: number
}

interface RefereeHost {
  readonly time: VirtualTime
  readonly history: History
  /** The longest lease of the simulation in milliseconds. A holder may rely on a deleted lock key for that long. */
  readonly longest: number
  readonly complain: (what: string) => void
}

/** A referee that checks all states of all candidates for a lease. */
export class Referee {
  readonly #host: RefereeHost
  readonly #beliefs = new Map<LeaseParticipant, Belief>()
  readonly #awaitedHolders = new Map<LeaseParticipant, string>()
  readonly #disturbances: Disturbance[] = []
  /** The newest token of each store instance, and all tokens. */
  readonly #newest = new Map<number, Hlc>()
  readonly #tokens = new Set<string>()
  holdings = 0

  constructor(host: RefereeHost) {
    this.#host = host
  }

  beliefOf(participant: LeaseParticipant): Belief | undefined {
    return this.#beliefs.get(participant)
  }

  isHolding(participant: LeaseParticipant): boolean {
    const belief = this.#beliefs.get(participant)
    return belief !== undefined && belief.expiresAtMonotonic > this.#host.time.now
  }

  /**
   * Starts a disturbance, before the lock key may be deleted. The returned function ends the disturbance, when the key
   * was deleted or can no longer be deleted.
   */
  disturb(): () => void {
    const { time, longest } = this.#host
    const disturbance: Disturbance = { from: time.now, until: Number.POSITIVE_INFINITY }
    this.#disturbances.push(disturbance)
    return () => {
      disturbance.until = time.now + longest
    }
  }

  /** Whether the lock key may just have been deleted by force, so that a holder may not know about the deletion yet. */
  get isDisturbed(): boolean {
    return this.#disturbances.some(({ until }) => until >= this.#host.time.now)
  }

  /** Records that a candidate received a state. `hasExpiry` is whether the state includes its expiry. */
  onState(participant: LeaseParticipant, state: LeaseState, hasExpiry: boolean): void {
    if (state.status === 'held') this.#onHeld(participant, state, hasExpiry)
    else if (state.status === 'lost') this.#onLost(participant, state.cause.reason, hasExpiry)
    else this.#onWaiting(participant, state.holder)
  }

  /** Checks that a candidate whose stream ends has received the loss of the lease. */
  onEnd(participant: LeaseParticipant): void {
    if (this.#beliefs.has(participant)) this.#complain(participant, 'its stream ended without the loss of the lease')
    this.onUnsubscribe(participant)
  }

  onUnsubscribe(participant: LeaseParticipant): void {
    this.#beliefs.delete(participant)
    this.#awaitedHolders.delete(participant)
  }

  #onHeld(participant: LeaseParticipant, state: LeaseState & { status: 'held' }, hasExpiry: boolean): void {
    const { now } = this.#host.time
    const before = this.#beliefs.get(participant)
    const expiresAtMonotonic = hasExpiry ? state.expiresAtMonotonic : Number.POSITIVE_INFINITY
    if (before) this.#judgeRenewal(participant, before, state)
    else this.#judgeHolding(participant, state)
    if (expiresAtMonotonic <= now) this.#complain(participant, `received a lease that expired at ${expiresAtMonotonic}`)
    this.#judgeRivals(participant)
    const belief = { token: state.token, holder: state.holder, since: before?.since ?? now, expiresAtMonotonic }
    this.#beliefs.set(participant, belief)
    this.#awaitedHolders.delete(participant)
    if (hasExpiry) this.#host.time.after(expiresAtMonotonic - now + 1, () => this.#judgeEnd(participant, belief))
  }

  #judgeRenewal(
    participant: LeaseParticipant,
    before: Belief,
    { token, holder, expiresAtMonotonic }: LeaseState & { status: 'held' },
  ): void {
    if (token.compareTo(before.token) !== 0) this.#complain(participant, 'has another token without a loss')
    if (holder !== before.holder) this.#complain(participant, 'has another name without a loss')
    if (expiresAtMonotonic <= before.expiresAtMonotonic)
      this.#complain(participant, 'received a renewal that extends nothing')
  }

  #judgeHolding(participant: LeaseParticipant, { token, holder }: LeaseState & { status: 'held' }): void {
    const { history } = this.#host
    this.holdings++
    const position = history.positionOf(String(token))
    const change = position === undefined ? undefined : history.all[position]
    if (change?.key !== LOCK || change.op !== 'set' || change.value !== holder) {
      this.#complain(participant, `holds by ${token}, which is not a version of the lock key with its name`)
      return
    }
    const id = `${change.instance} ${token}`
    if (this.#tokens.has(id)) this.#complain(participant, `holds by ${token}, the token of another holding`)
    this.#tokens.add(id)
    const newest = this.#newest.get(change.instance)
    if (newest && token.compareTo(newest) < 0 && !this.isDisturbed)
      this.#complain(participant, `holds by ${token}, older than ${newest} of an earlier holding`)
    if (newest === undefined || token.compareTo(newest) > 0) this.#newest.set(change.instance, token)
  }

  #judgeRivals(participant: LeaseParticipant): void {
    const { now } = this.#host.time
    for (const [rival, { expiresAtMonotonic }] of this.#beliefs) {
      const isUnaware = expiresAtMonotonic === Number.POSITIVE_INFINITY && rival.isFrozen
      if (rival === participant || expiresAtMonotonic <= now || isUnaware || this.isDisturbed) continue
      this.#complain(participant, `holds, and so does ${rival.name} until ${expiresAtMonotonic}`)
    }
  }

  #judgeEnd(participant: LeaseParticipant, belief: Belief): void {
    if (this.#beliefs.get(participant) !== belief) return
    if (participant.isFrozen) this.#host.time.after(AWAKE_CHECK_MS, () => this.#judgeEnd(participant, belief))
    else this.#complain(participant, 'did not receive the loss of its lease')
  }

  #onLost(participant: LeaseParticipant, reason: string, hasExpiry: boolean): void {
    const belief = this.#beliefs.get(participant)
    this.onUnsubscribe(participant)
    if (belief === undefined) this.#complain(participant, 'received a loss without holding the lease')
    else if (hasExpiry && reason !== 'ended' && this.#isTooEarly(participant, belief))
      this.#complain(participant, `lost (${reason}) a lease that it held until ${belief.expiresAtMonotonic}`)
  }

  #isTooEarly(participant: LeaseParticipant, { expiresAtMonotonic }: Belief): boolean {
    return expiresAtMonotonic > this.#host.time.now && !participant.wasClockSet && !this.isDisturbed
  }

  #onWaiting(participant: LeaseParticipant, holder: string): void {
    if (this.#beliefs.has(participant)) this.#complain(participant, 'waits without the loss of its lease')
    if (this.#awaitedHolders.get(participant) === holder)
      this.#complain(participant, `received the holder ${holder} twice`)
    this.#awaitedHolders.set(participant, holder)
  }

  #complain(participant: LeaseParticipant, what: string): void {
    this.#host.complain(`${participant.name}: ${what}`)
  }
}

export const tokenOf = (value: string): Hlc => Hlc.parse(value.split(' ').at(-1) ?? '')
