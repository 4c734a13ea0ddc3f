import { randomBytes } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import type { RequestRejectedError } from '../../core/util/errors.js'
import type { ConnectionInfo, MqttSession } from '../session/session.js'
import { type DesiredSubscription, SubscribeRetry, wildcardsNotSupported } from '../session/subscribe-retry.js'
import type { WatchedConnection } from '../watch/registry.js'

/** What it tells. */
interface SubscribingEvents {
  /** Answers have somewhere to arrive. */
  answers(info: ConnectionInfo): void
  /** Notifications have, too, on this connection or for another life of the store. */
  changes(connection: WatchedConnection): void
  /** The broker refused one of them; `forGood`: it is not asked again. */
  refused(what: 'answers' | 'changes', error: RequestRejectedError, forGood: boolean): void
}

/** The subscriptions of a client: where answers come in, and where notifications do. */
export class SubscriptionManager {
  readonly #topics: { readonly answers: string; readonly changes: string }
  readonly #subscribeRetry: SubscribeRetry
  readonly #events: SubscribingEvents
  readonly #ids = new SubscriptionIds()
  #info: ConnectionInfo | undefined
  #isOpen = false

  /** @param topics - filters of both */
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

  /**
   * The connection is there. Requests go when their answers have somewhere to arrive, watches when notifications have, too.
   *
   * @param late - see {@link WatchedConnection}
   */
  connected(info: ConnectionInfo, late: boolean): void {
    this.#info = info
    const subscriptionId = this.#next(info)
    const connection = { fresh: !info.sessionPresent, subscriptionId, late }
    const open = { answers: false, changes: false }
    const granted = (what: keyof typeof open): void => {
      open[what] = true
      this.#isOpen = open.answers && open.changes
      if (what === 'answers') this.#events.answers(info)
      // Who was told may have ended it.
      if (this.#isOpen) this.#events.changes(connection)
    }
    const wanted = [this.#wanted('answers', granted), this.#wanted('changes', granted)]
    // Some brokers end the connection of who asks for a wildcard nevertheless.
    this.#subscribeRetry.subscribe(subscriptionId, info.hasWildcards ? wanted : wanted.slice(0, 1))
    if (!info.hasWildcards) this.#events.refused('changes', wildcardsNotSupported(), true)
  }

  /**
   * The store has another life, and what the one before told may still come: with another subscription the broker tells the
   * one from the other, where it knows identifiers.
   */
  renew(): void {
    if (!this.#isOpen || this.#info === undefined) return
    const subscriptionId = this.#next(this.#info)
    const granted = (): void => this.#events.changes({ fresh: false, subscriptionId, late: true })
    if (subscriptionId === undefined) granted()
    else this.#subscribeRetry.subscribe(subscriptionId, [this.#wanted('changes', granted)])
  }

  /** The connection is gone, or nothing is wanted any more. */
  cancel(): void {
    this.#isOpen = false
    this.#subscribeRetry.cancel()
  }

  /** A new one every time: a notification that carries it was not queued before. */
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
 * Subscription identifiers, a new one for every connection. They begin anywhere: what the broker queued for an earlier
 * process with the same client id has another one, but for one chance in 268 million.
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
