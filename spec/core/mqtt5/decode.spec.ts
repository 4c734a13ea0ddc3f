import fc from 'fast-check'
import { generate } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { decodePacket } from '../../../src/core/mqtt5/decode.js'
import type { ClientPacket } from '../../../src/core/mqtt5/packets.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { anyClientPacket } from '../../support/any-packet.js'
import { encodeClientPacket } from '../../support/client-packets.js'
import { effort } from '../../support/effort.js'

/** Omits the forwarded part of a will, which is compared separately. */
const comparable = (packet: ClientPacket) =>
  packet.type === 'connect' && packet.will ? { ...packet, will: { ...packet.will, carried: undefined } } : packet

describe.each([4, 5] as const)('decodePacket, version %i', version => {
  it('decodePacket decodes any encoded packet', () => {
    fc.assert(
      fc.property(anyClientPacket(version), packet => {
        expect(comparable(decodePacket(encodeClientPacket(packet, version), version))).toEqual(comparable(packet))
      }),
      { numRuns: effort(2_000, 200) },
    )
  })

  it('decodePacket rejects a packet truncated at any position', () => {
    fc.assert(
      fc.property(
        anyClientPacket(version),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (packet, cut) => {
          const bytes = encodeClientPacket(packet, version)
          const part = bytes.slice(0, Math.floor(cut * bytes.length))
          expect(() => decodePacket(part, version)).toThrow(expect.objectContaining({ name: 'PacketError' }))
        },
      ),
    )
  })

  it('decodePacket decodes a packet from the middle of a buffer', () => {
    fc.assert(
      fc.property(anyClientPacket(version), packet => {
        const bytes = encodeClientPacket(packet, version)
        const memory = new Uint8Array(bytes.length + 20).fill(0xff)
        memory.set(bytes, 10)
        const view = memory.subarray(10, 10 + bytes.length)
        expect(comparable(decodePacket(view, version))).toEqual(comparable(packet))
      }),
    )
  })
})

describe('decodePacket', () => {
  it('decodes a CONNECT with every field that mqtt-packet encoded', () => {
    const bytes = generate({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 5,
      clean: true,
      clientId: 'a',
      keepalive: 30,
      username: 'u',
      password: Buffer.from('p'),
      properties: {
        sessionExpiryInterval: 60,
        receiveMaximum: 7,
        maximumPacketSize: 1_000,
        topicAliasMaximum: 3,
        requestResponseInformation: true,
        requestProblemInformation: false,
        userProperties: { a: ['1', '2'], b: '3' },
        authenticationMethod: 'm',
        authenticationData: Buffer.from([1, 2]),
      },
      will: {
        topic: 'w',
        payload: Buffer.from('gone'),
        qos: 2,
        retain: true,
        properties: {
          willDelayInterval: 5,
          payloadFormatIndicator: true,
          messageExpiryInterval: 9,
          contentType: 'text/plain',
          responseTopic: 'r',
          correlationData: Buffer.from([3]),
          userProperties: { c: '4' },
        },
      },
    })
    const packet = decodePacket(Uint8Array.from(bytes), 4)
    expect(packet).toEqual({
      type: 'connect',
      version: 5,
      cleanStart: true,
      keepAlive: 30,
      clientId: 'a',
      username: 'u',
      password: utf8('p'),
      will: {
        topic: 'w',
        payload: utf8('gone'),
        qos: 2,
        retain: true,
        delay: 5,
        messageExpiry: 9,
        responseTopic: 'r',
        correlationData: Uint8Array.of(3),
        userProperties: { c: '4' },
        carried: Uint8Array.of(
          ...[0x01, 1, 0x03, 0, 10, ...utf8('text/plain'), 0x08, 0, 1, 0x72, 0x09, 0, 1, 3],
          ...[0x26, 0, 1, 0x63, 0, 1, 0x34],
        ),
      },
      sessionExpiry: 60,
      receiveMaximum: 7,
      maximumPacketSize: 1_000,
      topicAliasMaximum: 3,
      requestResponseInformation: true,
      requestProblemInformation: false,
      authenticationMethod: 'm',
      authenticationData: Uint8Array.of(1, 2),
      userProperties: [
        ['a', '1'],
        ['a', '2'],
        ['b', '3'],
      ],
    } satisfies ClientPacket)
  })

  it('returns views of the packet instead of copies', () => {
    const packet = encodeClientPacket(
      { type: 'auth', reasonCode: 0x18, authenticationMethod: 'm', authenticationData: Uint8Array.of(1, 2) },
      5,
    )
    const decoded = decodePacket(packet, 5)
    expect(decoded.type === 'auth' && decoded.authenticationData?.buffer).toBe(packet.buffer)
  })

  it('keeps a byte order mark (MQTT-1.5.4-3)', () => {
    const bytes = encodeClientPacket({ type: 'unsubscribe', packetId: 1, userProperties: [], filters: ['\ufeffa'] }, 5)
    expect(decodePacket(bytes, 5)).toMatchObject({ filters: ['\ufeffa'] })
  })
})
