import type { History } from '../../../harness/judges/history.js'
import { Hlc } from '../../../src/client/index.js'
import type { LeaseState } from '../../../src/client/lease/index.js'
import type { SimClient } from './sim-client.js'
import type { VirtualTime } from './virtual-time.js'

export const LOCK = 'lock'
const AWAKE_CHECK_MS = 50

/** A client that requests the lease. */
export interface Claimant {
  readonly name: string
  readonly client: SimClient
}

/** The belief of a candidate that received `held`. It lasts until the lease expires or is revoked. */
interface Belief {
  readonly token: Hlc
  readonly holder: string
  readonly since: number
  /** The expiry on virtual time in milliseconds. It is unknown for `leadership`. */
  readonly expiresAtMonotonic: number
}

interface OracleHost {
  readonly time: VirtualTime
  readonly history: History
  /** The longest lease of the simulation in milliseconds. A holder may rely on a deleted lock key for that long. */
  readonly longest: number
  readonly complain: (what: string) => void
}

/** An oracle that checks all states of all candidates for a lease. */
export class LeaseOracle {
  readonly #host: OracleHost
  readonly #beliefs = new Map<Claimant, Belief>()
  readonly #awaitedHolders = new Map<Claimant, string>()
  /** Periods in which guarantees do not hold, because the lock key was deleted or the store lost it. */
  readonly #disturbances: { until: number }[] = []
  /** The newest token of each store instance, and all tokens. */
  readonly #newest = new Map<number, Hlc>()
  readonly #tokens = new Set<string>()

  constructor(host: OracleHost) {
    this.#host = host
  }

  beliefOf(candidate: Claimant): Belief | undefined {
    return this.#beliefs.get(candidate)
  }

  isHolding(candidate: Claimant): boolean {
    const belief = this.#beliefs.get(candidate)
    return belief !== undefined && belief.expiresAtMonotonic > this.#host.time.now
  }

  /**
   * Starts a disturbance, before the lock key may be deleted. The returned function ends the disturbance, when the key
   * was deleted or can no longer be deleted.
   */
  disturb(): () => void {
    const { time, longest } = this.#host
    const disturbance = { until: Number.POSITIVE_INFINITY }
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
  onState(candidate: Claimant, state: LeaseState, hasExpiry: boolean): void {
    if (state.status === 'held') this.#onHeld(candidate, state, hasExpiry)
    else if (state.status === 'lost') this.#onLost(candidate, state.cause.reason, hasExpiry)
    else this.#onWaiting(candidate, state.holder)
  }

  /** Checks that a candidate whose stream ends has received the loss of the lease. */
  onEnd(candidate: Claimant): void {
    if (this.#beliefs.has(candidate)) this.#complain(candidate, 'its stream ended without the loss of the lease')
    this.onUnsubscribe(candidate)
  }

  onUnsubscribe(candidate: Claimant): void {
    this.#beliefs.delete(candidate)
    this.#awaitedHolders.delete(candidate)
  }

  #onHeld(candidate: Claimant, state: LeaseState & { status: 'held' }, hasExpiry: boolean): void {
    const { now } = this.#host.time
    const before = this.#beliefs.get(candidate)
    const expiresAtMonotonic = hasExpiry ? state.expiresAtMonotonic : Number.POSITIVE_INFINITY
    if (before) this.#judgeRenewal(candidate, before, state)
    else this.#judgeHolding(candidate, state)
    if (expiresAtMonotonic <= now) this.#complain(candidate, `received a lease that expired at ${expiresAtMonotonic}`)
    this.#judgeRivals(candidate)
    const belief = { token: state.token, holder: state.holder, since: before?.since ?? now, expiresAtMonotonic }
    this.#beliefs.set(candidate, belief)
    this.#awaitedHolders.delete(candidate)
    if (hasExpiry) this.#host.time.after(expiresAtMonotonic - now + 1, () => this.#judgeEnd(candidate, belief))
  }

  #judgeRenewal(
    candidate: Claimant,
    before: Belief,
    { token, holder, expiresAtMonotonic }: LeaseState & { status: 'held' },
  ): void {
    if (token.compareTo(before.token) !== 0) this.#complain(candidate, 'has another token without a loss')
    if (holder !== before.holder) this.#complain(candidate, 'has another name without a loss')
    if (expiresAtMonotonic <= before.expiresAtMonotonic)
      this.#complain(candidate, 'received a renewal that extends nothing')
  }

  #judgeHolding(candidate: Claimant, { token, holder }: LeaseState & { status: 'held' }): void {
    const { history } = this.#host
    const position = history.positionOf(String(token))
    const change = position === undefined ? undefined : history.all[position]
    if (change?.key !== LOCK || change.op !== 'set' || change.value !== holder) {
      this.#complain(candidate, `holds by ${token}, which is not a version of the lock key with its name`)
      return
    }
    const id = `${change.instance} ${token}`
    if (this.#tokens.has(id)) this.#complain(candidate, `holds by ${token}, the token of another holding`)
    this.#tokens.add(id)
    const newest = this.#newest.get(change.instance)
    if (newest && token.compareTo(newest) < 0 && !this.isDisturbed)
      this.#complain(candidate, `holds by ${token}, older than ${newest} of an earlier holding`)
    if (newest === undefined || token.compareTo(newest) > 0) this.#newest.set(change.instance, token)
  }

  #judgeRivals(candidate: Claimant): void {
    const { now } = this.#host.time
    for (const [rival, { expiresAtMonotonic }] of this.#beliefs) {
      const isUnaware = expiresAtMonotonic === Number.POSITIVE_INFINITY && rival.client.loop.isFrozen
      if (rival === candidate || expiresAtMonotonic <= now || isUnaware || this.isDisturbed) continue
      this.#complain(candidate, `holds, and so does ${rival.name} until ${expiresAtMonotonic}`)
    }
  }

  #judgeEnd(candidate: Claimant, belief: Belief): void {
    if (this.#beliefs.get(candidate) !== belief) return
    if (candidate.client.loop.isFrozen) this.#host.time.after(AWAKE_CHECK_MS, () => this.#judgeEnd(candidate, belief))
    else this.#complain(candidate, 'did not receive the loss of its lease')
  }

  #onLost(candidate: Claimant, reason: string, hasExpiry: boolean): void {
    const belief = this.#beliefs.get(candidate)
    this.onUnsubscribe(candidate)
    if (belief === undefined) this.#complain(candidate, 'received a loss without holding the lease')
    else if (hasExpiry && reason !== 'ended' && this.#isTooEarly(candidate, belief))
      this.#complain(candidate, `lost (${reason}) a lease that it held until ${belief.expiresAtMonotonic}`)
  }

  #isTooEarly(candidate: Claimant, { expiresAtMonotonic }: Belief): boolean {
    return expiresAtMonotonic > this.#host.time.now && !candidate.client.loop.clockWasSet && !this.isDisturbed
  }

  #onWaiting(candidate: Claimant, holder: string): void {
    if (this.#beliefs.has(candidate)) this.#complain(candidate, 'waits without the loss of its lease')
    if (this.#awaitedHolders.get(candidate) === holder) this.#complain(candidate, `received the holder ${holder} twice`)
    this.#awaitedHolders.set(candidate, holder)
  }

  #complain(candidate: Claimant, what: string): void {
    this.#host.complain(`${candidate.name}: ${what}`)
  }
}

export const tokenOf = (value: string): Hlc => Hlc.parse(value.split(' ').at(-1) ?? '')
