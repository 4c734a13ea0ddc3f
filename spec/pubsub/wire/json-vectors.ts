import type { DownFrame, FrameData, Payload, UpFrame } from '../../../src/pubsub/wire/frames.js'
import { ANY } from './protobuf-vectors.js'

const text: Payload = { dataType: 'text', data: 'hi' }

/** Every core frame of a client, with its exact text. */
export const UP_TEXTS: readonly (readonly [UpFrame, string])[] = [
  [{ type: 'joinGroup', group: 'g' }, '{"type":"joinGroup","group":"g"}'],
  [{ type: 'joinGroup', group: '"ü"', ackId: 0n }, '{"type":"joinGroup","group":"\\"ü\\"","ackId":0}'],
  [{ type: 'leaveGroup', group: 'g', ackId: 2n }, '{"type":"leaveGroup","group":"g","ackId":2}'],
  [
    { type: 'sendToGroup', group: 'g', payload: text, noEcho: false },
    '{"type":"sendToGroup","group":"g","dataType":"text","data":"hi"}',
  ],
  [
    { type: 'sendToGroup', group: 'g', payload: { dataType: 'json', data: { a: [null] } }, noEcho: true, ackId: 3n },
    '{"type":"sendToGroup","group":"g","ackId":3,"noEcho":true,"dataType":"json","data":{"a":[null]}}',
  ],
  [
    { type: 'event', event: 'e', payload: { dataType: 'binary', data: Uint8Array.of(1, 2, 3) } },
    '{"type":"event","event":"e","dataType":"binary","data":"AQID"}',
  ],
  [
    { type: 'event', event: 'e', payload: { dataType: 'protobuf', data: ANY }, ackId: 4n },
    '{"type":"event","event":"e","ackId":4,"dataType":"protobuf","data":"ChV0eXBlLmdvb2dsZWFwaXMuY29tL3QSAgEC"}',
  ],
  [
    { type: 'event', event: 'e', payload: { dataType: 'json', data: null } },
    '{"type":"event","event":"e","dataType":"json","data":null}',
  ],
  [{ type: 'sequenceAck', sequenceId: 5n }, '{"type":"sequenceAck","sequenceId":5}'],
  [{ type: 'ping' }, '{"type":"ping"}'],
]

/** Every core frame of the hub, with its exact text. */
export const DOWN_TEXTS: readonly (readonly [DownFrame, string])[] = [
  [
    { type: 'connected', connectionId: 'c', userId: 'u', reconnectionToken: 't' },
    '{"type":"system","event":"connected","userId":"u","connectionId":"c","reconnectionToken":"t"}',
  ],
  [{ type: 'connected', connectionId: 'c' }, '{"type":"system","event":"connected","userId":null,"connectionId":"c"}'],
  [{ type: 'disconnected', reason: 'bye' }, '{"type":"system","event":"disconnected","message":"bye"}'],
  [{ type: 'ack', ackId: 1n, success: true }, '{"type":"ack","ackId":1,"success":true}'],
  [
    { type: 'ack', ackId: 0n, success: false, error: { name: 'Forbidden', message: 'no' } },
    '{"type":"ack","ackId":0,"success":false,"error":{"name":"Forbidden","message":"no"}}',
  ],
  [
    { type: 'groupMessage', group: 'g', fromUserId: 'u', payload: text, sequenceId: 1n },
    '{"type":"message","from":"group","group":"g","fromUserId":"u","dataType":"text","data":"hi","sequenceId":1}',
  ],
  [
    { type: 'groupMessage', group: 'g', payload: { dataType: 'json', data: null } },
    '{"type":"message","from":"group","group":"g","dataType":"json","data":null}',
  ],
  [
    { type: 'serverMessage', payload: { dataType: 'binary', data: new Uint8Array() }, sequenceId: 2n },
    '{"type":"message","from":"server","dataType":"binary","data":"","sequenceId":2}',
  ],
  [{ type: 'pong' }, '{"type":"pong"}'],
]

/** Data that is not a frame of the JSON subprotocol. */
export const NO_FRAMES: readonly FrameData[] = [
  '',
  ' ',
  '{',
  'null',
  '1',
  '"ping"',
  '[]',
  '[{"type":"ping"}]',
  '{}',
  '{"type":1}',
  '{"type":null}',
  '{"type":["ping"]}',
  '{"__proto__":{"type":"ping"}}',
  '{"type":"ping"}{"type":"ping"}',
  '\ufeff{"type":"ping"}',
  '['.repeat(100_000),
  new Uint8Array(),
  Uint8Array.of(123, 125),
]
