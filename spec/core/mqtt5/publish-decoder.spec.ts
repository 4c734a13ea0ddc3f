import fc from 'fast-check'
import type { IPublishPacket } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { PacketError } from '../../../src/core/mqtt5/packet-error.js'
import type { InboundPublish } from '../../../src/core/mqtt5/packets.js'
import { PublishDecoder, StringCache } from '../../../src/core/mqtt5/publish-decoder.js'
import * as REASON from '../../../src/core/mqtt5/reason-codes.js'
import { concatBytes, utf8 } from '../../../src/core/util/bytes.js'
import { effort } from '../../support/effort.js'
import { publishPacket } from '../../support/own-room.js'
import { bytesOf } from '../../support/packets.js'

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

/** Encodes a PUBLISH with QoS 1 to `t` with id 9, the given properties and no payload. */
function withProperties(...parts: (readonly number[])[]): Uint8Array {
  const content = parts.flat()
  return new Uint8Array([0x32, 6 + content.length, 0, 1, 0x74, 0, 9, content.length, ...content])
}

/** Fails on any error other than PacketError. */
function attempt(decode: () => unknown): void {
  try {
    decode()
  } catch (error) {
    expect(error).toBeInstanceOf(PacketError)
  }
}

const textField = (value: string): number[] => [0, utf8(value).length, ...utf8(value)]

describe('PublishDecoder', () => {
  it('decodes the packets that mqtt-packet encodes', () => {
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
          topicAlias: undefined,
          subscriptionIds: [],
          carried: expect.any(Uint8Array),
        } satisfies InboundPublish)
      }),
    )
  })

  it('decodes the packets that our encoder encodes, with and without a packet id', () => {
    const publish = { topic: 'a/b', payload: utf8('x'), contentType: 'c', userProperties: { __ts: '1:0:a' } }
    for (const id of [0, 1, 65_535]) {
      const decoded = new PublishDecoder().decode(publishPacket(publish, id))
      expect(decoded).toMatchObject({ ...publish, packetId: id, qos: id === 0 ? 0 : 1 })
    }
  })

  it('distinguishes similar strings', () => {
    const decoder = new PublishDecoder()
    const names = ['ab', 'bb', 'cb', 'abab', 'bbab', 'ä', 'ö', '1.0', '1.1', '2.0']
    for (const name of [...names, ...[...names].reverse()]) {
      expect(decoder.decode(bytesOf({ ...plain, properties: { contentType: name } })).contentType).toBe(name)
    }
  })

  it('decodes a cached string correctly even if its original memory was overwritten', () => {
    const decoder = new PublishDecoder()
    const frame = bytesOf({ ...plain, topic: 'first' })
    decoder.decode(frame)
    frame.fill(0x41)
    expect(decoder.decode(bytesOf({ ...plain, topic: 'first' })).topic).toBe('first')
  })

  it.each([
    ['a topic alias of 0', REASON.topicAliasInvalid, withProperties([0x23, 0, 0])],
    ['two topic aliases', REASON.protocolError, withProperties([0x23, 0, 1], [0x23, 0, 1])],
    ['a subscription identifier from a client', REASON.protocolError, withProperties([0x0b, 1])],
    ['an unknown property', REASON.malformedPacket, withProperties([0x7f, 0])],
    ['a property of another packet', REASON.malformedPacket, withProperties([0x11, 0, 0, 0, 1])],
    ['two content types', REASON.protocolError, withProperties([0x03, ...textField('a')], [0x03, ...textField('b')])],
    ['two response topics', REASON.protocolError, withProperties([0x08, ...textField('a')], [0x08, ...textField('b')])],
    ['a response topic with a wildcard', REASON.protocolError, withProperties([0x08, ...textField('a/+')])],
    ['two correlations', REASON.protocolError, withProperties([0x09, 0, 1, 1], [0x09, 0, 1, 1])],
    ['two expiries', REASON.protocolError, withProperties([0x02, 0, 0, 0, 1], [0x02, 0, 0, 0, 1])],
    ['two payload formats', REASON.protocolError, withProperties([0x01, 0], [0x01, 0])],
    ['an undefined payload format', REASON.protocolError, withProperties([0x01, 2])],
    ['a content type that is not UTF-8', REASON.malformedPacket, withProperties([0x03, 0, 1, 0xff])],
    [
      'a content type with half a surrogate pair',
      REASON.malformedPacket,
      withProperties([0x03, 0, 3, 0xed, 0xa0, 0x80]),
    ],
    ['a content type with U+0000', REASON.malformedPacket, withProperties([0x03, ...textField('a\0')])],
    ['a text longer than its packet', REASON.malformedPacket, withProperties([0x03, 0xff, 0xff, 0x61])],
    ['a truncated expiry', REASON.malformedPacket, withProperties([0x02, 0, 0])],
    ['properties longer than the packet', REASON.malformedPacket, [0x32, 6, 0, 1, 0x74, 0, 9, 5]],
    ['an unterminated property length', REASON.malformedPacket, [0x32, 10, 0, 1, 0x74, 0, 9, 255, 255, 255, 255, 1]],
    ['a property length that is one byte too long', REASON.malformedPacket, [0x32, 7, 0, 1, 0x74, 0, 9, 0x80, 0]],
    ['a packet length that is one byte too long', REASON.malformedPacket, [0x32, 0x86, 0, 0, 1, 0x74, 0, 9, 0]],
    ['no topic', REASON.protocolError, [0x32, 5, 0, 0, 0, 9, 0]],
    ['a topic with a wildcard', REASON.protocolError, [0x32, 6, 0, 1, 0x23, 0, 9, 0]],
    ['a truncated topic', REASON.malformedPacket, [0x30, 1, 0]],
    ['packet id 0', REASON.protocolError, [0x32, 6, 0, 1, 0x74, 0, 0, 0]],
    ['QoS 3', REASON.malformedPacket, [0x36, 6, 0, 1, 0x74, 0, 9, 0]],
    ['DUP with QoS 0', REASON.malformedPacket, [0x38, 4, 0, 1, 0x74, 0]],
    ['a length that differs from the size of the packet', REASON.malformedPacket, [0x32, 7, 0, 1, 0x74, 0, 9, 0]],
    ['another packet', REASON.malformedPacket, [0xc0, 0]],
    ['nothing', REASON.malformedPacket, []],
  ])('rejects %s with reason code %i', (_name, reasonCode, bytes) => {
    expect(() => new PublishDecoder().decode(Uint8Array.from(bytes))).toThrow(
      expect.objectContaining({ name: 'PacketError', reasonCode }),
    )
  })

  it('decodes the subscription identifiers from a server, and rejects the identifier 0', () => {
    const decoder = new PublishDecoder({ sender: 'server' })
    expect(decoder.decode(withProperties([0x0b, 1], [0x0b, 0x80, 1])).subscriptionIds).toEqual([1, 128])
    expect(() => decoder.decode(withProperties([0x0b, 0]))).toThrow(
      expect.objectContaining({ reasonCode: REASON.protocolError }),
    )
  })

  it('accepts an empty topic with an alias, and then still rejects one without an alias', () => {
    const decoder = new PublishDecoder()
    expect(decoder.decode(Uint8Array.of(0x30, 6, 0, 0, 3, 0x23, 0, 7))).toMatchObject({ topic: '', topicAlias: 7 })
    expect(() => decoder.decode(Uint8Array.of(0x30, 3, 0, 0, 0))).toThrow('A topic name is empty')
  })

  it('preserves property names that objects inherit', () => {
    const names = ['__proto__', 'constructor', 'hasOwnProperty', '__proto__']
    const frame = withProperties(...names.map((name, i) => [0x26, ...textField(name), ...textField(String(i))]))
    const { userProperties } = new PublishDecoder().decode(frame)
    expect(Object.entries(userProperties)).toEqual([
      ['__proto__', ['0', '3']],
      ['constructor', '1'],
      ['hasOwnProperty', '2'],
    ])
    expect(new PublishDecoder().decode(withProperties()).userProperties['constructor']).toBeUndefined()
  })

  it('decodes a thousand user properties, and rejects more', () => {
    const named = (count: number, nameOf: (i: number) => string): Uint8Array => {
      const values = new Map<string, string[]>()
      for (let i = 0; i < count; i++) values.set(nameOf(i), [...(values.get(nameOf(i)) ?? []), String(i)])
      return bytesOf({ ...plain, properties: { userProperties: Object.fromEntries(values) } })
    }
    const decoder = new PublishDecoder()
    const one = Array.from({ length: 1_000 }, (_, i) => String(i))
    expect(decoder.decode(named(1_000, () => 'n'))?.userProperties).toEqual({ n: one })
    expect(Object.keys(decoder.decode(named(1_000, i => `n${i}`))?.userProperties ?? {})).toHaveLength(1_000)
    for (const nameOf of [() => 'n', (i: number) => `n${i}`]) {
      expect(() => decoder.decode(named(1_001, nameOf))).toThrow(
        expect.objectContaining({ reasonCode: REASON.quotaExceeded }),
      )
    }
  })

  it('handles any input, and then decodes the next packet', () => {
    const decoder = new PublishDecoder()
    const good = bytesOf(plain)
    const cut = fc.tuple(anyPublish, fc.nat(), fc.nat(255)).map(([packet, at, byte]) => {
      const bytes = bytesOf(packet)
      bytes[at % bytes.length] = byte
      return bytes
    })
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 60 }), cut), frame => {
        attempt(() => decoder.decode(frame))
        attempt(() => decoder.decode(concatBytes([new Uint8Array([0x32, frame.length]), frame])))
        expect(decoder.decode(good).topic).toBe('t')
      }),
      { numRuns: effort(3_000, 300) },
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

describe('StringCache', () => {
  it('decodes each of two strings in the same slot only once', () => {
    const texts = new StringCache(24)
    const read: string[] = []
    const decodeText = (text: string): string => {
      const bytes = utf8(text)
      return texts.textOf(bytes, 0, bytes.length, unknown => read.push(unknown))
    }
    const got = Array.from({ length: 3 }, () => ['$high_priority', '1.0'].map(decodeText)).flat()
    expect(got).toEqual(['$high_priority', '1.0', '$high_priority', '1.0', '$high_priority', '1.0'])
    expect(read).toEqual(['$high_priority', '1.0'])
  })

  it('evicts the oldest string of a slot when the slot needs a third string', () => {
    const texts = new StringCache(24)
    const read: string[] = []
    const decodeText = (text: string): string => texts.textOf(utf8(text), 0, 4, unknown => read.push(unknown))
    // The slot does not depend on the first character.
    for (const text of ['aXXX', 'bXXX', 'cXXX', 'bXXX', 'cXXX', 'aXXX']) expect(decodeText(text)).toBe(text)
    expect(read).toEqual(['aXXX', 'bXXX', 'cXXX', 'aXXX'])
  })
})
