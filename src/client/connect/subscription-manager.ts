import { randomBytes } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import type { RequestRejectedError } from '../../core/util/errors.js'
import type { ConnectionInfo, MqttSession } from '../session/session.js'
import { type DesiredSubscription, SubscribeRetry, wildcardsNotSupported } from '../session/subscribe-retry.js'
import type { WatchedConnection } from '../watch/registry.js'

interface SubscriptionEvents {
  responsesReady(info: ConnectionInfo): void
  /** Called when notifications are subscribed as well, for this connection or a new store instance. */
  notificationsReady(connection: WatchedConnection): void
  refused(what: 'responses' | 'notifications', error: RequestRejectedError, isPermanent: boolean): void
}

export class SubscriptionManager {
  readonly #topics: { readonly responses: string; readonly notifications: string }
  readonly #subscribeRetry: SubscribeRetry
  readonly #events: SubscriptionEvents
  readonly #ids = new SubscriptionIds()
  #info: ConnectionInfo | undefined
  #isOpen = false

  constructor(
    session: MqttSession,
    clock: Clock,
    topics: { readonly responses: string; readonly notifications: string },
    events: SubscriptionEvents,
  ) {
    this.#topics = topics
    this.#subscribeRetry = new SubscribeRetry(session, clock)
    this.#events = events
  }

  /** Subscribes to responses and notifications. Requests wait for the first subscription, watches for both. */
  connected(info: ConnectionInfo, isStoreAttached: boolean): void {
    this.#info = info
    const subscriptionId = this.#nextId(info)
    const connection = { isNewSession: !info.sessionPresent, subscriptionId, isStoreAttached }
    const granted = { responses: false, notifications: false }
    const onGranted = (what: keyof typeof granted): void => {
      granted[what] = true
      this.#isOpen = granted.responses && granted.notifications
      if (what === 'responses') this.#events.responsesReady(info)
      // The first callback may have closed the client.
      if (this.#isOpen) this.#events.notificationsReady(connection)
    }
    const desired = [this.#subscriptionFor('responses', onGranted), this.#subscriptionFor('notifications', onGranted)]
    // Some brokers end the connection because of an unsupported wildcard.
    this.#subscribeRetry.subscribe(subscriptionId, info.hasWildcards ? desired : desired.slice(0, 1))
    if (!info.hasWildcards) this.#events.refused('notifications', wildcardsNotSupported(), true)
  }

  /**
   * Subscribes again for a new store instance. A new subscription id distinguishes notifications of the new instance
   * from notifications of the old one, which is impossible without ids.
   */
  resubscribe(): void {
    if (!this.#isOpen || this.#info === undefined) return
    const subscriptionId = this.#nextId(this.#info)
    const onGranted = (): void =>
      this.#events.notificationsReady({ isNewSession: false, subscriptionId, isStoreAttached: true })
    if (subscriptionId === undefined) onGranted()
    else this.#subscribeRetry.subscribe(subscriptionId, [this.#subscriptionFor('notifications', onGranted)])
  }

  cancel(): void {
    this.#isOpen = false
    this.#subscribeRetry.cancel()
  }

  /**
   * Returns a new id for every connection, so that a notification with this id was not queued before the connection.
   */
  #nextId({ hasSubscriptionIds }: ConnectionInfo): number | undefined {
    return hasSubscriptionIds ? this.#ids.next() : undefined
  }

  #subscriptionFor(
    what: 'responses' | 'notifications',
    granted: (what: 'responses' | 'notifications') => void,
  ): DesiredSubscription {
    return {
      filter: this.#topics[what],
      granted: () => granted(what),
      refused: (error, isPermanent) => this.#events.refused(what, error, isPermanent),
    }
  }
}

/** The maximum of MQTT 5.0, section 3.8.2.1.2. */
const MAX_SUBSCRIPTION_ID = 268_435_455

/**
 * Subscription identifiers, one for every connection. They start at a random value, so that notifications queued for an
 * earlier process with this client id carry a different one, except with a probability of 1 in 268 million.
 *
 * @example
 * ```ts
 * const id = new SubscriptionIds().next() // 1 to 268,435,455
 * ```
 */
export class SubscriptionIds {
  #last: number

  constructor(random: (length: number) => Uint8Array = randomBytes) {
    this.#last = random(4).reduce((number, byte) => number * 256 + byte, 0) % MAX_SUBSCRIPTION_ID
  }

  next(): number {
    this.#last = (this.#last % MAX_SUBSCRIPTION_ID) + 1
    return this.#last
  }
}
