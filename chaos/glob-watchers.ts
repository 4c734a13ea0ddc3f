import type { Entry, Freshness } from 'rx-statestore'
import { text } from 'rx-statestore'
import { matching } from 'rx-statestore/matching'
import { GLOBS, matchesGlob } from '../spec/judges/chaos-globs.js'
import { now } from './now.js'
import type { ChaosContext, Participant } from './participant.js'
import type { Random } from './random.js'
import { nameOf } from './values.js'

export interface GlobWatcher {
  /** name in the recording */
  id: string
  glob: string
  /** whether the watcher stays until its client ends */
  isPermanent: boolean
  /** the last entry by key */
  last: Map<string, Entry<string>>
  map: ReadonlyMap<string, string> | undefined
  freshness: Freshness['state'] | undefined
  openStreams: number
  stop: () => void
}

/**
 * The kinds of watches of a client. `none`: only keys. `one`: only one glob, so that it must see every change of every
 * key. `several`: overlapping globs and keys.
 */
export type Role = 'none' | 'one' | 'several'

/** The roles, which are assigned in rotation, offset by one for each round of profiles. */
const ROLES: readonly Role[] = ['none', 'one', 'several', 'several']
const MAX_TEMPORARY = 4

let watcherCount = 0

/**
 * Returns the role of a client.
 *
 * @param number - number of the client
 */
export const roleOf = (number: number) => ROLES[(number + Math.floor(number / ROLES.length)) % ROLES.length] as Role

export class GlobWatchers {
  #context
  #participant
  #random
  #role
  #all: Set<GlobWatcher> = new Set()

  constructor(context: ChaosContext, participant: Participant, random: Random, role: Role) {
    this.#context = context
    this.#participant = participant
    this.#random = random
    this.#role = role
  }

  get current() {
    return [...this.#all]
  }

  start() {
    this.#all.clear()
    if (this.#role === 'none') return
    this.#watch(this.#random.pick(GLOBS), true)
    if (this.#role === 'several') this.#watch('chaos/*', true)
  }

  /** Adds or removes a subscriber at random. */
  changeWatches() {
    const [first] = this.#all
    if (first === undefined) return
    const temporary = Array.from(this.#all).filter(({ isPermanent }) => !isPermanent)
    const isFull = this.#random.chance(temporary.length / MAX_TEMPORARY)
    if (isFull) this.#random.pick(temporary).stop()
    else this.#watch(this.#role === 'one' ? first.glob : this.#random.pick(GLOBS), false)
  }

  stopAll() {
    for (const watcher of this.#all) watcher.stop()
  }

  /** Checks that no watch is live while there is no connection or no store. */
  checkDisconnected() {
    for (const { freshness, glob } of this.#all)
      if (freshness === 'live') this.#reportViolation('live without a connection', glob)
  }

  /** Checks that all streams have ended after the client was closed. */
  checkClosed() {
    for (const { openStreams, glob } of this.#all)
      if (openStreams > 0) this.#reportViolation('watch continues after close()', glob)
    this.#all.clear()
  }

  #watch(glob: string, isPermanent: boolean) {
    this.#context.counts.globs++
    const { name, incarnation } = this.#participant
    const id = `${name}.${incarnation}/g${watcherCount++}`
    const watcher: GlobWatcher = {
      id,
      glob,
      isPermanent,
      last: new Map(),
      map: undefined,
      freshness: undefined,
      openStreams: 3,
      stop: leave,
    }
    // The limit is as low as possible, because the client remembers deleted keys up to a quarter of the limit.
    const keys = matching(this.#participant.store, glob, text, { maxKeys: this.#context.keys.length })
    const error = (cause: unknown) => this.#reportViolation('glob watch error', `${glob}: ${cause}`)
    const complete = () => {
      watcher.openStreams--
    }
    const freshness = keys.freshness$.subscribe({
      next: ({ state }) => this.#recordFreshness(watcher, state),
      error,
      complete,
    })
    const entries = keys.entries$.subscribe({ next: entry => this.#recordEntry(watcher, entry), error, complete })
    const map = keys.map$.subscribe({ next: values => this.#recordMap(watcher, values), error, complete })
    const all = this.#all
    function leave() {
      for (const stream of [entries, freshness, map]) stream.unsubscribe()
      all.delete(watcher)
    }
    all.add(watcher)
  }

  #recordFreshness(watcher: GlobWatcher, state: Freshness['state']) {
    const before = watcher.freshness
    watcher.freshness = state
    if ((before === 'live') !== (state === 'live'))
      this.#context.recorder.write(['live', watcher.id, state === 'live' ? now() : null])
  }

  #recordEntry(watcher: GlobWatcher, entry: Entry<string>) {
    const { key, op, source } = entry
    const version = entry.version?.toString()
    watcher.last.set(key, entry)
    this.#context.counts.notifications++
    if (op === 'invalid') return this.#reportViolation('undecodable value', key)
    const { lostConnections, connectedAt, reportedErrors } = this.#participant
    const value = op === 'set' ? nameOf(entry.value) : ''
    // After a timeout, the client scans for some time and may miss the first changes of a key.
    const isSure = this.#role === 'one' && reportedErrors === 0
    const isLive = watcher.freshness === 'live'
    const fields = [watcher.id, key, lostConnections, connectedAt, isLive, op, value, version, source] as const
    this.#context.recorder.write(['glob', ...fields, watcher.glob, isSure])
  }

  #recordMap(watcher: GlobWatcher, values: ReadonlyMap<string, string>) {
    watcher.map = values
    for (const key of values.keys())
      if (!matchesGlob(watcher.glob, key)) this.#reportViolation('map of other keys', `${watcher.glob}: ${key}`)
  }

  #reportViolation(kind: string, detail: unknown) {
    this.#context.violations.add(kind, `${this.#participant.description}: ${detail}`)
  }
}
