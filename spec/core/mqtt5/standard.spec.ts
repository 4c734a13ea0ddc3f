import { describe, expect, it } from 'vitest'
import { decodePacket } from '../../../src/core/mqtt5/decode.js'
import { FrameCutter } from '../../../src/core/mqtt5/frame-cutter.js'
import type { Version } from '../../../src/core/mqtt5/packets.js'
import { PublishDecoder } from '../../../src/core/mqtt5/publish-decoder.js'
import * as REASON from '../../../src/core/mqtt5/reason-codes.js'
import { utf8 } from '../../../src/core/util/bytes.js'

/** Encodes a client packet including its length. `content` includes the properties with their length. */
const packet = (first: number, ...content: (number | readonly number[])[]): Uint8Array => {
  const bytes = content.flat()
  if (bytes.length > 127) throw new Error('too long for the table')
  return Uint8Array.of(first, bytes.length, ...bytes)
}
const text = (value: string): number[] => [0, utf8(value).length, ...utf8(value)]
const props = (...parts: (readonly number[])[]): number[] => [parts.flat().length, ...parts.flat()]

const MQTT = text('MQTT')
const connect = (flags: number, properties: number[], ...payload: (readonly number[])[]) =>
  packet(0x10, MQTT, 5, flags, 0, 30, properties, payload.length === 0 ? text('a') : payload.flat())
const connect4 = (flags: number, ...payload: (readonly number[])[]) =>
  packet(0x10, MQTT, 4, flags, 0, 30, payload.length === 0 ? text('a') : payload.flat())
const subscribe = (properties: number[], ...filters: (readonly number[])[]) =>
  packet(0x82, 0, 1, properties, filters.flat())
const publish = (properties: number[]) => packet(0x30, text('t'), properties)
const uint32 = (value: number): number[] => [value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255]

const { malformedPacket, protocolError, topicAliasInvalid, packetTooLarge } = REASON
const { unsupportedProtocolVersion, clientIdentifierNotValid } = REASON

type Row = readonly [section: string, what: string, reasonCode: number, bytes: Uint8Array, version?: Version]

const ROWS: readonly Row[] = [
  ['1.5.4-1', 'a text that is not UTF-8', malformedPacket, packet(0xa2, 0, 1, 0, 0, 1, 0xff)],
  ['1.5.4-1', 'a text with a surrogate', malformedPacket, packet(0xa2, 0, 1, 0, 0, 3, 0xed, 0xa0, 0x80)],
  ['1.5.4-1', 'a text with an overlong form', malformedPacket, packet(0xa2, 0, 1, 0, 0, 2, 0xc0, 0xaf)],
  ['1.5.4-1', 'a text beyond U+10FFFF', malformedPacket, packet(0xa2, 0, 1, 0, 0, 4, 0xf4, 0x90, 0x80, 0x80)],
  ['1.5.4-2', 'a text with U+0000', malformedPacket, packet(0xa2, 0, 1, 0, 0, 1, 0)],
  ['1.5.4-2', 'an MQTT 3.1.1 text with U+0000', malformedPacket, packet(0xa2, 0, 1, 0, 1, 0), 4],
  [
    '1.5.5',
    'a property length of five bytes',
    malformedPacket,
    packet(0xa2, 0, 1, 0x80, 0x80, 0x80, 0x80, 0, text('a')),
  ],
  ['1.5.5-1', 'a property length that is one byte too long', malformedPacket, packet(0xa2, 0, 1, 0x80, 0, text('a'))],
  ['1.5.5-1', 'a packet length that is one byte too long', malformedPacket, Uint8Array.of(0xc0, 0x80, 0)],
  [
    '1.5.7',
    'a user property without a value',
    malformedPacket,
    packet(0xa2, 0, 1, props([0x26, ...text('a')]), text('a')),
  ],
  ['1.5.7', 'a user property that is not UTF-8', malformedPacket, connect(2, props([0x26, 0, 1, 0xff, ...text('a')]))],
  ['2.1.2', 'packet type 0', malformedPacket, packet(0x00)],
  ['2.1.2', 'packet type 15 with 3.1.1', malformedPacket, packet(0xf0), 4],
  ['2.1.2', 'CONNACK of a client', protocolError, packet(0x20, 0, 0, 0)],
  ['2.1.2', 'SUBACK of a client', protocolError, packet(0x90, 0, 1, 0, 0)],
  ['2.1.2', 'UNSUBACK of a client', protocolError, packet(0xb0, 0, 1, 0, 0)],
  ['2.1.2', 'PINGRESP of a client', protocolError, packet(0xd0)],
  ['2.1.3', 'flags of CONNECT', malformedPacket, Uint8Array.of(0x11, ...connect(2, [0]).subarray(1))],
  ['2.1.3', 'flags of PUBACK', malformedPacket, packet(0x42, 0, 1)],
  ['2.1.3', 'flags of PUBREC', malformedPacket, packet(0x52, 0, 1)],
  ['3.6.1-1', 'flags of PUBREL', malformedPacket, packet(0x60, 0, 1)],
  ['2.1.3', 'flags of PUBCOMP', malformedPacket, packet(0x72, 0, 1)],
  ['3.8.1-1', 'flags of SUBSCRIBE', malformedPacket, packet(0x80, 0, 1, 0, text('a'), 0)],
  ['3.10.1-1', 'flags of UNSUBSCRIBE', malformedPacket, packet(0xa0, 0, 1, 0, text('a'))],
  ['2.1.3', 'flags of PINGREQ', malformedPacket, packet(0xc1)],
  ['3.14.1-1', 'flags of DISCONNECT', malformedPacket, packet(0xe2)],
  ['3.15.1-1', 'flags of AUTH', malformedPacket, packet(0xf1, 0x18, props([0x15, ...text('m')]))],
  ['2.2.1-3', 'packet id 0 of SUBSCRIBE', protocolError, packet(0x82, 0, 0, 0, text('a'), 0)],
  ['2.2.1-3', 'packet id 0 of UNSUBSCRIBE', protocolError, packet(0xa2, 0, 0, 0, text('a'))],
  ['2.2.1-4', 'packet id 0 of PUBLISH', protocolError, packet(0x32, text('t'), 0, 0, 0)],
  ['2.2.1', 'packet id 0 of PUBACK', protocolError, packet(0x40, 0, 0)],
  ['2.2.1', 'half a packet id', malformedPacket, packet(0x40, 1)],
  ['2.2.2.1', 'properties that run past their packet', malformedPacket, packet(0x82, 0, 1, 50, 0x26)],
  [
    '2.2.2.2',
    'a value that runs past the properties',
    malformedPacket,
    connect(2, [3, 0x11, 0, 0], [0, 0, 0, 1, 0x61]),
  ],
  ['2.2.2.2', 'an unknown property', malformedPacket, connect(2, props([0x7f, 0]))],
  ['2.2.2.2', 'a property of another packet', malformedPacket, connect(2, props([0x23, 0, 1]))],
  ['2.2.2.2', 'a property of CONNECT in its will', malformedPacket, connect(6, [0], text('a'), props([0x21, 0, 1]))],
  [
    '2.2.2.2',
    'a property identifier that is one byte too long',
    malformedPacket,
    connect(2, props([0x91, 0, 0, 0, 0, 1])),
  ],
  ['3.1.2-1', 'another protocol', unsupportedProtocolVersion, packet(0x10, text('HTTP'), 5, 2, 0, 30, 0, text('a'))],
  ['3.1.2-2', 'MQTT 3.1', unsupportedProtocolVersion, packet(0x10, text('MQIsdp'), 3, 2, 0, 30, text('a'))],
  ['3.1.2-2', 'MQTT 6', unsupportedProtocolVersion, packet(0x10, MQTT, 6, 2, 0, 30, 0, text('a'))],
  ['3.1.2-2', 'a Mosquitto bridge', unsupportedProtocolVersion, packet(0x10, MQTT, 0x84, 2, 0, 30, text('a'))],
  ['3.1.2-3', 'the reserved flag of CONNECT', malformedPacket, connect(3, [0])],
  ['3.1.2-11', 'QoS of no will', malformedPacket, connect(0x0a, [0])],
  ['3.1.2-12', 'QoS 3 of a will', malformedPacket, connect(0x1e, [0], text('a'), [0], text('w'), text('x'))],
  ['3.1.2-13', 'retain of no will', malformedPacket, connect(0x22, [0])],
  ['3.1.1: 3.1.2-22', 'a password without a user name', malformedPacket, connect4(0x42, text('a'), text('p'))],
  ['3.1.2.11.2', 'two session expiries', protocolError, connect(2, props([0x11, ...uint32(1)], [0x11, ...uint32(1)]))],
  ['3.1.2.11.3', 'a receive maximum of 0', protocolError, connect(2, props([0x21, 0, 0]))],
  ['3.1.2.11.3', 'two receive maxima', protocolError, connect(2, props([0x21, 0, 1], [0x21, 0, 1]))],
  ['3.1.2.11.4', 'a maximum packet size of 0', protocolError, connect(2, props([0x27, ...uint32(0)]))],
  ['3.1.2.11.4', 'two maximum packet sizes', protocolError, connect(2, props([0x27, 0, 0, 0, 9], [0x27, 0, 0, 0, 9]))],
  ['3.1.2.11.5', 'two topic alias maxima', protocolError, connect(2, props([0x22, 0, 1], [0x22, 0, 1]))],
  ['3.1.2.11.6', 'request response information 2', protocolError, connect(2, props([0x19, 2]))],
  ['3.1.2.11.6', 'request response information twice', protocolError, connect(2, props([0x19, 0], [0x19, 0]))],
  ['3.1.2.11.7', 'request problem information 2', protocolError, connect(2, props([0x17, 2]))],
  ['3.1.2.11.7', 'request problem information twice', protocolError, connect(2, props([0x17, 1], [0x17, 1]))],
  [
    '3.1.2.11.9',
    'two authentication methods',
    protocolError,
    connect(2, props([0x15, ...text('m')], [0x15, ...text('m')])),
  ],
  ['3.1.2.11.10', 'authentication data alone', protocolError, connect(2, props([0x16, 0, 1, 1]))],
  [
    '3.1.2.11.10',
    'authentication data twice',
    protocolError,
    connect(2, props([0x15, 0, 0], [0x16, 0, 0], [0x16, 0, 0])),
  ],
  ['3.1.3-4', 'a client id that is not UTF-8', malformedPacket, connect(2, [0], [0, 1, 0xff])],
  ['3.1.1: 3.1.3-8', 'no client id and no clean session', clientIdentifierNotValid, connect4(0, [0, 0])],
  [
    '3.1.3.2.2',
    'two will delays',
    protocolError,
    connect(6, [0], text('a'), props([0x18, ...uint32(1)], [0x18, ...uint32(1)])),
  ],
  ['3.1.3.2.3', 'a will with payload format 2', protocolError, connect(6, [0], text('a'), props([0x01, 2]))],
  [
    '3.1.3.2.4',
    'a will with two expiries',
    protocolError,
    connect(6, [0], text('a'), props([2, 0, 0, 0, 1], [2, 0, 0, 0, 1])),
  ],
  [
    '3.1.3.2.5',
    'a will with two content types',
    protocolError,
    connect(6, [0], text('a'), props([3, ...text('c')], [3, ...text('c')])),
  ],
  [
    '3.1.3.2.6',
    'a will with two response topics',
    protocolError,
    connect(6, [0], text('a'), props([8, ...text('r')], [8, ...text('r')])),
  ],
  [
    '3.3.2-14',
    'a will with a wildcard in its response topic',
    protocolError,
    connect(6, [0], text('a'), props([8, ...text('#')]), text('w'), text('x')),
  ],
  [
    '3.1.3.2.7',
    'a will with two correlation data',
    protocolError,
    connect(6, [0], text('a'), props([9, 0, 0], [9, 0, 0])),
  ],
  [
    '3.1.3-11',
    'a will topic that is not UTF-8',
    malformedPacket,
    connect(6, [0], text('a'), [0], [0, 1, 0xff], text('x')),
  ],
  ['4.7.3-1', 'an empty will topic', protocolError, connect(6, [0], text('a'), [0], text(''), text('x'))],
  ['4.7.0-1', 'a will topic with a wildcard', protocolError, connect(6, [0], text('a'), [0], text('a/#'), text('x'))],
  ['3.1.3', 'a will without a payload', malformedPacket, connect(6, [0], text('a'), [0], text('w'))],
  ['3.1.3', 'a user name flag without a user name', malformedPacket, connect(0x82, [0], text('a'))],
  ['3.1.3', 'bytes after the payload', malformedPacket, connect(2, [0], text('a'), [0])],
  ['3.3.1-2', 'DUP with QoS 0', malformedPacket, packet(0x38, text('t'), 0)],
  ['3.3.1-4', 'QoS 3', malformedPacket, packet(0x36, text('t'), 0, 1, 0)],
  ['3.3.2-1', 'a topic that is not UTF-8', malformedPacket, packet(0x30, 0, 1, 0xff, 0)],
  ['3.3.2-2', 'a topic with #', protocolError, packet(0x30, text('a/#'), 0)],
  ['3.3.2-2', 'a topic with +', protocolError, packet(0x30, text('+'), 0)],
  ['3.3.2-2', 'an MQTT 3.1.1 topic with +', protocolError, packet(0x30, text('+')), 4],
  ['3.3.2.1', 'no topic and no alias', protocolError, packet(0x30, text(''), 0)],
  ['3.3.2.3.2', 'two payload formats', protocolError, publish(props([1, 0], [1, 0]))],
  ['3.3.2.3.3', 'two expiries', protocolError, publish(props([2, 0, 0, 0, 1], [2, 0, 0, 0, 1]))],
  ['3.3.2-8', 'topic alias 0', topicAliasInvalid, publish(props([0x23, 0, 0]))],
  ['3.3.2.3.4', 'two topic aliases', protocolError, publish(props([0x23, 0, 1], [0x23, 0, 1]))],
  ['3.3.2-14', 'a response topic with a wildcard', protocolError, publish(props([8, ...text('a/+')]))],
  ['4.7.3-1', 'an empty response topic', protocolError, publish(props([8, 0, 0]))],
  ['3.3.2.3.5', 'two response topics', protocolError, publish(props([8, ...text('r')], [8, ...text('r')]))],
  ['3.3.2.3.6', 'two correlation data', protocolError, publish(props([9, 0, 0], [9, 0, 0]))],
  ['3.3.2.3.8', 'subscription identifier 0', protocolError, publish(props([0x0b, 0]))],
  ['3.3.4-6', 'a subscription identifier from a client', protocolError, publish(props([0x0b, 1]))],
  ['3.3.2.3.9', 'two content types', protocolError, publish(props([3, 0, 0], [3, 0, 0]))],
  ['3.4.2-1', 'an unknown reason code of PUBACK', protocolError, packet(0x40, 0, 1, 0x55)],
  ['3.4.2-1', 'a reason code of SUBACK in PUBACK', protocolError, packet(0x40, 0, 1, REASON.topicFilterInvalid)],
  ['3.4.2.2.2', 'two reason strings', protocolError, packet(0x40, 0, 1, 0, props([0x1f, 0, 0], [0x1f, 0, 0]))],
  ['3.4.2', 'bytes after PUBACK', malformedPacket, packet(0x40, 0, 1, 0, 0, 0)],
  ['3.4.2', 'bytes after a PUBACK of 3.1.1', malformedPacket, packet(0x40, 0, 1, 0), 4],
  ['3.5.2-1', 'an unknown reason code of PUBREC', protocolError, packet(0x50, 0, 1, REASON.packetIdentifierNotFound)],
  ['3.6.2-1', 'an unknown reason code of PUBREL', protocolError, packet(0x62, 0, 1, REASON.notAuthorized)],
  ['3.7.2-1', 'an unknown reason code of PUBCOMP', protocolError, packet(0x70, 0, 1, REASON.notAuthorized)],
  ['3.8.2.1.2', 'subscription identifier 0', protocolError, subscribe(props([0x0b, 0]), text('a'), [0])],
  ['3.8.2.1.2', 'two subscription identifiers', protocolError, subscribe(props([0x0b, 1], [0x0b, 2]), text('a'), [0])],
  ['3.8.3-1', 'a filter that is not UTF-8', malformedPacket, subscribe([0], [0, 1, 0xff, 0])],
  ['3.8.3-2', 'no filter', protocolError, subscribe([0])],
  ['3.1.1: 3.8.3-3', 'no filter', protocolError, packet(0x82, 0, 1), 4],
  ['3.8.3.1', 'QoS 3', protocolError, subscribe([0], text('a'), [3])],
  ['3.8.3-4', 'No Local on a shared subscription', protocolError, subscribe([0], text('$share/g/a'), [4])],
  ['3.8.3.1', 'Retain Handling 3', protocolError, subscribe([0], text('a'), [0x30])],
  ['3.8.3-5', 'reserved bit 6', malformedPacket, subscribe([0], text('a'), [0x40])],
  ['3.8.3-5', 'reserved bit 7', malformedPacket, subscribe([0], text('a'), [0x80])],
  ['3.1.1: 3.8.3-4', 'bits reserved in 3.1.1', malformedPacket, packet(0x82, 0, 1, text('a'), 4), 4],
  ['3.8.3', 'a filter without options', malformedPacket, subscribe([0], text('a'))],
  ['3.10.3-1', 'a filter that is not UTF-8', malformedPacket, packet(0xa2, 0, 1, 0, 0, 1, 0xff)],
  ['3.10.3-2', 'UNSUBSCRIBE without a filter', protocolError, packet(0xa2, 0, 1, 0)],
  ['3.12', 'content of PINGREQ', malformedPacket, packet(0xc0, 0)],
  ['3.14.2-1', 'an unknown reason code of DISCONNECT', protocolError, packet(0xe0, 0x55)],
  ['3.14.2-1', 'a reason code that only servers send in DISCONNECT', protocolError, packet(0xe0, REASON.serverBusy)],
  [
    '3.14.2.2.2',
    'two session expiries',
    protocolError,
    packet(0xe0, 0, props([0x11, ...uint32(1)], [0x11, ...uint32(1)])),
  ],
  ['3.14.2.2.3', 'two reason strings', protocolError, packet(0xe0, 0, props([0x1f, 0, 0], [0x1f, 0, 0]))],
  ['3.14.2.2.5', 'a server reference from a client', protocolError, packet(0xe0, 0, props([0x1c, ...text('s')]))],
  ['3.14.2', 'bytes after DISCONNECT', malformedPacket, packet(0xe0, 0, 0, 0)],
  ['3.1.1: 3.14', 'content of a DISCONNECT of 3.1.1', malformedPacket, packet(0xe0, 0), 4],
  ['3.15.2-1', 'success of a client', protocolError, packet(0xf0, 0, props([0x15, ...text('m')]))],
  ['3.15.2-1', 'an empty AUTH', malformedPacket, packet(0xf0)],
  ['3.15.2.2.2', 'no authentication method', protocolError, packet(0xf0, 0x18, 0)],
  ['3.15.2.2.2', 'two authentication methods', protocolError, packet(0xf0, 0x18, props([0x15, 0, 0], [0x15, 0, 0]))],
]

const ALLOWED: readonly (readonly [
  section: string,
  what: string,
  bytes: Uint8Array,
  expected: object,
  version?: Version,
])[] = [
  ['3.1.2.9', 'a password without a user name', connect(0x42, [0], text('a'), text('p')), { username: undefined }],
  ['3.1.3.1', 'no client id', connect(0, [0], text('')), { clientId: '', sessionExpiry: 0 }],
  ['3.1.1: 3.1.3-7', 'no client id with a clean session', connect4(2, text('')), { clientId: '', sessionExpiry: 0 }],
  ['3.1.1: 3.1.2.4', 'a session without an expiry', connect4(0), { sessionExpiry: 0xffff_ffff }],
  [
    '3.1.2.11.2',
    'defaults',
    connect(2, [0]),
    { receiveMaximum: 65_535, topicAliasMaximum: 0, requestProblemInformation: true },
  ],
  ['3.4.2.1', 'a PUBACK without a reason code', packet(0x40, 0, 1), { reasonCode: 0 }],
  ['3.4.2.2.1', 'a PUBACK without properties', packet(0x40, 0, 1, 0x80), { reasonCode: 0x80 }],
  [
    '3.8.3.1',
    'all options',
    subscribe([0], text('$share/g/a'), [0x2a]),
    { subscriptions: [{ filter: '$share/g/a', qos: 2, noLocal: false, retainAsPublished: true, retainHandling: 2 }] },
  ],
  ['3.14.2.1', 'a DISCONNECT without a reason code', packet(0xe0), { reasonCode: 0 }],
  ['3.14.2.2.1', 'a DISCONNECT without properties', packet(0xe0, 4), { reasonCode: 4 }],
  [
    '3.1.1: 2.2.3',
    'an MQTT 3.1.1 packet length that is one byte too long',
    Uint8Array.of(0xc0, 0x80, 0),
    { type: 'pingreq' },
    4,
  ],
]

/** Decodes a packet as a connection does. */
function read(bytes: Uint8Array, version: Version): void {
  if ((bytes[0] ?? 0) >> 4 === 3) new PublishDecoder({ version }).decode(bytes)
  else decodePacket(bytes, version)
}

describe('A packet that the standard forbids', () => {
  it.each(
    ROWS.map(([section, what, reasonCode, bytes, version = 5]) => ({ section, what, reasonCode, bytes, version })),
  )('is rejected ($section): $what, with reason code $reasonCode', ({ reasonCode, bytes, version }) => {
    expect(() => read(bytes, version)).toThrow(expect.objectContaining({ name: 'PacketError', reasonCode }))
  })

  it.each([
    ['2.1.4', 'a length of more than four bytes', malformedPacket, [0x30, 0xff, 0xff, 0xff, 0xff]],
    ['3.2.2-15', 'a packet larger than the maximum', packetTooLarge, [0x30, 99]],
  ])(
    'a packet that the standard forbids is rejected before it is complete (%s): %s, with reason code %i',
    (_section, _what, reasonCode, bytes) => {
      const cutter = new FrameCutter(100)
      cutter.push(Uint8Array.from(bytes))
      expect(() => cutter.next()).toThrow(expect.objectContaining({ name: 'PacketError', reasonCode }))
    },
  )
})

describe('A packet that the standard allows', () => {
  it.each(
    ALLOWED.map(([section, what, bytes, expected, version = 5]) => ({ section, what, bytes, expected, version })),
  )('is decoded ($section): $what', ({ bytes, expected, version }) => {
    expect(decodePacket(bytes, version)).toMatchObject(expected)
  })
})
