import type { Entry } from '../../src/client/index.js'
import type { Begun } from './glob-session.js'
import type { History } from './history.js'
import { type Circumstances, Oracle, type Terms } from './oracle.js'

/** What the promises of a watched glob depend on, besides those of a key. */
export interface GlobTerms extends Terms {
  /** Of a key that comes, every step is told from the first on: the store tells of keys itself, and all comes in order. */
  readonly arrivals: boolean
  fits(key: string): boolean
}

export interface GlobCircumstances extends Circumstances {
  /** Nothing else of this client watches the key, or did since all is told. */
  readonly alone: boolean
  /** Another glob of this client has to be scanned for, and has the key watched by itself. */
  readonly begun: Begun
  /** The store tells of keys that come: it did not leave the request for that unanswered again and again. */
  readonly told: boolean
}

/** Holds one subscriber of a glob to its promises. What is promised of each key is left to the oracle of a key. */
export class GlobOracle {
  readonly #history: History
  readonly #terms: GlobTerms
  readonly #keys = new Map<string, Oracle>()
  /** Place in the history from which on all is told, while it is live. */
  #liveFrom: number | undefined

  constructor(history: History, terms: GlobTerms) {
    this.#history = history
    this.#terms = terms
  }

  /** Place in the history from which on all is told; past all of it while that is not so. */
  get liveFrom(): number {
    return this.#liveFrom ?? this.#history.all.length
  }

  get isLive(): boolean {
    return this.#liveFrom !== undefined
  }

  /** What was emitted last of a key. */
  shown(key: string): Entry<string> | undefined {
    return this.#keys.get(key)?.shown
  }

  live(isLive: boolean, place: number | undefined): void {
    this.#liveFrom = isLive ? this.#history.all.length : undefined
    for (const oracle of this.#keys.values()) oracle.live(isLive, place)
  }

  /** What is wrong with an entry, if anything is. */
  judge(entry: Entry<string>, circumstances: GlobCircumstances): string | undefined {
    const { key } = entry
    if (!this.#terms.fits(key)) return 'it does not fit'
    const known = this.#keys.get(key)
    const isThere = known?.shown?.op === 'set'
    if (entry.op !== 'set' && !isThere) return 'what was not there has gone'
    const oracle = known ?? new Oracle(this.#history, key, this.#terms)
    this.#keys.set(key, oracle)
    if (known === undefined && this.isLive) oracle.live(true, undefined)
    const toldTo = this.#toldTo(key)
    const begunTo = this.#begunTo(entry, circumstances.begun)
    const arrival = isThere ? undefined : this.#judgeArrival(entry, circumstances, begunTo)
    const complaint = oracle.judge(entry, circumstances)
    // What it shows of a watch that was there, and how that came by it, is not known.
    if (known === undefined && !circumstances.alone) {
      oracle.live(false, undefined)
      if (this.isLive) oracle.live(true, undefined)
    }
    const isGap = complaint?.endsWith('were not told')
    const { alone, told, certain } = circumstances
    const mayMerge = !isThere && !(this.#terms.arrivals && certain && alone && told && begunTo <= toldTo)
    return arrival ?? (isGap && mayMerge ? undefined : complaint)
  }

  /** Place in the history behind what was emitted last of a key. */
  #toldTo(key: string): number {
    const last = this.shown(key)?.version
    return last === undefined ? 0 : Math.max(...this.#history.placesOf(key, String(last))) + 1
  }

  /** To where steps may be merged; not of a key that was told of before while it is live: that has a registration. */
  #begunTo({ key, source }: Entry<string>, { to, isHandedOver }: Begun): number {
    const hadRegistration = source === 'resync' && this.#toldTo(key) > this.liveFrom
    return hadRegistration && !isHandedOver ? 0 : to
  }

  /** A key that comes while all is told comes with its first step. */
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
    return untold.length > 0 ? `it came, but ${untold.length} steps before it were not told` : undefined
  }
}
