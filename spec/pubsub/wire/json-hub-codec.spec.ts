import { describe, expect, it } from 'vitest'
import { PayloadError } from '../../../src/core/util/errors.js'
import { MAX_NESTING } from '../../../src/core/util/json-nesting.js'
import type { UnknownFrame, UpFrame } from '../../../src/pubsub/wire/frames.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { parsed } from '../support/parsed.js'
import { NO_FRAMES } from './json-vectors.js'

const fault = (words: string): unknown =>
  expect.objectContaining({ name: 'PayloadError', code: 'payload', message: expect.stringContaining(words) })

describe('jsonHubCodec', () => {
  const send = (members: string): string => `{"type":"sendToGroup","group":"g",${members}}`

  it.each<[string, UpFrame | UnknownFrame]>([
    [send('"data":1'), { type: 'sendToGroup', group: 'g', payload: { dataType: 'json', data: 1 }, noEcho: false }],
    [
      send('"data":null,"noEcho":false'),
      { type: 'sendToGroup', group: 'g', payload: { dataType: 'json', data: null }, noEcho: false },
    ],
    [
      send('"ttlSeconds":60,"metadata":{"k":"v"},"dataType":"text","data":""'),
      { type: 'sendToGroup', group: 'g', payload: { dataType: 'text', data: '' }, noEcho: false },
    ],
    ['{"type":"joinGroup","group":" g "}', { type: 'joinGroup', group: ' g ' }],
    ['{"type":"PING"}', { type: 'unknown' }],
  ])('the hub decodes %s', (json, frame) => {
    expect(parsed(jsonHubCodec.decode(json))).toEqual(frame)
  })

  it.each<[string, string]>([
    ['{"type":"joinGroup"}', 'group must be a string'],
    ['{"type":"joinGroup","group":null}', 'group must be a string'],
    ['{"type":"joinGroup","group":["g"]}', 'group must be a string'],
    ['{"type":"leaveGroup","group":""}', 'group must not be blank'],
    ['{"type":"leaveGroup","group":" \\n\\u00a0"}', 'group must not be blank'],
    ['{"type":"joinGroup","group":"\\ud800"}', 'group must be well-formed'],
    ['{"type":"event","data":1}', 'event must be a string'],
    ['{"type":"event","event":" ","data":1}', 'event must not be blank'],
    ['{"type":"event","event":"e"}', 'data is missing'],
    ['{"type":"event","event":"e","dataType":"xml","data":"x"}', 'dataType must be json, text, binary or protobuf'],
    ['{"type":"event","event":"e","dataType":"JSON","data":"x"}', 'dataType must be'],
    ['{"type":"event","event":"e","dataType":null,"data":"x"}', 'dataType must be'],
    [send('"stream":{"streamId":7}'), 'data is missing'],
    [send('"dataType":"text","data":1'), 'data of type text must be a string'],
    [send('"dataType":"text","data":null'), 'data of type text must be a string'],
    [send('"dataType":"text","data":"\\ud83d"'), 'data of type text must be well-formed'],
    [send('"dataType":"binary","data":"AQID\\n"'), 'data of type binary must be base64'],
    [send('"dataType":"protobuf","data":"AQID"'), 'data of type protobuf must be a google.protobuf.Any'],
    [send('"dataType":"protobuf","data":"CgH/"'), 'data of type protobuf must be a google.protobuf.Any'],
    [send('"data":1,"noEcho":1'), 'noEcho must be a boolean'],
    [send('"data":1,"noEcho":null'), 'noEcho must be a boolean'],
    ['{"type":"sequenceAck"}', 'sequenceId is missing'],
    ['{"type":"sequenceAck","sequenceId":null}', 'sequenceId is missing'],
    ['{"type":"ping","ackId":"1"}', 'ackId must be an integer from 0 to 2^64-1'],
  ])('the hub rejects %s', (json, words) => {
    expect(() => jsonHubCodec.decode(json)).toThrow(fault(words))
  })

  it.each(NO_FRAMES.map(data => [JSON.stringify(data).slice(0, 40), data] as const))(
    'the hub rejects data that is not a frame: %s',
    (_, data) => {
      expect(() => jsonHubCodec.decode(data)).toThrow(PayloadError)
    },
  )

  it('the hub accepts names of at most 1024 characters', () => {
    const join = (length: number): unknown =>
      jsonHubCodec.decode(`{"type":"joinGroup","group":"${'g'.repeat(length)}"}`)
    expect(join(1024)).toEqual({ type: 'joinGroup', group: 'g'.repeat(1024) })
    expect(() => join(1025)).toThrow(fault('group must have at most 1024 characters, not 1025'))
  })

  it('the error of a rejected frame contains a short excerpt of that frame', () => {
    const json = `{"type":"joinGroup","group":"\\n${'g'.repeat(9_000)}"}`
    expect(() => jsonHubCodec.decode(json)).toThrow(fault('in "{\\"type\\":\\"joinGroup\\",\\"group\\":\\"\\\\ngggg'))
    try {
      jsonHubCodec.decode(json)
    } catch (error) {
      expect(String(error).length).toBeLessThan(250)
    }
  })

  it('the hub rejects nesting that it could not encode again', () => {
    const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
    const inside = jsonHubCodec.decode(send(`"data":${nested(MAX_NESTING - 1)}`))
    if (inside.type !== 'sendToGroup') throw new Error(inside.type)
    expect(jsonHubCodec.encode({ type: 'serverMessage', payload: inside.payload })).toContain(nested(MAX_NESTING - 1))
    for (const depth of [MAX_NESTING, 5_000, 400_000]) {
      expect(() => jsonHubCodec.decode(send(`"data":${nested(depth)}`))).toThrow(PayloadError)
    }
  })

  it('a member named __proto__ in data stays a member', () => {
    const json = send('"data":{"__proto__":{"a":1}}')
    const frame = jsonHubCodec.decode(json)
    if (frame.type !== 'sendToGroup') throw new Error(frame.type)
    expect(jsonHubCodec.encode({ type: 'serverMessage', payload: frame.payload })).toContain('{"__proto__":{"a":1}}')
  })
})
