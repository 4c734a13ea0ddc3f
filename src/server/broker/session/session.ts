import type { Qos } from '../../../core/mqtt5/packets.js'
import type { BrokerMemoryBudget, Evictable } from '../limits/memory-evictor.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'
import type { Delivery } from '../routing/delivery.js'
import { FilterTrie, matchesFilter } from '../routing/filter-trie.js'
import { isShared, type Subscriber, type Subscription, subscriptionBytes } from '../routing/router.js'
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
const MAX_LINEAR_FILTERS = 8
/** An id that waits for PUBREL, bytes. */
const PACKET_ID_BYTES = 32

/** What a session needs of its broker. */
export interface SessionHost {
  readonly budget: BrokerMemoryBudget
  /** ms of the monotonic clock */
  now(): number
  /** More waits for the session than it may: it has to end. */
  evictSession(session: Session): void
  /** More memory is in use than all may have together. */
  onMemoryExceeded(): void
}

/** What the broker knows of a client, and keeps while it is away (MQTT 5.0, section 4.1). */
export class Session implements Subscriber, Evictable {
  readonly clientId: string
  readonly deliveryQueue: DeliveryQueue
  /** By filter, as the client wrote it; see {@link subscribe}. */
  readonly subscriptions = new Map<string, Subscription>()
  /** Those whose retained messages have still to be sent: one after the other, as each may have many. */
  readonly replays = new Set<Subscription>()
  /** How long it is kept without a connection, s. */
  expirySeconds = 0
  /** Whom it belongs to, if anybody asks. */
  owner: SessionOwner | undefined
  /** Nothing is kept for it any more. */
  isEnded = false
  /** Its connection has what is. */
  readonly transientBytes = 0
  readonly #host: SessionHost
  #quotaAccount: QuotaAccount | undefined
  /** What of it counts as waiting for a client that is away, bytes. */
  #offlineBytes = 0
  #sender: Sender | undefined
  /** Packet ids with QoS 2 that came and wait for PUBREL. */
  #unreleasedIds: Set<number> | undefined
  /** Those of {@link subscriptions} that are not shared, when they are many and something is asked of them. */
  #filterTrie: FilterTrie<Subscription> | undefined
  #cachedTopic: string | undefined
  #cachedGrant: Grant | undefined
  /** What its subscriptions count, bytes. */
  #subscriptionBytes = 0

  constructor(clientId: string, host: SessionHost) {
    this.clientId = clientId
    this.deliveryQueue = new DeliveryQueue(host.budget)
    this.#host = host
  }

  get isConnected(): boolean {
    return this.#sender !== undefined
  }

  /** To whose quotas it counts; `undefined` for nobody's. */
  get account(): QuotaAccount | undefined {
    return this.#quotaAccount
  }

  get accountName(): string {
    return this.#quotaAccount?.name ?? ''
  }

  get heldBytes(): number {
    return this.deliveryQueue.bytes + this.#subscriptionBytes + PACKET_ID_BYTES * (this.#unreleasedIds?.size ?? 0)
  }

  evict(): void {
    this.#host.evictSession(this)
  }

  get isPersistent(): boolean {
    return this.expirySeconds > 0 && !this.isEnded
  }

  tryMakeRoom(): boolean {
    if (!this.deliveryQueue.isFull && !this.#exceedsOfflineQuota) return true
    const hasRoom = this.deliveryQueue.discardExpired(this.#host.now())
    this.#updateOfflineBytes()
    return hasRoom && !this.#exceedsOfflineQuota
  }

  /** It counts to somebody's quotas from now on, with all it has. */
  setAccount(account: QuotaAccount | undefined): void {
    if (account === this.#quotaAccount) return
    for (const [owner, sign] of [[this.#quotaAccount, -1] as const, [account, 1] as const]) {
      owner?.subscriptions.adjust(sign * this.subscriptions.size)
      owner?.waitingBytes.adjust(sign * this.#offlineBytes)
    }
    this.#quotaAccount = account
  }

  /** A connection begins: what the one before left is sent again. */
  resume(sender: Sender, receiveMaximum: number): void {
    this.#sender = sender
    this.#updateOfflineBytes()
    this.deliveryQueue.resume(sender, receiveMaximum)
  }

  /** The connection is gone. */
  suspend(): void {
    this.#sender = undefined
    this.deliveryQueue.suspend()
    this.#updateOfflineBytes()
  }

  /** Sends a message, or keeps it until the client takes it; with QoS 0 nothing is kept. */
  deliver(delivery: Delivery): void {
    if (delivery.qos === 0) {
      this.#sender?.publish(delivery, 0, false)
      return
    }
    if (!this.isConnected && !this.isPersistent) return
    if (!delivery.isReplay && !this.tryMakeRoom()) {
      if (this.#exceedsOfflineQuota) this.#quotaAccount?.waitingBytes.recordRefusal()
      this.#host.evictSession(this)
      return
    }
    this.deliveryQueue.deliver(delivery, this.isPersistent)
    if (!this.isConnected) this.#updateOfflineBytes()
    if (this.#host.budget.isExceeded) this.#host.onMemoryExceeded()
  }

  /** What the subscriptions grant for a topic; `undefined` when none matches. */
  grant(topic: string): Grant | undefined {
    if (topic !== this.#cachedTopic) {
      this.#cachedGrant = this.#match(topic)
      this.#cachedTopic = topic
    }
    return this.#cachedGrant
  }

  /** Subscribes, or replaces the subscription with the same filter, which is returned. */
  subscribe(subscription: Subscription): Subscription | undefined {
    const previous = this.unsubscribe(subscription.filter)
    this.subscriptions.set(subscription.filter, subscription)
    this.#subscriptionBytes += subscriptionBytes(subscription.filter)
    if (!isShared(subscription)) this.#filterTrie?.add(subscription.filter, subscription)
    return previous
  }

  /** Removes a subscription, which is returned if there was one. */
  unsubscribe(filter: string): Subscription | undefined {
    const subscription = this.subscriptions.get(filter)
    this.#cachedTopic = undefined
    if (subscription === undefined) return undefined
    this.subscriptions.delete(filter)
    this.#subscriptionBytes -= subscriptionBytes(filter)
    this.#filterTrie?.remove(filter, subscription)
    return subscription
  }

  /** Whether a PUBLISH with QoS 2 came, and its PUBREL did not. */
  isUnreleased(packetId: number): boolean {
    return this.#unreleasedIds?.has(packetId) ?? false
  }

  /** Remembers that a PUBLISH with QoS 2 came; returns whether there is room for that. */
  tryRememberReceived(packetId: number): boolean {
    if (!this.#host.budget.tryReserve(PACKET_ID_BYTES)) return false
    this.#unreleasedIds ??= new Set()
    this.#unreleasedIds.add(packetId)
    return true
  }

  /** Forgets that a PUBLISH with QoS 2 came, as its PUBREL has; returns whether it was remembered. */
  releaseReceived(packetId: number): boolean {
    if (!this.#unreleasedIds?.delete(packetId)) return false
    this.#host.budget.release(PACKET_ID_BYTES)
    return true
  }

  /** Forgets what waits, or is to be sent again, and fits. */
  discard(matches: (delivery: Delivery) => boolean): void {
    this.deliveryQueue.discard(matches)
    this.#updateOfflineBytes()
  }

  /** Forgets everything; to be called when its subscriptions lead nowhere any more. */
  end(): void {
    this.isEnded = true
    this.#sender = undefined
    this.subscriptions.clear()
    this.replays.clear()
    this.#filterTrie = undefined
    this.#cachedTopic = undefined
    this.deliveryQueue.clear()
    this.#updateOfflineBytes()
    this.#host.budget.release(PACKET_ID_BYTES * (this.#unreleasedIds?.size ?? 0))
    this.#unreleasedIds = undefined
  }

  get #exceedsOfflineQuota(): boolean {
    return !this.isConnected && this.#quotaAccount !== undefined && this.#quotaAccount.waitingBytes.isFull
  }

  /** Counts what waits while the client is away. */
  #updateOfflineBytes(): void {
    const offlineBytes = this.isConnected ? 0 : this.deliveryQueue.bytes
    this.#quotaAccount?.waitingBytes.adjust(offlineBytes - this.#offlineBytes)
    this.#offlineBytes = offlineBytes
  }

  #match(topic: string): Grant | undefined {
    const matches = this.subscriptions.size <= MAX_LINEAR_FILTERS ? this.#matchLinear(topic) : this.#matchTrie(topic)
    const [first] = matches
    if (first === undefined) return undefined
    const subscriptionIds = matches.flatMap(({ id }) => id ?? [])
    const qos = matches.reduce((best, { qos }) => (qos > best ? qos : best), first.qos)
    return { qos, subscriptionIds: subscriptionIds.length > 0 ? subscriptionIds : NO_IDS }
  }

  #matchLinear(topic: string): Subscription[] {
    const all = Array.from(this.subscriptions.values())
    return all.filter(subscription => matchesFilter(subscription.filter, topic) && !isShared(subscription))
  }

  #matchTrie(topic: string): Subscription[] {
    if (this.#filterTrie === undefined) {
      this.#filterTrie = new FilterTrie()
      for (const [filter, subscription] of this.subscriptions) {
        if (!isShared(subscription)) this.#filterTrie.add(filter, subscription)
      }
    }
    const matches: Subscription[] = []
    this.#filterTrie.match(topic, subscription => matches.push(subscription))
    return matches
  }
}
