import { Fifo, SlotMap } from '../../../core/util/collections.js'
import { LIMIT } from '../limits/limits.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'
import { type Delivery, ownDelivery, sizeOf } from '../routing/delivery.js'

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
  readonly number: number
  packetId: number
  /** What is awaited; `turn`: it is to be sent again on this connection. */
  state: 'turn' | 'puback' | 'pubrec' | 'pubcomp'
  /** Counts against the client's receive maximum. */
  counted: boolean
}

/** Stands for all deliveries of QoS 1 that are never sent again. */
const SENT: InFlight = { delivery: undefined, qos: 1, number: 0, packetId: 0, state: 'puback', counted: true }

/** MQTT 5.0, section 2.2.1 */
const MOST_IDS = 65_535

/**
 * What goes to one session with QoS 1 and 2: sent as far as the client's receive maximum allows, kept until it is
 * acknowledged, sent again, in order and with its packet id, when the client is back (MQTT 5.0, sections 4.3, 4.4, 4.9).
 */
export class DeliveryQueue {
  readonly #sessionUsage: SessionUsage
  readonly #inFlight = new SlotMap<InFlight>()
  /** In flight on an earlier connection: to be sent before anything else. */
  #again: InFlight[] = []
  readonly #pendingDeliveries = new PendingDeliveries()
  #sender: Sender | undefined
  #receiveMaximum = 0
  #unacknowledged = 0
  #number = 0

  constructor(budget: BrokerMemoryBudget) {
    this.#sessionUsage = new SessionUsage(budget)
  }

  /** Retained messages that wait. */
  get replayed(): number {
    return this.#sessionUsage.replayed
  }

  /** What is kept, bytes. */
  get bytes(): number {
    return this.#sessionUsage.bytes
  }

  /** Whether so much is unacknowledged that the client should get no more if that can be helped. */
  get strained(): boolean {
    return this.#sessionUsage.strained
  }

  /** Whether there is no room for another message. */
  get full(): boolean {
    return this.#sessionUsage.full
  }

  /** A connection begins: what the one before did not finish is done again. */
  resume(sender: Sender, receiveMaximum: number): void {
    this.#sender = sender
    this.#receiveMaximum = receiveMaximum
    this.#unacknowledged = 0
    this.#again = []
    for (const item of this.#inFlight.values.sort((a, b) => a.number - b.number)) {
      item.counted = false
      if (item.state === 'pubcomp') sender.pubrel(item.packetId)
      else {
        item.state = 'turn'
        this.#again.push(item)
      }
    }
    this.#again.reverse()
    this.#sendWaiting()
  }

  /** The connection is gone. */
  suspend(): void {
    this.#sender = undefined
  }

  /**
   * Sends a message, now or as soon as the client takes it. There has to be room, see {@link full}.
   *
   * @param lasting - whether the session goes on when the connection ends
   */
  deliver(delivery: Delivery, lasting: boolean): void {
    const now = this.#sender !== undefined && this.#idle && this.#taken
    if (now && !lasting && delivery.qos === 1 && delivery.giveOn === undefined) {
      this.#sendOnce(delivery)
      return
    }
    const kept = ownDelivery(delivery)
    this.#sessionUsage.keep(kept)
    if (now) this.#send(kept)
    else this.#pendingDeliveries.push(kept)
  }

  /** Forgets what waits for its turn beyond its time; returns whether there is room now. */
  forgetExpired(now: number): boolean {
    this.#pendingDeliveries.expire(now, delivery => this.#sessionUsage.release(delivery))
    return !this.full
  }

  /** Forgets what fits, as far as it was not sent; what was sent is not sent again. */
  forget(fits: (delivery: Delivery) => boolean): void {
    this.#pendingDeliveries.take(fits, delivery => this.#sessionUsage.release(delivery))
    for (const item of this.#inFlight.values) if (item.delivery && fits(item.delivery)) this.#forget(item)
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
   * @param received - whether the client took it (reason code below 0x80)
   */
  pubrec(packetId: number, received: boolean): boolean {
    const item = this.#inFlight.get(packetId - 1)
    if (item === undefined || item.qos !== 2 || item.state === 'turn') return false
    if (!received) this.#finish(item, packetId)
    else this.#received(item)
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
    const sent = this.#inFlight.values.filter(({ qos }) => qos === 1).sort((a, b) => a.number - b.number)
    const left = sent.flatMap(({ delivery }) => delivery ?? [])
    for (let next = this.#pendingDeliveries.shift(); next !== undefined; next = this.#pendingDeliveries.shift())
      left.push(next)
    this.#inFlight.clear()
    this.#again = []
    this.#sessionUsage.clear()
    this.#unacknowledged = 0
    this.#sender = undefined
    for (const delivery of left) delivery.giveOn?.(delivery)
  }

  /** Whether the client takes another message. */
  get #taken(): boolean {
    return this.#unacknowledged < this.#receiveMaximum && this.#inFlight.size < MOST_IDS
  }

  get #idle(): boolean {
    return this.#pendingDeliveries.length === 0 && this.#again.length === 0
  }

  #finish(item: InFlight, packetId: number): void {
    this.#drop(item, packetId)
    this.#sendWaiting()
  }

  #sendOnce(delivery: Delivery): void {
    const packetId = this.#inFlight.add(SENT) + 1
    this.#unacknowledged++
    if (this.#sender?.publish(delivery, packetId, false)) return
    this.#inFlight.delete(packetId - 1)
    this.#unacknowledged--
  }

  #send(delivery: Delivery): void {
    const qos = delivery.qos === 2 ? 2 : 1
    const state = qos === 2 ? 'pubrec' : 'puback'
    const item: InFlight = { delivery, qos, number: ++this.#number, packetId: 0, state, counted: true }
    item.packetId = this.#inFlight.add(item) + 1
    this.#unacknowledged++
    if (!this.#sender?.publish(delivery, item.packetId, false)) this.#drop(item)
  }

  #drop(item: InFlight, packetId = item.packetId): void {
    this.#inFlight.delete(packetId - 1)
    if (item.counted) this.#unacknowledged--
    if (item.delivery) this.#sessionUsage.release(item.delivery)
  }

  #sendWaiting(): void {
    while (this.#sender !== undefined && this.#taken) {
      const again = this.#again.pop()
      if (again !== undefined) this.#sendAgain(again, this.#sender)
      else {
        const delivery = this.#pendingDeliveries.shift()
        if (delivery === undefined) return
        this.#send(delivery)
      }
    }
  }

  #sendAgain(item: InFlight, sender: Sender): void {
    this.#unacknowledged++
    item.counted = true
    item.state = item.qos === 2 ? 'pubrec' : 'puback'
    if (item.delivery !== undefined && sender.publish(item.delivery, item.packetId, true)) return
    if (item.qos === 1) this.#drop(item)
    else this.#settle(item, sender)
  }

  /** The client may have it already, and would take the next message with this packet id for the same. */
  #settle(item: InFlight, sender: Sender): void {
    this.#unacknowledged--
    item.counted = false
    this.#received(item)
    sender.pubrel(item.packetId)
  }

  #received(item: InFlight): void {
    this.#forget(item)
    item.state = 'pubcomp'
  }

  #forget(item: InFlight): void {
    if (item.delivery) this.#sessionUsage.release(item.delivery)
    item.delivery = undefined
  }
}

/** Deliveries that wait for their turn, in order; some of them only for so long. */
export class PendingDeliveries {
  readonly #queue = new Fifo<Delivery>()
  /** Nothing expires before this, ms. */
  #soonest = Number.POSITIVE_INFINITY

  get length(): number {
    return this.#queue.length
  }

  push(delivery: Delivery): void {
    this.#queue.push(delivery)
    this.#soonest = Math.min(this.#soonest, delivery.expiresAt ?? Number.POSITIVE_INFINITY)
  }

  shift(): Delivery | undefined {
    return this.#queue.shift()
  }

  /** Takes out what is over its time at `now` (ms of the monotonic clock), and hands it to `expired`. */
  expire(now: number, expired: (delivery: Delivery) => void): void {
    if (now < this.#soonest) return
    this.take(({ expiresAt }) => expiresAt !== undefined && expiresAt <= now, expired)
  }

  /** Takes out what fits, and hands it to `taken`. */
  take(fits: (delivery: Delivery) => boolean, taken: (delivery: Delivery) => void): void {
    this.#soonest = Number.POSITIVE_INFINITY
    for (let left = this.#queue.length; left > 0; left--) {
      const delivery = this.#queue.shift()
      if (delivery === undefined) break
      if (fits(delivery)) taken(delivery)
      else this.push(delivery)
    }
  }
}

/** The account of what is kept for one session: messages, and their bytes, which the budget counts, too. */
export class SessionUsage {
  readonly #brokerMemoryBudget: BrokerMemoryBudget
  #messages = 0
  #replayed = 0
  #bytes = 0

  constructor(budget: BrokerMemoryBudget) {
    this.#brokerMemoryBudget = budget
  }

  /** Retained messages that wait. They are kept anyway, and cost nothing here. */
  get replayed(): number {
    return this.#replayed
  }

  /** What is kept, bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether more than half of what may be kept is. */
  get strained(): boolean {
    return this.#messages > LIMIT.queuedMessages / 2 || this.#bytes > LIMIT.queuedBytes / 2
  }

  /** Whether nothing more may be kept. */
  get full(): boolean {
    return this.#messages >= LIMIT.queuedMessages || this.#bytes >= LIMIT.queuedBytes
  }

  /** Counts a delivery, whose content has memory of its own. */
  keep(delivery: Delivery): void {
    if (delivery.replayed) this.#replayed++
    else this.#count(1, sizeOf(delivery))
  }

  /** A delivery is not kept any more. */
  release(delivery: Delivery): void {
    if (delivery.replayed) this.#replayed--
    else this.#count(-1, -sizeOf(delivery))
  }

  /** Nothing is kept any more. */
  clear(): void {
    this.#count(-this.#messages, -this.#bytes)
    this.#replayed = 0
  }

  #count(messages: number, bytes: number): void {
    this.#messages += messages
    this.#bytes += bytes
    this.#brokerMemoryBudget.count(bytes)
  }
}
