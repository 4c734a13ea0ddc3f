import { Fifo, SlotMap } from '../../../core/util/collections.js'
import { LIMIT } from '../limits/limits.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'
import { copyDeliveryIfSparse, type Delivery, sizeOf } from '../routing/delivery.js'

/** How messages leave. */
export interface Sender {
  /**
   * Sends a PUBLISH; `false` when there is nothing to send any more: it is too large for the client, or over its time, which
   * does not count for what was sent before with QoS 2 (MQTT 5.0, section 4.3.3).
   */
  publish(delivery: Delivery, packetId: number, dup: boolean): boolean
  pubrel(packetId: number): void
}

/** A delivery with QoS 1 or 2 that was sent, or waits to be sent again. */
interface InFlight {
  /** `undefined` when it is never sent again: the session ends with the connection, or PUBREC has come. */
  delivery: Delivery | undefined
  readonly qos: 1 | 2
  /** Rises, which packet ids do not. */
  readonly sequence: number
  packetId: number
  /** What is awaited; `turn`: it is to be sent again on this connection. */
  state: 'turn' | 'puback' | 'pubrec' | 'pubcomp'
  /** Counts against the client's receive maximum. */
  isCounted: boolean
}

/** Stands for all deliveries of QoS 1 that are never sent again. */
const SENT_ONCE: InFlight = { delivery: undefined, qos: 1, sequence: 0, packetId: 0, state: 'puback', isCounted: true }

/** MQTT 5.0, section 2.2.1 */
const MAX_PACKET_IDS = 65_535

/**
 * What goes to one session with QoS 1 and 2: sent as far as the client's receive maximum allows, kept until it is
 * acknowledged, sent again, in order and with its packet id, when the client is back (MQTT 5.0, sections 4.3, 4.4, 4.9).
 */
export class DeliveryQueue {
  readonly #sessionUsage: SessionUsage
  readonly #inFlight = new SlotMap<InFlight>()
  /** In flight on an earlier connection: to be sent before anything else. */
  #toResend: InFlight[] = []
  readonly #pendingDeliveries = new PendingDeliveries()
  #sender: Sender | undefined
  #receiveMaximum = 0
  #unacknowledged = 0
  #lastSequence = 0

  constructor(budget: BrokerMemoryBudget) {
    this.#sessionUsage = new SessionUsage(budget)
  }

  /** Retained messages that wait. */
  get replayedCount(): number {
    return this.#sessionUsage.replayedCount
  }

  /** What is kept, bytes. */
  get bytes(): number {
    return this.#sessionUsage.bytes
  }

  /** Whether so much is unacknowledged that the client should get no more if that can be helped. */
  get isOverHalfFull(): boolean {
    return this.#sessionUsage.isOverHalfFull
  }

  /** Whether there is no room for another message. */
  get isFull(): boolean {
    return this.#sessionUsage.isFull
  }

  /** A connection begins: what the one before did not finish is done again. */
  resume(sender: Sender, receiveMaximum: number): void {
    this.#sender = sender
    this.#receiveMaximum = receiveMaximum
    this.#unacknowledged = 0
    this.#toResend = []
    for (const item of this.#inFlight.values.sort((a, b) => a.sequence - b.sequence)) {
      item.isCounted = false
      if (item.state === 'pubcomp') sender.pubrel(item.packetId)
      else {
        item.state = 'turn'
        this.#toResend.push(item)
      }
    }
    this.#toResend.reverse()
    this.#sendPending()
  }

  /** The connection is gone. */
  suspend(): void {
    this.#sender = undefined
  }

  /**
   * Sends a message, now or as soon as the client takes it. There has to be room, see {@link isFull}.
   *
   * @param isPersistent - whether the session goes on when the connection ends
   */
  deliver(delivery: Delivery, isPersistent: boolean): void {
    const canSendNow = this.#sender !== undefined && this.#isIdle && this.#hasReceiveQuota
    if (canSendNow && !isPersistent && delivery.qos === 1 && delivery.reassign === undefined) {
      this.#sendOnce(delivery)
      return
    }
    const copied = copyDeliveryIfSparse(delivery)
    this.#sessionUsage.add(copied)
    if (canSendNow) this.#send(copied)
    else this.#pendingDeliveries.push(copied)
  }

  /** Forgets what waits for its turn beyond its time; returns whether there is room now. */
  discardExpired(now: number): boolean {
    this.#pendingDeliveries.expire(now, delivery => this.#sessionUsage.remove(delivery))
    return !this.isFull
  }

  /** Forgets what fits, as far as it was not sent; what was sent is not sent again. */
  discard(matches: (delivery: Delivery) => boolean): void {
    this.#pendingDeliveries.extract(matches, delivery => this.#sessionUsage.remove(delivery))
    for (const item of this.#inFlight.values) if (item.delivery && matches(item.delivery)) this.#releaseDelivery(item)
  }

  /** Whether it is about something that was sent. */
  puback(packetId: number): boolean {
    const item = this.#inFlight.get(packetId - 1)
    if (item?.state !== 'puback') return false
    this.#finish(item, packetId)
    return true
  }

  /**
   * Whether it is about something that was sent.
   *
   * @param isAccepted - whether the client took it (reason code below 0x80)
   */
  pubrec(packetId: number, isAccepted: boolean): boolean {
    const item = this.#inFlight.get(packetId - 1)
    if (item === undefined || item.qos !== 2 || item.state === 'turn') return false
    if (!isAccepted) this.#finish(item, packetId)
    else this.#awaitPubcomp(item)
    return true
  }

  /** Whether it is about something that was sent. */
  pubcomp(packetId: number): boolean {
    const item = this.#inFlight.get(packetId - 1)
    if (item?.state !== 'pubcomp') return false
    this.#finish(item, packetId)
    return true
  }

  /**
   * Forgets everything; what belongs to a shared subscription goes to somebody else, unless it was sent with QoS 2 (MQTT 5.0,
   * section 4.8.2).
   */
  clear(): void {
    const sent = this.#inFlight.values.filter(({ qos }) => qos === 1).sort((a, b) => a.sequence - b.sequence)
    const undelivered = sent.flatMap(({ delivery }) => delivery ?? [])
    for (let next = this.#pendingDeliveries.shift(); next !== undefined; next = this.#pendingDeliveries.shift())
      undelivered.push(next)
    this.#inFlight.clear()
    this.#toResend = []
    this.#sessionUsage.clear()
    this.#unacknowledged = 0
    this.#sender = undefined
    for (const delivery of undelivered) delivery.reassign?.(delivery)
  }

  /** Whether the client takes another message. */
  get #hasReceiveQuota(): boolean {
    return this.#unacknowledged < this.#receiveMaximum && this.#inFlight.size < MAX_PACKET_IDS
  }

  get #isIdle(): boolean {
    return this.#pendingDeliveries.length === 0 && this.#toResend.length === 0
  }

  #finish(item: InFlight, packetId: number): void {
    this.#drop(item, packetId)
    this.#sendPending()
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

  #sendPending(): void {
    while (this.#sender !== undefined && this.#hasReceiveQuota) {
      const item = this.#toResend.pop()
      if (item !== undefined) this.#resend(item, this.#sender)
      else {
        const delivery = this.#pendingDeliveries.shift()
        if (delivery === undefined) return
        this.#send(delivery)
      }
    }
  }

  #resend(item: InFlight, sender: Sender): void {
    this.#unacknowledged++
    item.isCounted = true
    item.state = item.qos === 2 ? 'pubrec' : 'puback'
    if (item.delivery !== undefined && sender.publish(item.delivery, item.packetId, true)) return
    if (item.qos === 1) this.#drop(item)
    else this.#skipToPubrel(item, sender)
  }

  /** The client may have it already, and would take the next message with this packet id for the same. */
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

/** Deliveries that wait for their turn, in order; some of them only for so long. */
export class PendingDeliveries {
  readonly #queue = new Fifo<Delivery>()
  /** Nothing expires before this, ms. */
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

  /** Takes out what is over its time at `now` (ms of the monotonic clock), and hands it to `expired`. */
  expire(now: number, onExpired: (delivery: Delivery) => void): void {
    if (now < this.#earliestExpiry) return
    this.extract(({ expiresAt }) => expiresAt !== undefined && expiresAt <= now, onExpired)
  }

  /** Takes out what fits, and hands it to `taken`. */
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

/** The account of what is kept for one session: messages, and their bytes, which the budget counts, too. */
export class SessionUsage {
  readonly #budget: BrokerMemoryBudget
  #messages = 0
  #replayedCount = 0
  #bytes = 0

  constructor(budget: BrokerMemoryBudget) {
    this.#budget = budget
  }

  /** Retained messages that wait. They are kept anyway, and cost nothing here. */
  get replayedCount(): number {
    return this.#replayedCount
  }

  /** What is kept, bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether more than half of what may be kept is. */
  get isOverHalfFull(): boolean {
    return this.#messages > LIMIT.queuedMessages / 2 || this.#bytes > LIMIT.queuedBytes / 2
  }

  /** Whether nothing more may be kept. */
  get isFull(): boolean {
    return this.#messages >= LIMIT.queuedMessages || this.#bytes >= LIMIT.queuedBytes
  }

  /** Counts a delivery, whose content has memory of its own. */
  add(delivery: Delivery): void {
    if (delivery.isReplay) this.#replayedCount++
    else this.#adjust(1, sizeOf(delivery))
  }

  /** A delivery is not kept any more. */
  remove(delivery: Delivery): void {
    if (delivery.isReplay) this.#replayedCount--
    else this.#adjust(-1, -sizeOf(delivery))
  }

  /** Nothing is kept any more. */
  clear(): void {
    this.#adjust(-this.#messages, -this.#bytes)
    this.#replayedCount = 0
  }

  #adjust(messages: number, bytes: number): void {
    this.#messages += messages
    this.#bytes += bytes
    this.#budget.adjust(bytes)
  }
}
