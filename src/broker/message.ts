import type { PublishPacket } from 'aedes'
import type { Content } from '../packet/publish.js'

/** A PUBLISH that came, whichever way. */
export interface InboundMessage {
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: 0 | 1 | 2
  readonly responseTopic?: string | undefined
  readonly correlationData?: Uint8Array | undefined
  /** A name that came more than once has an array. */
  readonly userProperties: Readonly<Record<string, string | readonly string[]>>
}

// Deliveries count on their own: aedes takes a packet of a known origin with a lower number for a duplicate and drops
// it, and its own numbers overtake each other between QoS 0 and QoS 1.
const ORIGIN = 'rx-statestore'

/** What aedes read. */
export function messageOf(packet: PublishPacket): InboundMessage {
  const { properties } = packet
  return {
    topic: packet.topic,
    payload: typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload,
    qos: packet.qos,
    responseTopic: properties?.responseTopic,
    correlationData: properties?.correlationData,
    userProperties: properties?.userProperties ?? {},
  }
}

/** The PUBLISH that aedes is to deliver to all subscribers of the topic. */
export function toPacket(topic: string, content: Content) {
  const { payload, correlationData, contentType, userProperties } = content
  return {
    cmd: 'publish',
    topic,
    payload: bufferOf(payload),
    qos: 1,
    retain: false,
    dup: false,
    properties: {
      payloadFormatIndicator: false,
      userProperties: { ...userProperties },
      ...(contentType === undefined ? {} : { contentType }),
      ...(correlationData === undefined ? {} : { correlationData: bufferOf(correlationData) }),
    },
  } as const
}

/**
 * The PUBLISH that aedes is to keep for one client's session.
 *
 * @param number - greater than those of all before
 */
export const toKeptPacket = (topic: string, content: Content, number: number) =>
  ({ ...toPacket(topic, content), brokerId: ORIGIN, brokerCounter: number }) as const

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
