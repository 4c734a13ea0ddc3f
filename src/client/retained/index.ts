import { BehaviorSubject, type Observable, Subject } from 'rxjs'
import { randomBytes, toHex } from '../../core/util/bytes.js'
import { checkArgument } from '../../core/util/check.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { validateUrls } from '../connect/connect.js'
import { StoreView } from '../keys/store-view.js'
import { backoffStrategy } from '../session/connection-manager.js'
import { openServiceSession } from '../session/open-session.js'
import type { ServiceSession } from '../session/session.js'
import {
  type RetainedOptions,
  type RetainedSettings,
  type RetainedStats,
  type RetainedStatus,
  toSettings,
} from './options.js'
import { TopicKeySync } from './topic-key-sync.js'

export type { RetainedOptions, RetainedStats, RetainedStatus } from './options.js'

const MAX_PACKET_BYTES = 16 * 1024 * 1024
const RECEIVE_MAXIMUM = 1_024
/** Time that the broker keeps messages while the sync is disconnected, ms. */
const SESSION_EXPIRY_MS = 3_600_000

/** Keeps topics of a broker and keys of a store in sync. Created by {@link retained}. */
export class RetainedSync implements AsyncDisposable {
  /** Emits the status of the sync, immediately and on every change. Completes after `closed`. */
  readonly status$: Observable<RetainedStatus>
  /**
   * Emits the errors of values that are rejected or exceed a limit, while all other values continue, and the first
   * error of each series of transient errors, such as an unavailable store, after which all transfers are retried. Hot.
   */
  readonly errors$: Observable<StateStoreError>
  readonly #status$ = new BehaviorSubject<RetainedStatus>({ state: 'connecting' })
  readonly #errors$ = new Subject<StateStoreError>()
  readonly #topicKeySync: TopicKeySync

  /** Use {@link retained} instead. */
  constructor(store: StoreView, session: ServiceSession, settings: RetainedSettings, clock: Clock) {
    this.status$ = this.#status$.asObservable()
    this.errors$ = this.#errors$.asObservable()
    this.#topicKeySync = new TopicKeySync(
      { store, session, settings, clock },
      {
        status: status => this.#emitStatus(status),
        failed: error => this.#errors$.next(error),
      },
    )
  }

  get stats(): RetainedStats {
    return this.#topicKeySync.stats
  }

  /** Ends the sync; the next sync transfers the pending values. The store stays open. Can be called repeatedly. */
  async close(): Promise<void> {
    await this.#topicKeySync.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #emitStatus(status: RetainedStatus): void {
    if (this.#status$.closed) return
    this.#status$.next(status)
    if (status.state !== 'closed') return
    this.#status$.complete()
    this.#errors$.complete()
  }
}

/**
 * Syncs retained messages of topics to keys of a store, keys to retained messages, or both ways. Each key has one
 * topic. The latest value is always transferred; values in between may be skipped. An empty message corresponds to a
 * deleted key. After a disconnect, only changed values are transferred. Messages that are not retained, topics that
 * start with `$` and topics of the store's protocol are ignored.
 *
 * A missing value never counts as a deletion, because a restarted broker or store may have lost it. A topic that is
 * cleared while no sync runs therefore leaves its key unchanged, and vice versa.
 *
 * Starts immediately. Throws `argument` for invalid addresses, patterns and options. `status$` ends with
 * `connection-refused` if the broker does not support retained messages, and with `request-rejected` if it refuses the
 * subscription or the sync's own topic `rx-statestore/v1/retained/+`, which marks the end of the retained messages.
 *
 * @param from - the broker of the topics, or several addresses of it
 * @example
 * ```ts
 * await using sync = retained(store, 'mqtt://plant-broker', {
 *   topic: 'plant/+/temp',
 *   keys: 'plant/{1}/temp',
 * })
 * sync.errors$.subscribe(error => console.error(error.message))
 * ```
 */
export function retained(store: StoreView, from: string | readonly string[], options: RetainedOptions): RetainedSync {
  checkArgument(store instanceof StoreView, 'a store', store)
  const urls = validateUrls(from)
  const settings = toSettings(options)
  const { clientId = `rx-statestore-retained-${toHex(randomBytes(4)).toLowerCase()}`, connection } = settings
  const { reconnect = { max: 2_000 }, credentials, keepAlive = 30_000, connectTimeout = 10_000 } = connection
  const limits = {
    maximumPacketSize: MAX_PACKET_BYTES,
    receiveMaximum: RECEIVE_MAXIMUM,
    sessionExpiry: SESSION_EXPIRY_MS,
  }
  const session = openServiceSession(
    { ...connection, ...limits, urls, clientId, keepAlive, connectTimeout, cleanStart: false, retainAsPublished: true },
    { strategy: backoffStrategy(reconnect), credentials, backoff: reconnect, isPersistent: true },
    systemClock,
  )
  return new RetainedSync(store, session, settings, systemClock)
}
