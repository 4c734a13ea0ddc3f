import { defer, EMPTY, type Observable, type Subscription, tap } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { sameBytes } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, ClosedError, ConnectionLostError, reason, StateStoreError } from '../../core/util/errors.js'
import { RecentSet } from '../../core/util/recent-set.js'
import { isTransient } from '../../core/util/transient-errors.js'
import { bytes } from '../keys/codec.js'
import type { StoreView } from '../keys/store-view.js'
import { matching } from '../matching/index.js'
import { isCauseOfLoss, isPacketRejected } from '../session/reasons.js'
import type { ServiceSession } from '../session/session.js'
import type { Entry } from '../watch/watch-state.js'
import type { RetainedSettings, RetainedStats, RetainedStatus } from './options.js'
import { SyncQueue } from './sync-queue.js'
import { TopicClient } from './topic-client.js'
import { laterVersion, type TopicKeyPair, TopicKeyPairs } from './topic-key-pair.js'

const EMPTY_PAYLOAD = new Uint8Array()
/** Maximum number of remembered topics that made the broker close the connection. The oldest topics are forgotten. */
const MAX_REJECTED_TOPICS = 1_000

interface TopicKeySyncOptions {
  readonly store: StoreView
  readonly session: ServiceSession
  readonly settings: RetainedSettings
  readonly clock: Clock
}

interface TopicKeySyncEvents {
  status(status: RetainedStatus): void
  failed(error: StateStoreError): void
}

/**
 * Syncs topics and keys. The order at the broker decides a topic's value. The broker sends back the messages of
 * this sync, which reveals messages of other clients in between. Own writes are recognised by version.
 */
export class TopicKeySync {
  readonly #store: StoreView
  readonly #settings: RetainedSettings
  readonly #events: TopicKeySyncEvents
  readonly #topicKeyPairs: TopicKeyPairs
  readonly #toKeys: SyncQueue
  readonly #toTopics: SyncQueue
  readonly #topics: TopicClient
  #watchSubscription: Subscription | undefined
  readonly #rejectedTopics = new RecentSet<string>(MAX_REJECTED_TOPICS)
  #epoch = 0
  #isSynced = false
  #isClosed = false
  #written = 0
  #published = 0

  constructor({ store, session, settings, clock }: TopicKeySyncOptions, events: TopicKeySyncEvents) {
    this.#store = store
    this.#settings = settings
    this.#events = events
    this.#topicKeyPairs = new TopicKeyPairs(settings.maxTopics, {
      toKey: pair => this.#write(pair),
      toTopic: pair => this.#publish(pair),
      onDone: pair => this.#onDone(pair),
      onLostAlone: (pair, cause) => this.#onLostAlone(pair, cause),
      onError: error => events.failed(error),
    })
    const shouldRetry = (error: unknown, isFirst: boolean): boolean => this.#shouldRetry(error, isFirst)
    this.#toKeys = new SyncQueue(clock, shouldRetry)
    this.#toTopics = new SyncQueue(clock, shouldRetry)
    this.#toKeys.start()
    this.#topics = new TopicClient(session, settings.pattern.filter, clock, {
      received: (topic, payload, number) => this.#onMessage(topic, payload, number),
      connected: () => {
        this.#epoch++
      },
      synced: () => this.#onSynced(),
      lost: cause => this.#onLost(cause),
      failed: error => events.failed(error),
      closed: cause => this.#onClosed(cause),
    })
    if (settings.direction !== 'to-keys') this.#watch()
  }

  get stats(): RetainedStats {
    return { topics: this.#topicKeyPairs.size, written: this.#written, published: this.#published }
  }

  close(): Promise<void> {
    return this.#topics.close()
  }

  #onMessage(topic: string, payload: Uint8Array, number: number | undefined): void {
    const key = this.#settings.pattern.toKey(topic)
    const pair = key === undefined ? undefined : this.#topicKeyPairs.getOrCreate(topic, key)
    // Of this sync's own messages only the last one counts.
    if (pair === undefined || (number !== undefined && number < pair.lastPublished)) return
    const value = payload.length === 0 ? undefined : payload
    const isNew = !sameBytes(pair.topicValue, value)
    pair.epoch = this.#epoch
    if (!this.#topicKeyPairs.tryStore(pair, 'topicValue', value)) return
    if (number === undefined) this.#onForeignMessage(pair, isNew)
    else pair.onEcho(number)
    if (this.#settings.direction === 'to-topics') this.#enforceKey(pair)
    this.#settleConflict(pair)
    this.#topicKeyPairs.removeIfEmpty(pair)
  }

  #onForeignMessage(pair: TopicKeyPair, isNew: boolean): void {
    pair.onForeignMessage()
    const { direction } = this.#settings
    if (direction === 'to-topics') return
    if (isNew && !sameBytes(pair.keyValue, pair.topicValue)) this.#toKeys.enqueue(pair.toKey)
    // A key that is not watched may have any value.
    else if (pair.topicValue === undefined && direction === 'to-keys') this.#forceWrite(pair)
    else if (this.#isSynced && pair.topicValue && this.#settings.expiresIn !== undefined) this.#forceWrite(pair)
  }

  /** Writes the key even if its known value is equal, so that a value that is published again does not expire. */
  #forceWrite(pair: TopicKeyPair): void {
    pair.mustRewrite = true
    this.#toKeys.enqueue(pair.toKey)
  }

  /** Lets the topic win after a concurrent change, once its final value is known. */
  #settleConflict(pair: TopicKeyPair): void {
    if (this.#settings.direction !== 'both' || !this.#isSynced || !pair.canSettle) return
    pair.hasConflict = false
    if (!sameBytes(pair.topicValue, pair.keyValue)) this.#toKeys.enqueue(pair.toKey)
  }

  #enforceKey(pair: TopicKeyPair): void {
    if (this.#isSynced && pair.keyValue !== undefined && !sameBytes(pair.topicValue, pair.keyValue))
      this.#toTopics.enqueue(pair.toTopic)
  }

  #onSynced(): void {
    this.#isSynced = true
    this.#toTopics.start()
    for (const pair of this.#topicKeyPairs.all()) {
      this.#clearIfMissing(pair)
      pair.onEcho(pair.lastPublished)
      if (this.#settings.direction === 'to-keys') continue
      if (pair.keyValue !== undefined && !sameBytes(pair.topicValue, pair.keyValue) && !pair.toKey.isBusy)
        this.#toTopics.enqueue(pair.toTopic)
    }
    this.#events.status({ state: 'live' })
  }

  /**
   * Forgets the value of a topic that was cleared, or lost by its broker. The two cases cannot be distinguished, so
   * nothing is deleted.
   */
  #clearIfMissing(pair: TopicKeyPair): void {
    // A pending write of the last value still completes.
    if (!pair.toKey.isBusy && pair.epoch < this.#epoch) this.#topicKeyPairs.tryStore(pair, 'topicValue', undefined)
  }

  #onLost(cause: StateStoreError): void {
    this.#isSynced = false
    this.#toTopics.stop(cause)
    this.#events.status({ state: 'reconnecting', cause })
  }

  #onClosed(cause: StateStoreError | undefined): void {
    this.#isClosed = true
    this.#isSynced = false
    this.#watchSubscription?.unsubscribe()
    this.#toKeys.stop()
    this.#toTopics.stop()
    this.#events.status({ state: 'closed', cause })
  }

  #write(pair: TopicKeyPair): Observable<unknown> {
    const value = pair.topicValue
    if (!pair.mustRewrite && sameBytes(value, pair.keyValue)) return EMPTY
    const { expiresIn } = this.#settings
    const key = this.#store.key(pair.key, bytes)
    const write$: Observable<{ readonly version: Hlc | undefined }> = value
      ? key.set(value, expiresIn === undefined ? {} : { expiresIn })
      : key.delete()
    return write$.pipe(
      tap(({ version }) => {
        this.#written++
        pair.mustRewrite = false
        pair.version = laterVersion(pair.version, version)
        this.#topicKeyPairs.tryStore(pair, 'keyValue', value)
      }),
    )
  }

  #publish(pair: TopicKeyPair): Observable<unknown> {
    const value = pair.keyValue
    if (pair.isExcluded || sameBytes(value, pair.topicValue) || this.#rejectedTopics.has(pair.topic)) return EMPTY
    return defer(() => {
      const number = this.#published + 1
      const error = this.#topics.validatePublish(pair.topic, value ?? EMPTY_PAYLOAD, number, this.#settings.maxLevels)
      if (error !== undefined) {
        pair.isExcluded = true
        throw error
      }
      this.#published = number
      pair.onPublish(number)
      return this.#topics.publish(pair.topic, value ?? EMPTY_PAYLOAD, pair.lastPublished).pipe(
        tap({
          complete: () => {
            pair.losses = 0
            pair.epoch = this.#epoch
            // With another client's message in between, only the order of arrival shows the final value.
            if (!pair.hasForeignMessage) this.#topicKeyPairs.tryStore(pair, 'topicValue', value)
          },
        }),
      )
    })
  }

  /**
   * Handles a lost connection that the broker probably closed because of this message. Another value may be accepted.
   */
  #onLostAlone(pair: TopicKeyPair, cause: unknown): void {
    const reasonCode = cause instanceof ConnectionLostError ? cause.reasonCode : undefined
    if (!isCauseOfLoss(++pair.losses, reasonCode)) return
    const isRejected = isPacketRejected(reasonCode)
    pair.losses = 0
    pair.isExcluded = true
    if (isRejected) this.#rejectedTopics.add(pair.topic)
    this.#events.failed(
      new ConnectionLostError(
        `The broker of the topics closed the connection over ${JSON.stringify(pair.topic)}, which is skipped ` +
          `${isRejected ? 'until the sync restarts' : 'until its key changes'}; check which topics and sizes it accepts`,
        { cause },
        isRejected ? reasonCode : undefined,
      ),
    )
  }

  #onDone(pair: TopicKeyPair): void {
    const { deferredEntry } = pair
    pair.deferredEntry = undefined
    if (deferredEntry) this.#applyEntry(pair, deferredEntry)
    if (this.#isSynced && pair.topicValue && !pair.toKey.isBusy && pair.epoch < this.#epoch) this.#restoreTopic(pair)
    this.#settleConflict(pair)
    this.#topicKeyPairs.removeIfEmpty(pair)
  }

  #restoreTopic(pair: TopicKeyPair): void {
    this.#clearIfMissing(pair)
    if (this.#settings.direction !== 'to-keys' && pair.keyValue) this.#toTopics.enqueue(pair.toTopic)
  }

  #watch(): void {
    const { pattern, maxTopics } = this.#settings
    this.#watchSubscription = matching(this.#store, pattern.glob, bytes, { maxKeys: maxTopics }).entries$.subscribe({
      next: entry => this.#onEntry(entry),
      error: (error: StateStoreError) => {
        this.#events.failed(error)
        this.#topics.giveUp(error)
      },
      complete: () => void this.close(),
    })
  }

  #onEntry(entry: Entry<Uint8Array>): void {
    const topic = this.#settings.pattern.toTopic(entry.key)
    const pair = topic === undefined ? undefined : this.#topicKeyPairs.getOrCreate(topic, entry.key)
    if (pair) this.#applyEntry(pair, entry)
  }

  #applyEntry(pair: TopicKeyPair, entry: Entry<Uint8Array>): void {
    // The entry is compared once the pending write has its version.
    if (pair.toKey.isBusy) {
      pair.deferredEntry = entry
      return
    }
    const { version, op, value } = entry
    if (version && pair.version && version.compareTo(pair.version) <= 0) return
    pair.version = op === 'absent' ? undefined : laterVersion(pair.version, version)
    if (!this.#topicKeyPairs.tryStore(pair, 'keyValue', value?.length === 0 ? undefined : value)) return
    pair.isExcluded = false
    // The store may have lost the value.
    if (op === 'absent') this.#restoreKey(pair)
    else if (this.#isSynced && !sameBytes(pair.topicValue, pair.keyValue)) this.#toTopics.enqueue(pair.toTopic)
    this.#topicKeyPairs.removeIfEmpty(pair)
  }

  #restoreKey(pair: TopicKeyPair): void {
    if (this.#settings.direction === 'both' && pair.topicValue) this.#toKeys.enqueue(pair.toKey)
  }

  /** Returns whether to retry after an error. Errors that occur together are reported once. */
  #shouldRetry(error: unknown, isFirst: boolean): boolean {
    if (this.#isClosed || error instanceof ClosedError) return false
    const shouldRetry = isTransient(error)
    if (isFirst || !shouldRetry)
      this.#events.failed(error instanceof StateStoreError ? error : new ArgumentError(reason(error), { cause: error }))
    return shouldRetry
  }
}
