import type { Entry, Freshness } from 'rx-statestore'
import { text } from 'rx-statestore'
import type { Subscription } from 'rxjs'
import { BehaviorSubject } from 'rxjs'
import type { ChaosContext, Participant } from './participant.js'
import type { Random } from './random.js'
import { nameOf } from './values.js'

export interface Watcher {
  id: number
  key: string
  /** whether the watcher stays until its client ends */
  isPermanent: boolean
  last: Entry<string> | undefined
  /** the freshness, or `undefined` for a member of a set */
  freshness: Freshness['state'] | undefined
  hasEnded: boolean
  stop: () => void
}

/**
 * The number of temporary subscribers at which adding and removing a subscriber are equally likely, so that their
 * number stays bounded.
 */
const MAX_TEMPORARY = 15

let watcherCount = 0

/** The watches of one participant. Some stay, others are added and removed, and some are members of a changing set. */
export class Watchers {
  #context
  #participant
  #random
  #isActive
  #all: Set<Watcher> = new Set()
  #set$: BehaviorSubject<readonly string[]> = new BehaviorSubject([] as readonly string[])
  #members: Map<string, Watcher> = new Map()
  #stream: Subscription | undefined

  /** @param isActive - whether the participant watches any keys */
  constructor(context: ChaosContext, participant: Participant, random: Random, isActive: boolean) {
    this.#context = context
    this.#participant = participant
    this.#random = random
    this.#isActive = isActive
  }

  get current() {
    return [...this.#all, ...this.#members.values()]
  }

  start() {
    this.#all.clear()
    this.#members.clear()
    if (!this.#isActive) return
    for (const key of this.#context.keys) if (this.#random.chance(0.4)) this.#watch(key, true)
    this.#watchSet()
  }

  /** Adds or removes a subscriber at random. */
  changeWatches() {
    if (!this.#isActive) return
    const dice = this.#random.next()
    if (dice < 0.15) this.#changeSet()
    else if (dice < 0.15 + (0.85 * MAX_TEMPORARY) / (MAX_TEMPORARY + this.#temporary.length))
      this.#watch(this.#random.pick(this.#context.keys), false)
    else this.#random.pick(this.#temporary).stop()
  }

  stopAll() {
    for (const watcher of this.#all) watcher.stop()
    this.#stream?.unsubscribe()
    this.#members.clear()
  }

  /** Checks that all streams have ended after the client was closed. */
  checkClosed() {
    for (const { hasEnded: ended, key } of this.#all)
      if (!ended) this.#reportViolation('watch continues after close()', key)
    this.#stream?.unsubscribe()
    this.#all.clear()
    this.#members.clear()
  }

  #watch(key: string, isPermanent: boolean) {
    const handle = this.#participant.store.key(key, text)
    const watcher = this.#createWatcher(key, isPermanent)
    const freshness = handle.freshness$.subscribe({
      next: ({ state }) => {
        watcher.freshness = state
      },
      error: () => undefined,
    })
    const entries = handle.entries$.subscribe({
      next: entry => this.#recordEntry(watcher, entry),
      error: error => this.#reportViolation('watch error', `${key}: ${error}`),
      complete: () => {
        watcher.hasEnded = true
      },
    })
    watcher.stop = () => {
      entries.unsubscribe()
      freshness.unsubscribe()
      this.#all.delete(watcher)
    }
    this.#all.add(watcher)
  }

  get #temporary() {
    return Array.from(this.#all).filter(({ isPermanent }) => !isPermanent)
  }

  /** Watches the set. The set is kept across clients, but a new stream needs new watchers. */
  #watchSet() {
    for (const key of this.#set$.value) this.#members.set(key, this.#createWatcher(key, false))
    this.#stream = this.#participant.store.watchAll(this.#set$, text).subscribe({
      next: entry => {
        const watcher = this.#members.get(entry.key)
        if (watcher) this.#recordEntry(watcher, entry)
        else this.#reportViolation('entry of an unwatched key', entry.key)
      },
      error: error => this.#reportViolation('watchAll error', error),
    })
  }

  #changeSet() {
    const wanted = this.#context.keys.filter(key => this.#random.chance(this.#members.has(key) ? 0.8 : 0.05))
    const before = this.#members
    this.#members = new Map(wanted.map(key => [key, before.get(key) ?? this.#createWatcher(key, false)]))
    this.#set$.next(wanted)
  }

  #createWatcher(key: string, isPermanent: boolean): Watcher {
    this.#context.counts.watches++
    const leave = () => undefined
    return { id: watcherCount++, key, isPermanent, last: undefined, freshness: undefined, hasEnded: false, stop: leave }
  }

  #recordEntry(watcher: Watcher, entry: Entry<string>) {
    watcher.last = entry
    this.#context.counts.notifications++
    const { op, source } = entry
    const { name, incarnation, lostConnections, connectedAt } = this.#participant
    const value = entry.op === 'set' ? nameOf(entry.value) : ''
    if (entry.key !== watcher.key) this.#reportViolation('entry of another key', `${watcher.key}: ${entry.key}`)
    if (op === 'invalid') return this.#reportViolation('undecodable value', watcher.key)
    const version = entry.version?.toString()
    const watcherId = `${name}.${incarnation}/${watcher.id}`
    const isLive = watcher.freshness === 'live'
    this.#context.recorder.write([
      'entry',
      watcherId,
      watcher.key,
      lostConnections,
      connectedAt,
      isLive,
      op,
      value,
      version,
      source,
    ])
  }

  #reportViolation(kind: string, detail: unknown) {
    this.#context.violations.add(kind, `${this.#participant.description}: ${detail}`)
  }
}
