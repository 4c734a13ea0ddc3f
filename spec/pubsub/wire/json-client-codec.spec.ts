import { describe, expect, it } from 'vitest'
import { ArgumentError, PayloadError } from '../../../src/core/util/errors.js'
import {
  type DownFrame,
  type UnknownFrame,
  UnreadableMessageError,
  type UpFrame,
} from '../../../src/pubsub/wire/frames.js'
import { jsonClientCodec } from '../../../src/pubsub/wire/json-client-codec.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { parsed } from '../support/parsed.js'
import { DOWN_TEXTS, NO_FRAMES, UP_TEXTS } from './json-vectors.js'

const fault = (words: string): unknown =>
  expect.objectContaining({ name: 'PayloadError', code: 'payload', message: expect.stringContaining(words) })

describe('jsonClientCodec', () => {
  it('the codecs of client and hub have the name of the subprotocol', () => {
    expect(jsonClientCodec.subprotocol).toBe('json.reliable.webpubsub.azure.v1')
    expect(jsonHubCodec.subprotocol).toBe('json.reliable.webpubsub.azure.v1')
  })

  it.each(UP_TEXTS)('the client encodes %o', (frame, json) => {
    expect(jsonClientCodec.encode(frame)).toBe(json)
    expect(parsed(jsonHubCodec.decode(json))).toEqual(frame)
  })

  it.each(DOWN_TEXTS)('the client decodes %o', (frame, json) => {
    expect(jsonHubCodec.encode(frame)).toBe(json)
    expect(jsonClientCodec.decode(json)).toEqual(frame)
  })

  it.each<[string, UnknownFrame]>([
    [
      '{"type":"groupStateUpdate","group":"g","items":[],"sequenceId":9007199254740993}',
      { type: 'unknown', sequenceId: 2n ** 53n + 1n },
    ],
    ['{"type":"invokeResponse","invocationId":"i","success":true}', { type: 'unknown' }],
    ['{"type":"ACK","ackId":1,"success":true}', { type: 'unknown' }],
    ['{"type":"constructor"}', { type: 'unknown' }],
    ['{"type":"system","event":"restarting"}', { type: 'unknown' }],
    ['{"type":"system"}', { type: 'unknown' }],
    ['{"type":"message","from":"peer","data":1,"sequenceId":3}', { type: 'unknown', sequenceId: 3n }],
    ['{"type":"message","sequenceId":3}', { type: 'unknown', sequenceId: 3n }],
    [
      '{"type":"message","from":"server","dataType":"xml","data":"<a/>","sequenceId":3}',
      { type: 'unknown', sequenceId: 3n },
    ],
    [
      '{"type":"message","from":"group","dataType":null,"data":"x","sequenceId":3}',
      { type: 'unknown', sequenceId: 3n },
    ],
  ])('the client decodes %s as an unknown frame and keeps its sequence id', (json, frame) => {
    expect(jsonClientCodec.decode(json)).toEqual(frame)
  })

  it.each<[string, DownFrame]>([
    [
      '{"type":"message","from":"server","data":"x"}',
      { type: 'serverMessage', payload: { dataType: 'json', data: 'x' } },
    ],
    [
      '{"type":"message","from":"group","group":"","fromUserId":null,"data":0,"metadata":{"k":"v"},"sequenceId":null}',
      { type: 'groupMessage', group: '', payload: { dataType: 'json', data: 0 } },
    ],
    [
      '{"type":"system","event":"connected","userId":"","connectionId":"c","more":1}',
      { type: 'connected', connectionId: 'c' },
    ],
    ['{"type":"system","event":"disconnected"}', { type: 'disconnected', reason: '' }],
    ['{"type":"system","event":"disconnected","message":7}', { type: 'disconnected', reason: '' }],
    ['{"type":"ack","ackId":1,"success":false}', { type: 'ack', ackId: 1n, success: false }],
    ['{"type":"ack","ackId":1,"success":true,"error":null}', { type: 'ack', ackId: 1n, success: true }],
    [
      '{"type":"ack","ackId":1,"success":false,"error":{"name":"Duplicate"}}',
      { type: 'ack', ackId: 1n, success: false, error: { name: 'Duplicate', message: '' } },
    ],
    ['{"type":"pong","sequenceId":"x"}', { type: 'pong' }],
  ])('the client accepts %s', (json, frame) => {
    expect(jsonClientCodec.decode(json)).toEqual(frame)
  })

  it.each<[string, string]>([
    ['{"type":"ack","success":true}', 'ackId is missing'],
    ['{"type":"ack","ackId":1}', 'success must be a boolean'],
    ['{"type":"ack","ackId":1,"success":"true"}', 'success must be a boolean'],
    ['{"type":"system","event":"connected","reconnectionToken":"t"}', 'connectionId is missing'],
    ['{"type":"system","event":"connected","connectionId":7}', 'connectionId is missing'],
    ['{"type":"message","from":"group","data":1}', 'group must be a string'],
    ['{"type":"message","from":"server","dataType":"json"}', 'data is missing'],
    ['{"type":"message","from":"server","dataType":"text","data":{}}', 'data of type text must be a string'],
    ['{"type":"message","from":"server","dataType":"binary","data":[1]}', 'data of type binary must be a string'],
    ['{"type":"message","from":"server","dataType":"binary","data":"AQI"}', 'data of type binary must be base64'],
    ['{"type":"message","from":"server","dataType":"protobuf","data":"A-_="}', 'data of type protobuf must be base64'],
  ])('the client rejects %s', (json, words) => {
    expect(() => jsonClientCodec.decode(json)).toThrow(fault(words))
  })

  it('the error of a malformed message has the sequence id of that message', () => {
    const json =
      '{"type":"message","from":"group","group":"g","dataType":"binary","data":"?","sequenceId":9007199254740993}'
    expect(() => jsonClientCodec.decode(json)).toThrow(UnreadableMessageError)
    expect(() => jsonClientCodec.decode(json)).toThrow(
      expect.objectContaining({ name: 'PayloadError', sequenceId: 9_007_199_254_740_993n }),
    )
  })

  it.each(NO_FRAMES.map(data => [JSON.stringify(data).slice(0, 40), data] as const))(
    'the client rejects data that is not a frame: %s',
    (_, data) => {
      expect(() => jsonClientCodec.decode(data)).toThrow(PayloadError)
    },
  )

  it.each<[string, UpFrame]>([
    ['undefined', { type: 'event', event: 'e', payload: { dataType: 'json', data: undefined } }],
    ['a function', { type: 'event', event: 'e', payload: { dataType: 'json', data: () => 1 } }],
    ['a bigint', { type: 'event', event: 'e', payload: { dataType: 'json', data: { a: 1n } } }],
    ['an unpaired surrogate', { type: 'event', event: 'e', payload: { dataType: 'text', data: '\ud800' } }],
    ['a name with an unpaired surrogate', { type: 'joinGroup', group: '\udc00' }],
    ['a negative id', { type: 'sequenceAck', sequenceId: -1n }],
    ['an id beyond 64 bits', { type: 'joinGroup', group: 'g', ackId: 2n ** 64n }],
  ])('the client does not encode %s', (_, frame) => {
    expect(() => jsonClientCodec.encode(frame)).toThrow(ArgumentError)
  })

  it('the client does not encode cyclic JSON', () => {
    const data: Record<string, unknown> = {}
    data['self'] = data
    const frame: UpFrame = { type: 'event', event: 'e', payload: { dataType: 'json', data } }
    expect(() => jsonClientCodec.encode(frame)).toThrow(ArgumentError)
  })
})
