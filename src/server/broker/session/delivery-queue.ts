import { serverDropChannel } from '../../../core/diagnostics/server-channels.js'
import { Fifo, SlotMap } from '../../../core/util/collections.js'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import { LIMIT } from '../limits/limits.js'
import { copyDeliveryIfSparse, type Delivery, sizeOf } from '../routing/delivery.js'

export interface Sender {
  /** Whether queued messages must wait until the client has read the messages that were sent before. */
  readonly hasBacklog: boolean
  /**
   * Sends a message. Returns `false` if the message is too large or has expired. A retransmitted QoS 2 message never
   * expires (MQTT 5.0, section 4.3.3).
   */
  publish(delivery: Delivery, packetId: number, dup: boolean): boolean
  pubrel(packetId: number): void
}

interface InFlight {
  /**
   * The message, or `undefined` if it is never retransmitted because the session ends with its connection or PUBREC has
   * arrived.
   */
  delivery: Delivery | undefined
  readonly qos: 1 | 2
  /** A number that increases with each message. Packet ids do not, because they are reused. */
  readonly sequence: number
  packetId: number
  /** The packet that the message awaits. `resend` means that the message awaits retransmission on this connection. */
  state: 'resend' | 'puback' | 'pubrec' | 'pubcomp'
  /** Whether the message counts against the client's receive maximum. */
  isCounted: boolean
}

/** The entry that all QoS 1 deliveries without retransmission share. */
const SENT_ONCE: InFlight = { delivery: undefined, qos: 1, sequence: 0, packetId: 0, state: 'puback', isCounted: true }

/** The number of packet ids (MQTT 5.0, section 2.2.1). */
const MAX_PACKET_IDS = 65_535

/**
 * The QoS 1 and 2 messages of one session. The queue sends them within the receive maximum, keeps them until they are
 * acknowledged, and retransmits them after a reconnect in order and with the same packet ids (MQTT 5.0, sections 4.3,
 * 4.4, 4.9).
 */
export class DeliveryQueue {
  readonly #sessionUsage: SessionUsage
  readonly #inFlight = new SlotMap<InFlight>()
  /**
   * Messages that were unacknowledged on an earlier connection, in reverse order. They are sent before other messages.
   */
  #toResend: InFlight[] = []
  readonly #pendingDeliveries = new PendingDeliveries()
  #sender: Sender | undefined
  #receiveMaximum = 0
  #unacknowledged = 0
  #lastSequence = 0

  constructor(budget: MemoryBudget) {
    this.#sessionUsage = new SessionUsage(budget)
  }

  /** Whether no further retained messages may be queued. */
  get isReplayFull(): boolean {
    return this.#sessionUsage.isReplayFull
  }

  get bytes(): number {
    return this.#sessionUsage.bytes
  }

  /** The number of messages, without retained messages. */
  get length(): number {
    return this.#sessionUsage.messages
  }

  get isOverHalfFull(): boolean {
    return this.#sessionUsage.isOverHalfFull
  }

  get isFull(): boolean {
    return this.#sessionUsage.isFull
  }

  /** Whether messages wait only for the client to read earlier ones, and not for acknowledgements. */
  get hasUnsent(): boolean {
    return this.#sender !== undefined && !this.#isIdle() && this.#hasReceiveQuota()
  }

  /** Prepares sending. {@link sendNext} sends the messages, because a client may have many and read them slowly. */
  resume(sender: Sender, receiveMaximum: number): void {
    this.#sender = sender
    this.#receiveMaximum = receiveMaximum
    this.#unacknowledged = 0
    this.#toResend = []
    for (const item of this.#inFlight.values.sort((a, b) => a.sequence - b.sequence)) {
      item.isCounted = false
      if (item.state === 'pubcomp') sender.pubrel(item.packetId)
      else {
        item.state = 'resend'
        this.#toResend.push(item)
      }
    }
    this.#toResend.reverse()
  }

  suspend(): void {
    this.#sender = undefined
  }

  /** Sends the next queued message if the client has read earlier ones. Returns whether a message was sent or dropped. */
  sendNext(): boolean {
    const sender = this.#sender
    if (sender === undefined || sender.hasBacklog || !this.#hasReceiveQuota()) return false
    const item = this.#toResend.pop()
    if (item !== undefined) {
      this.#resend(item, sender)
      return true
    }
    const delivery = this.#pendingDeliveries.shift()
    if (delivery !== undefined) this.#send(delivery)
    return delivery !== undefined
  }

  /** Sends or queues a message. The caller ensures that the queue is not full. */
  deliver(delivery: Delivery, isPersistent: boolean): void {
    const sender = this.#sender
    const canSendNow = sender !== undefined && this.#isIdle() && this.#hasReceiveQuota()
    if (canSendNow && !isPersistent && delivery.qos === 1 && delivery.reassign === undefined) {
      this.#sendOnce(delivery)
      return
    }
    const copied = copyDeliveryIfSparse(delivery)
    this.#sessionUsage.add(copied)
    if (canSendNow && !sender.hasBacklog) this.#send(copied)
    else this.#pendingDeliveries.push(copied)
  }

  /** Discards expired unsent messages. */
  discardExpired(now: number, clientId: string): void {
    this.#pendingDeliveries.expire(now, delivery => {
      this.#sessionUsage.remove(delivery)
      if (serverDropChannel.hasSubscribers)
        serverDropChannel.publish({ reason: 'expired', clientId, qos: delivery.qos })
    })
  }

  /**
   * Discards matching unsent messages, and cancels the retransmission of matching sent messages. Returns messages as
   * {@link clear} does.
   */
  discard(matches: (delivery: Delivery) => boolean): readonly Delivery[] {
    const undelivered: Delivery[] = []
    for (const item of this.#inFlight.values.sort((a, b) => a.sequence - b.sequence)) {
      if (item.delivery === undefined || !matches(item.delivery)) continue
      if (item.qos === 1) undelivered.push(item.delivery)
      this.#releaseDelivery(item)
    }
    this.#pendingDeliveries.extract(matches, delivery => {
      undelivered.push(delivery)
      this.#sessionUsage.remove(delivery)
    })
    return undelivered.filter(({ reassign }) => reassign !== undefined)
  }

  /** Handles a PUBACK. Returns whether its packet id was awaiting PUBACK. */
  puback(packetId: number): boolean {
    const item = this.#inFlight.get(packetId - 1)
    if (item?.state !== 'puback') return false
    this.#finish(item, packetId)
    return true
  }

  /** Handles a PUBREC. Returns whether its packet id belongs to a QoS 2 message sent on this connection. */
  pubrec(packetId: number, isAccepted: boolean): boolean {
    const item = this.#inFlight.get(packetId - 1)
    if (item === undefined || item.qos !== 2 || item.state === 'resend') return false
    if (!isAccepted) this.#finish(item, packetId)
    else this.#awaitPubcomp(item)
    return true
  }

  /** Handles a PUBCOMP. Returns whether its packet id was awaiting PUBCOMP. */
  pubcomp(packetId: number): boolean {
    const item = this.#inFlight.get(packetId - 1)
    if (item?.state !== 'pubcomp') return false
    this.#finish(item, packetId)
    return true
  }

  /**
   * Clears the queue. Returns the messages of shared subscriptions that other members may receive, which are all except
   * sent QoS 2 messages (MQTT 5.0, section 4.8.2).
   */
  clear(): readonly Delivery[] {
    const sent = this.#inFlight.values.filter(({ qos }) => qos === 1).sort((a, b) => a.sequence - b.sequence)
    const undelivered = sent.flatMap(({ delivery }) => delivery ?? [])
    for (let next = this.#pendingDeliveries.shift(); next !== undefined; next = this.#pendingDeliveries.shift())
      undelivered.push(next)
    this.#inFlight.clear()
    this.#toResend = []
    this.#sessionUsage.clear()
    this.#unacknowledged = 0
    this.#sender = undefined
    return undelivered.filter(({ reassign }) => reassign !== undefined)
  }

  // The next two are methods, because V8 calls a function of its runtime for each read of a private getter.
  #hasReceiveQuota(): boolean {
    return this.#unacknowledged < this.#receiveMaximum && this.#inFlight.size < MAX_PACKET_IDS
  }

  #isIdle(): boolean {
    return this.#pendingDeliveries.length === 0 && this.#toResend.length === 0
  }

  #finish(item: InFlight, packetId: number): void {
    this.#drop(item, packetId)
    this.sendNext()
  }

  #sendOnce(delivery: Delivery): void {
    const packetId = this.#inFlight.add(SENT_ONCE) + 1
    this.#unacknowledged++
    if (this.#sender?.publish(delivery, packetId, false)) return
    this.#inFlight.delete(packetId - 1)
    this.#unacknowledged--
  }

  #send(delivery: Delivery): void {
    const qos = delivery.qos === 2 ? 2 : 1
    const state = qos === 2 ? 'pubrec' : 'puback'
    const item: InFlight = { delivery, qos, sequence: ++this.#lastSequence, packetId: 0, state, isCounted: true }
    item.packetId = this.#inFlight.add(item) + 1
    this.#unacknowledged++
    if (!this.#sender?.publish(delivery, item.packetId, false)) this.#drop(item)
  }

  #drop(item: InFlight, packetId = item.packetId): void {
    this.#inFlight.delete(packetId - 1)
    if (item.isCounted) this.#unacknowledged--
    if (item.delivery) this.#sessionUsage.remove(item.delivery)
  }

  #resend(item: InFlight, sender: Sender): void {
    this.#unacknowledged++
    item.isCounted = true
    item.state = item.qos === 2 ? 'pubrec' : 'puback'
    if (item.delivery !== undefined && sender.publish(item.delivery, item.packetId, true)) return
    if (item.qos === 1) this.#drop(item)
    else this.#skipToPubrel(item, sender)
  }

  /**
   * Sends PUBREL instead of the message. The client may already have the message, and would mistake a new message with
   * this packet id for a repetition.
   */
  #skipToPubrel(item: InFlight, sender: Sender): void {
    this.#unacknowledged--
    item.isCounted = false
    this.#awaitPubcomp(item)
    sender.pubrel(item.packetId)
  }

  #awaitPubcomp(item: InFlight): void {
    this.#releaseDelivery(item)
    item.state = 'pubcomp'
  }

  #releaseDelivery(item: InFlight): void {
    if (item.delivery) this.#sessionUsage.remove(item.delivery)
    item.delivery = undefined
  }
}

export class PendingDeliveries {
  readonly #queue = new Fifo<Delivery>()
  #earliestExpiry = Number.POSITIVE_INFINITY

  get length(): number {
    return this.#queue.length
  }

  push(delivery: Delivery): void {
    this.#queue.push(delivery)
    this.#earliestExpiry = Math.min(this.#earliestExpiry, delivery.expiresAt ?? Number.POSITIVE_INFINITY)
  }

  shift(): Delivery | undefined {
    return this.#queue.shift()
  }

  /**
   * Removes expired messages.
   *
   * @param now - ms of the monotonic clock
   */
  expire(now: number, onExpired: (delivery: Delivery) => void): void {
    if (now < this.#earliestExpiry) return
    this.extract(({ expiresAt }) => expiresAt !== undefined && expiresAt <= now, onExpired)
  }

  extract(matches: (delivery: Delivery) => boolean, onExtracted: (delivery: Delivery) => void): void {
    this.#earliestExpiry = Number.POSITIVE_INFINITY
    for (let remaining = this.#queue.length; remaining > 0; remaining--) {
      const delivery = this.#queue.shift()
      if (delivery === undefined) break
      if (matches(delivery)) onExtracted(delivery)
      else this.push(delivery)
    }
  }
}

/** Counts the messages that a session keeps, and charges their bytes to the memory budget. */
export class SessionUsage {
  readonly #budget: MemoryBudget
  #messages = 0
  #bytes = 0
  #replayedMessages = 0
  #replayedBytes = 0

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  get isReplayFull(): boolean {
    return this.#replayedMessages >= LIMIT.replayedMessages || this.#replayedBytes >= LIMIT.replayedBytes
  }

  get bytes(): number {
    return this.#bytes + this.#replayedBytes
  }

  get messages(): number {
    return this.#messages
  }

  get isOverHalfFull(): boolean {
    return this.#messages > LIMIT.queuedMessages / 2 || this.#bytes > LIMIT.queuedBytes / 2
  }

  get isFull(): boolean {
    return this.#messages >= LIMIT.queuedMessages || this.#bytes >= LIMIT.queuedBytes
  }

  add(delivery: Delivery): void {
    this.#adjust(delivery, 1)
  }

  remove(delivery: Delivery): void {
    this.#adjust(delivery, -1)
  }

  clear(): void {
    this.#budget.release(this.bytes)
    this.#messages = this.#bytes = this.#replayedMessages = this.#replayedBytes = 0
  }

  #adjust(delivery: Delivery, sign: 1 | -1): void {
    const bytes = sign * sizeOf(delivery)
    if (delivery.isReplay) {
      this.#replayedMessages += sign
      this.#replayedBytes += bytes
    } else {
      this.#messages += sign
      this.#bytes += bytes
    }
    this.#budget.adjust(bytes)
  }
}
