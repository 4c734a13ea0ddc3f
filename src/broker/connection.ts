import type { Client } from 'aedes'
import { matchesFilter } from './topic-filter.js'

/** A message to deliver. */
export interface Delivery {
  readonly topic: string
  readonly payload: Uint8Array
  readonly correlationData?: Uint8Array
  readonly contentType: string
  readonly userProperties: Record<string, string>
}

/** MQTT 5.0, section 2.4: Quota exceeded. */
const QUOTA_EXCEEDED = 151
/** A connection with more unsent bytes than this is ended, so that a slow client costs nobody else. */
const MAXIMUM_BACKLOG = 16 * 1024 * 1024
// Deliveries count on their own: aedes takes a packet of a known origin with a lower number for a duplicate and drops
// it, and its own numbers overtake each other between QoS 0 and QoS 1.
const ORIGIN = 'rx-statestore'

/** One client's connection at the broker. */
export class BrokerConnection {
  readonly clientId: string
  readonly #client: Client

  readonly #nextNumber: () => number

  /** @param nextNumber - counts the deliveries of all connections */
  constructor(client: Client, nextNumber: () => number) {
    this.clientId = client.id
    this.#client = client
    this.#nextNumber = nextNumber
  }

  get open(): boolean {
    return !this.#client.closed
  }

  subscribes(topic: string): boolean {
    return this.#grantedQos(topic) !== undefined
  }

  /**
   * QoS 1, or 0 where that is what was granted, to this client alone; with QoS 1 kept for it if the session outlives the
   * connection.
   */
  deliver(message: Delivery): void {
    if (this.#client.conn.writableLength > MAXIMUM_BACKLOG) {
      this.disconnect(QUOTA_EXCEEDED, 'too many unread messages')
      return
    }
    const qos = this.#grantedQos(message.topic) === 0 ? 0 : 1
    const packet = { ...toPacket(message), qos, brokerId: ORIGIN, brokerCounter: this.#nextNumber() } as const
    this.#client.publish(packet, ignore)
  }

  get #subscriptions(): object {
    return 'subscriptions' in this.#client ? Object(this.#client.subscriptions) : {}
  }

  /** The best QoS of the subscriptions that match, if any does. */
  #grantedQos(topic: string): number | undefined {
    let best: number | undefined
    for (const [filter, granted] of Object.entries(this.#subscriptions)) {
      if (matchesFilter(filter, topic)) best = Math.max(best ?? 0, Number(Object(granted).qos))
    }
    return best
  }

  get subscriptionCount(): number {
    return Object.keys(this.#subscriptions).length
  }

  /** Ends it with its session: too much is unacknowledged. */
  abandon(): void {
    // aedes wipes a session that ends with its connection.
    Object.assign(this.#client, { sessionExpiryInterval: 0, clean: true })
    this.disconnect(QUOTA_EXCEEDED, 'too many unacknowledged messages')
  }

  disconnect(reasonCode: number, reason: string, closed: () => void = ignore): void {
    this.#client.disconnect({ reasonCode, properties: { reasonString: reason } }, closed)
  }

  /** Cuts the network connection without a word, as a broken network does. */
  cut(): void {
    this.#client.conn.destroy()
  }
}

/** The PUBLISH packet of a message. */
export function toPacket(message: Delivery) {
  const { topic, payload, correlationData, contentType, userProperties } = message
  return {
    cmd: 'publish',
    topic,
    payload: bufferOf(payload),
    qos: 1,
    retain: false,
    dup: false,
    properties: {
      contentType,
      payloadFormatIndicator: false,
      userProperties,
      ...(correlationData ? { correlationData: bufferOf(correlationData) } : {}),
    },
  } as const
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

// A failed write shows as the end of the connection, which the broker reports.
const ignore = (): void => undefined
