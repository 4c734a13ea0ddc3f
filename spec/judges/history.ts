import type { Complaints } from '../../chaos/complaints.js'
import { recordsOf } from '../../chaos/recorder.js'
import { partsOf } from '../../chaos/values.js'

/** A change of the store. `gone` is a deletion or an expiry; the journal shows an expiry only by its consequences. */
export interface Change {
  /** position among all changes of all stores */
  place: number
  /** index of the store instance */
  life: number
  /** latest time at which it was applied, monotonic ms */
  at: number
  /** earliest time at which it was applied */
  from: number
  op: 'set' | 'gone'
  value: string
  expires: boolean
}

/** Number of times a request reached a store, was certainly applied, and was answered again. */
export type Tally = { reached: number; applied: number; repeated: number }

/**
 * A line of a journal: the keys and values found at a start; a request and its outcome, with `again` if it was answered
 * before; or the expiry of a key.
 */
export type Note =
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
export class History {
  /** By key, in the order of the stores. */
  #changes: Map<string, Change[]> = new Map()
  /** By request. */
  #requests: Map<string, Tally> = new Map()
  /** By key: how often it was found missing without an acknowledged deletion. */
  #losses: Map<string, number> = new Map()
  /** Newest value number of each writer. */
  #numbers: Map<string, number> = new Map()
  #complaints
  #keeps
  #isLate
  #place = 0
  #life = 0

  /**
   * @param keeps - whether a store recovers the keys of the previous one; all stores then count as one
   * @param isLate - whether a value may arrive after later ones of its writer, because its request was abandoned and
   * delayed in transit
   */
  constructor(complaints: Complaints, keeps: boolean, isLate: (value: string) => boolean = () => false) {
    this.#isLate = isLate
    this.#complaints = complaints
    this.#keeps = keeps
  }

  async read(journals: readonly string[]) {
    for (const [life, path] of journals.entries()) {
      this.#life = this.#keeps ? 0 : life
      for await (const note of recordsOf<Note>(path)) {
        if (note[0] === 'kept') this.#compare(note[1], note[2])
        else if (note[0] === 'expired') this.#over(note[1], note[2], note[3])
        else if (note[0] === 'again') this.#repeated(note)
        else this.#take(note)
      }
    }
  }

  changesOf(key: string) {
    return this.#changes.get(key) ?? []
  }

  /** Returns the last change of a key in the current store, apart from unseen expiries. */
  lastOf(key: string) {
    const last = this.#changes.get(key)?.at(-1)
    return last?.life === this.#life ? last : undefined
  }

  requestsOf(request: string) {
    return this.#requests.get(request) ?? { reached: 0, applied: 0, repeated: 0 }
  }

  /** By key: how often it was found missing without an acknowledged deletion. */
  get losses() {
    return this.#losses
  }

  /** All requests that reached a store. */
  get requests() {
    return this.#requests.keys()
  }

  /**
   * Compares the keys that a store recovered with the previous one. That store may have applied more than it answered;
   * the client then has a request with an unknown outcome, otherwise this is a violation.
   */
  #compare(at: number, kept: Extract<Note, readonly ['kept', ...unknown[]]>[2]) {
    const found = new Map(kept.map(([key, value, expires]) => [key, { value, expires }]))
    for (const key of new Set([...found.keys(), ...this.#changes.keys()])) {
      const last = this.lastOf(key)
      const holds = found.get(key)
      const held = last?.op === 'set' ? last : undefined
      if (holds?.value === held?.value && holds?.expires === held?.expires) continue
      if (holds !== undefined) this.#unanswered(key, at, holds)
      else if (last !== undefined) this.#gone(key, at, last)
    }
  }

  #unanswered(key: string, at: number, { value, expires }: { value: string; expires: boolean }) {
    const request = `${partsOf(value).client} SET ${key} ${value}`
    const { reached, applied, repeated } = this.requestsOf(request)
    this.#requests.set(request, { reached: reached + 1, applied: applied + 1, repeated })
    this.#add(key, at, 'set', value, expires)
  }

  #gone(key: string, at: number, last: Change) {
    if (!last.expires) this.#losses.set(key, (this.#losses.get(key) ?? 0) + 1)
    this.#add(key, at, 'gone', '', false)
  }

  /** Records a repeated response, or one to a request that the previous store only applied before it was killed. */
  #repeated([, , client, verb, key, value]: readonly [string, ...Answered]) {
    const request = `${client} ${verb} ${key} ${value}`
    const known = this.requestsOf(request)
    this.#requests.set(request, { ...known, repeated: known.repeated + 1 })
  }

  /** Records the expiry of a key, from a journal that includes expiries. */
  #over(at: number, key: string, from: number) {
    const last = this.lastOf(key)
    if (!last?.expires) this.#complaints.add('store', `${key} expired although it was ${JSON.stringify(last)}`)
    this.#add(key, at, 'gone', '', false, from)
  }

  #take([, at, client, verb, key, value, condition, expires, outcome, from = at]: readonly [string, ...Answered]) {
    const request = `${client} ${verb} ${key} ${value}`
    const known = this.requestsOf(request)
    // The journal does not show whether a DEL found a key.
    const applied = verb === 'SET' && outcome === 'ok'
    this.#requests.set(request, {
      reached: known.reached + 1,
      applied: known.applied + Number(applied),
      repeated: known.repeated,
    })
    if (verb === 'SET' && condition !== 'NEX') this.#judgeOrder(value)
    const last = this.lastOf(key)
    if (applied) {
      const hindered = condition === 'NX' || (condition === 'NEX' && last?.value !== value)
      if (hindered && last?.op === 'set') this.#expired(key, last, at)
      this.#add(key, at, 'set', value, expires, from)
    } else if (verb !== 'SET' && outcome === 'count' && last?.op === 'set') this.#add(key, at, 'gone', '', false, from)
  }

  /** Records the expiry implied by a condition that holds although the previous change contradicts it. */
  #expired(key: string, last: Change, at: number) {
    if (!last.expires) this.#complaints.add('store', `a condition held against ${JSON.stringify(last)} of ${key}`)
    this.#add(key, at, 'gone', '', false)
  }

  #add(key: string, at: number, op: Change['op'], value: string, expires: boolean, from: number = at) {
    const change = { place: this.#place++, life: this.#life, at, from, op, value, expires }
    const changes = this.#changes.get(key)
    if (changes) changes.push(change)
    else this.#changes.set(key, [change])
  }

  /** Checks that the requests of a writer arrive in order. */
  #judgeOrder(value: string) {
    const { writer, number } = partsOf(value)
    const newest = this.#numbers.get(writer) ?? -1
    if (number <= newest && !this.#isLate(value))
      this.#complaints.add('order of writes', `${value} arrived after number ${newest}`)
    this.#numbers.set(writer, Math.max(number, newest))
  }
}
