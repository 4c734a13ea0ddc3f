import { recordsOf } from './recorder.js'
import { partsOf } from './values.js'

/**
 * A change the store made. `gone` is a deletion or an expiry; of an expiry the journal shows only what follows from it.
 *
 * @typedef {object} Change
 * @property {number} place - in the order of all changes of all stores
 * @property {number} life - which store
 * @property {number} at - when it was applied at the latest, monotonic ms
 * @property {'set' | 'gone'} op
 * @property {string} value
 * @property {boolean} expires
 */

/** All that the stores did, by their journals. */
export class History {
  /** By key, in the order of the stores. @type {Map<string, Change[]>} */
  #changes = new Map()
  /** By request: how many reached a store, and how many were applied for certain. @type {Map<string, { reached: number, applied: number }>} */
  #requests = new Map()
  /** Newest number of every writer. @type {Map<string, number>} */
  #numbers = new Map()
  #complaints
  #place = 0
  #life = 0

  /** @param {import('./complaints.js').Complaints} complaints */
  constructor(complaints) {
    this.#complaints = complaints
  }

  /** @param {readonly string[]} journals */
  async read(journals) {
    for (const [life, path] of journals.entries()) {
      this.#life = life
      for await (const record of recordsOf(path)) this.#take(record)
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
    return this.#requests.get(request) ?? { reached: 0, applied: 0 }
  }

  /** All requests that reached a store. */
  get requests() {
    return this.#requests.keys()
  }

  /** @param {[number, string, string, string, string, string, boolean, string]} record */
  #take([at, client, verb, key, value, condition, expires, outcome]) {
    const request = `${client} ${verb} ${key} ${value}`
    const known = this.requestsOf(request)
    // Of a DEL the journal does not know whether there was a key.
    const applied = verb === 'SET' && outcome === 'ok'
    this.#requests.set(request, { reached: known.reached + 1, applied: known.applied + Number(applied) })
    if (verb === 'SET' && condition !== 'NEX') this.#judgeOrder(value)
    const last = this.lastOf(key)
    if (applied) {
      const hindered = condition === 'NX' || (condition === 'NEX' && last?.value !== value)
      if (hindered && last?.op === 'set') this.#expired(key, last, at)
      this.#add(key, at, 'set', value, expires)
    } else if (verb !== 'SET' && outcome === 'count' && last?.op === 'set') this.#add(key, at, 'gone', '', false)
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
   */
  #add(key, at, op, value, expires) {
    const change = { place: this.#place++, life: this.#life, at, op, value, expires }
    const changes = this.#changes.get(key)
    if (changes) changes.push(change)
    else this.#changes.set(key, [change])
  }

  /** A client's requests go out in the order they came. @param {string} value */
  #judgeOrder(value) {
    const { writer, number } = partsOf(value)
    const newest = this.#numbers.get(writer) ?? -1
    if (number <= newest) this.#complaints.add('order of writes', `${value} came after number ${newest}`)
    this.#numbers.set(writer, Math.max(number, newest))
  }
}
