import { randomBytes } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import type { RequestRejectedError } from '../../core/util/errors.js'
import type { ConnectionInfo, MqttSession } from '../session/session.js'
import { type DesiredSubscription, SubscribeRetry, wildcardsNotSupported } from '../session/subscribe-retry.js'
import type { WatchedConnection } from '../watch/registry.js'

interface SubscribingEvents {
  /** The response topic is subscribed. */
  answers(info: ConnectionInfo): void
  /** Notifications are also subscribed, for this connection or a new store instance. */
  changes(connection: WatchedConnection): void
  /** The broker refused a subscription; `forGood`: it is not retried. */
  refused(what: 'answers' | 'changes', error: RequestRejectedError, forGood: boolean): void
}

/** The subscriptions of a client: to responses and to notifications. */
export class SubscriptionManager {
  readonly #topics: { readonly answers: string; readonly changes: string }
  readonly #subscribeRetry: SubscribeRetry
  readonly #events: SubscribingEvents
  readonly #ids = new SubscriptionIds()
  #info: ConnectionInfo | undefined
  #isOpen = false

  constructor(
    session: MqttSession,
    clock: Clock,
    topics: { readonly answers: string; readonly changes: string },
    events: SubscribingEvents,
  ) {
    this.#topics = topics
    this.#subscribeRetry = new SubscribeRetry(session, clock)
    this.#events = events
  }

  /** Subscribes on a new connection. Requests wait for the response subscription, watches for both. */
  connected(info: ConnectionInfo, late: boolean): void {
    this.#info = info
    const subscriptionId = this.#next(info)
    const connection = { fresh: !info.sessionPresent, subscriptionId, late }
    const open = { answers: false, changes: false }
    const granted = (what: keyof typeof open): void => {
      open[what] = true
      this.#isOpen = open.answers && open.changes
      if (what === 'answers') this.#events.answers(info)
      // The callback may have closed the client.
      if (this.#isOpen) this.#events.changes(connection)
    }
    const wanted = [this.#wanted('answers', granted), this.#wanted('changes', granted)]
    // Some brokers end the connection over an unsupported wildcard.
    this.#subscribeRetry.subscribe(subscriptionId, info.hasWildcards ? wanted : wanted.slice(0, 1))
    if (!info.hasWildcards) this.#events.refused('changes', wildcardsNotSupported(), true)
  }

  /**
   * Subscribes again for a new store instance. With a new subscription id, notifications that the old instance sent can
   * be recognised; without ids they cannot.
   */
  renew(): void {
    if (!this.#isOpen || this.#info === undefined) return
    const subscriptionId = this.#next(this.#info)
    const granted = (): void => this.#events.changes({ fresh: false, subscriptionId, late: true })
    if (subscriptionId === undefined) granted()
    else this.#subscribeRetry.subscribe(subscriptionId, [this.#wanted('changes', granted)])
  }

  cancel(): void {
    this.#isOpen = false
    this.#subscribeRetry.cancel()
  }

  /** A new id for every connection: notifications that carry it were not queued before. */
  #next({ hasSubscriptionIds: subscriptionIds }: ConnectionInfo): number | undefined {
    return subscriptionIds ? this.#ids.next() : undefined
  }

  #wanted(what: 'answers' | 'changes', granted: (what: 'answers' | 'changes') => void): DesiredSubscription {
    return {
      filter: this.#topics[what],
      granted: () => granted(what),
      refused: (error, forGood) => this.#events.refused(what, error, forGood),
    }
  }
}

/** MQTT 5.0, section 3.8.2.1.2: the largest subscription identifier. */
const LARGEST_ID = 268_435_455

/**
 * Subscription identifiers, one for every connection. They start at a random value, so that notifications queued for an
 * earlier process with this client id have another, except for one chance in 268 million.
 *
 * @example
 * ```ts
 * const id = new SubscriptionIds().next() // 1 to 268,435,455
 * ```
 */
export class SubscriptionIds {
  #last: number

  /** @param random - source of random bytes */
  constructor(random: (length: number) => Uint8Array = randomBytes) {
    this.#last = random(4).reduce((number, byte) => number * 256 + byte, 0) % LARGEST_ID
  }

  next(): number {
    this.#last = (this.#last % LARGEST_ID) + 1
    return this.#last
  }
}
