import type { Qos } from '../../../core/mqtt5/packets.js'
import type { BrokerMemoryBudget, Evictable } from '../limits/memory-evictor.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'
import type { Delivery } from '../routing/delivery.js'
import { FilterTrie, matchesFilter } from '../routing/filter-trie.js'
import { isShared, type Subscriber, type Subscription, subscriptionSize } from '../routing/router.js'
import { DeliveryQueue, type Sender } from './delivery-queue.js'
import type { SessionOwner } from './handler.js'

/** What a client's subscriptions grant for a topic. */
export interface Grant {
  /** The best of all that match (MQTT 5.0, section 3.3.4). */
  readonly qos: Qos
  readonly subscriptionIds: readonly number[]
}

const NO_IDS: readonly number[] = []
/** So many filters are compared one by one. */
const FEW = 8
/** An id that waits for PUBREL, bytes. */
const ID_SIZE = 32

/** What a session needs of its broker. */
export interface SessionHost {
  readonly budget: BrokerMemoryBudget
  /** ms of the monotonic clock */
  now(): number
  /** More waits for the session than it may: it has to end. */
  overflowed(session: Session): void
  /** More memory is in use than all may have together. */
  pressed(): void
}

/** What the broker knows of a client, and keeps while it is away (MQTT 5.0, section 4.1). */
export class Session implements Subscriber, Evictable {
  readonly clientId: string
  readonly outbox: DeliveryQueue
  /** By filter, as the client wrote it; see {@link subscribe}. */
  readonly subscriptions = new Map<string, Subscription>()
  /** Those whose retained messages have still to be sent: one after the other, as each may have many. */
  readonly replays = new Set<Subscription>()
  /** How long it is kept without a connection, s. */
  expiry = 0
  /** Whom it belongs to, if anybody asks. */
  holder: SessionOwner | undefined
  /** Nothing is kept for it any more. */
  ended = false
  /** Its connection has what is. */
  readonly underway = 0
  readonly #host: SessionHost
  #quotaAccount: QuotaAccount | undefined
  /** What of it counts as waiting for a client that is away, bytes. */
  #waiting = 0
  #sender: Sender | undefined
  /** Packet ids with QoS 2 that came and wait for PUBREL. */
  #received: Set<number> | undefined
  /** Those of {@link subscriptions} that are not shared, when they are many and something is asked of them. */
  #filters: FilterTrie<Subscription> | undefined
  #topic: string | undefined
  #grant: Grant | undefined
  /** What its subscriptions count, bytes. */
  #subscribed = 0

  constructor(clientId: string, host: SessionHost) {
    this.clientId = clientId
    this.outbox = new DeliveryQueue(host.budget)
    this.#host = host
  }

  get connected(): boolean {
    return this.#sender !== undefined
  }

  /** To whose quotas it counts; `undefined` for nobody's. */
  get account(): QuotaAccount | undefined {
    return this.#quotaAccount
  }

  get owner(): string {
    return this.#quotaAccount?.name ?? ''
  }

  get held(): number {
    return this.outbox.bytes + this.#subscribed + ID_SIZE * (this.#received?.size ?? 0)
  }

  giveUp(): void {
    this.#host.overflowed(this)
  }

  get lasting(): boolean {
    return this.expiry > 0 && !this.ended
  }

  makeRoom(): boolean {
    if (!this.outbox.full && !this.#waitsTooMuch) return true
    const forgotten = this.outbox.forgetExpired(this.#host.now())
    this.#recount()
    return forgotten && !this.#waitsTooMuch
  }

  /** It counts to somebody's quotas from now on, with all it has. */
  moveTo(account: QuotaAccount | undefined): void {
    if (account === this.#quotaAccount) return
    for (const [each, sign] of [[this.#quotaAccount, -1] as const, [account, 1] as const]) {
      each?.subscriptions.count(sign * this.subscriptions.size)
      each?.waitingBytes.count(sign * this.#waiting)
    }
    this.#quotaAccount = account
  }

  /** A connection begins: what the one before left is sent again. */
  resume(sender: Sender, receiveMaximum: number): void {
    this.#sender = sender
    this.#recount()
    this.outbox.resume(sender, receiveMaximum)
  }

  /** The connection is gone. */
  suspend(): void {
    this.#sender = undefined
    this.outbox.suspend()
    this.#recount()
  }

  /** Sends a message, or keeps it until the client takes it; with QoS 0 nothing is kept. */
  deliver(delivery: Delivery): void {
    if (delivery.qos === 0) {
      this.#sender?.publish(delivery, 0, false)
      return
    }
    if (!this.connected && !this.lasting) return
    if (!delivery.replayed && !this.makeRoom()) {
      if (this.#waitsTooMuch) this.#quotaAccount?.waitingBytes.refuse()
      this.#host.overflowed(this)
      return
    }
    this.outbox.deliver(delivery, this.lasting)
    if (!this.connected) this.#recount()
    if (this.#host.budget.exceeded) this.#host.pressed()
  }

  /** What the subscriptions grant for a topic; `undefined` when none matches. */
  grant(topic: string): Grant | undefined {
    if (topic !== this.#topic) {
      this.#grant = this.#match(topic)
      this.#topic = topic
    }
    return this.#grant
  }

  /** Subscribes, or replaces the subscription with the same filter, which is returned. */
  subscribe(subscription: Subscription): Subscription | undefined {
    const before = this.unsubscribe(subscription.filter)
    this.subscriptions.set(subscription.filter, subscription)
    this.#subscribed += subscriptionSize(subscription.filter)
    if (!isShared(subscription)) this.#filters?.add(subscription.filter, subscription)
    return before
  }

  /** Removes a subscription, which is returned if there was one. */
  unsubscribe(filter: string): Subscription | undefined {
    const subscription = this.subscriptions.get(filter)
    this.#topic = undefined
    if (subscription === undefined) return undefined
    this.subscriptions.delete(filter)
    this.#subscribed -= subscriptionSize(filter)
    this.#filters?.remove(filter, subscription)
    return subscription
  }

  /** Whether a PUBLISH with QoS 2 came, and its PUBREL did not. */
  isUnreleased(packetId: number): boolean {
    return this.#received?.has(packetId) ?? false
  }

  /** Remembers that a PUBLISH with QoS 2 came; returns whether there is room for that. */
  remember(packetId: number): boolean {
    if (!this.#host.budget.take(ID_SIZE)) return false
    this.#received ??= new Set()
    this.#received.add(packetId)
    return true
  }

  /** Forgets that a PUBLISH with QoS 2 came, as its PUBREL has; returns whether it was remembered. */
  release(packetId: number): boolean {
    if (!this.#received?.delete(packetId)) return false
    this.#host.budget.give(ID_SIZE)
    return true
  }

  /** Forgets what waits, or is to be sent again, and fits. */
  forget(fits: (delivery: Delivery) => boolean): void {
    this.outbox.forget(fits)
    this.#recount()
  }

  /** Forgets everything; to be called when its subscriptions lead nowhere any more. */
  end(): void {
    this.ended = true
    this.#sender = undefined
    this.subscriptions.clear()
    this.replays.clear()
    this.#filters = undefined
    this.#topic = undefined
    this.outbox.clear()
    this.#recount()
    this.#host.budget.give(ID_SIZE * (this.#received?.size ?? 0))
    this.#received = undefined
  }

  get #waitsTooMuch(): boolean {
    return !this.connected && this.#quotaAccount !== undefined && this.#quotaAccount.waitingBytes.full
  }

  /** Counts what waits while the client is away. */
  #recount(): void {
    const waiting = this.connected ? 0 : this.outbox.bytes
    this.#quotaAccount?.waitingBytes.count(waiting - this.#waiting)
    this.#waiting = waiting
  }

  #match(topic: string): Grant | undefined {
    const matches = this.subscriptions.size <= FEW ? this.#search(topic) : this.#walk(topic)
    const [first] = matches
    if (first === undefined) return undefined
    const subscriptionIds = matches.flatMap(({ id }) => id ?? [])
    const qos = matches.reduce((best, { qos }) => (qos > best ? qos : best), first.qos)
    return { qos, subscriptionIds: subscriptionIds.length > 0 ? subscriptionIds : NO_IDS }
  }

  #search(topic: string): Subscription[] {
    const all = Array.from(this.subscriptions.values())
    return all.filter(subscription => matchesFilter(subscription.filter, topic) && !isShared(subscription))
  }

  #walk(topic: string): Subscription[] {
    if (this.#filters === undefined) {
      this.#filters = new FilterTrie()
      for (const [filter, subscription] of this.subscriptions) {
        if (!isShared(subscription)) this.#filters.add(filter, subscription)
      }
    }
    const matches: Subscription[] = []
    this.#filters.match(topic, subscription => matches.push(subscription))
    return matches
  }
}
