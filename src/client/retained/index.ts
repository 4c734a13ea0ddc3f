import { BehaviorSubject, type Observable, Subject } from 'rxjs'
import { randomBytes, toHex } from '../../core/util/bytes.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import { ArgumentError, formatValue, type StateStoreError } from '../../core/util/errors.js'
import { validateUrls } from '../connect/connect.js'
import { StoreView } from '../keys/store-view.js'
import { backoffStrategy } from '../session/connection-manager.js'
import { openServiceSession } from '../session/open-session.js'
import type { ServiceSession } from '../session/session.js'
import { type RetainedOptions, type RetainedStats, type RetainedStatus, type Terms, termsOf } from './options.js'
import { TopicKeySync } from './topic-key-sync.js'

export type { RetainedOptions, RetainedStats, RetainedStatus } from './options.js'

/** Bytes. */
const LARGEST_PACKET = 16 * 1024 * 1024
/** Messages that may be on their way from the broker. */
const RECEIVE_MAXIMUM = 1_024
/** ms the broker keeps what is published while the sync is cut off. */
const SESSION_EXPIRY = 3_600_000

/** Topics of a broker and keys of a store that follow each other; made by {@link retained}. */
export class RetainedSync implements AsyncDisposable {
  /** At once, and whenever it changes; completes with `closed`. */
  readonly status$: Observable<RetainedStatus>
  /**
   * What was not carried, and why: values that are refused or have no room, while all else goes on; and the first of every
   * faults that pass, such as a store that is away, after which all that waits is tried again. Hot.
   */
  readonly errors$: Observable<StateStoreError>
  readonly #status$ = new BehaviorSubject<RetainedStatus>({ state: 'connecting' })
  readonly #errors$ = new Subject<StateStoreError>()
  readonly #topicKeySync: TopicKeySync

  /** Use {@link retained}. */
  constructor(store: StoreView, session: ServiceSession, terms: Terms, clock: Clock) {
    this.status$ = this.#status$.asObservable()
    this.errors$ = this.#errors$.asObservable()
    this.#topicKeySync = new TopicKeySync(
      { store, session, terms, clock },
      {
        status: status => this.#tell(status),
        failed: error => this.#errors$.next(error),
      },
    )
  }

  get stats(): RetainedStats {
    return this.#topicKeySync.stats
  }

  /** Ends it; what was not carried yet is carried by the next sync. The store stays open. May be called again. */
  async close(): Promise<void> {
    await this.#topicKeySync.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #tell(status: RetainedStatus): void {
    if (this.#status$.closed) return
    this.#status$.next(status)
    if (status.state !== 'closed') return
    this.#status$.complete()
    this.#errors$.complete()
  }
}

/**
 * Carries the retained messages of topics to keys of a store, keys to retained messages, or both, one topic to one key: the
 * newest value always, those in between not all. An empty message is a key that is deleted. What a cut kept apart is carried when
 * it is over; what has not changed is not carried again. Messages that are not retained are left alone, and so are topics that begin
 * with `$` and those of the store's own protocol.
 *
 * That something is missing is never taken for a deletion: a broker or a store that was restarted may have lost it. So a
 * topic that is cleared while no sync runs leaves its key as it is, and the other way round.
 *
 * Begins at once. Throws `argument` for wrong addresses, patterns and options. `status$` ends with `connection-refused` where the
 * broker keeps no retained messages, and with `request-rejected` where it refuses the subscription, or the sync's own topic
 * `rx-statestore/v1/retained/+`, on which it learns that all has come.
 *
 * @param from - the broker of the topics, or several addresses of it
 * @example
 * ```ts
 * await using sync = retained(store, 'mqtt://plant-broker', { topic: 'plant/+/temp', keys: 'plant/{1}/temp' })
 * sync.errors$.subscribe(error => console.error(error.message))
 * ```
 */
export function retained(store: StoreView, from: string | readonly string[], options: RetainedOptions): RetainedSync {
  if (!(store instanceof StoreView)) throw new ArgumentError(`Expected a store, got \`${formatValue(store)}\``)
  const urls = validateUrls(from)
  const terms = termsOf(options)
  const { clientId = `rx-statestore-retained-${toHex(randomBytes(4)).toLowerCase()}`, connection } = terms
  const { reconnect = { max: 2_000 }, credentials, keepAlive = 30_000, connectTimeout = 10_000 } = connection
  const limits = { maximumPacketSize: LARGEST_PACKET, receiveMaximum: RECEIVE_MAXIMUM, sessionExpiry: SESSION_EXPIRY }
  const session = openServiceSession(
    { ...connection, ...limits, urls, clientId, keepAlive, connectTimeout, cleanStart: false, retainAsPublished: true },
    { strategy: backoffStrategy(reconnect), credentials, backoff: reconnect, isPersistent: true },
    systemClock,
  )
  return new RetainedSync(store, session, terms, systemClock)
}
