import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Content, Envelope, InboundPublish } from '../../../src/core/mqtt5/packets.js'
import { PublishDecoder } from '../../../src/core/mqtt5/publish-decoder.js'
import { envelopeOf, PublishEncoder } from '../../../src/core/mqtt5/publish-encoder.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { anyId, anyText, anyTopic } from '../../support/any-packet.js'
import { effort } from '../../support/effort.js'
import { written } from '../../support/own-room.js'

/** Encodes a whole packet. `encodedHead` omits the payload. */
const encoded = (encoder: PublishEncoder, topic: string, content: Content, envelope: Envelope): Uint8Array =>
  written(room => encoder.encodeTo(topic, content, envelope, room))
const encodedHead = (encoder: PublishEncoder, topic: string, content: Content, envelope: Envelope): Uint8Array =>
  written(room => encoder.encodeTo(topic, content, envelope, room, true))
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined })
const anyUint32 = fc.integer({ min: 0, max: 0xffff_ffff })

const anyContent: fc.Arbitrary<Content> = fc.record({
  payload: fc.uint8Array({ maxLength: 300 }),
  contentType: optional(anyText),
  responseTopic: optional(anyTopic),
  correlationData: optional(fc.uint8Array({ maxLength: 30 })),
  messageExpiry: optional(anyUint32),
  userProperties: fc.dictionary(anyText, fc.oneof(anyText, fc.array(anyText, { minLength: 2, maxLength: 4 })), {
    maxKeys: 4,
  }),
})

const anyEnvelope: fc.Arbitrary<Envelope> = fc
  .record({
    packetId: anyId,
    qos: fc.constantFrom<0 | 1 | 2>(0, 1, 2),
    dup: fc.boolean(),
    retain: fc.boolean(),
    messageExpiry: optional(anyUint32),
    subscriptionIds: fc.array(fc.integer({ min: 1, max: 0xfff_ffff }), { maxLength: 4 }),
    topicAlias: optional(anyId),
    version: fc.constantFrom<4 | 5>(4, 5),
  })
  .map(envelope => (envelope.qos === 0 ? { ...envelope, packetId: 0, dup: false } : envelope))

/** Returns the packet that the receiver must decode. */
function expected(topic: string, content: Content, envelope: Envelope): InboundPublish {
  const { packetId, qos, dup, retain, version } = envelope
  const common = { topic, packetId, qos, dup, retain, payload: content.payload, carried: new Uint8Array(0) }
  const absent = { contentType: undefined, responseTopic: undefined, correlationData: undefined }
  if (version === 4)
    return {
      ...common,
      ...absent,
      messageExpiry: undefined,
      topicAlias: undefined,
      subscriptionIds: [],
      userProperties: {},
    }
  return {
    ...common,
    contentType: content.contentType,
    responseTopic: content.responseTopic,
    correlationData: content.correlationData,
    messageExpiry: envelope.messageExpiry ?? content.messageExpiry,
    topicAlias: envelope.topicAlias,
    subscriptionIds: envelope.subscriptionIds,
    userProperties: { ...content.userProperties },
  }
}

describe('PublishEncoder, for one of many receivers', () => {
  it('packets for many receivers decode to the same content, and their size is returned', () => {
    const encoder = new PublishEncoder()
    const decoders = {
      4: new PublishDecoder({ version: 4, sender: 'server' }),
      5: new PublishDecoder({ sender: 'server' }),
    }
    fc.assert(
      fc.property(
        anyTopic,
        anyContent,
        fc.array(anyEnvelope, { minLength: 1, maxLength: 3 }),
        (topic, content, all) => {
          for (const envelope of all) {
            const packet = encoded(encoder, topic, content, envelope)
            expect(decoders[envelope.version].decode(packet)).toEqual(expected(topic, content, envelope))
            expect(encoder.sizeOf(topic, content, envelope)).toBe(packet.length)
            const head = encodedHead(encoder, topic, content, envelope)
            expect([...head, ...content.payload]).toEqual([...packet])
          }
        },
      ),
      { numRuns: effort(500, 100) },
    )
  })

  it('many receivers get the message properties except those intended for the broker', () => {
    const encoder = new PublishEncoder()
    const broker = new PublishDecoder()
    const receiver = new PublishDecoder({ sender: 'server' })
    const plain = { subscriptionIds: [], version: 5, topicAlias: undefined } as const
    fc.assert(
      fc.property(anyTopic, anyContent, anyEnvelope, anyEnvelope, (topic, content, from, to) => {
        const forwarded = broker.decode(
          encoded(encoder, topic, content, { ...from, ...plain, topicAlias: from.topicAlias }),
        )
        const decoded = receiver.decode(encoded(encoder, 'to', forwarded, { ...to, version: 5 }))
        const expiry = to.messageExpiry ?? from.messageExpiry ?? content.messageExpiry
        expect(decoded).toEqual({ ...expected('to', content, { ...to, version: 5 }), messageExpiry: expiry })
      }),
    )
  })

  it('forwarded properties keep their order, without those intended for the broker', () => {
    const properties = [0x01, 1, 0x23, 0, 5, 0x03, 0, 1, 0x63, 0x02, 0, 0, 0, 9, 0x26, 0, 1, 0x61, 0, 1, 0x62]
    const frame = Uint8Array.of(0x30, 4 + properties.length, 0, 1, 0x74, properties.length, ...properties)
    const { carried, topicAlias, messageExpiry } = new PublishDecoder().decode(frame)
    expect([...carried]).toEqual([0x01, 1, 0x03, 0, 1, 0x63, 0x26, 0, 1, 0x61, 0, 1, 0x62])
    expect({ topicAlias, messageExpiry }).toEqual({ topicAlias: 5, messageExpiry: 9 })
  })

  it('contiguous forwarded properties are a view', () => {
    const properties = [0x02, 0, 0, 0, 9, 0x03, 0, 1, 0x63, 0x23, 0, 5]
    const frame = Uint8Array.of(0x30, 4 + properties.length, 0, 1, 0x74, properties.length, ...properties)
    const { carried } = new PublishDecoder().decode(frame)
    expect([...carried]).toEqual([0x03, 0, 1, 0x63])
    expect(carried.buffer).toBe(frame.buffer)
  })

  it('message properties are encoded once for all receivers', () => {
    let looked = 0
    const content: Content = {
      payload: utf8('x'),
      get userProperties() {
        looked++
        return { a: '1' }
      },
    }
    const encoder = new PublishEncoder()
    for (let i = 1; i < 100; i++) encoded(encoder, `to/${i}`, content, envelopeOf(i))
    expect(looked).toBe(1)
  })

  it('PublishEncoder for one of many receivers encodes each property in the encoding of its type', () => {
    const encoder = new PublishEncoder()
    const decoder = new PublishDecoder({ sender: 'server' })
    const commonProperties = { status: '200', empty: '' }
    for (const contentType of ['a', 'b', undefined, 'a', 'a']) {
      const content = { payload: utf8('x'), contentType, userProperties: { own: '1' }, commonProperties }
      const { userProperties, ...decoded } = decoder.decode(encoded(encoder, 't', content, envelopeOf(1)))
      expect([decoded.contentType, { ...userProperties }]).toEqual([
        contentType,
        { own: '1', status: '200', empty: '' },
      ])
    }
  })

  it('a topic too long for any packet is rejected, and the next message is still encoded', () => {
    const encoder = new PublishEncoder()
    const content = { payload: utf8('x'), userProperties: { a: '1' } }
    const refusal = expect.objectContaining({ code: 'argument' })
    const long = 'x'.repeat(65_536)
    expect(() => encoded(encoder, long, content, envelopeOf(1))).toThrow(refusal)
    expect(() => encoded(encoder, 't', { ...content, contentType: long }, envelopeOf(1))).toThrow(refusal)
    const packet = encoded(encoder, 't', content, envelopeOf(1))
    expect(packet).toEqual(encoded(new PublishEncoder(), 't', content, envelopeOf(1)))
  })
})
