import type { Observable } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { sameBytes } from '../../core/util/bytes.js'
import { OverflowError, type StateStoreError } from '../../core/util/errors.js'
import { StringMap } from '../../core/util/string-map.js'
import type { Entry } from '../watch/watch-state.js'
import { SyncTask } from './sync-queue.js'

/** What a topic or a key has; `undefined` for nothing. */
export type Value = Uint8Array | undefined

/** Whether two values are the same. */
export const same = (one: Value, other: Value): boolean =>
  one === other || (one !== undefined && other !== undefined && sameBytes(one, other))

/** The later of two versions. */
export const later = (one: Hlc | undefined, other: Hlc | undefined): Hlc | undefined =>
  one && other && one.compareTo(other) > 0 ? one : (other ?? one)

/** A topic and its key, and what is known of them. */
export class TopicKeyPair {
  readonly topic: string
  readonly key: string
  readonly toKey: SyncTask
  readonly toTopic: SyncTask
  /** What the topic has, as far as it was heard or acknowledged. */
  heard: Value
  /** On which connection. */
  epoch = 0
  /** What the key has, as far as it was told or written. */
  stored: Value
  version: Hlc | undefined
  /** The key is to be written even if it has the value, for its time to begin anew. */
  isStale = false
  /** The newest change of the key that came while it was being written. */
  held: Entry<Uint8Array> | undefined
  /** The broker does not take the key's value: it is not published until the key changes. */
  isLeftOut = false
  /** How often in a row the connection ended while its message was under way alone. */
  losses = 0
  /** Number of the last message that was published to the topic. */
  published = 0
  /** Somebody else has published since that one was. */
  isCrossed = false
  /** Topic and key were changed at the same time. */
  isContested = false
  /** Number of the last message of ours that came back. */
  #back = 0

  constructor(topic: string, key: string, carry: Carry) {
    this.topic = topic
    this.key = key
    const carried = (): void => carry.carried(this)
    this.toKey = new SyncTask(() => carry.toKey(this), carried)
    this.toTopic = new SyncTask(
      () => carry.toTopic(this),
      carried,
      cause => carry.lostAlone(this, cause),
    )
  }

  get isIdle(): boolean {
    return !this.toKey.isBusy && !this.toTopic.isBusy
  }

  /** Both were changed at the same time, and it is known what the topic has in the end. */
  get isToBeSettled(): boolean {
    return this.isContested && this.isIdle && this.#back >= this.published
  }

  /** A message of ours is on its way. */
  publish(number: number): void {
    this.published = number
    this.isCrossed = false
    if (this.toKey.isBusy) this.isContested = true
  }

  /** A message of somebody else has come. */
  crossed(): void {
    this.isCrossed = true
    if (this.toTopic.isBusy) this.isContested = true
  }

  /** A message of ours has come back: it is later than all that came before. One of an earlier life of the link is unknown. */
  cameBack(number: number): void {
    if (number > this.published) this.isContested = true
    this.published = number
    this.#back = number
  }
}

/** How values are carried over. */
export interface Carry {
  readonly toKey: (link: TopicKeyPair) => Observable<unknown>
  readonly toTopic: (link: TopicKeyPair) => Observable<unknown>
  /** One of its parcels was carried, or given up. */
  readonly carried: (link: TopicKeyPair) => void
  /** The connection to the topics ended while its message alone was under way. */
  readonly lostAlone: (link: TopicKeyPair, cause: unknown) => void
  /** There is no room for something. */
  readonly failed: (error: StateStoreError) => void
}

/** Most bytes of values that are kept. */
const MOST_BYTES = 256 * 1024 * 1024

/** All topics with their keys; bounded in number and bytes. */
export class TopicKeyPairs {
  readonly #links = new StringMap<TopicKeyPair>()
  readonly #most: number
  readonly #carry: Carry
  #bytes = 0

  constructor(most: number, carry: Carry) {
    this.#most = most
    this.#carry = carry
  }

  get size(): number {
    return this.#links.size
  }

  /** The link of a topic, a new one if there is none; `undefined` when there are too many, which is told. */
  of(topic: string, key: string): TopicKeyPair | undefined {
    const known = this.#links.get(topic)
    if (known !== undefined) return known
    if (this.#links.size >= this.#most) {
      this.#carry.failed(new OverflowError(`The sync, at topic ${JSON.stringify(topic)},`, this.#most))
      return undefined
    }
    const link = new TopicKeyPair(topic, key, this.#carry)
    this.#links.set(topic, link)
    return link
  }

  /** Keeps what a side of a link has; `false` when there is no room for it, and nothing was kept, which is told. */
  keep(link: TopicKeyPair, side: 'heard' | 'stored', value: Value): boolean {
    const other = side === 'heard' ? link.stored : link.heard
    // The same bytes are kept once.
    const kept = same(value, other) ? other : value
    const growth = bytesOf(kept, other) - bytesOf(link[side], other)
    if (growth > 0 && this.#bytes + growth > MOST_BYTES) {
      this.#carry.failed(new OverflowError(`The sync's memory, at topic ${JSON.stringify(link.topic)},`, MOST_BYTES))
      return false
    }
    this.#bytes += growth
    link[side] = kept
    return true
  }

  /** Lets go of a link of which nothing is left. */
  release(link: TopicKeyPair): void {
    if (link.heard === undefined && link.stored === undefined && link.isIdle) this.#links.delete(link.topic)
  }

  all(): readonly TopicKeyPair[] {
    return Array.from(this.#links.values())
  }
}

const bytesOf = (one: Value, other: Value): number => (one?.length ?? 0) + (one === other ? 0 : (other?.length ?? 0))
