import fc from 'fast-check'
import { isWellFormed, utf8 } from '../../../src/core/util/bytes.js'
import type { DownFrame, Payload, UpFrame } from '../../../src/pubsub/wire/frames.js'
import { anyCodePoint } from '../../support/any-code-point.js'
import { BEYOND_DOUBLES, hex, MAXIMUM } from './protobuf-vectors.js'

/** Generates ids, often one that doubles cannot represent. */
export const anyId = fc.oneof(
  fc.constantFrom(0n, 1n, 127n, 128n, 2n ** 31n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, MAXIMUM - 1n, MAXIMUM),
  fc.bigInt({ min: BEYOND_DOUBLES, max: BEYOND_DOUBLES + 2n }),
  fc.bigInt({ min: 0n, max: MAXIMUM }),
)
const maybeId = fc.option(anyId, { nil: undefined })

// Text that has a meaning in one of the encodings.
const wireText = fc.constantFrom(
  '"',
  '\\',
  '{"',
  ',"sequenceId":7',
  '","data":"',
  '\u0000',
  '\ufeff',
  '\u2028',
  '😀',
  'ü',
)
export const anyText = fc
  .array(fc.oneof(wireText, fc.string({ unit: anyCodePoint, maxLength: 6 })), { maxLength: 4 })
  .map(parts => parts.join(''))
  .filter(isWellFormed)
const filledText = anyText.filter(text => text !== '')
export const anyName = anyText.filter(name => name.trim() !== '')

const anyBytes = fc.oneof(fc.uint8Array({ maxLength: 16 }), fc.uint8Array({ minLength: 100, maxLength: 300 }))

/** Generates values that survive a JSON round trip, so never -0. */
export const anyJson = fc.oneof(
  fc.jsonValue({ stringUnit: anyCodePoint }).map(value => JSON.parse(JSON.stringify(value)) as unknown),
  fc.constantFrom({ sequenceId: 1, ackId: 2 }, { type: 'ping' }, '"sequenceId":3', ['{', '}', '"'], null),
)

/** Generates an Any: 0a and a type URL, 12 and a value. */
const anyAny = fc.tuple(filledText, fc.uint8Array({ maxLength: 20 })).map(([url, value]) => {
  const typeUrl = utf8(url)
  return Uint8Array.from([0x0a, typeUrl.length, ...typeUrl, 0x12, value.length, ...value])
})

export const anyPayload: fc.Arbitrary<Payload> = fc.oneof(
  anyJson.map((data): Payload => ({ dataType: 'json', data })),
  anyText.map((data): Payload => ({ dataType: 'text', data })),
  anyBytes.map((data): Payload => ({ dataType: 'binary', data })),
  fc.oneof(anyAny, fc.constant(hex(''))).map((data): Payload => ({ dataType: 'protobuf', data })),
)

export const anyUpFrame: fc.Arbitrary<UpFrame> = fc.oneof(
  fc.record({ type: fc.constantFrom('joinGroup', 'leaveGroup'), group: anyName, ackId: maybeId }),
  fc.record({
    type: fc.constant('sendToGroup'),
    group: anyName,
    payload: anyPayload,
    noEcho: fc.boolean(),
    ackId: maybeId,
  }),
  fc.record({ type: fc.constant('event'), event: anyName, payload: anyPayload, ackId: maybeId }),
  fc.record({ type: fc.constant('sequenceAck'), sequenceId: anyId }),
  fc.constant({ type: 'ping' }),
)

const maybeText = fc.option(filledText, { nil: undefined })

export const anyDownFrame: fc.Arbitrary<DownFrame> = fc.oneof(
  fc.record({
    type: fc.constant('connected'),
    connectionId: filledText,
    userId: maybeText,
    reconnectionToken: maybeText,
  }),
  fc.record({ type: fc.constant('disconnected'), reason: anyText }),
  fc.record({
    type: fc.constant('ack'),
    ackId: anyId,
    success: fc.boolean(),
    error: fc.option(fc.record({ name: anyText, message: anyText }), { nil: undefined }),
  }),
  fc.record({
    type: fc.constant('groupMessage'),
    group: anyText,
    fromUserId: maybeText,
    payload: anyPayload,
    sequenceId: maybeId,
  }),
  fc.record({ type: fc.constant('serverMessage'), payload: anyPayload, sequenceId: maybeId }),
  fc.constant({ type: 'pong' }),
)
