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
  /** for the record */
  who: string
  glob: string
  /** stays until its client ends */
  steady: boolean
  /** by key */
  last: Map<string, Entry<string>>
  map: ReadonlyMap<string, string> | undefined
  freshness: Freshness['state'] | undefined
  /** of its streams, those that have not ended */
  open: number
  leave: () => void
}

/**
 * What a client does: `none` watches keys alone; `one` watches nothing but one glob, so that it has to see every step
 * of every key; `several` watches overlapping globs beside keys.
 */
export type Role = 'none' | 'one' | 'several'

/** Dealt out in turns, another turn for each round of profiles. */
const ROLES: readonly Role[] = ['none', 'one', 'several', 'several']
const MOST_PASSING = 4

let watchers = 0

/** @param number - of the client */
export const roleOf = (number: number) => ROLES[(number + Math.floor(number / ROLES.length)) % ROLES.length] as Role

/** The globs that one participant watches. */
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

  /** All that watch now. */
  get current() {
    return [...this.#all]
  }

  /** Starts to watch with a new client. */
  enter() {
    this.#all.clear()
    if (this.#role === 'none') return
    this.#watch(this.#random.pick(GLOBS), true)
    if (this.#role === 'several') this.#watch('chaos/*', true)
  }

  /** Somebody comes or goes. */
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
    // As few as can be, for of those that went a quarter is remembered.
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
    if (op === 'invalid') return this.#complain('value that does not decode', key)
    const { losses, connectedAt, reports } = this.#participant
    const value = op === 'set' ? nameOf(entry.value) : ''
    // Who waits in vain for answers scans for a while, and may miss the first steps of a key.
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
