import { Fifo } from '../fifo.js'
import type { Content } from '../packet/publish.js'
import { SlotMap } from '../slot-map.js'
import { LAST_AEDES_ID } from './aedes-client.js'
import { MOST_QUEUED_BYTES, MOST_QUEUED_MESSAGES, sizeOf } from './session-bound.js'

/** Sends a PUBLISH with QoS 1; `again` if it was sent before. */
export type Send = (topic: string, content: Content, packetId: number, again: boolean) => void

/** A delivery that is kept until it is acknowledged. */
interface Delivery {
  readonly topic: string
  readonly content: Content
  /** Rises, which packet ids do not. */
  readonly number: number
  packetId: number
  sent: boolean
  /** For its turn, on this connection. */
  waiting: boolean
}

/** Stands for deliveries that are never sent again: the session ends with the connection. */
interface Sent {
  readonly waiting: false
  readonly content?: never
}

const SENT: Sent = { waiting: false }
const FIRST_ID = LAST_AEDES_ID + 1
/** Whatever a client says it can take (MQTT 5.0, section 3.1.2.11.3): there have to be ids for those that wait. */
const MOST_IN_FLIGHT = 20_000

/**
 * What was delivered to a client with QoS 1 past aedes, and is not acknowledged. It outlives the connection as the MQTT
 * session does (MQTT 5.0, section 4.1), and comes again, in order, when the client is back. What is over the client's
 * receive maximum waits.
 */
export class Session {
  /** By packet id. */
  #deliveries = new SlotMap<Delivery | Sent>()
  #waiting = new Fifo<Delivery>()
  #kept = 0
  #keptBytes = 0
  #number = 0
  #inFlight = 0
  #receiveMaximum = 0
  #send: Send | undefined

  /** Number of messages that are kept. */
  get kept(): number {
    return this.#kept
  }

  /** Whether so much is unacknowledged that the client should get no more if that can be helped. */
  get strained(): boolean {
    return this.#kept > MOST_QUEUED_MESSAGES / 2 || this.#keptBytes > MOST_QUEUED_BYTES / 2
  }

  /** A connection begins: sends again what the one before did not acknowledge. */
  resume(send: Send, receiveMaximum: number): void {
    this.#send = send
    this.#receiveMaximum = Math.min(receiveMaximum, MOST_IN_FLIGHT)
    this.#inFlight = 0
    this.#waiting.clear()
    const left = this.#deliveries.values.filter(isKept).sort((a, b) => a.number - b.number)
    for (const delivery of left) {
      delivery.waiting = true
      this.#waiting.push(delivery)
    }
    this.#sendWaiting()
  }

  /** The connection is gone. */
  suspend(): void {
    this.#send = undefined
  }

  /**
   * Delivers a message: now, or as soon as the client takes it. Returns whether there was room to keep it.
   *
   * @param lasting - whether it is to be kept for the next connection
   */
  deliver(topic: string, content: Content, lasting: boolean): boolean {
    const now = this.#waiting.length === 0 && this.#inFlight < this.#receiveMaximum
    if (now && !lasting && this.#send !== undefined) {
      this.#inFlight++
      this.#send(topic, content, FIRST_ID + this.#deliveries.add(SENT), false)
      return true
    }
    if (this.#kept >= MOST_QUEUED_MESSAGES || this.#keptBytes >= MOST_QUEUED_BYTES) return false
    this.#waiting.push(this.#keep(topic, content))
    this.#sendWaiting()
    return true
  }

  /** Whether the PUBACK is about a delivery of this session. */
  acknowledge(packetId: number): boolean {
    const place = packetId - FIRST_ID
    const delivery = this.#deliveries.get(place)
    if (delivery === undefined || delivery.waiting) return false
    this.#deliveries.delete(place)
    this.#inFlight--
    if (isKept(delivery)) {
      this.#kept--
      this.#keptBytes -= sizeOf(delivery.topic, delivery.content.payload)
    }
    this.#sendWaiting()
    return true
  }

  /** Forgets everything: the session ended, or starts clean. */
  clear(): void {
    this.#deliveries.clear()
    this.#waiting.clear()
    this.#kept = this.#keptBytes = this.#inFlight = 0
  }

  #keep(topic: string, content: Content): Delivery {
    const delivery = {
      topic,
      content: ownContent(content),
      number: ++this.#number,
      packetId: 0,
      sent: false,
      waiting: true,
    }
    delivery.packetId = FIRST_ID + this.#deliveries.add(delivery)
    this.#kept++
    this.#keptBytes += sizeOf(topic, content.payload)
    return delivery
  }

  #sendWaiting(): void {
    while (this.#send !== undefined && this.#inFlight < this.#receiveMaximum) {
      const delivery = this.#waiting.shift()
      if (delivery === undefined) return
      this.#inFlight++
      delivery.waiting = false
      this.#send(delivery.topic, delivery.content, delivery.packetId, delivery.sent)
      delivery.sent = true
    }
  }
}

const isKept = (delivery: Delivery | Sent): delivery is Delivery => delivery.content !== undefined

/** Correlation data are a view of what was read from the network, which may be much larger. */
function ownContent(content: Content): Content {
  const { correlationData } = content
  return correlationData === undefined ? content : { ...content, correlationData: new Uint8Array(correlationData) }
}
