import fc from 'fast-check'
import { generate, type IPublishPacket } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { concatBytes, utf8 } from '../../src/bytes.js'
import type { InboundPublish } from '../../src/packet/publish.js'
import { PublishDecoder } from '../../src/packet/publish-decoder.js'
import { PublishEncoder } from '../../src/packet/publish-encoder.js'

const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter(value => !value.includes('\0'))
const nonEmpty = text.filter(value => value !== '')
const topic = nonEmpty.filter(value => !/[#+]/.test(value))
const properties = fc.record(
  {
    payloadFormatIndicator: fc.boolean(),
    messageExpiryInterval: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    contentType: nonEmpty,
    responseTopic: topic,
    correlationData: fc.uint8Array({ minLength: 1, maxLength: 40 }).map(bytes => Buffer.from(bytes)),
    userProperties: fc
      .dictionary(nonEmpty, fc.oneof(text, fc.array(text, { minLength: 2, maxLength: 3 })), {
        minKeys: 1,
        noNullPrototype: true,
      })
      .filter(value => !Object.hasOwn(value, '__proto__')),
  },
  { requiredKeys: [] },
)
const anyPublish = fc.record({
  cmd: fc.constant('publish' as const),
  topic,
  payload: fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)),
  qos: fc.constantFrom<0 | 1>(0, 1),
  dup: fc.constant(false),
  retain: fc.boolean(),
  messageId: fc.integer({ min: 1, max: 65_535 }),
  properties,
})

const bytesOf = (packet: IPublishPacket): Uint8Array => Uint8Array.from(generate(packet, { protocolVersion: 5 }))

/** PUBLISH with QoS 1 to `t` with id 9, these properties and no payload. */
function withProperties(...parts: (readonly number[])[]): Uint8Array {
  const content = parts.flat()
  return new Uint8Array([0x32, 6 + content.length, 0, 1, 0x74, 0, 9, content.length, ...content])
}

const textField = (value: string): number[] => [0, utf8(value).length, ...utf8(value)]

describe('PublishDecoder', () => {
  it('reads what mqtt-packet writes', () => {
    const decoder = new PublishDecoder()
    fc.assert(
      fc.property(anyPublish, packet => {
        const { contentType, responseTopic, correlationData, messageExpiryInterval, userProperties } = packet.properties
        expect(decoder.decode(bytesOf(packet))).toEqual({
          topic: packet.topic,
          payload: Uint8Array.from(Buffer.from(packet.payload)),
          qos: packet.qos,
          dup: false,
          retain: packet.retain,
          packetId: packet.qos === 0 ? 0 : packet.messageId,
          contentType,
          responseTopic,
          correlationData: correlationData && Uint8Array.from(correlationData),
          messageExpiry: messageExpiryInterval,
          userProperties: { ...userProperties },
        } satisfies InboundPublish)
      }),
    )
  })

  it('reads what our encoder writes, with and without an id', () => {
    const publish = { topic: 'a/b', payload: utf8('x'), contentType: 'c', userProperties: { __ts: '1:0:a' } }
    for (const id of [0, 1, 65_535]) {
      const decoded = new PublishDecoder().decode(new PublishEncoder().encode(publish, id))
      expect(decoded).toMatchObject({ ...publish, packetId: id, qos: id === 0 ? 0 : 1 })
    }
  })

  it('tells texts apart that are alike', () => {
    const decoder = new PublishDecoder()
    const names = ['ab', 'bb', 'cb', 'abab', 'bbab', 'ä', 'ö', '1.0', '1.1', '2.0']
    for (const name of [...names, ...[...names].reverse()]) {
      expect(decoder.decode(bytesOf({ ...plain, properties: { contentType: name } }))?.contentType).toBe(name)
    }
  })

  it('knows a text again though the memory it came in was used for something else', () => {
    const decoder = new PublishDecoder()
    const frame = bytesOf({ ...plain, topic: 'first' })
    decoder.decode(frame)
    frame.fill(0x41)
    expect(decoder.decode(bytesOf({ ...plain, topic: 'first' }))?.topic).toBe('first')
  })

  it.each([
    ['a topic alias', withProperties([0x23, 0, 1])],
    ['a subscription identifier', withProperties([0x0b, 1])],
    ['an unknown property', withProperties([0x7f, 0])],
    ['two content types', withProperties([0x03, ...textField('a')], [0x03, ...textField('b')])],
    ['two response topics', withProperties([0x08, ...textField('a')], [0x08, ...textField('b')])],
    ['two correlations', withProperties([0x09, 0, 1, 1], [0x09, 0, 1, 1])],
    ['two expiries', withProperties([0x02, 0, 0, 0, 1], [0x02, 0, 0, 0, 1])],
    ['two payload formats', withProperties([0x01, 0], [0x01, 0])],
    ['a payload format that is none', withProperties([0x01, 2])],
    ['a content type that is not UTF-8', withProperties([0x03, 0, 1, 0xff])],
    ['a text longer than its packet', withProperties([0x03, 0xff, 0xff, 0x61])],
    ['an expiry cut short', withProperties([0x02, 0, 0])],
    ['properties longer than the packet', new Uint8Array([0x32, 6, 0, 1, 0x74, 0, 9, 5])],
    ['a property length without end', new Uint8Array([0x32, 10, 0, 1, 0x74, 0, 9, 0xff, 0xff, 0xff, 0xff, 1])],
    ['no topic', new Uint8Array([0x32, 5, 0, 0, 0, 9, 0])],
    ['packet id 0', new Uint8Array([0x32, 6, 0, 1, 0x74, 0, 0, 0])],
    ['QoS 2', new Uint8Array([0x34, 6, 0, 1, 0x74, 0, 9, 0])],
    ['QoS 3', new Uint8Array([0x36, 6, 0, 1, 0x74, 0, 9, 0])],
    ['a length that is not its own', new Uint8Array([0x32, 7, 0, 1, 0x74, 0, 9, 0])],
    ['a user property named __proto__', withProperties([0x26, ...textField('__proto__'), ...textField('x')])],
    ['nothing', new Uint8Array(0)],
  ])('leaves %s to others', (_name, frame) => {
    expect(new PublishDecoder().decode(frame)).toBeUndefined()
  })

  it('keeps its head whatever comes, and reads the next packet', () => {
    const decoder = new PublishDecoder()
    const good = bytesOf(plain)
    const cut = fc.tuple(anyPublish, fc.nat(), fc.nat(255)).map(([packet, at, byte]) => {
      const bytes = bytesOf(packet)
      bytes[at % bytes.length] = byte
      return bytes
    })
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 60 }), cut), frame => {
        decoder.decode(frame)
        decoder.decode(concatBytes([new Uint8Array([0x32, frame.length]), frame]))
        expect(decoder.decode(good)?.topic).toBe('t')
      }),
      { numRuns: 3_000 },
    )
  })
})

const plain: IPublishPacket = {
  cmd: 'publish',
  topic: 't',
  payload: Buffer.from('p'),
  qos: 1,
  messageId: 9,
  dup: false,
  retain: false,
}
