import type { Qos } from '../../../core/mqtt5/packets.js'
import { StringMap } from '../../../core/util/string-map.js'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import type { Evictable } from '../../../node/limits/memory-evictor.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'
import { type Delivery, lowerQos, type Message } from '../routing/delivery.js'
import { FilterTrie, matchesFilter } from '../routing/filter-trie.js'
import { isShared, type Subscriber, type Subscription, subscriptionBytes } from '../routing/router.js'
import { DeliveryQueue, type Sender } from './delivery-queue.js'
import type { SessionOwner } from './handler.js'

export interface Grant {
  /** The highest QoS of all matching subscriptions (MQTT 5.0, section 3.3.4). */
  readonly qos: Qos
  readonly subscriptionIds: readonly number[]
}

/** The options of a SUBSCRIBE with which retained messages are sent. */
export type ReplayOptions = Pick<Subscription, 'qos' | 'id'>

interface Replay {
  /** The messages, with `undefined` at each pause of the search. */
  readonly messages: Iterator<Message | undefined>
  readonly options: ReplayOptions
  /** The options with which all messages are sent again, because the client repeated SUBSCRIBE before the last one. */
  readonly repetition: ReplayOptions | undefined
}

const NO_IDS: readonly number[] = []
/** The number of filters up to which all filters are compared one by one. Beyond this number, a trie is used. */
const MAX_LINEAR_FILTERS = 8
const PACKET_ID_BYTES = 32
const MAX_CACHED_TOPIC_LENGTH = 1_024

export interface SessionHost {
  readonly budget: MemoryBudget
  /** The number of the retained message that was stored last. */
  readonly lastRetainedSequence: number
  /** Returns the time in ms of the monotonic clock. */
  now(): number
  evictSession(session: Session): void
  /** Passes messages of shared subscriptions to other members. */
  reassign(deliveries: readonly Delivery[]): void
}

/** The session state of a client, kept while the client is offline (MQTT 5.0, section 4.1). */
export class Session implements Subscriber, Evictable {
  readonly clientId: string
  readonly deliveryQueue: DeliveryQueue
  /** The subscriptions by filter as sent by the client. See {@link subscribe}. */
  readonly subscriptions = new StringMap<Subscription>()
  expirySeconds = 0
  /** The owner, or `undefined` without authentication. */
  owner: SessionOwner | undefined
  isEnded = false
  /** The check of the client's watches that is in progress. Until its end, each notification is checked. */
  watchCheck: object | undefined
  /** Always 0, because the connection counts transient memory. */
  readonly transientBytes = 0
  readonly #host: SessionHost
  /** The retained messages to send by filter. Undefined if there are none, because this is checked for each packet. */
  #replays: StringMap<Replay> | undefined
  #quotaAccount: QuotaAccount | undefined
  /** The bytes charged to the offline quota of the account. */
  #offlineBytes = 0
  #sender: Sender | undefined
  /** The packet ids of received QoS 2 messages that await PUBREL. */
  #unreleasedIds: Set<number> | undefined
  /** The non-shared {@link subscriptions}, created lazily when there are more than {@link MAX_LINEAR_FILTERS}. */
  #filterTrie: FilterTrie<Subscription> | undefined
  #cachedTopic: string | undefined
  #cachedGrant: Grant | undefined
  #subscriptionBytes = 0
  /** The number of the last retained message that may not have reached the client because its QoS is 0. */
  #lastLostSequence = 0

  constructor(clientId: string, host: SessionHost) {
    this.clientId = clientId
    this.deliveryQueue = new DeliveryQueue(host.budget)
    this.#host = host
  }

  get isConnected(): boolean {
    return this.#sender !== undefined
  }

  /** The account, or `undefined` without quotas. */
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

  /** Whether queued or retained messages can be sent before the client acknowledges others. */
  get hasUnsent(): boolean {
    return this.deliveryQueue.hasUnsent || this.canReplay
  }

  /** Whether retained messages can be sent before the client acknowledges others. */
  get canReplay(): boolean {
    return this.#replays !== undefined && !this.deliveryQueue.isReplayFull
  }

  /** The retained messages to send next. They are sent for one subscription at a time. */
  get nextReplay(): [filter: string, replay: Replay] | undefined {
    const [next] = this.#replays ?? []
    return next
  }

  get isPersistent(): boolean {
    return this.expirySeconds > 0 && !this.isEnded
  }

  tryMakeRoom(): boolean {
    if (!this.deliveryQueue.isFull && !this.#exceedsOfflineQuota()) return true
    this.discardExpired()
    return !this.deliveryQueue.isFull && !this.#exceedsOfflineQuota()
  }

  /** Discards queued messages that have expired. */
  discardExpired(): void {
    this.deliveryQueue.discardExpired(this.#host.now(), this.clientId)
    this.#updateOfflineBytes()
  }

  setAccount(account: QuotaAccount | undefined): void {
    if (account === this.#quotaAccount) return
    for (const [owner, sign] of [[this.#quotaAccount, -1] as const, [account, 1] as const]) {
      owner?.subscriptions.adjust(sign * this.subscriptions.size)
      owner?.waitingBytes.adjust(sign * this.#offlineBytes)
    }
    this.#quotaAccount = account
  }

  resume(sender: Sender, receiveMaximum: number): void {
    this.#sender = sender
    this.#updateOfflineBytes()
    this.#recordLoss()
    this.deliveryQueue.resume(sender, receiveMaximum)
  }

  suspend(): void {
    this.#sender = undefined
    this.watchCheck = undefined
    this.deliveryQueue.suspend()
    this.#updateOfflineBytes()
  }

  /** Sends or queues a message. Messages with QoS 0 are never queued. */
  deliver(delivery: Delivery): void {
    if (delivery.qos === 0) {
      if (this.#sender?.publish(delivery, 0, false) === false) this.#recordLoss()
      return
    }
    if (!this.isConnected && !this.isPersistent) return
    if (!delivery.isReplay && !this.tryMakeRoom()) {
      if (this.#exceedsOfflineQuota()) this.#quotaAccount?.waitingBytes.recordRefusal()
      this.#host.evictSession(this)
      return
    }
    this.deliveryQueue.deliver(delivery, this.isPersistent)
    if (!this.isConnected) this.#updateOfflineBytes()
    this.#host.budget.enforce()
  }

  /**
   * Returns whether a retained message that was stored during a replay must be sent by the replay. A message with QoS 0
   * may have been published while the client was offline, or lost with an earlier connection.
   */
  isLost(message: Message, sequence: number, { qos }: ReplayOptions): boolean {
    return sequence <= this.#lastLostSequence && lowerQos(qos, message.qos) === 0
  }

  grant(topic: string): Grant | undefined {
    // A long topic is not cached, because every session could keep one, and no budget counts it.
    if (topic.length > MAX_CACHED_TOPIC_LENGTH) return this.#match(topic)
    if (topic !== this.#cachedTopic) {
      this.#cachedGrant = this.#match(topic)
      this.#cachedTopic = topic
    }
    return this.#cachedGrant
  }

  /** Adds a subscription, and returns the subscription that it replaces, if any. */
  subscribe(subscription: Subscription): Subscription | undefined {
    const { filter } = subscription
    const previous = this.subscriptions.get(filter)
    this.subscriptions.set(filter, subscription)
    this.#cachedTopic = undefined
    if (previous === undefined) this.#subscriptionBytes += subscriptionBytes(filter)
    else this.#filterTrie?.remove(filter, previous)
    if (!isShared(subscription)) this.#filterTrie?.add(filter, subscription)
    return previous
  }

  unsubscribe(filter: string): Subscription | undefined {
    const subscription = this.subscriptions.get(filter)
    this.#cachedTopic = undefined
    if (subscription === undefined) return undefined
    this.subscriptions.delete(filter)
    this.deleteReplay(filter)
    this.#subscriptionBytes -= subscriptionBytes(filter)
    this.#filterTrie?.remove(filter, subscription)
    return subscription
  }

  replayOf(filter: string): Replay | undefined {
    return this.#replays?.get(filter)
  }

  setReplay(filter: string, replay: Replay): void {
    this.#replays ??= new StringMap()
    this.#replays.set(filter, replay)
  }

  deleteReplay(filter: string): void {
    this.#replays?.delete(filter)
    if (this.#replays?.size === 0) this.#replays = undefined
  }

  isUnreleased(packetId: number): boolean {
    return this.#unreleasedIds?.has(packetId) ?? false
  }

  /** Records a QoS 2 message until PUBREL. Returns `false` if the memory budget does not permit that. */
  tryRememberReceived(packetId: number): boolean {
    if (!this.#host.budget.tryReserve(PACKET_ID_BYTES)) return false
    this.#unreleasedIds ??= new Set()
    this.#unreleasedIds.add(packetId)
    return true
  }

  /** Forgets a QoS 2 message on PUBREL. Returns `false` for an unknown packet id. */
  releaseReceived(packetId: number): boolean {
    if (!this.#unreleasedIds?.delete(packetId)) return false
    this.#host.budget.release(PACKET_ID_BYTES)
    return true
  }

  discard(matches: (delivery: Delivery) => boolean): void {
    const discarded = this.deliveryQueue.discard(matches)
    this.#updateOfflineBytes()
    this.#host.reassign(discarded)
  }

  /** Ends the session. The caller must have removed the subscriptions from the router. */
  end(): void {
    this.isEnded = true
    this.#sender = undefined
    this.subscriptions.clear()
    this.#replays = undefined
    this.#filterTrie = undefined
    this.#cachedTopic = undefined
    const undelivered = this.deliveryQueue.clear()
    this.#updateOfflineBytes()
    this.#host.budget.release(PACKET_ID_BYTES * (this.#unreleasedIds?.size ?? 0))
    this.#unreleasedIds = undefined
    this.#host.reassign(undelivered)
  }

  // A method, because V8 calls a function of its runtime for each read of a private getter.
  #exceedsOfflineQuota(): boolean {
    return !this.isConnected && this.#quotaAccount !== undefined && this.#quotaAccount.waitingBytes.isFull
  }

  #recordLoss(): void {
    this.#lastLostSequence = this.#host.lastRetainedSequence
  }

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
