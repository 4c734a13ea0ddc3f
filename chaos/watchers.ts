import type { Entry, Freshness } from 'rx-statestore'
import { text } from 'rx-statestore'
import type { Subscription } from 'rxjs'
import { BehaviorSubject } from 'rxjs'
import type { Participant, World } from './participant.js'
import type { Random } from './random.js'
import { nameOf } from './values.js'

/** One subscriber of a key. */
export interface Watcher {
  id: number
  key: string
  /** whether it stays until its client ends */
  steady: boolean
  last: Entry<string> | undefined
  /** `undefined` for a member of a set */
  freshness: Freshness['state'] | undefined
  ended: boolean
  leave: () => void
}

/**
 * With this many temporary subscribers, adding and removing one are equally likely, so that their number stays bounded.
 */
const MOST_PASSING = 15

let watchers = 0

/** The watches of one participant: some stay, others are added and removed, and some are members of a changing set. */
export class Watchers {
  #world
  #participant
  #random
  #isActive
  #all: Set<Watcher> = new Set()
  #set$: BehaviorSubject<readonly string[]> = new BehaviorSubject([] as readonly string[])
  #members: Map<string, Watcher> = new Map()
  #stream: Subscription | undefined

  /** @param isActive - whether it watches anything */
  constructor(world: World, participant: Participant, random: Random, isActive: boolean) {
    this.#world = world
    this.#participant = participant
    this.#random = random
    this.#isActive = isActive
  }

  get current() {
    return [...this.#all, ...this.#members.values()]
  }

  /** Starts watching with a new client. */
  enter() {
    this.#all.clear()
    this.#members.clear()
    if (!this.#isActive) return
    for (const key of this.#world.keys) if (this.#random.chance(0.4)) this.#watch(key, true)
    this.#watchSet()
  }

  /** Adds or removes a subscriber. */
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

  /** After the client was closed, all streams must have ended. */
  judgeClosed() {
    for (const { ended, key } of this.#all) if (!ended) this.#complain('watch continues after close()', key)
    this.#stream?.unsubscribe()
    this.#all.clear()
    this.#members.clear()
  }

  #watch(key: string, steady: boolean) {
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

  /** The set is kept across clients, but a new stream needs new watchers. */
  #watchSet() {
    for (const key of this.#set$.value) this.#members.set(key, this.#enlist(key, false))
    this.#stream = this.#participant.store.watchAll(this.#set$, text).subscribe({
      next: entry => {
        const watcher = this.#members.get(entry.key)
        if (watcher) this.#seen(watcher, entry)
        else this.#complain('entry of an unwatched key', entry.key)
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

  #enlist(key: string, steady: boolean): Watcher {
    this.#world.counts.watches++
    const leave = () => undefined
    return { id: watchers++, key, steady, last: undefined, freshness: undefined, ended: false, leave }
  }

  #seen(watcher: Watcher, entry: Entry<string>) {
    watcher.last = entry
    this.#world.counts.notifications++
    const { op, source } = entry
    const { name, life, losses, connectedAt } = this.#participant
    const value = entry.op === 'set' ? nameOf(entry.value) : ''
    if (entry.key !== watcher.key) this.#complain('entry of another key', `${watcher.key}: ${entry.key}`)
    if (op === 'invalid') return this.#complain('undecodable value', watcher.key)
    const version = entry.version?.toString()
    const who = `${name}.${life}/${watcher.id}`
    const isLive = watcher.freshness === 'live'
    this.#world.recorder.write(['entry', who, watcher.key, losses, connectedAt, isLive, op, value, version, source])
  }

  #complain(kind: string, detail: unknown) {
    this.#world.complaints.add(kind, `${this.#participant.description}: ${detail}`)
  }
}
