import fc from 'fast-check'
import { type Packet, parser } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { encodePacket } from '../../../src/core/mqtt5/encode.js'
import type { Acknowledgement, Connack, Ping, ServerPacket, UserProperties } from '../../../src/core/mqtt5/packets.js'
import type { ReasonCode } from '../../../src/core/mqtt5/reason-codes.js'
import * as REASON from '../../../src/core/mqtt5/reason-codes.js'
import { anyId, anyText } from '../../support/any-packet.js'

function read(bytes: Uint8Array, protocolVersion: number): Packet {
  const packets: Packet[] = []
  const reader = parser({ protocolVersion })
  reader.on('packet', packet => packets.push(packet))
  const left = reader.parse(Buffer.from(bytes))
  const [packet] = packets
  if (packet === undefined || packets.length !== 1 || left !== 0) throw new Error('not one packet')
  return packet
}

function byName(pairs: UserProperties): Record<string, string | string[]> {
  const named = new Map<string, string[]>()
  for (const [name, value] of pairs) named.set(name, [...(named.get(name) ?? []), value])
  return Object.fromEntries(Array.from(named, ([name, values]) => [name, values.length === 1 ? values.join() : values]))
}

const text = anyText.filter(value => value !== '')
const pairs = fc.array(
  fc.tuple(
    text.filter(name => name !== '__proto__'),
    text,
  ),
  { minLength: 1, maxLength: 4 },
)

describe('encodePacket', () => {
  it('encodes a CONNACK with every field so that mqtt-packet decodes the same fields', () => {
    const packet: Connack = {
      type: 'connack',
      sessionPresent: true,
      reasonCode: REASON.success,
      sessionExpiry: 60,
      receiveMaximum: 10,
      maximumQos: 1,
      retainAvailable: false,
      maximumPacketSize: 70_000,
      assignedClientId: 'id',
      topicAliasMaximum: 3,
      reasonString: 'why',
      userProperties: [
        ['a', '1'],
        ['a', '2'],
      ],
      wildcardSubscriptionAvailable: true,
      subscriptionIdsAvailable: false,
      sharedSubscriptionAvailable: true,
      serverKeepAlive: 30,
      responseInformation: 'info',
      serverReference: 'other',
      authenticationMethod: 'm',
      authenticationData: Uint8Array.of(1, 2),
    }
    expect(read(encodePacket(packet, 5), 5)).toMatchObject({
      cmd: 'connack',
      sessionPresent: true,
      reasonCode: 0,
      properties: {
        sessionExpiryInterval: 60,
        receiveMaximum: 10,
        maximumQoS: 1,
        retainAvailable: false,
        maximumPacketSize: 70_000,
        assignedClientIdentifier: 'id',
        topicAliasMaximum: 3,
        reasonString: 'why',
        userProperties: { a: ['1', '2'] },
        wildcardSubscriptionAvailable: true,
        subscriptionIdentifiersAvailable: false,
        sharedSubscriptionAvailable: true,
        serverKeepAlive: 30,
        responseInformation: 'info',
        serverReference: 'other',
        authenticationMethod: 'm',
        authenticationData: Buffer.from([1, 2]),
      },
    })
  })

  it('encodes acknowledgements with any content so that mqtt-packet decodes the same content', () => {
    const any = fc.record({
      type: fc.constantFrom<Acknowledgement['type']>('puback', 'pubrec', 'pubrel', 'pubcomp'),
      packetId: anyId,
      reasonCode: fc.constantFrom(REASON.success, REASON.packetIdentifierNotFound),
      reasonString: fc.option(text, { nil: undefined }),
      userProperties: fc.option(pairs, { nil: undefined }),
    })
    fc.assert(
      fc.property(
        any.filter(({ type, reasonCode }) => allowed(type, reasonCode)),
        packet => {
          const decoded = read(encodePacket(packet, 5), 5)
          const { reasonString, userProperties } = packet
          expect(decoded).toMatchObject({ cmd: packet.type, messageId: packet.packetId })
          expect(decoded).toMatchObject(
            JSON.parse(
              JSON.stringify({
                ...(packet.reasonCode === 0 ? {} : { reasonCode: packet.reasonCode }),
                ...(reasonString || userProperties
                  ? { properties: { reasonString, userProperties: userProperties && byName(userProperties) } }
                  : {}),
              }),
            ),
          )
        },
      ),
    )
  })

  it.each<readonly [string, ServerPacket, readonly number[], readonly number[]]>([
    ['PUBACK', { type: 'puback', packetId: 258, reasonCode: 0 }, [0x40, 2, 1, 2], [0x40, 2, 1, 2]],
    [
      'a PUBREC with an error',
      { type: 'pubrec', packetId: 1, reasonCode: 0x87 },
      [0x50, 3, 0, 1, 0x87],
      [0x50, 2, 0, 1],
    ],
    ['PUBREL', { type: 'pubrel', packetId: 1, reasonCode: 0 }, [0x62, 2, 0, 1], [0x62, 2, 0, 1]],
    ['PUBCOMP', { type: 'pubcomp', packetId: 1, reasonCode: 0x92 }, [0x70, 3, 0, 1, 0x92], [0x70, 2, 0, 1]],
    [
      'SUBACK',
      { type: 'suback', packetId: 1, reasonCodes: [0, 2, 0x87] },
      [0x90, 6, 0, 1, 0, 0, 2, 0x87],
      [0x90, 5, 0, 1, 0, 2, 0x80],
    ],
    [
      'UNSUBACK',
      { type: 'unsuback', packetId: 1, reasonCodes: [0, 0x11] },
      [0xb0, 5, 0, 1, 0, 0, 0x11],
      [0xb0, 2, 0, 1],
    ],
    ['PINGRESP', { type: 'pingresp' }, [0xd0, 0], [0xd0, 0]],
    ['DISCONNECT', { type: 'disconnect', reasonCode: 0x8e }, [0xe0, 2, 0x8e, 0], []],
    ['AUTH', { type: 'auth', reasonCode: 0x18, authenticationMethod: 'm' }, [0xf0, 6, 0x18, 4, 0x15, 0, 1, 0x6d], []],
    ['CONNACK', { type: 'connack', sessionPresent: true, reasonCode: 0 }, [0x20, 3, 1, 0, 0], [0x20, 2, 1, 0]],
  ])('encodes %s for each version', (_name, packet, version5, version4) => {
    expect(Array.from(encodePacket(packet, 5))).toEqual(version5)
    expect(Array.from(encodePacket(packet, 4))).toEqual(version4)
  })

  it.each<readonly [ReasonCode, number]>([
    [REASON.success, 0],
    [REASON.unsupportedProtocolVersion, 1],
    [REASON.clientIdentifierNotValid, 2],
    [REASON.serverUnavailable, 3],
    [REASON.quotaExceeded, 3],
    [REASON.badUserNameOrPassword, 4],
    [REASON.notAuthorized, 5],
  ])(
    'encodes reason code %i as return code %i in MQTT 3.1.1, without session present on failure',
    (reasonCode, returnCode) => {
      const bytes = encodePacket({ type: 'connack', sessionPresent: true, reasonCode }, 4)
      expect(Array.from(bytes)).toEqual([0x20, 2, returnCode === 0 ? 1 : 0, returnCode])
    },
  )

  it('omits user properties first and then the reason string if they exceed the packet limit', () => {
    const reasonString = 'because it is so'
    const plain: ServerPacket = { type: 'disconnect', reasonCode: REASON.quotaExceeded }
    const withReason: ServerPacket = { ...plain, reasonString }
    const whole: ServerPacket = { ...withReason, userProperties: [['a', 'b'.repeat(200)]] }
    const size = (packet: ServerPacket): number => encodePacket(packet, 5).length
    expect(encodePacket(whole, 5, size(whole))).toEqual(encodePacket(whole, 5))
    expect(encodePacket(whole, 5, size(whole) - 1)).toEqual(encodePacket(withReason, 5))
    expect(encodePacket(whole, 5, size(withReason) - 1)).toEqual(encodePacket(plain, 5))
    expect(encodePacket(whole, 5, 1)).toEqual(encodePacket(plain, 5))
  })

  it.each<readonly [ids: string, Exclude<ServerPacket, Ping>]>([
    ['3.2.2-19, 3.2.2-20', { type: 'connack', sessionPresent: false, reasonCode: REASON.banned }],
    ['3.4.2-2, 3.4.2-3', { type: 'puback', packetId: 1, reasonCode: REASON.notAuthorized }],
    ['3.5.2-2, 3.5.2-3', { type: 'pubrec', packetId: 1, reasonCode: REASON.notAuthorized }],
    ['3.6.2-2, 3.6.2-3', { type: 'pubrel', packetId: 1, reasonCode: REASON.packetIdentifierNotFound }],
    ['3.7.2-2, 3.7.2-3', { type: 'pubcomp', packetId: 1, reasonCode: REASON.packetIdentifierNotFound }],
    ['3.9.2-1, 3.9.2-2', { type: 'suback', packetId: 1, reasonCodes: [REASON.notAuthorized] }],
    ['3.11.2-1, 3.11.2-2', { type: 'unsuback', packetId: 1, reasonCodes: [REASON.success] }],
    ['3.14.2-3, 3.14.2-4', { type: 'disconnect', reasonCode: REASON.quotaExceeded }],
    ['3.15.2-2, 3.15.2-3', { type: 'auth', reasonCode: REASON.success, authenticationMethod: 'm' }],
  ])('never exceeds the packet limit because of fields that only explain the result [%s]', (_, plain) => {
    const explained: ServerPacket = { ...plain, reasonString: 'why', userProperties: [['a', 'b'.repeat(20)]] }
    const [least, most] = [plain, explained].map(packet => encodePacket(packet, 5).length)
    expect(most).toBeGreaterThan(Number(least) + 25)
    for (let size = Number(least); size <= Number(most); size++)
      expect(encodePacket(explained, 5, size).length).toBeLessThanOrEqual(size)
    expect(encodePacket(explained, 5, least)).toEqual(encodePacket(plain, 5))
  })

  it('rejects a string that is too long for any packet', () => {
    const long = { type: 'disconnect', reasonCode: 0, reasonString: 'ä'.repeat(32_768) } as const
    expect(() => encodePacket(long, 5)).toThrow(expect.objectContaining({ code: 'argument' }))
  })
})

const allowed = (type: string, code: number): boolean => code === 0 || type === 'pubrel' || type === 'pubcomp'
