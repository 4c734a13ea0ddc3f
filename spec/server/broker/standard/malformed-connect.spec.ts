import { afterEach, describe, expect, it } from 'vitest'
import {
  type Bytes,
  binary,
  NOT_UTF8,
  PINGREQ,
  PROPERTY,
  packet,
  properties,
  text,
  uint16,
  variable,
} from '../../../support/packets.js'
import { TestClient } from '../../../support/test-client.js'
import { answerTo, cases, connect, type Row } from './answers.js'
import { brokerUnderTest, expectWell } from './broker-under-test.js'

const broker = brokerUnderTest()

const MALFORMED = ['connack 0x81'] as const
const PROTOCOL_ERROR = ['connack 0x82'] as const
const EITHER = ['connack 0x82', 'connack 0x81'] as const
const EITHER_81 = ['connack 0x81', 'connack 0x82'] as const

const WILL = 0x06
const will = (topic: Bytes, given = properties(), payload = binary([1])): Buffer =>
  Buffer.concat([given, topic, payload].map(part => Buffer.from(part)))

const CONNECT: readonly Row[] = [
  ['another packet first', '3.1.0-1', packet(0x30, text('t'), properties()), 'closed'],
  ['PINGREQ first', '3.1.0-1', packet(0xc0), 'closed'],
  ['AUTH first', '3.1.0-1', packet(0xf0), 'closed'],
  ['flags in the first byte', '2.1.3-1', Buffer.from([0x11, ...connect().subarray(1)]), 'connack 0x81', 'closed'],
  ['a length of five bytes', '1.5.5', Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff, 0x01]), 'connack 0x81', 'closed'],
  ['another protocol name', '3.1.2-1', connect({ name: 'MQTX' }), 'connack 0x84', 'closed'],
  ['a protocol name in lower case', '3.1.2-1', connect({ name: 'mqtt' }), 'connack 0x84', 'closed'],
  ['version 6', '3.1.2-2', connect({ version: 6, properties: properties() }), 'connack 0x84'],
  ['version 0', '3.1.2-2', connect({ version: 0, properties: properties() }), 'connack 0x01', 'connack 0x84', 'closed'],
  ['the reserved flag', '3.1.2-3', connect({ flags: 0x03 }), ...MALFORMED],
  ['a will QoS without a will', '3.1.2-11', connect({ flags: 0x0a }), ...EITHER_81],
  ['will retain without a will', '3.1.2-13', connect({ flags: 0x22 }), ...EITHER_81],
  ['a will of QoS 3', '3.1.2-12', connect({ flags: 0x1e, rest: will(text('t')) }), ...MALFORMED],
  ['a will flag without a will', '3.1.3', connect({ flags: WILL }), ...MALFORMED],
  [
    'a will without a payload length',
    '3.1.3',
    connect({ flags: WILL, rest: [...properties(), ...text('t')] }),
    ...MALFORMED,
  ],
  ['a user name flag without a user name', '3.1.2-17', connect({ flags: 0x82 }), ...MALFORMED],
  ['a password flag without a password', '3.1.2-19', connect({ flags: 0xc2, rest: text('u') }), ...MALFORMED],
  ['a user name without a user name flag', '3.1.2-16', connect({ rest: text('u') }), ...EITHER_81],
  ['bytes after the end', '3.1.3', connect({ rest: [0] }), ...EITHER_81],
  ['an end before the client id', '3.1.3-3', connect({ encodedClientId: [] }), ...EITHER_81],
  ['an end within the client id', '3.1.3-3', connect({ encodedClientId: uint16(9) }), ...MALFORMED],
  ['properties longer than the packet', '2.2.2.1', connect({ properties: variable(100) }), ...MALFORMED],
  [
    'properties whose length has five bytes',
    '1.5.5',
    connect({ properties: [0x80, 0x80, 0x80, 0x80, 0x00] }),
    ...MALFORMED,
  ],
  ['properties that end within a property', '2.2.2.2', connect({ properties: properties([0x11, 0, 0]) }), ...MALFORMED],
  ['a property that does not exist', '2.2.2.2', connect({ properties: properties([0x7f, 0]) }), ...EITHER_81],
  [
    'a property of another packet',
    '2.2.2.2',
    connect({ properties: properties(PROPERTY.topicAlias(1)) }),
    ...EITHER_81,
  ],
  [
    'two session expiry intervals',
    '3.1.2.11.2',
    connect({ properties: properties(PROPERTY.sessionExpiry(1), PROPERTY.sessionExpiry(1)) }),
    ...PROTOCOL_ERROR,
  ],
  [
    'a receive maximum of 0',
    '3.1.2.11.3',
    connect({ properties: properties(PROPERTY.receiveMaximum(0)) }),
    ...PROTOCOL_ERROR,
  ],
  [
    'two receive maxima',
    '3.1.2.11.3',
    connect({ properties: properties(PROPERTY.receiveMaximum(5), PROPERTY.receiveMaximum(5)) }),
    ...PROTOCOL_ERROR,
  ],
  [
    'a maximum packet size of 0',
    '3.1.2.11.4',
    connect({ properties: properties(PROPERTY.maximumPacketSize(0)) }),
    ...PROTOCOL_ERROR,
  ],
  [
    'two maximum packet sizes',
    '3.1.2.11.4',
    connect({ properties: properties(PROPERTY.maximumPacketSize(50), PROPERTY.maximumPacketSize(50)) }),
    ...PROTOCOL_ERROR,
  ],
  [
    'two topic alias maxima',
    '3.1.2.11.5',
    connect({ properties: properties([0x22, 0, 1], [0x22, 0, 1]) }),
    ...PROTOCOL_ERROR,
  ],
  [
    'response information 2',
    '3.1.2.11.6',
    connect({ properties: properties(PROPERTY.requestResponseInformation(2)) }),
    ...PROTOCOL_ERROR,
  ],
  [
    'problem information 2',
    '3.1.2.11.7',
    connect({ properties: properties(PROPERTY.requestProblemInformation(2)) }),
    ...PROTOCOL_ERROR,
  ],
  [
    'two authentication methods',
    '3.1.2.11.9',
    connect({ properties: properties(PROPERTY.authenticationMethod('m'), PROPERTY.authenticationMethod('m')) }),
    ...PROTOCOL_ERROR,
  ],
  [
    'authentication data without a method',
    '3.1.2.11.10',
    connect({ properties: properties(PROPERTY.authenticationData('1')) }),
    ...PROTOCOL_ERROR,
  ],
  [
    'an unknown authentication method',
    '4.12.0-1',
    connect({ properties: properties(PROPERTY.authenticationMethod('nobody knows')) }),
    'connack 0x8c',
  ],
  [
    'a user property without a value',
    '3.1.2.11.8',
    connect({ properties: properties([0x26, ...text('name')]) }),
    ...MALFORMED,
  ],
  [
    'a will topic with a wildcard',
    '4.7.0-1',
    connect({ flags: WILL, rest: will(text('a/#')) }),
    ...EITHER,
    'connack 0x90',
  ],
  ['an empty will topic', '4.7.3-1', connect({ flags: WILL, rest: will([0, 0]) }), ...EITHER, 'connack 0x90'],
  [
    'a will property of CONNECT',
    '3.1.3.2',
    connect({ flags: WILL, rest: will(text('t'), properties(PROPERTY.sessionExpiry(1))) }),
    ...EITHER_81,
  ],
  [
    'two will delays',
    '3.1.3.2.2',
    connect({ flags: WILL, rest: will(text('t'), properties(PROPERTY.willDelay(1), PROPERTY.willDelay(1))) }),
    ...PROTOCOL_ERROR,
  ],
  [
    'a will of payload format 2',
    '3.1.3.2.3',
    connect({ flags: WILL, rest: will(text('t'), properties(PROPERTY.payloadFormat(2))) }),
    ...EITHER,
  ],
  [
    'a will with two content types',
    '3.1.3.2.5',
    connect({ flags: WILL, rest: will(text('t'), properties(PROPERTY.contentType('a'), PROPERTY.contentType('a'))) }),
    ...PROTOCOL_ERROR,
  ],
  [
    'a will whose response topic has a wildcard',
    '3.3.2-14',
    connect({ flags: WILL, rest: will(text('t'), properties(PROPERTY.responseTopic('a/+'))) }),
    ...EITHER,
    'connack 0x90',
  ],
  ...Object.entries(NOT_UTF8).map(
    ([what, bytes]): Row => [
      `a client id with ${what}`,
      '3.1.3-4',
      connect({ encodedClientId: text(bytes) }),
      'connack 0x81',
      'connack 0x85',
    ],
  ),
  ...Object.entries(NOT_UTF8).map(
    ([what, bytes]): Row => [
      `a will topic with ${what}`,
      '3.1.3-11',
      connect({ flags: WILL, rest: will(text(bytes)) }),
      'connack 0x81',
      'connack 0x90',
    ],
  ),
  ['a user name that is not UTF-8', '1.5.4-1', connect({ flags: 0x82, rest: text([0xff]) }), ...MALFORMED],
]

describe('A malformed CONNECT (MQTT 5.0) [3.1.4-1, 3.1.4-6, 4.13.2-1]', () => {
  afterEach(() => expectWell(broker))

  it.each(cases(CONNECT))(
    'a malformed CONNECT is refused and ends the connection: %s [%s]',
    async (_, __, { bytes, answers }) => {
      const peer = TestClient.to(broker.url)
      peer.send(Buffer.concat([bytes, PINGREQ]))
      expect(answers).toContain(await answerTo(peer))
    },
  )
})

const CONNECT_311: readonly Row[] = [
  ['level 3 with the name of level 4', '3.1.2-2', connect({ version: 3 }), 'connack 0x01', 'closed'],
  ['the reserved flag', '3.1.2-3', connect({ version: 4, flags: 0x03 }), 'closed'],
  ['a will QoS without a will', '3.1.2-13', connect({ version: 4, flags: 0x0a }), 'closed'],
  ['a will of QoS 3', '3.1.2-14', connect({ version: 4, flags: 0x1e, rest: [...text('t'), ...binary([1])] }), 'closed'],
  ['a password without a user name', '3.1.2-22', connect({ version: 4, flags: 0x42, rest: text('p') }), 'closed'],
  [
    'no client id and no clean session',
    '3.1.3-8',
    connect({ version: 4, flags: 0, encodedClientId: [0, 0] }),
    'connack 0x02',
  ],
  [
    'a client id that is not UTF-8',
    '1.5.3-1',
    connect({ version: 4, encodedClientId: text([0xff]) }),
    'closed',
    'connack 0x02',
  ],
]

describe('An MQTT 3.1.1 client whose CONNECT has', () => {
  afterEach(() => expectWell(broker))

  it.each(cases(CONNECT_311))('%s is refused [%s]', async (_, __, { bytes, answers }) => {
    const peer = TestClient.to(broker.url, 4)
    peer.send(Buffer.concat([bytes, PINGREQ]))
    expect(answers).toContain(await answerTo(peer))
  })
})
