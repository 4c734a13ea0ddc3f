import { text } from 'rx-statestore'
import { BehaviorSubject } from 'rxjs'
import { nameOf } from './values.js'

/**
 * One subscriber of a key.
 *
 * @typedef {object} Watcher
 * @property {number} id
 * @property {string} key
 * @property {boolean} steady - stays until its client ends
 * @property {import('rx-statestore').Entry<string> | undefined} last
 * @property {import('rx-statestore').Freshness['state'] | undefined} freshness - not known of one of many in a stream
 * @property {boolean} ended
 * @property {() => void} leave
 */

/** With so many that do not stay, one more comes as likely as one leaves: their number must not grow with time. */
const MOST_PASSING = 15

let watchers = 0

/** The watches of one participant: some stay, others come and go, some are members of a changing set. */
export class Watchers {
  #world
  #participant
  #random
  #isActive
  /** @type {Set<Watcher>} */
  #all = new Set()
  /** @type {BehaviorSubject<readonly string[]>} */
  #set$ = new BehaviorSubject(/** @type {readonly string[]} */ ([]))
  /** @type {Map<string, Watcher>} */
  #members = new Map()
  /** @type {import('rxjs').Subscription | undefined} */
  #stream

  /**
   * @param {import('./participant.js').World} world
   * @param {import('./participant.js').Participant} participant
   * @param {import('./random.js').Random} random
   * @param {boolean} isActive - whether it watches anything at all
   */
  constructor(world, participant, random, isActive) {
    this.#world = world
    this.#participant = participant
    this.#random = random
    this.#isActive = isActive
  }

  /** All that watch now. */
  get current() {
    return [...this.#all, ...this.#members.values()]
  }

  /** Starts to watch with a new client. */
  enter() {
    this.#all.clear()
    this.#members.clear()
    if (!this.#isActive) return
    for (const key of this.#world.keys) if (this.#random.chance(0.4)) this.#watch(key, true)
    this.#watchSet()
  }

  /** Something comes or goes. */
  act() {
    if (!this.#isActive) return
    const dice = this.#random.next()
    if (dice < 0.15) this.#changeSet()
    else if (dice < 0.15 + (0.85 * MOST_PASSING) / (MOST_PASSING + this.#passing.length))
      this.#watch(this.#random.pick(this.#world.keys), false)
    else this.#random.pick(this.#passing).leave()
  }

  leaveAll() {
    for (const watcher of this.#all) watcher.leave()
    this.#stream?.unsubscribe()
    this.#members.clear()
  }

  /** The client was closed: all streams have ended. */
  judgeClosed() {
    for (const { ended, key } of this.#all) if (!ended) this.#complain('watch goes on after close()', key)
    this.#stream?.unsubscribe()
    this.#all.clear()
    this.#members.clear()
  }

  /**
   * @param {string} key
   * @param {boolean} steady
   */
  #watch(key, steady) {
    const handle = this.#participant.store.key(key, text)
    const watcher = this.#enlist(key, steady)
    const freshness = handle.freshness$.subscribe({
      next: ({ state }) => {
        watcher.freshness = state
      },
      error: () => undefined,
    })
    const entries = handle.entries$.subscribe({
      next: entry => this.#seen(watcher, entry),
      error: error => this.#complain('watch error', `${key}: ${error}`),
      complete: () => {
        watcher.ended = true
      },
    })
    watcher.leave = () => {
      entries.unsubscribe()
      freshness.unsubscribe()
      this.#all.delete(watcher)
    }
    this.#all.add(watcher)
  }

  get #passing() {
    return Array.from(this.#all).filter(({ steady }) => !steady)
  }

  /** The set is that of the client before; only a new stream makes new watchers of it. */
  #watchSet() {
    for (const key of this.#set$.value) this.#members.set(key, this.#enlist(key, false))
    this.#stream = this.#participant.store.watchAll(this.#set$, text).subscribe({
      next: entry => {
        const watcher = this.#members.get(entry.key)
        if (watcher) this.#seen(watcher, entry)
        else this.#complain('entry of a key that is not watched', entry.key)
      },
      error: error => this.#complain('watchAll error', error),
    })
  }

  #changeSet() {
    const wanted = this.#world.keys.filter(key => this.#random.chance(this.#members.has(key) ? 0.8 : 0.05))
    const before = this.#members
    this.#members = new Map(wanted.map(key => [key, before.get(key) ?? this.#enlist(key, false)]))
    this.#set$.next(wanted)
  }

  /**
   * @param {string} key
   * @param {boolean} steady
   * @returns {Watcher}
   */
  #enlist(key, steady) {
    this.#world.counts.watches++
    const leave = () => undefined
    return { id: watchers++, key, steady, last: undefined, freshness: undefined, ended: false, leave }
  }

  /**
   * @param {Watcher} watcher
   * @param {import('rx-statestore').Entry<string>} entry
   */
  #seen(watcher, entry) {
    watcher.last = entry
    this.#world.counts.notifications++
    const { op, version, source } = entry
    const { name, life, losses, connectedAt } = this.#participant
    const value = entry.op === 'set' ? nameOf(entry.value) : ''
    if (entry.key !== watcher.key) this.#complain('entry of another key', `${watcher.key}: ${entry.key}`)
    if (op === 'invalid') this.#complain('value that does not decode', watcher.key)
    const who = `${name}.${life}/${watcher.id}`
    const isLive = watcher.freshness === 'live'
    this.#world.recorder.write(['entry', who, watcher.key, losses, connectedAt, isLive, op, value, version, source])
  }

  /**
   * @param {string} kind
   * @param {unknown} detail
   */
  #complain(kind, detail) {
    this.#world.complaints.add(kind, `${this.#participant.description}: ${detail}`)
  }
}
