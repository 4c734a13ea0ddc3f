import type { Complaints } from '../../chaos/complaints.js'
import { recordsOf } from '../../chaos/recorder.js'
import { partsOf } from '../../chaos/values.js'

/**
 * A change the store made. `gone` is a deletion or an expiry; of an expiry the journal shows only what follows from it.
 */
export interface Change {
  /** in the order of all changes of all stores */
  place: number
  /** which store */
  life: number
  /** when it was applied at the latest, monotonic ms */
  at: number
  /** when it was at the earliest */
  from: number
  op: 'set' | 'gone'
  value: string
  expires: boolean
}

/** How often a request reached a store, was applied for certain, and was answered once more. */
export type Tally = { reached: number; applied: number; repeated: number }

/**
 * What a journal says: when, and which keys and values were there; who asked for what, and the outcome, `again` if the
 * store had answered it before; or when the time of a key was over.
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

/** All that the stores did, by their journals. */
export class History {
  /** By key, in the order of the stores. */
  #changes: Map<string, Change[]> = new Map()
  /** By request: how many reached a store, and how many were applied for certain. */
  #requests: Map<string, Tally> = new Map()
  /** How often a key was found gone, by key, though no deletion was answered. */
  #losses: Map<string, number> = new Map()
  /** Newest number of every writer. */
  #numbers: Map<string, number> = new Map()
  #complaints
  #keeps
  #isLate
  #place = 0
  #life = 0

  /**
   * @param keeps - whether a store has the keys of the one before; then all are one
   * @param isLate - whether a value may come after later ones of its writer: one that nobody
   * waited for any more, and that was held up on its way
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

  /** What the last store holds of a key, but for what expires. */
  lastOf(key: string) {
    const last = this.#changes.get(key)?.at(-1)
    return last?.life === this.#life ? last : undefined
  }

  requestsOf(request: string) {
    return this.#requests.get(request) ?? { reached: 0, applied: 0, repeated: 0 }
  }

  /** How often a key was found gone, by key, though no deletion was answered. */
  get losses() {
    return this.#losses
  }

  /** All requests that reached a store. */
  get requests() {
    return this.#requests.keys()
  }

  /**
   * What a store found that has the keys of the one before. That one may have done more than it answered; then a client
   * has a request whose outcome it does not know, or it is wrong.
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

  /** A store said once more what it had said before; or what the one before it had only done, as it was killed. */
  #repeated([, , client, verb, key, value]: readonly [string, ...Answered]) {
    const request = `${client} ${verb} ${key} ${value}`
    const known = this.requestsOf(request)
    this.#requests.set(request, { ...known, repeated: known.repeated + 1 })
  }

  /** A journal that is that exact says when the time of a key was over. */
  #over(at: number, key: string, from: number) {
    const last = this.lastOf(key)
    if (!last?.expires) this.#complaints.add('store', `${key} expired, and was ${JSON.stringify(last)}`)
    this.#add(key, at, 'gone', '', false, from)
  }

  #take([, at, client, verb, key, value, condition, expires, outcome, from = at]: readonly [string, ...Answered]) {
    const request = `${client} ${verb} ${key} ${value}`
    const known = this.requestsOf(request)
    // Of a DEL the journal does not know whether there was a key.
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

  /** A condition held that the change before speaks against: then that had expired. */
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

  /** A client's requests go out in the order they came. */
  #judgeOrder(value: string) {
    const { writer, number } = partsOf(value)
    const newest = this.#numbers.get(writer) ?? -1
    if (number <= newest && !this.#isLate(value))
      this.#complaints.add('order of writes', `${value} came after number ${newest}`)
    this.#numbers.set(writer, Math.max(number, newest))
  }
}
