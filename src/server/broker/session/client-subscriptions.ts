import { malformed } from '../../../core/mqtt5/packet-error.js'
import type { Subscribe, SubscriptionRequest, Unsubscribe } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import type { ReasonCode } from '../../../core/mqtt5/reason-codes.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { isTopicFilter } from '../../../core/mqtt5/topic.js'
import { LIMIT } from '../limits/limits.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'
import type { QuotaAccounts } from '../limits/quota-accounts.js'
import { lowerQos } from '../routing/delivery.js'
import { isTooDeep } from '../routing/filter-trie.js'
import { isShared, type Subscription, sharedFilter, subscriptionOf, subscriptionSize } from '../routing/router.js'
import type { Host } from './connection-host.js'
import type { Session } from './session.js'

const GRANTED = [REASON.success, REASON.grantedQos1, REASON.grantedQos2] as const

/** The subscriptions of one client (MQTT 5.0, sections 3.8 and 3.10). */
export class ClientSubscriptions {
  readonly #client: Client
  readonly #session: Session
  readonly #host: Host<never>

  constructor(client: Client, session: Session, host: Host<never>) {
    this.#client = client
    this.#session = session
    this.#host = host
  }

  /**
   * Grants or refuses each filter of a SUBSCRIBE; returns a reason code for each. Raises `PacketError` when one is not a filter
   * at all. The retained messages are left to {@link replayNext}.
   */
  subscribe({ subscriptions, subscriptionId }: Subscribe): ReasonCode[] {
    for (const { filter } of subscriptions) checkFilter(filter)
    return subscriptions.map(request => {
      const refusal = this.#reserve(request)
      if (refusal !== undefined) return refusal
      this.#grant(request, subscriptionId)
      return GRANTED[request.qos]
    })
  }

  /** Sends the retained messages of the next subscription that waits for them. */
  replayNext(): void {
    const [next] = this.#session.replays
    if (next === undefined) return
    this.#session.replays.delete(next)
    this.#sendRetained(next)
  }

  /** Returns a reason code for each filter; raises `PacketError` when one is not a filter at all. */
  unsubscribe({ filters }: Unsubscribe): ReasonCode[] {
    for (const filter of filters) checkFilter(filter)
    return filters.map(filter => {
      const subscription = this.#session.unsubscribe(filter)
      if (subscription === undefined) return REASON.noSubscriptionExisted
      this.#host.router.remove(subscription)
      discountSubscription(this.#session, filter, this.#host)
      return REASON.success
    })
  }

  /** Counts a subscription; returns a reason code instead where it is refused. */
  #reserve({ filter }: SubscriptionRequest): ReasonCode | undefined {
    if (!this.#host.handler.maySubscribe(this.#client, sharedFilter(filter) ?? filter)) return REASON.notAuthorized
    if (isTooDeep(filter)) return REASON.quotaExceeded
    if (this.#session.subscriptions.has(filter)) return undefined
    if (countSubscription(this.#session, filter, this.#host)) return undefined
    this.#host.handler.exceeded?.(this.#client, 'subscribe', filter)
    return REASON.quotaExceeded
  }

  #grant(request: SubscriptionRequest, id: number | undefined): void {
    const { router } = this.#host
    const subscription = subscriptionOf(this.#session, request, id)
    const before = this.#session.subscribe(subscription)
    if (before) router.remove(before)
    router.add(subscription)
    const { retainHandling } = request
    const wanted = retainHandling === 0 || (retainHandling === 1 && before === undefined)
    if (wanted && !isShared(subscription)) this.#session.replays.add(subscription)
  }

  #sendRetained({ qos, id, filter }: Subscription): void {
    const messages = this.#host.retained.match(filter, this.#host.clock.monotonic())
    // More than everything that is retained waits already: the client asks for it over and over and takes none of it.
    if (this.#session.outbox.replayed + messages.length > LIMIT.retainedMessages) return
    for (const message of messages) {
      this.#session.deliver({
        ...message,
        qos: lowerQos(qos, message.qos),
        retain: true,
        subscriptionIds: id === undefined ? [] : [id],
        replayed: true,
      })
    }
  }
}

/** MQTT 5.0, section 4.7.1 */
function checkFilter(filter: string): void {
  if (!isTopicFilter(filter)) throw malformed('a topic filter has wildcards where there may be none, or nothing in it')
}

/** Where subscriptions are counted. */
export interface SubscriptionCounts {
  readonly budget: BrokerMemoryBudget
  readonly accounts: QuotaAccounts
}

/** Counts another subscription of a session; returns whether there is room for it. */
export function countSubscription(session: Session, filter: string, { budget, accounts }: SubscriptionCounts): boolean {
  if (session.subscriptions.size >= LIMIT.subscriptions) return false
  if (session.account?.subscriptions.take() === false) return false
  if (accounts.subscriptions.take()) {
    if (budget.take(subscriptionSize(filter))) return true
    accounts.subscriptions.give()
  }
  session.account?.subscriptions.give()
  return false
}

/** A subscription of a session is gone. */
export function discountSubscription(session: Session, filter: string, { budget, accounts }: SubscriptionCounts): void {
  session.account?.subscriptions.give()
  accounts.subscriptions.give()
  budget.give(subscriptionSize(filter))
}
