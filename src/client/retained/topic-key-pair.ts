import type { Observable } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { sameBytes } from '../../core/util/bytes.js'
import { OverflowError, type StateStoreError } from '../../core/util/errors.js'
import { StringMap } from '../../core/util/string-map.js'
import type { Entry } from '../watch/watch-state.js'
import { SyncTask } from './sync-queue.js'

/** `undefined` if the topic or key has no value. */
export type Value = Uint8Array | undefined

export const same = (one: Value, other: Value): boolean =>
  one === other || (one !== undefined && other !== undefined && sameBytes(one, other))

export const later = (one: Hlc | undefined, other: Hlc | undefined): Hlc | undefined =>
  one && other && one.compareTo(other) > 0 ? one : (other ?? one)

/** A topic and its key, with their known values. */
export class TopicKeyPair {
  readonly topic: string
  readonly key: string
  readonly toKey: SyncTask
  readonly toTopic: SyncTask
  /** Last received or acknowledged value of the topic. */
  heard: Value
  /** Connection on which it was received. */
  epoch = 0
  /** Last watched or written value of the key. */
  stored: Value
  version: Hlc | undefined
  /** Forces a write of an unchanged value, to renew its expiry. */
  isStale = false
  /** The newest change of the key during a write to it. */
  held: Entry<Uint8Array> | undefined
  /** Set if the broker does not accept the value; not published until the key changes. */
  isLeftOut = false
  /** Consecutive disconnects while only this message was in flight. */
  losses = 0
  published = 0
  /** Whether another client has published since. */
  isCrossed = false
  /** Whether topic and key changed concurrently. */
  isContested = false
  /** Number of this sync's last message that the broker sent back. */
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

  /** Whether a concurrent change can be settled, because the final value of the topic is known. */
  get isToBeSettled(): boolean {
    return this.isContested && this.isIdle && this.#back >= this.published
  }

  publish(number: number): void {
    this.published = number
    this.isCrossed = false
    if (this.toKey.isBusy) this.isContested = true
  }

  crossed(): void {
    this.isCrossed = true
    if (this.toTopic.isBusy) this.isContested = true
  }

  /**
   * The broker sent back a message of this sync, which follows everything received before. A higher number than
   * published is from an earlier object for this pair.
   */
  cameBack(number: number): void {
    if (number > this.published) this.isContested = true
    this.published = number
    this.#back = number
  }
}

export interface Carry {
  readonly toKey: (link: TopicKeyPair) => Observable<unknown>
  readonly toTopic: (link: TopicKeyPair) => Observable<unknown>
  /** A task of the pair completed or failed. */
  readonly carried: (link: TopicKeyPair) => void
  /** The connection was lost while only this pair's message was in flight. */
  readonly lostAlone: (link: TopicKeyPair, cause: unknown) => void
  /** A limit was exceeded. */
  readonly failed: (error: StateStoreError) => void
}

const MOST_BYTES = 256 * 1024 * 1024

/** All pairs, limited in number and bytes. */
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

  /** Returns the pair of a topic, creating it if needed; reports and returns `undefined` if there are too many. */
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

  /** Stores a value; reports and returns `false` if the memory limit is exceeded. */
  keep(link: TopicKeyPair, side: 'heard' | 'stored', value: Value): boolean {
    const other = side === 'heard' ? link.stored : link.heard
    // Equal bytes are stored once.
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

  release(link: TopicKeyPair): void {
    if (link.heard === undefined && link.stored === undefined && link.isIdle) this.#links.delete(link.topic)
  }

  all(): readonly TopicKeyPair[] {
    return Array.from(this.#links.values())
  }
}

const bytesOf = (one: Value, other: Value): number => (one?.length ?? 0) + (one === other ? 0 : (other?.length ?? 0))
