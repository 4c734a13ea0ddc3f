import { concatBytes, fromHex } from '../../../src/core/util/bytes.js'
import type { DownFrame, FrameData, UnknownFrame, UpFrame } from '../../../src/pubsub/wire/frames.js'

export const MAXIMUM = 2n ** 64n - 1n
export const BEYOND_DOUBLES = 2n ** 53n + 1n

/** Parses hexadecimal text, in which spaces separate fields. */
export function hex(text: string): Uint8Array {
  const bytes = fromHex(text.replaceAll(' ', ''))
  if (bytes === undefined) throw new Error(`Not hexadecimal: ${text}`)
  return bytes
}

// A google.protobuf.Any: type_url "type.googleapis.com/t", value 01 02.
const ANY_HEX = '0a15 747970652e676f6f676c65617069732e636f6d2f74 1202 0102'
export const ANY = hex(ANY_HEX)

export type Vector<T> = readonly [name: string, bytes: string, frame: T]

/** Every core message of a client, according to webpubsub.proto next to this file. */
export const UP_VECTORS: readonly Vector<UpFrame>[] = [
  ['join', '32 03 0a0167', { type: 'joinGroup', group: 'g' }],
  ['join with ack_id 0', '32 05 0a0167 1000', { type: 'joinGroup', group: 'g', ackId: 0n }],
  ['join with ack_id 1', '32 05 0a0167 1001', { type: 'joinGroup', group: 'g', ackId: 1n }],
  ['join beyond ASCII', '32 0a 0a05 6772c3bc6e 10ac02', { type: 'joinGroup', group: 'grün', ackId: 300n }],
  [
    'leave with ack_id 2^64-1',
    '3a 0e 0a0167 10ffffffffffffffffff01',
    { type: 'leaveGroup', group: 'g', ackId: MAXIMUM },
  ],
  [
    'text to a group, no echo',
    '0a 0d 0a0167 1007 1a04 0a02 6869 2001',
    { type: 'sendToGroup', group: 'g', payload: { dataType: 'text', data: 'hi' }, noEcho: true, ackId: 7n },
  ],
  [
    'empty text to a group',
    '0a 07 0a0167 1a02 0a00',
    { type: 'sendToGroup', group: 'g', payload: { dataType: 'text', data: '' }, noEcho: false },
  ],
  [
    'binary to a group, ack_id 2^53+1',
    '0a 13 0a0167 108180808080808010 1a05 1203 010203',
    {
      type: 'sendToGroup',
      group: 'g',
      payload: { dataType: 'binary', data: Uint8Array.of(1, 2, 3) },
      noEcho: false,
      ackId: BEYOND_DOUBLES,
    },
  ],
  [
    'protobuf to a group',
    `0a 22 0a0167 1a1d 1a1b ${ANY_HEX}`,
    { type: 'sendToGroup', group: 'g', payload: { dataType: 'protobuf', data: ANY }, noEcho: false },
  ],
  [
    'json to a group, ack_id 0',
    '0a 10 0a0167 1000 1a09 2207 7b2261223a317d',
    { type: 'sendToGroup', group: 'g', payload: { dataType: 'json', data: { a: 1 } }, noEcho: false, ackId: 0n },
  ],
  [
    'text event',
    '2a 09 0a0165 1204 0a02 6869',
    { type: 'event', event: 'e', payload: { dataType: 'text', data: 'hi' } },
  ],
  [
    'json event, ack_id 0',
    '2a 0d 0a0165 1206 2204 6e756c6c 1800',
    { type: 'event', event: 'e', payload: { dataType: 'json', data: null }, ackId: 0n },
  ],
  ['sequence ack 0', '42 00', { type: 'sequenceAck', sequenceId: 0n }],
  ['sequence ack 5', '42 02 0805', { type: 'sequenceAck', sequenceId: 5n }],
  ['sequence ack 2^53+1', '42 09 088180808080808010', { type: 'sequenceAck', sequenceId: BEYOND_DOUBLES }],
  ['sequence ack 2^64-1', '42 0b 08ffffffffffffffffff01', { type: 'sequenceAck', sequenceId: MAXIMUM }],
  ['ping', '4a 00', { type: 'ping' }],
]

/** Every core message of the hub. */
export const DOWN_VECTORS: readonly Vector<DownFrame>[] = [
  ['ack', '0a 04 0801 1001', { type: 'ack', ackId: 1n, success: true }],
  ['ack of 2^64-1', '0a 0d 08ffffffffffffffffff01 1001', { type: 'ack', ackId: MAXIMUM, success: true }],
  [
    'error ack of 0',
    '0a 11 1a0f 0a09 466f7262696464656e 1202 6e6f',
    { type: 'ack', ackId: 0n, success: false, error: { name: 'Forbidden', message: 'no' } },
  ],
  [
    'error ack without words',
    '0a 0f 0802 1a0b 0a09 4475706c6963617465',
    { type: 'ack', ackId: 2n, success: false, error: { name: 'Duplicate', message: '' } },
  ],
  [
    'text of a group',
    '12 12 0a05 67726f7570 1201 67 1a04 0a02 6869 2001',
    { type: 'groupMessage', group: 'g', payload: { dataType: 'text', data: 'hi' }, sequenceId: 1n },
  ],
  [
    'binary of a group, number 2^53+1',
    '12 18 0a05 67726f7570 1201 67 1a03 1201 ff 208180808080808010',
    {
      type: 'groupMessage',
      group: 'g',
      payload: { dataType: 'binary', data: Uint8Array.of(255) },
      sequenceId: BEYOND_DOUBLES,
    },
  ],
  [
    'json of a group, no number',
    '12 11 0a05 67726f7570 1201 67 1a05 2203 5b315d',
    { type: 'groupMessage', group: 'g', payload: { dataType: 'json', data: [1] } },
  ],
  [
    'protobuf of the server, number 2^64-1',
    `12 32 0a06 736572766572 1a1d 1a1b ${ANY_HEX} 20ffffffffffffffffff01`,
    { type: 'serverMessage', payload: { dataType: 'protobuf', data: ANY }, sequenceId: MAXIMUM },
  ],
  [
    'connected',
    '1a 0b 0a09 0a01 63 1201 75 1a01 74',
    { type: 'connected', connectionId: 'c', userId: 'u', reconnectionToken: 't' },
  ],
  ['connected of an anonymous client', '1a 05 0a03 0a01 63', { type: 'connected', connectionId: 'c' }],
  ['disconnected: the reason is field 2', '1a 07 1205 1203 627965', { type: 'disconnected', reason: 'bye' }],
  ['disconnected without a reason', '1a 02 1200', { type: 'disconnected', reason: '' }],
  ['pong', '22 00', { type: 'pong' }],
]

/** Messages that a client ignores, with the sequence ids it keeps. */
export const UNKNOWN_DOWN: readonly Vector<UnknownFrame>[] = [
  ['stream closed', '42 03 0a01 73', { type: 'unknown' }],
  ['group state update', '4a 0c 0a01 67 1205 0a01 63 2001 1808', { type: 'unknown', sequenceId: 8n }],
  ['group state snapshot', '52 0e 0a01 67 18ffffffffffffffffff01', { type: 'unknown', sequenceId: MAXIMUM }],
  ['another from', '12 0e 0a04 70656572 1a04 0a02 6869 2003', { type: 'unknown', sequenceId: 3n }],
  ['a message without data', '12 0c 0a05 67726f7570 1201 67 2004', { type: 'unknown', sequenceId: 4n }],
  ['a message of unknown data', '12 10 0a05 67726f7570 1201 67 1a02 2a00 2004', { type: 'unknown', sequenceId: 4n }],
  ['an empty system message', '1a 00', { type: 'unknown' }],
  ['an unknown system message', '1a 02 1a00', { type: 'unknown' }],
  ['a number of nothing', 'a006 01', { type: 'unknown' }],
]

/** Returns a length-delimited field: tag, length and bytes. */
export const field = (tag: number, ...parts: readonly Uint8Array[]): Uint8Array => {
  const bytes = concatBytes(parts)
  const length = [...lengthOf(bytes.length)]
  return Uint8Array.from([tag, ...length, ...bytes])
}

function* lengthOf(length: number): Generator<number> {
  let rest = length
  for (; rest > 127; rest >>= 7) yield (rest & 127) | 128
  yield rest
}

/** A varint longer than 64 bits. */
export const TOO_LONG_VARINT = 'ff'.repeat(10)
/** Data that is not a frame of the protobuf subprotocol. */
export const MALFORMED: readonly (readonly [string, FrameData])[] = [
  ['text', 'ping'],
  ['empty text', ''],
  ['no bytes', hex('')],
  ['half a tag', hex('80')],
  ['a tag of field 0', hex('02 00')],
  ['wire type 6', hex('4e 00')],
  ['wire type 7', hex('4f 00')],
  ['a tag beyond 32 bits', hex(`${TOO_LONG_VARINT}01`)],
  ['a tag without a length', hex('12')],
  ['a length that is not there', hex('12 05 0a')],
  ['a length of 4 GiB', hex('12 ffffffff0f')],
  ['a length beyond 32 bits', hex(`12 ${TOO_LONG_VARINT}`)],
  ['the end of a group that did not begin', hex('a406')],
  ['a group that does not end', hex('a306')],
  ['a group that ends as another', hex('a306 ac06')],
  ['groups in groups', hex('a306'.repeat(50_000))],
  ['groups in groups that end', hex('a306'.repeat(5_000) + 'a406'.repeat(5_000))],
  ['half a fixed64', hex('a106 00000000')],
  ['half a fixed32', hex('a506 0000')],
  ['a varint without an end', hex('a006 ffff')],
]
