import type { Entry, Freshness } from 'rx-statestore'
import { text } from 'rx-statestore'
import { matching } from 'rx-statestore/matching'
import { BehaviorSubject, type Observable, Subscription } from 'rxjs'
import { globMatcher } from '../harness/judges/glob.js'
import { nameOf } from '../harness/judges/values.js'
import type { Random } from '../harness/random.js'
import type { ChaosClient, ChaosContext } from './context.js'
import { now } from './now.js'

/** A subscriber of a key, of a member of a changing set of keys, or of a glob. */
export interface Watcher {
  /** name in the recording */
  readonly id: string
  readonly kind: 'key' | 'member' | 'glob'
  /** the watched key or glob */
  readonly target: string
  /** whether the watcher stays until its client ends */
  readonly isPermanent: boolean
  /** the last entry of each key */
  readonly last: Map<string, Entry<string>>
  map: ReadonlyMap<string, string> | undefined
  /** `undefined` for a member of a set */
  freshness: Freshness['state'] | undefined
  readonly subscription: Subscription
  openStreams: number
}

interface Streams {
  readonly entries$: Observable<Entry<string>>
  readonly freshness$: Observable<Freshness>
  readonly map$?: Observable<ReadonlyMap<string, string>>
}

/**
 * A client's watches. `glob`: only one glob, so that the client must see every change of every key. `all`: keys and
 * overlapping globs.
 */
export type Role = 'keys' | 'glob' | 'all'

/** Globs that overlap in some keys. */
const GLOBS = ['chaos/*', 'chaos/1*', 'chaos/*7', 'chaos/?', 'chaos/[0-4]?*']
/**
 * The numbers of temporary subscribers at which adding and removing a subscriber are equally likely, so that their
 * number stays bounded.
 */
const TEMPORARY = { key: 15, glob: 2 }

let watcherCount = 0

/** The watches of one participant. Some stay, others are added and removed, and some are members of a changing set. */
export class Watchers {
  #context
  #participant
  #random
  #role
  #all: Set<Watcher> = new Set()
  #set$: BehaviorSubject<readonly string[]> = new BehaviorSubject([] as readonly string[])
  #members: Map<string, Watcher> = new Map()
  #memberEntries: Subscription | undefined

  constructor(context: ChaosContext, participant: ChaosClient, random: Random, role: Role) {
    this.#context = context
    this.#participant = participant
    this.#random = random
    this.#role = role
  }

  get current(): Watcher[] {
    return [...this.#all, ...this.#members.values()]
  }

  start() {
    const { keys } = this.#context
    if (this.#role !== 'glob') {
      for (const key of keys) if (this.#random.chance(0.4)) this.#watchKey(key, true)
      this.#watchSet()
    }
    if (this.#role !== 'keys') this.#watchGlob(this.#random.pick(GLOBS), true)
    if (this.#role === 'all') this.#watchGlob('chaos/*', true)
  }

  /** Changes the set of keys, or adds or removes a subscriber of a key. */
  changeKeys() {
    if (this.#role === 'glob') return
    if (this.#random.chance(0.15)) this.#changeSet()
    else if (!this.#removeTemporary('key')) this.#watchKey(this.#random.pick(this.#context.keys), false)
  }

  /** Adds or removes a subscriber of a glob. */
  changeGlobs() {
    const known = this.current.find(({ kind }) => kind === 'glob')
    if (known === undefined || this.#removeTemporary('glob')) return
    this.#watchGlob(this.#role === 'glob' ? known.target : this.#random.pick(GLOBS), false)
  }

  stopAll() {
    for (const watcher of this.#all) watcher.subscription.unsubscribe()
    this.#memberEntries?.unsubscribe()
    this.#all.clear()
    this.#members.clear()
  }

  /** Checks that no glob is live while there is no connection or no store. */
  checkDisconnected() {
    for (const { kind, freshness, target } of this.#all)
      if (kind === 'glob' && freshness === 'live') this.#reportViolation('live without a connection', target)
  }

  /** Checks that all streams have ended after the client was closed. */
  checkClosed() {
    for (const { openStreams, target } of this.#all)
      if (openStreams > 0) this.#reportViolation('watch continues after close()', target)
    this.stopAll()
  }

  #removeTemporary(kind: 'key' | 'glob') {
    const temporary = Array.from(this.#all).filter(watcher => watcher.kind === kind && !watcher.isPermanent)
    const isRemoved = this.#random.chance(temporary.length / (temporary.length + TEMPORARY[kind]))
    if (isRemoved) this.#random.pick(temporary).subscription.unsubscribe()
    return isRemoved
  }

  #watchKey(key: string, isPermanent: boolean) {
    this.#watch(this.#createWatcher('key', key, isPermanent), this.#participant.store.key(key, text))
  }

  #watchGlob(glob: string, isPermanent: boolean) {
    // The limit is as low as possible, because the client remembers deleted keys up to a quarter of the limit.
    const keys = matching(this.#participant.store, glob, text, { maxKeys: this.#context.keys.length })
    this.#watch(this.#createWatcher('glob', glob, isPermanent), keys)
  }

  #watch(watcher: Watcher, { entries$, freshness$, map$ }: Streams) {
    const observe = <T>(stream$: Observable<T>, next: (value: T) => void) => {
      watcher.openStreams++
      const error = (cause: unknown) => this.#reportViolation('watch error', `${watcher.target}: ${cause}`)
      const complete = () => {
        watcher.openStreams--
      }
      watcher.subscription.add(stream$.subscribe({ next, error, complete }))
    }
    this.#all.add(watcher)
    watcher.subscription.add(() => this.#all.delete(watcher))
    observe(freshness$, ({ state }) => this.#recordFreshness(watcher, state))
    observe(entries$, entry => this.#recordEntry(watcher, entry))
    if (map$) observe(map$, map => this.#recordMap(watcher, map))
  }

  /** Watches the set. The set is kept across clients, but a new stream needs new watchers. */
  #watchSet() {
    for (const key of this.#set$.value) this.#members.set(key, this.#createWatcher('member', key, false))
    this.#memberEntries = this.#participant.store.watchAll(this.#set$, text).subscribe({
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
    this.#members = new Map(wanted.map(key => [key, before.get(key) ?? this.#createWatcher('member', key, false)]))
    this.#set$.next(wanted)
  }

  #createWatcher(kind: Watcher['kind'], target: string, isPermanent: boolean): Watcher {
    this.#context.tally.add(kind === 'glob' ? 'globs' : 'watches')
    const { name, incarnation } = this.#participant
    const id = `${name}.${incarnation}/${watcherCount++}`
    const subscription = new Subscription()
    const state = { last: new Map(), map: undefined, freshness: undefined, openStreams: 0 }
    return { id, kind, target, isPermanent, subscription, ...state }
  }

  #recordFreshness(watcher: Watcher, state: Freshness['state']) {
    const before = watcher.freshness
    watcher.freshness = state
    if (watcher.kind !== 'glob' || (before === 'live') === (state === 'live')) return
    const since = state === 'live' ? now() : undefined
    this.#context.recorder.write({ type: 'live', watcher: watcher.id, glob: watcher.target, since })
  }

  #recordEntry({ id, kind, target, last, freshness }: Watcher, entry: Entry<string>) {
    this.#context.tally.add('notifications')
    const { key, op, source } = entry
    last.set(key, entry)
    if (op === 'invalid') return this.#reportViolation('undecodable value', key)
    if (kind !== 'glob' && key !== target) this.#reportViolation('entry of another key', `${target}: ${key}`)
    const { lostConnections, connectedAt, reportedErrors } = this.#participant
    this.#context.recorder.write({
      type: 'entry',
      watcher: id,
      glob: kind === 'glob' ? target : undefined,
      connection: lostConnections,
      connectedAt,
      isLive: freshness === 'live',
      // After a timeout, the client scans for some time and may miss the first changes of a key.
      isOnlyWatcher: this.#role === 'glob' && reportedErrors === 0,
      key,
      op,
      value: op === 'set' ? nameOf(entry.value) : undefined,
      version: entry.version?.toString(),
      source,
    })
  }

  #recordMap(watcher: Watcher, map: ReadonlyMap<string, string>) {
    watcher.map = map
    const matches = globMatcher(watcher.target)
    for (const key of map.keys())
      if (!matches(key)) this.#reportViolation('map of other keys', `${watcher.target}: ${key}`)
  }

  #reportViolation(kind: string, detail: unknown) {
    this.#context.violations.add(kind, `${this.#participant.description}: ${detail}`)
  }
}
