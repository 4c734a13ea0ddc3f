import type { Observable } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { sameBytes } from '../../core/util/bytes.js'
import { OverflowError, type StateStoreError } from '../../core/util/errors.js'
import { StringMap } from '../../core/util/string-map.js'
import type { Entry } from '../watch/watch-state.js'
import { SyncTask } from './sync-queue.js'

/** The value of a topic or key; `undefined` if there is none. */
export type Value = Uint8Array | undefined

export const laterVersion = (one: Hlc | undefined, other: Hlc | undefined): Hlc | undefined =>
  one && other && one.compareTo(other) > 0 ? one : (other ?? one)

export class TopicKeyPair {
  readonly topic: string
  readonly key: string
  readonly toKey: SyncTask
  readonly toTopic: SyncTask
  /** Last received or acknowledged value of the topic. */
  topicValue: Value
  /** Number of the connection on which `topicValue` was received or acknowledged. */
  epoch = 0
  /** Last watched or written value of the key. */
  keyValue: Value
  version: Hlc | undefined
  /** Whether to write even an unchanged value, to renew its expiry. */
  mustRewrite = false
  /** The newest change of the key during a write to it. */
  deferredEntry: Entry<Uint8Array> | undefined
  /** Set if the broker does not accept the value, which then is not published until the key changes. */
  isExcluded = false
  /** Number of consecutive disconnects while only this message was in flight. */
  losses = 0
  lastPublished = 0
  hasForeignMessage = false
  hasConflict = false
  /** Number of the last message of this sync that the broker sent back. */
  #lastEcho = 0

  constructor(topic: string, key: string, actions: SyncActions) {
    this.topic = topic
    this.key = key
    const onDone = (): void => actions.onDone(this)
    this.toKey = new SyncTask(() => actions.toKey(this), onDone)
    this.toTopic = new SyncTask(
      () => actions.toTopic(this),
      onDone,
      cause => actions.onLostAlone(this, cause),
    )
  }

  get isIdle(): boolean {
    return !this.toKey.isBusy && !this.toTopic.isBusy
  }

  /** Whether the final value of the topic is known after a concurrent change. */
  get canSettle(): boolean {
    return this.hasConflict && this.isIdle && this.#lastEcho >= this.lastPublished
  }

  onPublish(number: number): void {
    this.lastPublished = number
    this.hasForeignMessage = false
    if (this.toKey.isBusy) this.hasConflict = true
  }

  onForeignMessage(): void {
    this.hasForeignMessage = true
    if (this.toTopic.isBusy) this.hasConflict = true
  }

  /**
   * Handles a message of this sync that the broker sent back after all earlier messages. A higher number
   * than the last one published is from an earlier object for this pair.
   */
  onEcho(number: number): void {
    if (number > this.lastPublished) this.hasConflict = true
    this.lastPublished = number
    this.#lastEcho = number
  }
}

export interface SyncActions {
  readonly toKey: (pair: TopicKeyPair) => Observable<unknown>
  readonly toTopic: (pair: TopicKeyPair) => Observable<unknown>
  readonly onDone: (pair: TopicKeyPair) => void
  /** Called when the connection was lost while only this pair's message was in flight. */
  readonly onLostAlone: (pair: TopicKeyPair, cause: unknown) => void
  readonly onError: (error: StateStoreError) => void
}

const MAX_BYTES = 256 * 1024 * 1024

/** All pairs, whose number and bytes are limited. */
export class TopicKeyPairs {
  readonly #pairs = new StringMap<TopicKeyPair>()
  readonly #maxPairs: number
  readonly #actions: SyncActions
  #bytes = 0

  constructor(maxPairs: number, actions: SyncActions) {
    this.#maxPairs = maxPairs
    this.#actions = actions
  }

  get size(): number {
    return this.#pairs.size
  }

  /**
   * Returns the pair of a topic, and creates it if needed. If there are too many pairs, reports that and returns
   * `undefined`.
   */
  getOrCreate(topic: string, key: string): TopicKeyPair | undefined {
    const known = this.#pairs.get(topic)
    if (known !== undefined) return known
    if (this.#pairs.size >= this.#maxPairs) {
      this.#actions.onError(new OverflowError(`The sync, at topic ${JSON.stringify(topic)},`, this.#maxPairs))
      return undefined
    }
    const pair = new TopicKeyPair(topic, key, this.#actions)
    this.#pairs.set(topic, pair)
    return pair
  }

  /** Stores a value. If the memory limit is exceeded, reports that and returns `false`. */
  tryStore(pair: TopicKeyPair, side: 'topicValue' | 'keyValue', value: Value): boolean {
    const other = side === 'topicValue' ? pair.keyValue : pair.topicValue
    // Equal bytes are stored once.
    const stored = sameBytes(value, other) ? other : value
    const growth = bytesOf(stored, other) - bytesOf(pair[side], other)
    if (growth > 0 && this.#bytes + growth > MAX_BYTES) {
      this.#actions.onError(new OverflowError(`The sync's memory, at topic ${JSON.stringify(pair.topic)},`, MAX_BYTES))
      return false
    }
    this.#bytes += growth
    pair[side] = stored
    return true
  }

  removeIfEmpty(pair: TopicKeyPair): void {
    if (pair.topicValue === undefined && pair.keyValue === undefined && pair.isIdle) this.#pairs.delete(pair.topic)
  }

  all(): readonly TopicKeyPair[] {
    return Array.from(this.#pairs.values())
  }
}

const bytesOf = (one: Value, other: Value): number => (one?.length ?? 0) + (one === other ? 0 : (other?.length ?? 0))
