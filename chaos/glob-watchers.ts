import type { Entry, Freshness } from 'rx-statestore'
import { text } from 'rx-statestore'
import { matching } from 'rx-statestore/matching'
import { fits, GLOBS } from '../spec/judges/chaos-globs.js'
import { now } from './now.js'
import type { Participant, World } from './participant.js'
import type { Random } from './random.js'
import { nameOf } from './values.js'

/** One subscriber of a glob. */
export interface GlobWatcher {
  /** name in the recording */
  who: string
  glob: string
  /** whether it stays until its client ends */
  steady: boolean
  /** by key */
  last: Map<string, Entry<string>>
  map: ReadonlyMap<string, string> | undefined
  freshness: Freshness['state'] | undefined
  /** number of its streams that have not ended */
  open: number
  leave: () => void
}

/**
 * What a client watches. `none`: only keys. `one`: only one glob, so that it must see every change of every key.
 * `several`: overlapping globs and keys.
 */
export type Role = 'none' | 'one' | 'several'

/** Assigned in rotation, offset by one for each round of profiles. */
const ROLES: readonly Role[] = ['none', 'one', 'several', 'several']
const MOST_PASSING = 4

let watchers = 0

/** @param number - of the client */
export const roleOf = (number: number) => ROLES[(number + Math.floor(number / ROLES.length)) % ROLES.length] as Role

/** The globs watched by one participant. */
export class GlobWatchers {
  #world
  #participant
  #random
  #role
  #all: Set<GlobWatcher> = new Set()

  constructor(world: World, participant: Participant, random: Random, role: Role) {
    this.#world = world
    this.#participant = participant
    this.#random = random
    this.#role = role
  }

  get current() {
    return [...this.#all]
  }

  /** Starts watching with a new client. */
  enter() {
    this.#all.clear()
    if (this.#role === 'none') return
    this.#watch(this.#random.pick(GLOBS), true)
    if (this.#role === 'several') this.#watch('chaos/*', true)
  }

  /** Adds or removes a subscriber. */
  act() {
    const [first] = this.#all
    if (first === undefined) return
    const passing = Array.from(this.#all).filter(({ steady }) => !steady)
    const isFull = this.#random.chance(passing.length / MOST_PASSING)
    if (isFull) this.#random.pick(passing).leave()
    else this.#watch(this.#role === 'one' ? first.glob : this.#random.pick(GLOBS), false)
  }

  leaveAll() {
    for (const watcher of this.#all) watcher.leave()
  }

  /** Without a connection or store, no watch may be live. */
  judgeLost() {
    for (const { freshness, glob } of this.#all)
      if (freshness === 'live') this.#complain('live without a connection', glob)
  }

  /** After the client was closed, all streams must have ended. */
  judgeClosed() {
    for (const { open, glob } of this.#all) if (open > 0) this.#complain('watch continues after close()', glob)
    this.#all.clear()
  }

  #watch(glob: string, steady: boolean) {
    this.#world.counts.globs++
    const { name, life } = this.#participant
    const who = `${name}.${life}/g${watchers++}`
    const watcher: GlobWatcher = {
      who,
      glob,
      steady,
      last: new Map(),
      map: undefined,
      freshness: undefined,
      open: 3,
      leave,
    }
    // As few as possible, because a quarter of this number of deleted keys is remembered.
    const keys = matching(this.#participant.store, glob, text, { maxKeys: this.#world.keys.length })
    const error = (cause: unknown) => this.#complain('glob watch error', `${glob}: ${cause}`)
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

  #fresh(watcher: GlobWatcher, state: Freshness['state']) {
    const before = watcher.freshness
    watcher.freshness = state
    if ((before === 'live') !== (state === 'live'))
      this.#world.recorder.write(['live', watcher.who, state === 'live' ? now() : null])
  }

  #seen(watcher: GlobWatcher, entry: Entry<string>) {
    const { key, op, source } = entry
    const version = entry.version?.toString()
    watcher.last.set(key, entry)
    this.#world.counts.notifications++
    if (op === 'invalid') return this.#complain('undecodable value', key)
    const { losses, connectedAt, reports } = this.#participant
    const value = op === 'set' ? nameOf(entry.value) : ''
    // After a timeout, the client scans for a while and may miss the first changes of a key.
    const isSure = this.#role === 'one' && reports === 0
    const isLive = watcher.freshness === 'live'
    const sight = [watcher.who, key, losses, connectedAt, isLive, op, value, version, source] as const
    this.#world.recorder.write(['glob', ...sight, watcher.glob, isSure])
  }

  #mapped(watcher: GlobWatcher, values: ReadonlyMap<string, string>) {
    watcher.map = values
    for (const key of values.keys())
      if (!fits(watcher.glob, key)) this.#complain('map of other keys', `${watcher.glob}: ${key}`)
  }

  #complain(kind: string, detail: unknown) {
    this.#world.complaints.add(kind, `${this.#participant.description}: ${detail}`)
  }
}
