import { describe, expect, it } from 'vitest'
import { concatBytes, utf8 } from '../../../src/core/util/bytes.js'
import { ArgumentError, PayloadError } from '../../../src/core/util/errors.js'
import { type FrameData, UnreadableMessageError, type UpFrame } from '../../../src/pubsub/wire/frames.js'
import { protobufClientCodec } from '../../../src/pubsub/wire/protobuf-client-codec.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'
import { parsed } from '../support/parsed.js'
import {
  ANY,
  DOWN_VECTORS,
  field,
  hex,
  MALFORMED,
  TOO_LONG_VARINT,
  UNKNOWN_DOWN,
  UP_VECTORS,
} from './protobuf-vectors.js'

const fault = (words: string): unknown =>
  expect.objectContaining({ name: 'PayloadError', code: 'payload', message: expect.stringContaining(words) })
const shown = (data: FrameData): string => (typeof data === 'string' ? data : Buffer.from(data).toString('hex'))
const plain = (text: string): string => text.replaceAll(' ', '')
const down = (text: string): unknown => protobufClientCodec.decode(hex(text))

describe('protobufClientCodec', () => {
  it('the codecs of client and hub have the name of the subprotocol', () => {
    expect(protobufClientCodec.subprotocol).toBe('protobuf.reliable.webpubsub.azure.v1')
    expect(protobufHubCodec.subprotocol).toBe('protobuf.reliable.webpubsub.azure.v1')
  })

  it.each(UP_VECTORS)('the client encodes the golden vector: %s', (_, bytes, frame) => {
    expect(shown(protobufClientCodec.encode(frame))).toBe(plain(bytes))
    expect(parsed(protobufHubCodec.decode(hex(bytes)))).toEqual(frame)
  })

  it.each(DOWN_VECTORS)('the client decodes the golden vector: %s', (_, bytes, frame) => {
    expect(shown(protobufHubCodec.encode(frame))).toBe(plain(bytes))
    expect(protobufClientCodec.decode(hex(bytes))).toEqual(frame)
  })

  it.each(UNKNOWN_DOWN)('the client decodes %s as an unknown frame and keeps its sequence id', (_, bytes, frame) => {
    expect(protobufClientCodec.decode(hex(bytes))).toEqual(frame)
  })

  it('the client ignores unknown fields of every wire type', () => {
    const unknown = 'a00601 a1060000000000000000 a206020102 a306a00601a406 a50600000000'
    const hi = { type: 'serverMessage', payload: { dataType: 'text', data: 'hi' }, sequenceId: 6n }
    expect(down('12 16 0a06 736572766572 1a04 0a02 6869 2006 2a04 0a00 1200')).toEqual(hi)
    const message = concatBytes([hex('0a06 736572766572'), hex(unknown), hex('1a04 0a02 6869 2006'), hex(unknown)])
    const bytes = concatBytes([hex(unknown), field(0x12, message), hex(unknown)])
    expect(protobufClientCodec.decode(bytes)).toEqual(hi)
  })

  it('the client ignores fields with an unexpected wire type', () => {
    // An ack_id as bytes and a success as fixed32.
    expect(down('0a 0a 0a01 05 1500000001 0807')).toEqual({ type: 'ack', ackId: 7n, success: false })
  })

  it('the last of several values wins, and the parts of a message are merged', () => {
    expect(down('0a 08 0801 1001 0802 1000')).toEqual({ type: 'ack', ackId: 2n, success: false })
    expect(down('22 00 0a 02 0801')).toEqual({ type: 'ack', ackId: 1n, success: false })
    expect(down('0a 02 0801 0a 02 1001')).toEqual({ type: 'ack', ackId: 1n, success: true })
    expect(down('0a 02 0801 22 00 0a 02 1001')).toEqual({ type: 'ack', ackId: 0n, success: true })
    // The data is the text "a", then the binary 01, then the text "b".
    const message = { type: 'serverMessage', payload: { dataType: 'text', data: 'b' } }
    expect(down('12 17 0a06 736572766572 1a03 0a0161 1a03 120101 1a03 0a0162')).toEqual(message)
    // Protobuf data whose type_url and value are split.
    const any = concatBytes([
      field(0x0a, utf8('server')),
      field(0x1a, field(0x1a, ANY.subarray(0, 23)), field(0x1a, ANY.subarray(23))),
    ])
    expect(protobufClientCodec.decode(field(0x12, any))).toEqual({
      type: 'serverMessage',
      payload: { dataType: 'protobuf', data: ANY },
    })
  })

  it('a bool or an id may be a varint of any length', () => {
    expect(down('0a 0f 08 818000 10 80808080808080808001')).toEqual({ type: 'ack', ackId: 1n, success: true })
    expect(() => down(`0a 0c 08 ${TOO_LONG_VARINT}01`)).toThrow(PayloadError)
  })

  it('the client decodes json_data as JSON and text_data as text', () => {
    const message = (tag: number, text: string): Uint8Array =>
      field(0x12, field(0x0a, utf8('server')), field(0x1a, field(tag, utf8(text))), hex('2009'))
    expect(protobufClientCodec.decode(message(0x22, '{"a":1}'))).toMatchObject({
      payload: { dataType: 'json', data: { a: 1 } },
    })
    expect(protobufClientCodec.decode(message(0x0a, '{"a":1}'))).toMatchObject({
      payload: { dataType: 'text', data: '{"a":1}' },
    })
    expect(protobufClientCodec.decode(message(0x0a, '\ufeffx'))).toMatchObject({ payload: { data: '\ufeffx' } })
    for (const text of ['', '{', '{"a":}', 'undefined']) {
      expect(() => protobufClientCodec.decode(message(0x22, text))).toThrow(UnreadableMessageError)
      expect(() => protobufClientCodec.decode(message(0x22, text))).toThrow(expect.objectContaining({ sequenceId: 9n }))
    }
  })

  it('the error of a malformed message has the sequence id of that message', () => {
    // The text_data is ff.
    expect(() => down('12 0f 0a06 736572766572 1a03 0a01ff 2005')).toThrow(expect.objectContaining({ sequenceId: 5n }))
    // This is a group message without a group.
    expect(() => down('12 0f 0a05 67726f7570 1a04 0a026869 2005')).toThrow(expect.objectContaining({ sequenceId: 5n }))
  })

  it.each([
    ['from', '12 03 0a01 ff'],
    ['group', '12 0c 0a05 67726f7570 1203 c3bcc3'],
    ['name of an error', '0a 05 1a03 0a01 ff'],
    ['connection_id', '1a 05 0a03 0a01 ff'],
    ['an unpaired surrogate', '1a 07 0a05 0a03 eda080'],
    ['an overlong form', '1a 06 0a04 0a02 c080'],
    ['reason', '1a 05 1203 1201 ff'],
  ])('the client rejects text that is not UTF-8: %s', (_, bytes) => {
    expect(() => down(bytes)).toThrow(PayloadError)
  })

  it('the client rejects `connected` without a connection id', () => {
    expect(() => down('1a 05 0a03 1a01 74')).toThrow(fault('connection_id is missing'))
  })

  it.each(MALFORMED)('the client rejects data that is not a frame: %s', (_, data) => {
    expect(() => protobufClientCodec.decode(data)).toThrow(PayloadError)
  })

  it('decoded bytes are a plain view of the frame', () => {
    const frame = Buffer.from(hex('12 0f 0a06 736572766572 1a03 1201 07 2001'))
    const message = protobufClientCodec.decode(frame)
    if (message.type !== 'serverMessage' || message.payload.dataType !== 'binary') throw new Error(message.type)
    expect(message.payload.data.constructor).toBe(Uint8Array)
    expect(message.payload.data).toEqual(Uint8Array.of(7))
    expect(message.payload.data.buffer).toBe(frame.buffer)
  })

  it.each<[string, UpFrame]>([
    ['undefined', { type: 'event', event: 'e', payload: { dataType: 'json', data: undefined } }],
    ['an unpaired surrogate', { type: 'event', event: 'e', payload: { dataType: 'text', data: '\ud800' } }],
    ['a name with an unpaired surrogate', { type: 'joinGroup', group: '\udc00' }],
    ['a negative id', { type: 'sequenceAck', sequenceId: -1n }],
    ['an id beyond 64 bits', { type: 'joinGroup', group: 'g', ackId: 2n ** 64n }],
  ])('the client does not encode %s', (_, frame) => {
    expect(() => protobufClientCodec.encode(frame)).toThrow(ArgumentError)
  })

  it('encoding throws for binary data that is not a Uint8Array', () => {
    const payload = { dataType: 'binary', data: new Uint8Array(2) } as const
    const frame: UpFrame = { type: 'event', event: 'e', payload }
    Reflect.set(payload, 'data', new ArrayBuffer(2))
    expect(() => protobufClientCodec.encode(frame)).toThrow(ArgumentError)
  })
})
