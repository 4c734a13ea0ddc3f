import { defer, EMPTY, type Observable, type Subscription, tap } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { Clock } from '../../core/util/clock.js'
import {
  ArgumentError,
  ClosedError,
  ConnectionLostError,
  RequestRejectedError,
  reason,
  StateStoreError,
} from '../../core/util/errors.js'
import { bytes } from '../keys/codec.js'
import type { StoreView } from '../keys/store-view.js'
import { matching } from '../matching/index.js'
import { isObjection } from '../session/reasons.js'
import type { ServiceSession } from '../session/session.js'
import type { Entry } from '../watch/watch-state.js'
import type { RetainedStats, RetainedStatus, Terms } from './options.js'
import { SyncQueue } from './sync-queue.js'
import { TopicClient } from './topic-client.js'
import { later, same, type TopicKeyPair, TopicKeyPairs } from './topic-key-pair.js'

const NOTHING = new Uint8Array()
/** Consecutive disconnects after which the only message in flight is considered the cause. */
const MAX_LOSSES = 3
/** Maximum number of remembered topics that made the broker close the connection; the oldest are forgotten. */
const MAX_CONVICTED = 1_000

interface CarrierOptions {
  readonly store: StoreView
  readonly session: ServiceSession
  readonly terms: Terms
  readonly clock: Clock
}

interface CarrierEvents {
  status(status: RetainedStatus): void
  failed(error: StateStoreError): void
}

/**
 * Syncs topics and keys. The broker's order decides the value of a topic: the broker sends back this sync's messages,
 * which reveals messages of other clients in between. Own writes are recognised by version.
 */
export class TopicKeySync {
  readonly #store: StoreView
  readonly #terms: Terms
  readonly #events: CarrierEvents
  readonly #topicKeyPairs: TopicKeyPairs
  readonly #toKeys: SyncQueue
  readonly #toTopics: SyncQueue
  readonly #topics: TopicClient
  #watching: Subscription | undefined
  readonly #convicted = new Set<string>()
  #epoch = 0
  #isSynced = false
  #isClosed = false
  #written = 0
  #published = 0

  constructor({ store, session, terms, clock }: CarrierOptions, events: CarrierEvents) {
    this.#store = store
    this.#terms = terms
    this.#events = events
    this.#topicKeyPairs = new TopicKeyPairs(terms.maxTopics, {
      toKey: link => this.#write(link),
      toTopic: link => this.#publish(link),
      carried: link => this.#carried(link),
      lostAlone: (link, cause) => this.#lostAlone(link, cause),
      failed: error => events.failed(error),
    })
    const passes = (error: unknown, isFirst: boolean): boolean => this.#passes(error, isFirst)
    this.#toKeys = new SyncQueue(clock, passes)
    this.#toTopics = new SyncQueue(clock, passes)
    this.#toKeys.start()
    this.#topics = new TopicClient(session, terms.pattern.filter, clock, {
      heard: (topic, payload, number) => this.#heard(topic, payload, number),
      connected: () => {
        this.#epoch++
      },
      synced: () => this.#synced(),
      lost: cause => this.#lost(cause),
      refused: error => events.failed(error),
      closed: cause => this.#ended(cause),
    })
    if (terms.direction !== 'to-keys') this.#watch()
  }

  get stats(): RetainedStats {
    return { topics: this.#topicKeyPairs.size, written: this.#written, published: this.#published }
  }

  close(): Promise<void> {
    return this.#topics.close()
  }

  #heard(topic: string, payload: Uint8Array, number: number | undefined): void {
    const key = this.#terms.pattern.toKey(topic)
    const link = key === undefined ? undefined : this.#topicKeyPairs.of(topic, key)
    // Only the last of our own messages counts.
    if (link === undefined || (number !== undefined && number < link.published)) return
    const value = payload.length === 0 ? undefined : payload
    const isNew = !same(link.heard, value)
    link.epoch = this.#epoch
    if (!this.#topicKeyPairs.keep(link, 'heard', value)) return
    if (number === undefined) this.#foreign(link, isNew)
    else link.cameBack(number)
    if (this.#terms.direction === 'to-topics') this.#insist(link)
    this.#settle(link)
    this.#topicKeyPairs.release(link)
  }

  #foreign(link: TopicKeyPair, isNew: boolean): void {
    link.crossed()
    const { direction } = this.#terms
    if (direction === 'to-topics') return
    if (isNew && !same(link.stored, link.heard)) this.#toKeys.put(link.toKey)
    // A key that is not watched may have any value.
    else if (link.heard === undefined && direction === 'to-keys') this.#insure(link)
    else if (this.#isSynced && link.heard && this.#terms.expiresIn !== undefined) this.#insure(link)
  }

  /** Writes the key even if its known value is equal, so that a value published again does not expire. */
  #insure(link: TopicKeyPair): void {
    link.isStale = true
    this.#toKeys.put(link.toKey)
  }

  /** After a concurrent change the topic wins, once its final value is known. */
  #settle(link: TopicKeyPair): void {
    if (this.#terms.direction !== 'both' || !this.#isSynced || !link.isToBeSettled) return
    link.isContested = false
    if (!same(link.heard, link.stored)) this.#toKeys.put(link.toKey)
  }

  /** Restores the value of a topic that follows its key. */
  #insist(link: TopicKeyPair): void {
    if (this.#isSynced && link.stored !== undefined && !same(link.heard, link.stored)) this.#toTopics.put(link.toTopic)
  }

  #synced(): void {
    this.#isSynced = true
    this.#toTopics.start()
    for (const link of this.#topicKeyPairs.all()) {
      this.#missed(link)
      link.cameBack(link.published)
      if (this.#terms.direction === 'to-keys') continue
      if (link.stored !== undefined && !same(link.heard, link.stored) && !link.toKey.isBusy)
        this.#toTopics.put(link.toTopic)
    }
    this.#events.status({ state: 'live' })
  }

  /** The topic was cleared, or lost by its broker. These cannot be told apart, so nothing is deleted. */
  #missed(link: TopicKeyPair): void {
    // A pending write of the last value still completes.
    if (!link.toKey.isBusy && link.epoch < this.#epoch) this.#topicKeyPairs.keep(link, 'heard', undefined)
  }

  #lost(cause: StateStoreError): void {
    this.#isSynced = false
    this.#toTopics.stop(cause)
    this.#events.status({ state: 'reconnecting', cause })
  }

  #ended(cause: StateStoreError | undefined): void {
    this.#isClosed = true
    this.#isSynced = false
    this.#watching?.unsubscribe()
    this.#toKeys.stop()
    this.#toTopics.stop()
    this.#events.status({ state: 'closed', cause })
  }

  #write(link: TopicKeyPair): Observable<unknown> {
    const value = link.heard
    if (!link.isStale && same(value, link.stored)) return EMPTY
    const { expiresIn } = this.#terms
    const key = this.#store.key(link.key, bytes)
    const write$: Observable<{ readonly version: Hlc | undefined }> = value
      ? key.set(value, expiresIn === undefined ? {} : { expiresIn })
      : key.delete()
    return write$.pipe(
      tap(({ version }) => {
        this.#written++
        link.isStale = false
        link.version = later(link.version, version)
        this.#topicKeyPairs.keep(link, 'stored', value)
      }),
    )
  }

  #publish(link: TopicKeyPair): Observable<unknown> {
    const value = link.stored
    if (link.isLeftOut || same(value, link.heard) || this.#convicted.has(link.topic)) return EMPTY
    return defer(() => {
      const number = this.#published + 1
      const objection = this.#topics.objectionTo(link.topic, value ?? NOTHING, number, this.#terms.maxLevels)
      if (objection !== undefined) {
        link.isLeftOut = true
        throw objection
      }
      this.#published = number
      link.publish(number)
      return this.#topics.publish(link.topic, value ?? NOTHING, link.published).pipe(
        tap({
          complete: () => {
            link.losses = 0
            link.epoch = this.#epoch
            // With another client's message in between, only the order of arrival tells the final value.
            if (!link.isCrossed) this.#topicKeyPairs.keep(link, 'heard', value)
          },
        }),
      )
    })
  }

  /** The broker probably closed the connection because of this message. Another value may be accepted. */
  #lostAlone(link: TopicKeyPair, cause: unknown): void {
    const isObjected = cause instanceof ConnectionLostError && isObjection(cause.reasonCode)
    if (!isObjected && ++link.losses < MAX_LOSSES) return
    link.losses = 0
    link.isLeftOut = true
    if (isObjected) this.#convict(link.topic)
    this.#events.failed(
      new ConnectionLostError(
        `The broker of the topics closed the connection over ${JSON.stringify(link.topic)}, which is skipped ` +
          `${isObjected ? 'until the sync restarts' : 'until its key changes'}; check which topics and sizes it accepts`,
        { cause },
        isObjected ? cause.reasonCode : undefined,
      ),
    )
  }

  #convict(topic: string): void {
    this.#convicted.add(topic)
    const [oldest] = this.#convicted
    if (this.#convicted.size > MAX_CONVICTED && oldest !== undefined) this.#convicted.delete(oldest)
  }

  #carried(link: TopicKeyPair): void {
    const { held } = link
    link.held = undefined
    if (held) this.#changed(link, held)
    if (this.#isSynced && link.heard && !link.toKey.isBusy && link.epoch < this.#epoch) this.#regain(link)
    this.#settle(link)
    this.#topicKeyPairs.release(link)
  }

  /** The topic lost the value that was being written. */
  #regain(link: TopicKeyPair): void {
    this.#missed(link)
    if (this.#terms.direction !== 'to-keys' && link.stored) this.#toTopics.put(link.toTopic)
  }

  #watch(): void {
    const { pattern, maxTopics } = this.#terms
    this.#watching = matching(this.#store, pattern.glob, bytes, { maxKeys: maxTopics }).entries$.subscribe({
      next: entry => this.#told(entry),
      error: (error: StateStoreError) => {
        this.#events.failed(error)
        this.#topics.giveUp(error)
      },
      complete: () => void this.close(),
    })
  }

  #told(entry: Entry<Uint8Array>): void {
    const topic = this.#terms.pattern.toTopic(entry.key)
    const link = topic === undefined ? undefined : this.#topicKeyPairs.of(topic, entry.key)
    if (link) this.#changed(link, entry)
  }

  #changed(link: TopicKeyPair, entry: Entry<Uint8Array>): void {
    // Compared once the pending write has its version.
    if (link.toKey.isBusy) {
      link.held = entry
      return
    }
    const { version, op, value } = entry
    if (version && link.version && version.compareTo(link.version) <= 0) return
    link.version = op === 'absent' ? undefined : later(link.version, version)
    if (!this.#topicKeyPairs.keep(link, 'stored', value?.length === 0 ? undefined : value)) return
    link.isLeftOut = false
    // The store may have lost the value.
    if (op === 'absent') this.#restore(link)
    else if (this.#isSynced && !same(link.heard, link.stored)) this.#toTopics.put(link.toTopic)
    this.#topicKeyPairs.release(link)
  }

  #restore(link: TopicKeyPair): void {
    if (this.#terms.direction === 'both' && link.heard) this.#toKeys.put(link.toKey)
  }

  /** Returns whether to retry. Reports errors that occur together once. */
  #passes(error: unknown, isFirst: boolean): boolean {
    if (this.#isClosed || error instanceof ClosedError) return false
    const passes = isPassing(error)
    if (isFirst || !passes)
      this.#events.failed(error instanceof StateStoreError ? error : new ArgumentError(reason(error), { cause: error }))
    return passes
  }
}

/** Codes of errors that pass without intervention. */
const PASSING: ReadonlySet<string> = new Set([
  'timeout',
  'outcome-unknown',
  'no-store',
  'connection-lost',
  'overflow',
  'quota-exceeded',
])
/** MQTT 5.0, section 3.4.2.1: unspecified error, implementation specific error, quota exceeded. */
const PASSING_REASONS: ReadonlySet<number> = new Set([128, 131, 151])

/** Whether to retry with the latest value after an error. */
export function isPassing(error: unknown): boolean {
  if (error instanceof RequestRejectedError && PASSING_REASONS.has(error.status)) return true
  return error instanceof StateStoreError && PASSING.has(error.code)
}
