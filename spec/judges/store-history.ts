import { recordsOf } from '../../chaos/recorder.js'
import { partsOf } from '../../chaos/values.js'
import type { Violations } from '../../chaos/violations.js'

/** A change of the store. `gone` is a deletion or an expiry. The journal shows an expiry only by its consequences. */
export interface StoreChange {
  place: number
  instance: number
  /** the latest monotonic time in milliseconds at which the change was applied */
  latest: number
  /** the earliest time at which the change was applied */
  earliest: number
  op: 'set' | 'gone'
  value: string
  expires: boolean
}

/** How many times a request reached a store, was certainly applied, and was answered again. */
export type RequestTally = { reached: number; applied: number; repeated: number }

/**
 * A line of a journal: the keys and values that a store found at its start; a request and its outcome, with `again` if
 * the request was answered before; or the expiry of a key.
 */
export type JournalLine =
  | readonly ['kept', at: number, keys: readonly (readonly [key: string, value: string, expires: boolean])[]]
  | readonly ['answer' | 'again', ...Answered]
  | readonly ['expired', at: number, key: string, from: number]

type Answered = readonly [
  at: number,
  client: string,
  verb: string,
  key: string,
  value: string,
  condition: string,
  expires: boolean,
  outcome: string,
  from?: number,
]

/** All changes of all stores, according to their journals. */
export class StoreHistory {
  /** The changes by key, in the order of the stores. */
  #changes: Map<string, StoreChange[]> = new Map()
  #requests: Map<string, RequestTally> = new Map()
  /** How often each key was found missing without an acknowledged deletion. */
  #losses: Map<string, number> = new Map()
  /** The newest value number of each writer. */
  #numbers: Map<string, number> = new Map()
  #violations
  #isDurable
  #isLate
  #place = 0
  #instance = 0

  /**
   * @param isDurable - whether a store recovers the keys of the previous store; all stores then count as one
   * @param isLate - whether a value may arrive after later values of its writer, because its request was abandoned and
   * delayed in transit
   */
  constructor(violations: Violations, isDurable: boolean, isLate: (value: string) => boolean = () => false) {
    this.#isLate = isLate
    this.#violations = violations
    this.#isDurable = isDurable
  }

  async read(journals: readonly string[]) {
    for (const [life, path] of journals.entries()) {
      this.#instance = this.#isDurable ? 0 : life
      for await (const note of recordsOf<JournalLine>(path)) {
        if (note[0] === 'kept') this.#compareRecovered(note[1], note[2])
        else if (note[0] === 'expired') this.#recordExpired(note[1], note[2], note[3])
        else if (note[0] === 'again') this.#recordRepeated(note)
        else this.#recordAnswer(note)
      }
    }
  }

  changesOf(key: string) {
    return this.#changes.get(key) ?? []
  }

  /** Returns the last change of a key in the current store, except expiries that the journal does not show. */
  lastOf(key: string) {
    const last = this.#changes.get(key)?.at(-1)
    return last?.instance === this.#instance ? last : undefined
  }

  requestsOf(request: string) {
    return this.#requests.get(request) ?? { reached: 0, applied: 0, repeated: 0 }
  }

  /** How often each key was found missing without an acknowledged deletion. */
  get losses() {
    return this.#losses
  }

  get requests() {
    return this.#requests.keys()
  }

  /**
   * Compares the keys that a store recovered with the previous store, which may have applied more than it answered. In
   * that case, the client has a request with an unknown outcome. Otherwise the difference is a violation.
   */
  #compareRecovered(at: number, kept: Extract<JournalLine, readonly ['kept', ...unknown[]]>[2]) {
    const found = new Map(kept.map(([key, value, expires]) => [key, { value, expires }]))
    for (const key of new Set([...found.keys(), ...this.#changes.keys()])) {
      const last = this.lastOf(key)
      const holds = found.get(key)
      const held = last?.op === 'set' ? last : undefined
      if (holds?.value === held?.value && holds?.expires === held?.expires) continue
      if (holds !== undefined) this.#recordUnanswered(key, at, holds)
      else if (last !== undefined) this.#recordGone(key, at, last)
    }
  }

  #recordUnanswered(key: string, at: number, { value, expires }: { value: string; expires: boolean }) {
    const request = `${partsOf(value).client} SET ${key} ${value}`
    const { reached, applied, repeated } = this.requestsOf(request)
    this.#requests.set(request, { reached: reached + 1, applied: applied + 1, repeated })
    this.#add(key, at, 'set', value, expires)
  }

  #recordGone(key: string, at: number, last: StoreChange) {
    if (!last.expires) this.#losses.set(key, (this.#losses.get(key) ?? 0) + 1)
    this.#add(key, at, 'gone', '', false)
  }

  /**
   * Records a repeated response, or a response to a request that the previous store only applied before it was killed.
   */
  #recordRepeated([, , client, verb, key, value]: readonly [string, ...Answered]) {
    const request = `${client} ${verb} ${key} ${value}`
    const known = this.requestsOf(request)
    this.#requests.set(request, { ...known, repeated: known.repeated + 1 })
  }

  #recordExpired(at: number, key: string, from: number) {
    const last = this.lastOf(key)
    if (!last?.expires) this.#violations.add('store', `${key} expired although it was ${JSON.stringify(last)}`)
    this.#add(key, at, 'gone', '', false, from)
  }

  #recordAnswer([, at, client, verb, key, value, condition, expires, outcome, from = at]: readonly [
    string,
    ...Answered,
  ]) {
    const request = `${client} ${verb} ${key} ${value}`
    const known = this.requestsOf(request)
    // The journal does not show whether a DEL found a key.
    const applied = verb === 'SET' && outcome === 'ok'
    this.#requests.set(request, {
      reached: known.reached + 1,
      applied: known.applied + Number(applied),
      repeated: known.repeated,
    })
    if (verb === 'SET' && condition !== 'NEX') this.#checkOrder(value)
    const last = this.lastOf(key)
    if (applied) {
      const hindered = condition === 'NX' || (condition === 'NEX' && last?.value !== value)
      if (hindered && last?.op === 'set') this.#recordImpliedExpiry(key, last, at)
      this.#add(key, at, 'set', value, expires, from)
    } else if (verb !== 'SET' && outcome === 'count' && last?.op === 'set') this.#add(key, at, 'gone', '', false, from)
  }

  /** Records the expiry that must have happened, because a condition holds that contradicts the previous change. */
  #recordImpliedExpiry(key: string, last: StoreChange, at: number) {
    if (!last.expires) this.#violations.add('store', `a condition held against ${JSON.stringify(last)} of ${key}`)
    this.#add(key, at, 'gone', '', false)
  }

  #add(key: string, at: number, op: StoreChange['op'], value: string, expires: boolean, from: number = at) {
    const change = { place: this.#place++, instance: this.#instance, latest: at, earliest: from, op, value, expires }
    const changes = this.#changes.get(key)
    if (changes) changes.push(change)
    else this.#changes.set(key, [change])
  }

  /** Checks that the requests of a writer arrive in order. */
  #checkOrder(value: string) {
    const { writer, number } = partsOf(value)
    const newest = this.#numbers.get(writer) ?? -1
    if (number <= newest && !this.#isLate(value))
      this.#violations.add('order of writes', `${value} arrived after number ${newest}`)
    this.#numbers.set(writer, Math.max(number, newest))
  }
}
