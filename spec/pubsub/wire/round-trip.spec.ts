import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DownFrame } from '../../../src/pubsub/wire/frames.js'
import { jsonClientCodec } from '../../../src/pubsub/wire/json-client-codec.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { protobufClientCodec } from '../../../src/pubsub/wire/protobuf-client-codec.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'
import { effort } from '../../support/effort.js'
import { parsed } from '../support/parsed.js'
import { anyDownFrame, anyPayload, anyUpFrame } from './arbitrary-frames.js'

const SUBPROTOCOLS = [
  ['JSON', jsonClientCodec, jsonHubCodec],
  ['protobuf', protobufClientCodec, protobufHubCodec],
] as const

const withoutSender = (frame: DownFrame): DownFrame =>
  frame.type === 'groupMessage' ? { ...frame, fromUserId: undefined } : frame

describe.each(SUBPROTOCOLS)('the %s subprotocol', (name, client, hub) => {
  it('any client frame survives a round trip', () => {
    fc.assert(
      fc.property(anyUpFrame, frame => {
        expect(parsed(hub.decode(client.encode(frame)))).toEqual(frame)
      }),
      { numRuns: effort(2_000, 200) },
    )
  })

  it('any hub frame survives a round trip', () => {
    fc.assert(
      fc.property(anyDownFrame, frame => {
        expect(client.decode(hub.encode(frame))).toEqual(name === 'protobuf' ? withoutSender(frame) : frame)
      }),
      { numRuns: effort(2_000, 200) },
    )
  })

  it.each(SUBPROTOCOLS)('any payload can be forwarded to the %s subprotocol', (_, otherClient, otherHub) => {
    fc.assert(
      fc.property(anyPayload, payload => {
        const sent = hub.decode(client.encode({ type: 'sendToGroup', group: 'g', payload, noEcho: false }))
        if (sent.type !== 'sendToGroup') throw new Error(sent.type)
        const message = otherHub.encode({ type: 'groupMessage', group: 'g', payload: sent.payload, sequenceId: 1n })
        expect(otherClient.decode(message)).toEqual({ type: 'groupMessage', group: 'g', payload, sequenceId: 1n })
      }),
      { numRuns: effort(1_000, 200) },
    )
  })
})
