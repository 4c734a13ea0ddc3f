import type { Qos, SubscriptionRequest } from '../../../core/mqtt5/packets.js'
import { LEVEL_BYTES } from '../limits/limits.js'
import { type Delivery, lowerQos, type Message } from './delivery.js'
import { FilterTrie } from './filter-trie.js'

/** Who subscribes: a session, as far as routing has to do with it. */
export interface Subscriber {
  /** Whether its client is connected. */
  readonly isConnected: boolean
  /** Whether it goes on when its connection ends. */
  readonly isPersistent: boolean
  /** Forgets what is over its time if there is no room; returns whether it can keep another message. */
  tryMakeRoom(): boolean
  deliver(delivery: Delivery): void
}

/** What a session subscribed to. */
export interface Subscription {
  readonly subscriber: Subscriber
  /** As the client wrote it. */
  readonly filter: string
  readonly qos: Qos
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  /** Of the SUBSCRIBE it came with (MQTT 5.0, section 3.8.2.1.2). */
  readonly id: number | undefined
}

const SHARED_PREFIX = '$share/'

/** The filter after `$share/{group}/` (MQTT 5.0, section 4.8.2); `undefined` for one that is not shared. */
export const sharedFilter = (filter: string): string | undefined =>
  filter.startsWith(SHARED_PREFIX) ? filter.slice(filter.indexOf('/', SHARED_PREFIX.length) + 1) : undefined

/** Whether a subscription is shared with other sessions. */
export const isShared = ({ filter }: Subscription): boolean => filter.startsWith(SHARED_PREFIX)

/** What a subscription counts, bytes: with wildcards it has branches of its own, for all sessions and for its own. */
export const subscriptionBytes = (filter: string): number =>
  2 * filter.length + 600 + (/[+#]/.test(filter) ? 2 * LEVEL_BYTES * filter.split('/').length : 0)

/** A subscription as it was asked for. */
export const subscriptionOf = (
  subscriber: Subscriber,
  { filter, qos, noLocal, retainAsPublished }: SubscriptionRequest,
  id: number | undefined,
): Subscription => ({ subscriber, filter, qos, noLocal, retainAsPublished, id })

/** All subscriptions of one session that a message matches: it comes once (MQTT 5.0, section 3.3.4). */
interface Hit {
  qos: Qos
  retain: boolean
  ids: number[] | undefined
}

const NO_IDS: readonly number[] = []

/** Who gets what is published. */
export class Router {
  readonly #subscriptions = new FilterTrie<Subscription>()
  readonly #shared = new FilterTrie<SharedGroup>()
  /** By the whole filter of the shared subscription. */
  readonly #groups = new Map<string, SharedGroup>()

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
    group?.remove(subscription)
    if (group === undefined || group.size > 0) return
    this.#groups.delete(filter)
    this.#shared.remove(shared, group)
  }

  /**
   * Delivers a message to all who subscribe to its topic; returns to how many.
   *
   * @param publisher - who published it
   */
  route(message: Message, publisher: Subscriber | undefined): number {
    const matches = this.#subscriptions.matches(message.topic)
    const [first] = matches
    let count = 0
    // No session has one filter twice, so that nothing has to be put together.
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
  // Of those who are there now: a session that ends because of what it gets changes the set.
  for (const subscription of Array.from(subscriptions)) {
    const { subscriber, noLocal, retainAsPublished, id } = subscription
    if (noLocal && subscriber === publisher) continue
    const qos = lowerQos(subscription.qos, message.qos)
    const retain = retainAsPublished && message.retain
    // Most get the same.
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
 * Who shares a subscription (MQTT 5.0, section 4.8.2): each message goes to one of them, in turn, to those that are
 * connected and have room first. What a session did not acknowledge when it ends goes to another that has room.
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

  remove(subscription: Subscription): void {
    this.#members = this.#members.filter(member => member !== subscription)
  }

  /** Returns whether there was somebody to take it. */
  deliver(message: Message): boolean {
    const member = this.#nextReady() ?? this.#findPersistent() ?? this.#members.find(isReachable)
    if (member) this.#deliverTo(message, member)
    return member !== undefined
  }

  /** Where no member has room it is lost: a session that is too full must not bring down the others one by one. */
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
