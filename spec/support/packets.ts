import mqttPacket, { type IPublishPacket, type Packet } from 'mqtt-packet'
import { type Bytes, PROPERTY, properties, publish, type Version } from '../../harness/packets.js'
import { INVOKE_TOPIC, responseTopicOf } from './topics.js'

export * from '../../harness/packets.js'

// Well-formed packets are encoded by another library than the encoder under test.

/** Returns the bytes of a well-formed packet. */
export const bytesOf = (packet: Packet, protocolVersion: Version = 5): Buffer =>
  mqttPacket.generate(packet, { protocolVersion })

/** Encodes a request to the store. */
export function request(clientId: string, payload: Uint8Array, id = 1, ...more: readonly Bytes[]): Buffer {
  const own = properties(
    PROPERTY.responseTopic(responseTopicOf(clientId)),
    PROPERTY.correlationData(String(id)),
    PROPERTY.user('__ts', `${Date.now()}:0:${clientId}`),
    ...more,
  )
  return publish(INVOKE_TOPIC, payload, { qos: 1, id, properties: own })
}

/** Creates a request's packet to the store. The default of the correlation data is the packet id. */
export const requestPacket = (
  clientId: string,
  payload: Buffer,
  messageId: number,
  more: IPublishPacket['properties'] = {},
): IPublishPacket => ({
  cmd: 'publish',
  topic: INVOKE_TOPIC,
  payload,
  qos: 1,
  dup: false,
  retain: false,
  messageId,
  properties: { responseTopic: responseTopicOf(clientId), correlationData: Buffer.from(`${messageId}`), ...more },
})

/** Invalid UTF-8: overlong, truncated, a surrogate, or NUL (MQTT 5.0, section 1.5.4). */
export const NOT_UTF8 = {
  'an overlong slash': [0xc0, 0xaf],
  'half a character': [0x61, 0xe2, 0x82],
  'a surrogate': [0xed, 0xa0, 0x80],
  'beyond U+10FFFF': [0xf4, 0x90, 0x80, 0x80],
  'a NUL': [0x61, 0x00],
} as const
