import { describe, expect, it } from 'vitest'
import { concatBytes, utf8 } from '../../../src/core/util/bytes.js'
import { ArgumentError, PayloadError } from '../../../src/core/util/errors.js'
import { MAX_NESTING } from '../../../src/core/util/json-nesting.js'
import type { DownFrame } from '../../../src/pubsub/wire/frames.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'
import { field, hex, MALFORMED, MAXIMUM } from './protobuf-vectors.js'

const fault = (words: string): unknown =>
  expect.objectContaining({ name: 'PayloadError', code: 'payload', message: expect.stringContaining(words) })
const up = (text: string): unknown => protobufHubCodec.decode(hex(text))

describe('protobufHubCodec', () => {
  it('the hub decodes an unknown message as an unknown frame', () => {
    expect(up('5a 03 0a0169')).toEqual({ type: 'unknown' })
    expect(up('9a01 00')).toEqual({ type: 'unknown' })
  })

  it('the hub ignores unknown fields', () => {
    // The extra fields are no_echo false, ttl_seconds 60 and metadata k: v.
    expect(up('0a 15 0a0167 1a04 0a02 6869 2000 283c 3206 0a016b 120176')).toEqual({
      type: 'sendToGroup',
      group: 'g',
      payload: { dataType: 'text', data: 'hi' },
      noEcho: false,
    })
  })

  it('the last of several values wins', () => {
    expect(up('32 0a 0a0167 1001 0a0168 1000')).toEqual({ type: 'joinGroup', group: 'h', ackId: 0n })
    expect(up('42 0d 08ffffffffffffffffff01 0805')).toEqual({ type: 'sequenceAck', sequenceId: 5n })
    expect(up('4a 00 42 02 0805')).toEqual({ type: 'sequenceAck', sequenceId: 5n })
  })

  it.each<[string, string]>([
    ['32 00', 'group must not be blank'],
    ['32 03 0a01 20', 'group must not be blank'],
    ['2a 06 1204 0a02 6869', 'event must not be blank'],
    ['2a 03 0a0165', 'data must be text, binary, protobuf or json'],
    ['2a 07 0a0165 1202 2a00', 'data must be text, binary, protobuf or json'],
    ['2a 08 0a0165 1203 2201 7b', 'JSON'],
    ['2a 08 0a0165 1203 0a01 ff', 'UTF-8'],
    ['2a 0a 0a0165 1205 1a03 010203', 'data of type protobuf must be a google.protobuf.Any'],
    ['2a 0a 0a0165 1205 1a03 0a01ff', 'data of type protobuf must be a google.protobuf.Any'],
    ['2a 09 0a0165 1204 1a02 0a05', 'data of type protobuf must be a google.protobuf.Any'],
  ])('the hub rejects %s', (bytes, words) => {
    expect(() => up(bytes)).toThrow(fault(words))
  })

  it('the error of a rejected frame contains a short excerpt of that frame', () => {
    expect(() => up('32 00')).toThrow('Malformed protobuf frame: group must not be blank, in 3200')
    const long = field(0x32, field(0x0a, utf8('g'.repeat(1025))))
    expect(() => protobufHubCodec.decode(long)).toThrow(fault('group must have at most 1024 characters, not 1025'))
    expect(() => up(`12 ffffffff0f ${'00'.repeat(900)}`)).toThrow(fault(`, in 12FFFFFFFF0F${'00'.repeat(18)}...`))
  })

  it('the hub rejects nesting that it could not encode again', () => {
    const event = (depth: number): Uint8Array => {
      const json = utf8(`${'['.repeat(depth)}${']'.repeat(depth)}`)
      return field(0x2a, field(0x0a, utf8('e')), field(0x12, field(0x22, json)))
    }
    expect(protobufHubCodec.decode(event(MAX_NESTING))).toMatchObject({ type: 'event' })
    for (const depth of [MAX_NESTING + 1, 400_000]) {
      expect(() => protobufHubCodec.decode(event(depth))).toThrow(fault('nested deeper'))
    }
  })

  it.each(MALFORMED)('the hub rejects data that is not a frame: %s', (_, data) => {
    expect(() => protobufHubCodec.decode(data)).toThrow(PayloadError)
  })

  it('the hub accepts a message with ten thousand fields, and rejects more', () => {
    const fields = (field: string, count: number): Uint8Array =>
      concatBytes([hex('32 03 0a0167'), hex(field.repeat(count))])
    expect(protobufHubCodec.decode(fields('32021007', 9_999))).toEqual({ type: 'joinGroup', group: 'g', ackId: 7n })
    for (const field of ['32021007', '7800', '7b7c']) {
      expect(() => protobufHubCodec.decode(fields(field, 10_001))).toThrow(fault('more than 10000 fields'))
    }
    expect(() => protobufHubCodec.decode(hex(`7b${'7800'.repeat(10_001)}7c`))).toThrow(fault('more than 10000 fields'))
  })

  it.each<[string, DownFrame]>([
    ['an id beyond 64 bits', { type: 'ack', ackId: MAXIMUM + 1n, success: true }],
    ['a bigint as JSON', { type: 'serverMessage', payload: { dataType: 'json', data: 1n } }],
  ])('the hub does not encode %s', (_, frame) => {
    expect(() => protobufHubCodec.encode(frame)).toThrow(ArgumentError)
  })
})
