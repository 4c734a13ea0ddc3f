import type { Entry } from '../../src/client/index.js'
import type { Begun } from './glob-session.js'
import type { History } from './history.js'
import { type Circumstances, Oracle, type Terms } from './oracle.js'

/** Conditions of the guarantees of a watched glob, in addition to those of a key. */
export interface GlobTerms extends Terms {
  /** Every change of a new key is emitted: the store notifies of keys, and all messages are ordered. */
  readonly arrivals: boolean
  fits(key: string): boolean
}

export interface GlobCircumstances extends Circumstances {
  /** No other subscriber of this client has watched the key since the glob is complete. */
  readonly alone: boolean
  /** Another glob of this client is scanned for, and has the key watched separately. */
  readonly begun: Begun
  /** The store notifies of new keys: it did not leave the registration unanswered repeatedly. */
  readonly told: boolean
}

/** Checks one subscriber of a glob. The entries of each key are left to the oracle for keys. */
export class GlobOracle {
  readonly #history: History
  readonly #terms: GlobTerms
  readonly #keys = new Map<string, Oracle>()
  /** Position in the history from which all changes are notified, while live. */
  #liveFrom: number | undefined

  constructor(history: History, terms: GlobTerms) {
    this.#history = history
    this.#terms = terms
  }

  /** Position in the history from which all changes are notified; the end of the history if they are not. */
  get liveFrom(): number {
    return this.#liveFrom ?? this.#history.all.length
  }

  get isLive(): boolean {
    return this.#liveFrom !== undefined
  }

  /** The last entry of a key. */
  shown(key: string): Entry<string> | undefined {
    return this.#keys.get(key)?.shown
  }

  live(isLive: boolean, place: number | undefined): void {
    this.#liveFrom = isLive ? this.#history.all.length : undefined
    for (const oracle of this.#keys.values()) oracle.live(isLive, place)
  }

  /** Returns what is wrong with an entry. */
  judge(entry: Entry<string>, circumstances: GlobCircumstances): string | undefined {
    const { key } = entry
    if (!this.#terms.fits(key)) return 'the key does not match'
    const known = this.#keys.get(key)
    const isThere = known?.shown?.op === 'set'
    if (entry.op !== 'set' && !isThere) return 'an absent key was removed'
    const oracle = known ?? new Oracle(this.#history, key, this.#terms)
    this.#keys.set(key, oracle)
    if (known === undefined && this.isLive) oracle.live(true, undefined)
    const toldTo = this.#toldTo(key)
    const begunTo = this.#begunTo(entry, circumstances.begun)
    const arrival = isThere ? undefined : this.#judgeArrival(entry, circumstances, begunTo)
    const complaint = oracle.judge(entry, circumstances)
    // The origin of an entry of an existing watch is unknown.
    if (known === undefined && !circumstances.alone) {
      oracle.live(false, undefined)
      if (this.isLive) oracle.live(true, undefined)
    }
    const isGap = complaint?.endsWith('were not emitted')
    const { alone, told, certain } = circumstances
    const mayMerge = !isThere && !(this.#terms.arrivals && certain && alone && told && begunTo <= toldTo)
    return arrival ?? (isGap && mayMerge ? undefined : complaint)
  }

  /** Position in the history after the last entry of a key. */
  #toldTo(key: string): number {
    const last = this.shown(key)?.version
    return last === undefined ? 0 : Math.max(...this.#history.placesOf(key, String(last))) + 1
  }

  /**
   * Position up to which changes may be merged; not for a key that was emitted before while live, as it is registered.
   */
  #begunTo({ key, source }: Entry<string>, { to, isHandedOver }: Begun): number {
    const hadRegistration = source === 'resync' && this.#toldTo(key) > this.liveFrom
    return hadRegistration && !isHandedOver ? 0 : to
  }

  /** A key that appears while live appears with its first change. */
  #judgeArrival(
    { key, version }: Entry<string>,
    { certain, place, alone, told }: GlobCircumstances,
    begunTo: number,
  ): string | undefined {
    const { all } = this.#history
    const to = this.#history.placesOf(key, String(version)).at(-1)
    if (
      !this.#terms.arrivals ||
      !certain ||
      !alone ||
      !told ||
      this.#liveFrom === undefined ||
      to === undefined ||
      place === undefined
    )
      return
    const steps = all
      .slice(Math.max(this.#liveFrom, this.#toldTo(key), begunTo), to)
      .filter(change => change.key === key)
    const untold = steps[0]?.op === 'delete' ? steps.slice(1) : steps
    return untold.length > 0 ? `the key appeared, but ${untold.length} earlier changes were not emitted` : undefined
  }
}
