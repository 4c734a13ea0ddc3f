import fc from 'fast-check'
import { generate, type IPublishPacket, type Packet, parser } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import type { OutboundRequest } from '../../../src/client/session/session.js'
import { PublishEncoder } from '../../../src/core/mqtt5/publish-encoder.js'
import { publishPacket } from '../../support/own-room.js'

const REQUEST: OutboundRequest = {
  topic: 'statestore/v1/command/invoke',
  payload: new Uint8Array([1, 2, 3]),
  responseTopic: 'clients/a/response',
  correlationData: new Uint8Array(16).fill(7),
  messageExpiry: 10,
  contentType: 'application/octet-stream',
  userProperties: { __ts: '1696374425000:0:a', __srcId: 'a' },
}

const text = fc.string({ unit: 'grapheme', maxLength: 30 }).filter(value => !value.includes('\0'))
const anyRequest: fc.Arbitrary<OutboundRequest> = fc.record({
  topic: text.filter(value => value !== '' && !/[#+]/.test(value)),
  payload: fc.uint8Array({ minLength: 1, maxLength: 300 }),
  responseTopic: text.filter(value => value !== '' && !/[#+]/.test(value)),
  correlationData: fc.uint8Array({ minLength: 1, maxLength: 40 }),
  messageExpiry: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  contentType: text.filter(value => value !== ''),
  userProperties: fc
    .dictionary(text, text, { minKeys: 1, maxKeys: 6, noNullPrototype: true })
    .filter(value => !Object.hasOwn(value, '__proto__')),
})

function read(bytes: Uint8Array): IPublishPacket {
  const packets: Packet[] = []
  const reader = parser({ protocolVersion: 5 })
  reader.on('packet', packet => packets.push(packet))
  const left = reader.parse(Buffer.from(bytes))
  const [packet] = packets
  if (packet?.cmd !== 'publish' || packets.length !== 1 || left !== 0) throw new Error('not one PUBLISH')
  return packet
}

const toReference = (request: OutboundRequest, messageId: number): Packet => ({
  cmd: 'publish',
  qos: 1,
  dup: false,
  retain: false,
  messageId,
  topic: request.topic,
  payload: Buffer.from(request.payload),
  properties: {
    messageExpiryInterval: request.messageExpiry,
    contentType: request.contentType,
    responseTopic: request.responseTopic,
    correlationData: Buffer.from(request.correlationData),
    userProperties: request.userProperties,
  },
})

describe('PublishEncoder', () => {
  it('encodes the same bytes as mqtt.js, or equivalent ones', () => {
    const encoder = new PublishEncoder()
    fc.assert(
      fc.property(anyRequest, fc.integer({ min: 1, max: 65_535 }), (request, id) => {
        const ours = publishPacket(request, id, encoder)
        const theirs = generate(toReference(request, id), { protocolVersion: 5 })
        expect(read(ours)).toEqual(read(theirs))
        expect(ours.length).toBe(theirs.length)
      }),
    )
  })

  it.each([0, 1, 127, 128, 16_000, 16_383, 16_384, 70_000, 2_097_152, 3_000_000])(
    'encodes the length of a payload of %d bytes in as few bytes as possible',
    length => {
      const payload = new Uint8Array(length).fill(42)
      const packet = read(publishPacket({ ...REQUEST, payload }, 9))
      expect(Buffer.from(packet.payload).equals(payload)).toBe(true)
    },
  )

  it('encodes properties of any size', () => {
    const long = 'ä'.repeat(20_000)
    const packet = read(publishPacket({ ...REQUEST, userProperties: { long, __ts: '1:0:a' } }, 9))
    expect(packet.properties?.userProperties).toEqual({ long, __ts: '1:0:a' })
  })

  it('does not carry state over from one packet to the next', () => {
    const encoder = new PublishEncoder()
    const first = publishPacket(REQUEST, 1, encoder)
    const copy = Uint8Array.from(first)
    publishPacket({ ...REQUEST, topic: 'other', userProperties: {}, payload: new Uint8Array(50) }, 2, encoder)
    expect(first).toEqual(copy)
    expect(read(publishPacket(REQUEST, 1, encoder))).toEqual(read(first))
  })
})
