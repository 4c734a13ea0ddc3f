import type { Qos, SubscriptionRequest } from '../../../core/mqtt5/packets.js'
import { StringMap } from '../../../core/util/string-map.js'
import { LEVEL_BYTES } from '../limits/limits.js'
import { type Delivery, lowerQos, type Message } from './delivery.js'
import { FilterTrie } from './filter-trie.js'

export interface Subscriber {
  readonly isConnected: boolean
  /** Whether the session outlives its connection. */
  readonly isPersistent: boolean
  /** Discards expired messages if the queue is full. Returns whether another message fits. */
  tryMakeRoom(): boolean
  deliver(delivery: Delivery): void
}

export interface Subscription {
  readonly subscriber: Subscriber
  /** The filter as sent by the client, including `$share/{group}/`. */
  readonly filter: string
  readonly qos: Qos
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  /** The subscription identifier of the SUBSCRIBE (MQTT 5.0, section 3.8.2.1.2). */
  readonly id: number | undefined
}

const SHARED_PREFIX = '$share/'

/**
 * Returns the filter after `$share/{group}/` (MQTT 5.0, section 4.8.2), or `undefined` for a non-shared subscription.
 */
export const sharedFilter = (filter: string): string | undefined =>
  filter.startsWith(SHARED_PREFIX) ? filter.slice(filter.indexOf('/', SHARED_PREFIX.length) + 1) : undefined

export const isShared = ({ filter }: Subscription): boolean => filter.startsWith(SHARED_PREFIX)

/**
 * Returns the bytes that a subscription takes. Wildcard filters have branches in the tries of the router and the
 * session.
 */
export const subscriptionBytes = (filter: string): number =>
  2 * filter.length + 600 + (/[+#]/.test(filter) ? 2 * LEVEL_BYTES * filter.split('/').length : 0)

export const subscriptionOf = (
  subscriber: Subscriber,
  { filter, qos, noLocal, retainAsPublished }: SubscriptionRequest,
  id: number | undefined,
): Subscription => ({ subscriber, filter, qos, noLocal, retainAsPublished, id })

/** The merged subscriptions of one session, which receives one copy of a message (MQTT 5.0, section 3.3.4). */
interface Hit {
  qos: Qos
  retain: boolean
  ids: number[] | undefined
}

const NO_IDS: readonly number[] = []

export class Router {
  readonly #subscriptions = new FilterTrie<Subscription>()
  readonly #shared = new FilterTrie<SharedGroup>()
  readonly #groups = new StringMap<SharedGroup>()

  #sharedCount = 0

  /** The number of shared subscriptions. */
  get sharedCount(): number {
    return this.#sharedCount
  }

  /** Returns whether a subscription that is not shared, also one of an offline client, matches a topic. */
  hasSubscribers(topic: string): boolean {
    return this.#subscriptions.matches(topic).length > 0
  }

  add(subscription: Subscription): void {
    const { filter } = subscription
    const shared = sharedFilter(filter)
    if (shared === undefined) {
      this.#subscriptions.add(filter, subscription)
      return
    }
    const existing = this.#groups.get(filter)
    const group = existing ?? new SharedGroup()
    group.add(subscription)
    this.#sharedCount++
    if (existing) return
    this.#groups.set(filter, group)
    this.#shared.add(shared, group)
  }

  remove(subscription: Subscription): void {
    const { filter } = subscription
    const shared = sharedFilter(filter)
    if (shared === undefined) {
      this.#subscriptions.remove(filter, subscription)
      return
    }
    const group = this.#groups.get(filter)
    if (!group?.remove(subscription)) return
    this.#sharedCount--
    if (group.size > 0) return
    this.#groups.delete(filter)
    this.#shared.remove(shared, group)
  }

  /**
   * Delivers a message to all matching subscribers, and returns the number of deliveries.
   *
   * @param publisher - sender of the message, skipped if its subscription has the no-local option
   */
  route(message: Message, publisher: Subscriber | undefined): number {
    const matches = this.#subscriptions.matches(message.topic)
    const [first] = matches
    let count = 0
    // A session has each filter only once, so the matches of a single filter need no merging.
    if (first !== undefined)
      count =
        matches.length === 1 ? deliverToAll(first, message, publisher) : deliverMerged(matches, message, publisher)
    this.#shared.match(message.topic, group => {
      if (group.deliver(message)) count++
    })
    return count
  }
}

function deliverToAll(
  subscriptions: ReadonlySet<Subscription>,
  message: Message,
  publisher: Subscriber | undefined,
): number {
  let count = 0
  let delivery: Delivery | undefined
  // The set is copied, because a delivery may end a session, which changes the set.
  for (const subscription of Array.from(subscriptions)) {
    const { subscriber, noLocal, retainAsPublished, id } = subscription
    if (noLocal && subscriber === publisher) continue
    const qos = lowerQos(subscription.qos, message.qos)
    const retain = retainAsPublished && message.retain
    // Most subscribers receive the same delivery, so one object serves all of them.
    if (delivery === undefined || id !== undefined || !isSame(delivery, qos, retain))
      delivery = deliveryOf(message, qos, retain, id === undefined ? NO_IDS : [id])
    subscriber.deliver(delivery)
    count++
  }
  return count
}

function deliverMerged(
  matches: readonly ReadonlySet<Subscription>[],
  message: Message,
  publisher: Subscriber | undefined,
): number {
  const hits = new Map<Subscriber, Hit>()
  for (const subscriptions of matches)
    for (const subscription of subscriptions) mergeHit(hits, subscription, message, publisher)
  for (const [subscriber, { qos, retain, ids = NO_IDS }] of hits)
    subscriber.deliver(deliveryOf(message, lowerQos(qos, message.qos), retain, ids))
  return hits.size
}

function mergeHit(
  hits: Map<Subscriber, Hit>,
  { subscriber, qos, id, noLocal, retainAsPublished }: Subscription,
  { retain }: Message,
  publisher: Subscriber | undefined,
): void {
  if (noLocal && subscriber === publisher) return
  const existing = hits.get(subscriber)
  const hit = existing ?? { qos, retain: false, ids: undefined }
  if (existing === undefined) hits.set(subscriber, hit)
  if (qos > hit.qos) hit.qos = qos
  if (retainAsPublished) hit.retain = retain
  if (id === undefined) return
  hit.ids ??= []
  hit.ids.push(id)
}

const deliveryOf = (
  { topic, content, expiresAt }: Message,
  qos: Qos,
  retain: boolean,
  subscriptionIds: readonly number[],
): Delivery => ({ topic, content, expiresAt, qos, retain, subscriptionIds })

const isSame = (delivery: Delivery, qos: Qos, retain: boolean): boolean =>
  delivery.qos === qos && delivery.retain === retain && delivery.subscriptionIds === NO_IDS

/**
 * A shared subscription (MQTT 5.0, section 4.8.2). Messages go to the members in turn. Connected members with capacity
 * are preferred. Unacknowledged messages of a session that ends go to another member.
 */
export class SharedGroup {
  #members: Subscription[] = []
  #next = 0

  get size(): number {
    return this.#members.length
  }

  add(subscription: Subscription): void {
    this.#members.push(subscription)
  }

  /** Returns whether the subscription was a member. */
  remove(subscription: Subscription): boolean {
    const before = this.size
    this.#members = this.#members.filter(member => member !== subscription)
    return this.size < before
  }

  deliver(message: Message): boolean {
    const member = this.#nextReady() ?? this.#findPersistent() ?? this.#members.find(isReachable)
    if (member) this.#deliverTo(message, member)
    return member !== undefined
  }

  /**
   * Passes a message to another member, or drops it if no member has capacity. Otherwise, one overflowing session would
   * make the next one overflow.
   */
  readonly #reassign = (delivery: Delivery): void => {
    const member = this.#nextReady() ?? this.#findPersistent()
    if (member) this.#deliverTo(delivery, member)
  }

  #deliverTo(message: Message, member: Subscription): void {
    const { topic, content, expiresAt } = message
    member.subscriber.deliver({
      topic,
      content,
      expiresAt,
      qos: lowerQos(member.qos, message.qos),
      retain: member.retainAsPublished && message.retain,
      subscriptionIds: member.id === undefined ? [] : [member.id],
      reassign: this.#reassign,
    })
  }

  #nextReady(): Subscription | undefined {
    const count = this.#members.length
    for (let i = 0; i < count; i++) {
      const member = this.#members[(this.#next + i) % count]
      if (!member?.subscriber.isConnected || !member.subscriber.tryMakeRoom()) continue
      this.#next = (this.#next + i + 1) % count
      return member
    }
    return undefined
  }

  #findPersistent(): Subscription | undefined {
    return this.#members.find(({ subscriber }) => subscriber.isPersistent && subscriber.tryMakeRoom())
  }
}

const isReachable = ({ subscriber: { isConnected, isPersistent } }: Subscription): boolean =>
  isConnected || isPersistent
