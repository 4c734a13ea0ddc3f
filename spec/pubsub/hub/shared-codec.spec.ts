import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type DataFrame, SharedCodec } from '../../../src/pubsub/hub/shared-codec.js'
import type { HubCodec, Payload } from '../../../src/pubsub/wire/frames.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'
import { effort } from '../../support/effort.js'

const payloads: fc.Arbitrary<Payload> = fc.oneof(
  fc.jsonValue().map(data => ({ dataType: 'json' as const, data })),
  fc.string({ unit: 'grapheme' }).map(data => ({ dataType: 'text' as const, data })),
  fc.uint8Array({ maxLength: 300 }).map(data => ({ dataType: 'binary' as const, data })),
)
const frames: fc.Arbitrary<DataFrame> = fc.oneof(
  payloads.map(payload => ({ type: 'serverMessage' as const, payload })),
  payloads.map(payload => ({ type: 'groupMessage' as const, group: 'g"}', fromUserId: 'ann', payload })),
)
const ids = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 2 ** 31 - 2, max: 2 ** 33 }))

describe.each<[string, HubCodec]>([
  ['json', jsonHubCodec],
  ['protobuf', protobufHubCodec],
])('a message encoded once in %s', (_, codec) => {
  it('a numbered message has the same bytes as the encoding of the codec', () => {
    const shared = new SharedCodec(codec)
    fc.assert(
      fc.property(frames, ids, (frame, id) => {
        const message = shared.encodeOnce(frame)
        const expected = codec.encode({ ...frame, sequenceId: BigInt(id) })
        expect(message.frameAt(id)).toEqual(expected)
        expect(message.sizeAt(id)).toBe(Buffer.byteLength(expected))
      }),
      { numRuns: effort(500, 100) },
    )
  })
})
