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
let deliveries = 0

/** One client's connection at the broker. */
export class BrokerConnection {
  readonly clientId: string
  readonly #client: Client

  constructor(client: Client) {
    this.clientId = client.id
    this.#client = client
  }

  get open(): boolean {
    return !this.#client.closed
  }

  subscribes(topic: string): boolean {
    const subscriptions: object = 'subscriptions' in this.#client ? Object(this.#client.subscriptions) : {}
    if (Object.hasOwn(subscriptions, topic)) return true
    for (const filter of Object.keys(subscriptions)) if (matchesFilter(filter, topic)) return true
    return false
  }

  /** QoS 1, to this client alone; kept for it if the session outlives the connection. */
  deliver(message: Delivery): void {
    if (this.#client.conn.writableLength > MAXIMUM_BACKLOG) {
      this.disconnect(QUOTA_EXCEEDED, 'too many unread messages')
      return
    }
    const packet = { ...toPacket(message), brokerId: ORIGIN, brokerCounter: ++deliveries }
    this.#client.publish(packet, ignore)
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
