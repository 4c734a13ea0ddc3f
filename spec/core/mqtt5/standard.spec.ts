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

const { malformedPacket, protocolError, packetTooLarge, unsupportedProtocolVersion } = REASON

type Row = readonly [section: string, what: string, reasonCode: number, bytes: Uint8Array, version?: Version]

/** The packets that `spec/server/broker/standard` does not send to a broker. */
const ROWS: readonly Row[] = [
  ['1.5.4-2', 'an MQTT 3.1.1 text with U+0000', malformedPacket, packet(0xa2, 0, 1, 0, 1, 0), 4],
  ['1.5.5-1', 'a property length that is one byte too long', malformedPacket, packet(0xa2, 0, 1, 0x80, 0, text('a'))],
  ['1.5.5-1', 'a packet length that is one byte too long', malformedPacket, Uint8Array.of(0xc0, 0x80, 0)],
  [
    '2.2.2.2',
    'a property identifier that is one byte too long',
    malformedPacket,
    connect(2, props([0x91, 0, 0, 0, 0, 1])),
  ],
  ['3.1.2-2', 'MQTT 3.1', unsupportedProtocolVersion, packet(0x10, text('MQIsdp'), 3, 2, 0, 30, text('a'))],
  ['3.1.2-2', 'a Mosquitto bridge', unsupportedProtocolVersion, packet(0x10, MQTT, 0x84, 2, 0, 30, text('a'))],
  ['3.1.2.11.6', 'request response information twice', protocolError, connect(2, props([0x19, 0], [0x19, 0]))],
  ['3.1.2.11.7', 'request problem information twice', protocolError, connect(2, props([0x17, 1], [0x17, 1]))],
  [
    '3.1.2.11.10',
    'authentication data twice',
    protocolError,
    connect(2, props([0x15, 0, 0], [0x16, 0, 0], [0x16, 0, 0])),
  ],
  [
    '3.1.3.2.4',
    'a will with two expiries',
    protocolError,
    connect(6, [0], text('a'), props([2, 0, 0, 0, 1], [2, 0, 0, 0, 1])),
  ],
  [
    '3.1.3.2.6',
    'a will with two response topics',
    protocolError,
    connect(6, [0], text('a'), props([8, ...text('r')], [8, ...text('r')])),
  ],
  [
    '3.1.3.2.7',
    'a will with two correlation data',
    protocolError,
    connect(6, [0], text('a'), props([9, 0, 0], [9, 0, 0])),
  ],
  ['4.7.3-1', 'an empty response topic', protocolError, publish(props([8, 0, 0]))],
  ['3.3.2.3.8', 'subscription identifier 0', protocolError, publish(props([0x0b, 0]))],
  ['3.4.2-1', 'a reason code of SUBACK in PUBACK', protocolError, packet(0x40, 0, 1, REASON.topicFilterInvalid)],
  ['3.4.2', 'bytes after PUBACK', malformedPacket, packet(0x40, 0, 1, 0, 0, 0)],
  ['3.4.2', 'bytes after a PUBACK of 3.1.1', malformedPacket, packet(0x40, 0, 1, 0), 4],
  ['3.5.2-1', 'an unknown reason code of PUBREC', protocolError, packet(0x50, 0, 1, REASON.packetIdentifierNotFound)],
  ['3.6.2-1', 'an unknown reason code of PUBREL', protocolError, packet(0x62, 0, 1, REASON.notAuthorized)],
  ['3.7.2-1', 'an unknown reason code of PUBCOMP', protocolError, packet(0x70, 0, 1, REASON.notAuthorized)],
  ['3.8.3-5', 'reserved bit 7', malformedPacket, subscribe([0], text('a'), [0x80])],
  ['3.14.2.2.3', 'two reason strings', protocolError, packet(0xe0, 0, props([0x1f, 0, 0], [0x1f, 0, 0]))],
  ['3.14.2', 'bytes after DISCONNECT', malformedPacket, packet(0xe0, 0, 0, 0)],
  ['3.15.2-1', 'success of a client', protocolError, packet(0xf0, 0, props([0x15, ...text('m')]))],
  ['3.15.2-1', 'an empty AUTH', malformedPacket, packet(0xf0)],
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
  ])('is rejected before it is complete (%s): %s, with reason code %i', (_section, _what, reasonCode, bytes) => {
    const cutter = new FrameCutter(100)
    cutter.push(Uint8Array.from(bytes))
    expect(() => cutter.next()).toThrow(expect.objectContaining({ name: 'PacketError', reasonCode }))
  })
})

describe('A packet that the standard allows', () => {
  it.each(
    ALLOWED.map(([section, what, bytes, expected, version = 5]) => ({ section, what, bytes, expected, version })),
  )('is decoded ($section): $what', ({ bytes, expected, version }) => {
    expect(decodePacket(bytes, version)).toMatchObject(expected)
  })
})
