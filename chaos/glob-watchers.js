import { text } from 'rx-statestore'
import { matching } from 'rx-statestore/matching'
import { fits, GLOBS } from './globs.js'
import { now } from './now.js'
import { nameOf } from './values.js'

/**
 * One subscriber of a glob.
 *
 * @typedef {object} GlobWatcher
 * @property {string} who - for the record
 * @property {string} glob
 * @property {boolean} steady - stays until its client ends
 * @property {Map<string, import('rx-statestore').Entry<string>>} last - by key
 * @property {ReadonlyMap<string, string> | undefined} map
 * @property {import('rx-statestore').Freshness['state'] | undefined} freshness
 * @property {number} open - of its streams, those that have not ended
 * @property {() => void} leave
 */

/**
 * What a client does: `none` watches keys alone; `one` watches nothing but one glob, so that it has to see every step of
 * every key; `several` watches overlapping globs beside keys.
 *
 * @typedef {'none' | 'one' | 'several'} Role
 */

/** Dealt out in turns, another turn for each round of profiles. @type {readonly Role[]} */
const ROLES = ['none', 'one', 'several', 'several']
const MOST_PASSING = 4

let watchers = 0

/** @param {number} number - of the client */
export const roleOf = number => /** @type {Role} */ (ROLES[(number + Math.floor(number / ROLES.length)) % ROLES.length])

/** The globs that one participant watches. */
export class GlobWatchers {
  #world
  #participant
  #random
  #role
  /** @type {Set<GlobWatcher>} */
  #all = new Set()

  /**
   * @param {import('./participant.js').World} world
   * @param {import('./participant.js').Participant} participant
   * @param {import('./random.js').Random} random
   * @param {Role} role
   */
  constructor(world, participant, random, role) {
    this.#world = world
    this.#participant = participant
    this.#random = random
    this.#role = role
  }

  /** All that watch now. */
  get current() {
    return [...this.#all]
  }

  /** Starts to watch with a new client. */
  enter() {
    this.#all.clear()
    if (this.#role === 'none') return
    this.#watch(this.#random.pick(GLOBS).glob, true)
    if (this.#role === 'several') this.#watch('chaos/*', true)
  }

  /** Somebody comes or goes. */
  act() {
    const [first] = this.#all
    if (first === undefined) return
    const passing = Array.from(this.#all).filter(({ steady }) => !steady)
    const isFull = this.#random.chance(passing.length / MOST_PASSING)
    if (isFull) this.#random.pick(passing).leave()
    else this.#watch(this.#role === 'one' ? first.glob : this.#random.pick(GLOBS).glob, false)
  }

  leaveAll() {
    for (const watcher of this.#all) watcher.leave()
  }

  /** The connection is lost, or the store may not be asked: nobody may believe to know all. */
  judgeLost() {
    for (const { freshness, glob } of this.#all)
      if (freshness === 'live') this.#complain('live without a connection', glob)
  }

  /** The client was closed: all streams have ended. */
  judgeClosed() {
    for (const { open, glob } of this.#all) if (open > 0) this.#complain('watch goes on after close()', glob)
    this.#all.clear()
  }

  /**
   * @param {string} glob
   * @param {boolean} steady
   */
  #watch(glob, steady) {
    this.#world.counts.globs++
    const { name, life } = this.#participant
    const who = `${name}.${life}/g${watchers++}`
    /** @type {GlobWatcher} */
    const watcher = { who, glob, steady, last: new Map(), map: undefined, freshness: undefined, open: 3, leave }
    // As few as can be, for of those that went a quarter is remembered.
    const keys = matching(this.#participant.store, glob, text, { maxKeys: this.#world.keys.length })
    const error = (/** @type {unknown} */ cause) => this.#complain('glob watch error', `${glob}: ${cause}`)
    const complete = () => {
      watcher.open--
    }
    const freshness = keys.freshness$.subscribe({ next: ({ state }) => this.#fresh(watcher, state), error, complete })
    const entries = keys.entries$.subscribe({ next: entry => this.#seen(watcher, entry), error, complete })
    const map = keys.map$.subscribe({ next: values => this.#mapped(watcher, values), error, complete })
    const all = this.#all
    function leave() {
      for (const stream of [entries, freshness, map]) stream.unsubscribe()
      all.delete(watcher)
    }
    all.add(watcher)
  }

  /**
   * @param {GlobWatcher} watcher
   * @param {import('rx-statestore').Freshness['state']} state
   */
  #fresh(watcher, state) {
    const before = watcher.freshness
    watcher.freshness = state
    if ((before === 'live') !== (state === 'live'))
      this.#world.recorder.write(['live', watcher.who, state === 'live' ? now() : null])
  }

  /**
   * @param {GlobWatcher} watcher
   * @param {import('rx-statestore').Entry<string>} entry
   */
  #seen(watcher, entry) {
    const { key, op, version, source } = entry
    watcher.last.set(key, entry)
    this.#world.counts.notifications++
    if (op === 'invalid') this.#complain('value that does not decode', key)
    const { losses, connectedAt, reports } = this.#participant
    const value = op === 'set' ? nameOf(entry.value) : ''
    // Who waits in vain for answers scans for a while, and may miss the first steps of a key.
    const isSure = this.#role === 'one' && reports === 0
    const isLive = watcher.freshness === 'live'
    this.#world.recorder.write([
      'glob',
      watcher.who,
      key,
      losses,
      connectedAt,
      isLive,
      op,
      value,
      version,
      source,
      watcher.glob,
      isSure,
    ])
  }

  /**
   * @param {GlobWatcher} watcher
   * @param {ReadonlyMap<string, string>} values
   */
  #mapped(watcher, values) {
    watcher.map = values
    for (const key of values.keys())
      if (!fits(watcher.glob, key)) this.#complain('map of other keys', `${watcher.glob}: ${key}`)
  }

  /**
   * @param {string} kind
   * @param {unknown} detail
   */
  #complain(kind, detail) {
    this.#world.complaints.add(kind, `${this.#participant.description}: ${detail}`)
  }
}
