import { malformed } from '../../../core/mqtt5/packet-error.js'
import type { Subscribe, SubscriptionRequest, Unsubscribe } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import type { ReasonCode } from '../../../core/mqtt5/reason-codes.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { isTopicFilter } from '../../../core/mqtt5/topic.js'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import { LIMIT } from '../limits/limits.js'
import type { QuotaAccounts } from '../limits/quota-accounts.js'
import { lowerQos, type Message } from '../routing/delivery.js'
import { isTooDeep } from '../routing/filter-trie.js'
import { isShared, sharedFilter, subscriptionBytes, subscriptionOf } from '../routing/router.js'
import type { ConnectionHost } from './connection-host.js'
import type { ReplayOptions, Session } from './session.js'

const GRANTED = [REASON.success, REASON.grantedQos1, REASON.grantedQos2] as const

/** Processes SUBSCRIBE and UNSUBSCRIBE of one client (MQTT 5.0, sections 3.8 and 3.10). */
export class ClientSubscriptions {
  readonly #client: Client
  readonly #session: Session
  readonly #host: ConnectionHost<never>

  constructor(client: Client, session: Session, host: ConnectionHost<never>) {
    this.#client = client
    this.#session = session
    this.#host = host
  }

  /**
   * Adds subscriptions in steps, and returns one reason code per filter. Throws `PacketError` for a malformed filter.
   * {@link replayNext} sends the retained messages.
   */
  subscribe({ subscriptions, subscriptionId }: Subscribe): FilterSteps {
    for (const { filter } of subscriptions) checkFilter(filter)
    return inSteps(subscriptions, request => {
      const refusal = this.#reserve(request)
      if (refusal !== undefined) return refusal
      this.#grant(request, subscriptionId)
      return GRANTED[request.qos]
    })
  }

  /**
   * Sends the next retained message of {@link Session.nextReplay}, continues the search for it, or ends this replay.
   * Searches for one subscription at a time, because a search may visit all retained messages.
   */
  replayNext(): void {
    const { nextReplay } = this.#session
    if (nextReplay === undefined) return
    const [filter, { messages, options, repetition }] = nextReplay
    const { value: message, done } = messages.next()
    if (message !== undefined) this.#sendRetained(message, options)
    if (!done) return
    this.#session.deleteReplay(filter)
    if (repetition !== undefined) this.#startReplay(filter, repetition)
  }

  /**
   * Removes subscriptions in steps, and returns one reason code per filter. Throws `PacketError` for a malformed filter.
   */
  unsubscribe({ filters }: Unsubscribe): FilterSteps {
    for (const filter of filters) checkFilter(filter)
    return inSteps(filters, filter => {
      const subscription = this.#session.unsubscribe(filter)
      if (subscription === undefined) return REASON.noSubscriptionExisted
      this.#host.router.remove(subscription)
      releaseSubscription(this.#session, filter, this.#host)
      return REASON.success
    })
  }

  /** Reserves memory and quota for a subscription. Returns a reason code if the filter is rejected. */
  #reserve({ filter }: SubscriptionRequest): ReasonCode | undefined {
    if (!this.#host.handler.maySubscribe(this.#client, sharedFilter(filter) ?? filter)) return REASON.notAuthorized
    // Through thousands of groups, one client could receive every statistic thousands of times. Mosquitto also sends no
    // statistics to groups.
    if (sharedFilter(filter)?.startsWith('$SYS/')) return REASON.topicFilterInvalid
    if (isTooDeep(filter)) return REASON.quotaExceeded
    if (this.#session.subscriptions.has(filter)) return undefined
    if (tryReserveSubscription(this.#session, filter, this.#host)) return undefined
    this.#host.handler.onQuotaExceeded?.(this.#client, 'subscribe', filter)
    return REASON.quotaExceeded
  }

  #grant(request: SubscriptionRequest, id: number | undefined): void {
    const { router } = this.#host
    const subscription = subscriptionOf(this.#session, request, id)
    const previous = this.#session.subscribe(subscription)
    if (previous) router.remove(previous)
    router.add(subscription)
    const { filter, qos, retainHandling } = request
    const sendsRetained = retainHandling === 0 || (retainHandling === 1 && previous === undefined)
    if (!sendsRetained || isShared(subscription)) return
    const rest = this.#session.replayOf(filter)
    // One repetition is enough, and more would take memory that no budget counts.
    if (rest) this.#session.setReplay(filter, { ...rest, repetition: { qos, id } })
    else this.#startReplay(filter, { qos, id })
  }

  #startReplay(filter: string, options: ReplayOptions): void {
    const session = this.#session
    // The function refers to the session alone, because the session keeps it after this connection has ended.
    const messages = this.#host.retainedMessages(filter, (message, sequence) =>
      session.isLost(message, sequence, options),
    )
    session.setReplay(filter, { messages, options, repetition: undefined })
  }

  #sendRetained(message: Message, { qos, id }: ReplayOptions): void {
    this.#session.deliver({
      ...message,
      qos: lowerQos(qos, message.qos),
      retain: true,
      subscriptionIds: id === undefined ? [] : [id],
      isReplay: true,
    })
  }
}

/** The number of filters that a step processes. */
const FILTERS_PER_STEP = 16

/** The processing of a packet with many filters, which can pause after each step. Returns one reason code per filter. */
export type FilterSteps = Generator<undefined, ReasonCode[]>

function* inSteps<T>(items: readonly T[], process: (item: T) => ReasonCode): FilterSteps {
  const reasonCodes: ReasonCode[] = []
  for (const item of items) {
    if (reasonCodes.length > 0 && reasonCodes.length % FILTERS_PER_STEP === 0) yield undefined
    reasonCodes.push(process(item))
  }
  return reasonCodes
}

/** Throws `PacketError` for a malformed filter (MQTT 5.0, section 4.7.1). */
function checkFilter(filter: string): void {
  if (!isTopicFilter(filter)) throw malformed('a topic filter is empty or has a misplaced wildcard')
}

export interface SubscriptionCounters {
  readonly budget: MemoryBudget
  readonly accounts: QuotaAccounts
}

export function tryReserveSubscription(
  session: Session,
  filter: string,
  { budget, accounts }: SubscriptionCounters,
): boolean {
  if (session.subscriptions.size >= LIMIT.subscriptionsPerClient) return false
  if (session.account?.subscriptions.tryReserve() === false) return false
  if (accounts.subscriptions.tryReserve()) {
    if (budget.tryReserve(subscriptionBytes(filter))) return true
    accounts.subscriptions.release()
  }
  session.account?.subscriptions.release()
  return false
}

export function releaseSubscription(
  session: Session,
  filter: string,
  { budget, accounts }: SubscriptionCounters,
): void {
  session.account?.subscriptions.release()
  accounts.subscriptions.release()
  budget.release(subscriptionBytes(filter))
}
