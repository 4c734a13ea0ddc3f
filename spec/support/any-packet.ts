import fc from 'fast-check'
import type { ClientPacket, Connect, Version, Will } from '../../src/core/mqtt5/packets.js'
import { CLIENT_REASONS } from '../../src/core/mqtt5/reason-codes.js'
import { PLAIN_CONNECT } from './plain-connect.js'

export const anyText = fc.string({ unit: 'grapheme', maxLength: 20 }).filter(text => !text.includes('\0'))
export const anyTopic = anyText.filter(text => text !== '' && !/[#+]/.test(text))
export const anyId = fc.integer({ min: 1, max: 65_535 })
const anyBytes = fc.uint8Array({ maxLength: 40 })
const anyUint32 = fc.integer({ min: 0, max: 0xffff_ffff })
const anyPairs = fc.array(fc.tuple(anyText, anyText), { maxLength: 4 })
const anyQos = fc.constantFrom<0 | 1 | 2>(0, 1, 2)
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined })

const anyWill: fc.Arbitrary<Will> = fc.record({
  topic: anyTopic,
  payload: anyBytes,
  qos: anyQos,
  retain: fc.boolean(),
  delay: anyUint32,
  messageExpiry: optional(anyUint32),
  responseTopic: optional(anyTopic),
  correlationData: optional(anyBytes),
  userProperties: fc.dictionary(anyText, fc.oneof(anyText, fc.array(anyText, { minLength: 2, maxLength: 3 })), {
    maxKeys: 3,
  }),
  carried: fc.constant(new Uint8Array(0)),
})

const connect5: fc.Arbitrary<Connect> = fc
  .record({
    type: fc.constant('connect' as const),
    version: fc.constant(5 as const),
    cleanStart: fc.boolean(),
    keepAlive: fc.integer({ min: 0, max: 65_535 }),
    clientId: anyText,
    username: optional(anyText),
    password: optional(anyBytes),
    will: optional(anyWill),
    sessionExpiry: anyUint32,
    receiveMaximum: anyId,
    maximumPacketSize: optional(fc.integer({ min: 1, max: 0xffff_ffff })),
    topicAliasMaximum: fc.integer({ min: 0, max: 65_535 }),
    requestResponseInformation: fc.boolean(),
    requestProblemInformation: fc.boolean(),
    authenticationMethod: optional(anyText),
    authenticationData: optional(anyBytes),
    userProperties: anyPairs,
  })
  .filter(packet => packet.authenticationData === undefined || packet.authenticationMethod !== undefined)

/** Removes the fields of CONNECT that MQTT 3.1.1 cannot express. */
const connect4: fc.Arbitrary<Connect> = connect5.map(
  ({ cleanStart, keepAlive, clientId, username, password, will }) => ({
    ...PLAIN_CONNECT,
    version: 4,
    cleanStart,
    keepAlive,
    clientId: clientId || 'a',
    username,
    password: username === undefined ? undefined : password,
    will: will && {
      ...will,
      delay: 0,
      messageExpiry: undefined,
      responseTopic: undefined,
      correlationData: undefined,
      userProperties: {},
    },
    sessionExpiry: cleanStart ? 0 : 0xffff_ffff,
  }),
)

const plain = <T>(version: Version, value: fc.Arbitrary<T>, otherwise: T): fc.Arbitrary<T> =>
  version === 5 ? value : fc.constant(otherwise)

const acknowledgementOf = (version: Version, type: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp') =>
  fc.record({
    type: fc.constant(type),
    packetId: anyId,
    reasonCode: plain(version, fc.constantFrom(...CLIENT_REASONS[type]), 0),
    reasonString: plain(version, optional(anyText), undefined),
    userProperties: plain(
      version,
      optional(fc.array(fc.tuple(anyText, anyText), { minLength: 1, maxLength: 3 })),
      undefined,
    ),
  })

/** Generates any client packet except PUBLISH, in decoded form with the defaults of absent fields. */
export const anyClientPacket = (version: Version): fc.Arbitrary<ClientPacket> =>
  fc.oneof(
    version === 5 ? connect5 : connect4,
    acknowledgementOf(version, 'puback'),
    acknowledgementOf(version, 'pubrec'),
    acknowledgementOf(version, 'pubrel'),
    acknowledgementOf(version, 'pubcomp'),
    fc.record({
      type: fc.constant('subscribe' as const),
      packetId: anyId,
      subscriptionId: plain(version, optional(fc.integer({ min: 1, max: 0xfff_ffff })), undefined),
      userProperties: plain(version, anyPairs, []),
      subscriptions: fc.array(
        fc.record({
          filter: anyText.filter(text => !text.startsWith('$share/')),
          qos: anyQos,
          noLocal: plain(version, fc.boolean(), false),
          retainAsPublished: plain(version, fc.boolean(), false),
          retainHandling: plain(version, fc.constantFrom<0 | 1 | 2>(0, 1, 2), 0),
        }),
        { minLength: 1, maxLength: 5 },
      ),
    }),
    fc.record({
      type: fc.constant('unsubscribe' as const),
      packetId: anyId,
      userProperties: plain(version, anyPairs, []),
      filters: fc.array(anyText, { minLength: 1, maxLength: 5 }),
    }),
    fc.constant({ type: 'pingreq' as const }),
    fc.record({
      type: fc.constant('disconnect' as const),
      reasonCode: plain(version, fc.constantFrom(...CLIENT_REASONS.disconnect), 0),
      sessionExpiry: plain(version, optional(anyUint32), undefined),
      reasonString: plain(version, optional(anyText), undefined),
      userProperties: plain(version, optional(fc.array(fc.tuple(anyText, anyText), { minLength: 1 })), undefined),
    }),
    ...(version === 4
      ? []
      : [
          fc.record({
            type: fc.constant('auth' as const),
            reasonCode: fc.constantFrom(...CLIENT_REASONS.auth),
            authenticationMethod: anyText,
            authenticationData: optional(anyBytes),
            reasonString: optional(anyText),
            userProperties: optional(fc.array(fc.tuple(anyText, anyText), { minLength: 1 })),
          }),
        ]),
  )
