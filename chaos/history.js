import { recordsOf } from './recorder.js'
import { partsOf } from './values.js'

/**
 * A change the store made. `gone` is a deletion or an expiry; of an expiry the journal shows only what follows from it.
 *
 * @typedef {object} Change
 * @property {number} place - in the order of all changes of all stores
 * @property {number} life - which store
 * @property {number} at - when it was applied at the latest, monotonic ms
 * @property {number} from - when it was at the earliest
 * @property {'set' | 'gone'} op
 * @property {string} value
 * @property {boolean} expires
 */

/**
 * How often a request reached a store, was applied for certain, and was answered once more.
 *
 * @typedef {{ reached: number, applied: number, repeated: number }} Tally
 */

/**
 * What a journal says: when, and which keys and values were there; or who asked for what, and the outcome.
 *
 * @typedef {[at: number, keys: [key: string, value: string, expires: boolean][]]} Kept
 * @typedef {[at: number, client: string, verb: string, key: string, value: string, condition: string, expires: boolean, outcome: string, from?: number]} Answered
 * @typedef {[at: number, key: string, from: number]} Expired
 */

/** All that the stores did, by their journals. */
export class History {
  /** By key, in the order of the stores. @type {Map<string, Change[]>} */
  #changes = new Map()
  /** By request: how many reached a store, and how many were applied for certain. @type {Map<string, Tally>} */
  #requests = new Map()
  /** How often a key was found gone, by key, though no deletion was answered. @type {Map<string, number>} */
  #losses = new Map()
  /** Newest number of every writer. @type {Map<string, number>} */
  #numbers = new Map()
  #complaints
  #keeps
  #isLate
  #place = 0
  #life = 0

  /**
   * @param {import('./complaints.js').Complaints} complaints
   * @param {boolean} keeps - whether a store has the keys of the one before; then all are one
   * @param {(value: string) => boolean} [isLate] - whether a value may come after later ones of its writer: one that nobody
   *   waited for any more, and that was held up on its way
   */
  constructor(complaints, keeps, isLate = () => false) {
    this.#isLate = isLate
    this.#complaints = complaints
    this.#keeps = keeps
  }

  /** @param {readonly string[]} journals */
  async read(journals) {
    for (const [life, path] of journals.entries()) {
      this.#life = this.#keeps ? 0 : life
      for await (const [type, ...record] of recordsOf(path)) {
        if (type === 'kept') this.#compare(/** @type {Kept} */ (record))
        else if (type === 'expired') this.#over(/** @type {Expired} */ (record))
        else if (type === 'again') this.#repeated(/** @type {Answered} */ (record))
        else this.#take(/** @type {Answered} */ (record))
      }
    }
  }

  /** @param {string} key */
  changesOf(key) {
    return this.#changes.get(key) ?? []
  }

  /** What the last store holds of a key, but for what expires. @param {string} key */
  lastOf(key) {
    const last = this.#changes.get(key)?.at(-1)
    return last?.life === this.#life ? last : undefined
  }

  /** @param {string} request */
  requestsOf(request) {
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
   *
   * @param {Kept} record
   */
  #compare([at, kept]) {
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

  /**
   * @param {string} key
   * @param {number} at
   * @param {{ value: string, expires: boolean }} holds
   */
  #unanswered(key, at, { value, expires }) {
    const request = `${partsOf(value).client} SET ${key} ${value}`
    const { reached, applied, repeated } = this.requestsOf(request)
    this.#requests.set(request, { reached: reached + 1, applied: applied + 1, repeated })
    this.#add(key, at, 'set', value, expires)
  }

  /**
   * @param {string} key
   * @param {number} at
   * @param {Change} last
   */
  #gone(key, at, last) {
    if (!last.expires) this.#losses.set(key, (this.#losses.get(key) ?? 0) + 1)
    this.#add(key, at, 'gone', '', false)
  }

  /**
   * A store said once more what it had said before; or what the one before it had only done, as it was killed.
   *
   * @param {Answered} record
   */
  #repeated([, client, verb, key, value]) {
    const request = `${client} ${verb} ${key} ${value}`
    const known = this.requestsOf(request)
    this.#requests.set(request, { ...known, repeated: known.repeated + 1 })
  }

  /** A journal that is that exact says when the time of a key was over. @param {Expired} record */
  #over([at, key, from]) {
    const last = this.lastOf(key)
    if (!last?.expires) this.#complaints.add('store', `${key} expired, and was ${JSON.stringify(last)}`)
    this.#add(key, at, 'gone', '', false, from)
  }

  /** @param {Answered} record */
  #take([at, client, verb, key, value, condition, expires, outcome, from = at]) {
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

  /**
   * A condition held that the change before speaks against: then that had expired.
   *
   * @param {string} key
   * @param {Change} last
   * @param {number} at
   */
  #expired(key, last, at) {
    if (!last.expires) this.#complaints.add('store', `a condition held against ${JSON.stringify(last)} of ${key}`)
    this.#add(key, at, 'gone', '', false)
  }

  /**
   * @param {string} key
   * @param {number} at
   * @param {Change['op']} op
   * @param {string} value
   * @param {boolean} expires
   * @param {number} [from]
   */
  #add(key, at, op, value, expires, from = at) {
    const change = { place: this.#place++, life: this.#life, at, from, op, value, expires }
    const changes = this.#changes.get(key)
    if (changes) changes.push(change)
    else this.#changes.set(key, [change])
  }

  /** A client's requests go out in the order they came. @param {string} value */
  #judgeOrder(value) {
    const { writer, number } = partsOf(value)
    const newest = this.#numbers.get(writer) ?? -1
    if (number <= newest && !this.#isLate(value))
      this.#complaints.add('order of writes', `${value} came after number ${newest}`)
    this.#numbers.set(writer, Math.max(number, newest))
  }
}
