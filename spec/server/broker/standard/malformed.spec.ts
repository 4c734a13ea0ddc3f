import { afterEach, describe, expect, it } from 'vitest'
import {
  type Bytes,
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

const D_MALFORMED = ['disconnect 0x81'] as const
const D_PROTOCOL = ['disconnect 0x82'] as const
const D_EITHER = ['disconnect 0x82', 'disconnect 0x81'] as const
const D_EITHER_81 = ['disconnect 0x81', 'disconnect 0x82'] as const
const ID = uint16(1)
const publish = (topic: Bytes, given = properties(), header = 0x30): Buffer =>
  packet(header, topic, header & 6 ? ID : [], given)
const subscribe = (filter: Bytes, options = 0, given = properties()): Buffer =>
  packet(0x82, ID, given, filter, [options])

const FRAMES: readonly Row[] = [
  ['packet type 0', '2.1.2', packet(0x00), ...D_EITHER_81],
  ['a second CONNECT', '3.1.0-2', connect(), ...D_PROTOCOL],
  ['a CONNACK', '2.1.2', packet(0x20, [0, 0], properties()), ...D_EITHER],
  ['a SUBACK', '2.1.2', packet(0x90, ID, properties(), [0]), ...D_EITHER],
  ['an UNSUBACK', '2.1.2', packet(0xb0, ID, properties(), [0]), ...D_EITHER],
  ['a PINGRESP', '2.1.2', packet(0xd0), ...D_EITHER],
  ['a length of five bytes', '1.5.5', Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 0x01]), ...D_MALFORMED],
  ['PUBACK with flags', '2.1.3-1', packet(0x41, ID), ...D_MALFORMED],
  ['PUBREC with flags', '2.1.3-1', packet(0x52, ID), ...D_MALFORMED],
  ['PUBREL without its flag', '3.6.1-1', packet(0x60, ID), ...D_MALFORMED],
  ['PUBCOMP with flags', '2.1.3-1', packet(0x72, ID), ...D_MALFORMED],
  ['SUBSCRIBE without its flag', '3.8.1-1', packet(0x80, ID, properties(), text('t'), [0]), ...D_MALFORMED],
  ['UNSUBSCRIBE without its flag', '3.10.1-1', packet(0xa0, ID, properties(), text('t')), ...D_MALFORMED],
  ['PINGREQ with flags', '2.1.3-1', packet(0xc1), ...D_MALFORMED],
  ['PINGREQ with a body', '3.12', packet(0xc0, [0]), ...D_MALFORMED],
  ['DISCONNECT with flags', '3.14.1-1', packet(0xe1), ...D_MALFORMED],
  ['AUTH with flags', '3.15.1-1', packet(0xf1), ...D_MALFORMED],
]

const PUBLISH: readonly Row[] = [
  ['QoS 3', '3.3.1-4', publish(text('t'), properties(), 0x36), ...D_MALFORMED],
  ['DUP with QoS 0', '3.3.1-2', publish(text('t'), properties(), 0x38), ...D_EITHER_81],
  ['an empty packet', '3.3.2', packet(0x30), ...D_MALFORMED],
  ['an end within the topic', '3.3.2-1', packet(0x30, uint16(9), [0x61]), ...D_MALFORMED],
  ['an end before the packet id', '3.3.2', packet(0x32, text('t')), ...D_MALFORMED],
  ['an end before the properties', '3.3.2', packet(0x30, text('t')), ...D_MALFORMED],
  ['packet id 0', '2.2.1-4', packet(0x32, text('t'), uint16(0), properties()), ...D_EITHER],
  ['a topic with U+0000', '4.7.3-2', publish(text('a\0b')), ...D_MALFORMED, 'disconnect 0x90'],
  ['a topic with #', '3.3.2-2', publish(text('a/#')), ...D_EITHER, 'disconnect 0x90'],
  ['a topic with +', '3.3.2-2', publish(text('a/+/b')), ...D_EITHER, 'disconnect 0x90'],
  ['no topic and no alias', '3.3.2.3.4', publish([0, 0]), ...D_PROTOCOL],
  [
    'topic alias 0',
    '3.3.2-8',
    publish(text('t'), properties(PROPERTY.topicAlias(0))),
    'disconnect 0x94',
    ...D_PROTOCOL,
  ],
  [
    'a topic alias beyond the maximum',
    '3.3.2-9',
    publish(text('t'), properties(PROPERTY.topicAlias(65_535))),
    'disconnect 0x94',
  ],
  [
    'an alias without a topic',
    '3.3.2.3.4',
    publish([0, 0], properties(PROPERTY.topicAlias(1))),
    'disconnect 0x82',
    'disconnect 0x94',
  ],
  [
    'two aliases',
    '3.3.2.3.4',
    publish(text('t'), properties(PROPERTY.topicAlias(1), PROPERTY.topicAlias(2))),
    ...D_PROTOCOL,
  ],
  ['a subscription identifier', '3.3.4-6', publish(text('t'), properties(PROPERTY.subscriptionId(1))), ...D_EITHER],
  ['payload format 2', '3.3.2.3.2', publish(text('t'), properties(PROPERTY.payloadFormat(2))), ...D_EITHER],
  [
    'two payload formats',
    '2.2.2',
    publish(text('t'), properties(PROPERTY.payloadFormat(1), PROPERTY.payloadFormat(1))),
    ...D_PROTOCOL,
  ],
  [
    'two expiries',
    '2.2.2',
    publish(text('t'), properties(PROPERTY.messageExpiry(1), PROPERTY.messageExpiry(1))),
    ...D_PROTOCOL,
  ],
  [
    'two response topics',
    '3.3.2.3.5',
    publish(text('t'), properties(PROPERTY.responseTopic('a'), PROPERTY.responseTopic('a'))),
    ...D_PROTOCOL,
  ],
  [
    'a response topic with a wildcard',
    '3.3.2-14',
    publish(text('t'), properties(PROPERTY.responseTopic('#'))),
    ...D_EITHER,
    'disconnect 0x90',
  ],
  [
    'two correlation data',
    '3.3.2.3.6',
    publish(text('t'), properties(PROPERTY.correlationData('1'), PROPERTY.correlationData('1'))),
    ...D_PROTOCOL,
  ],
  [
    'two content types',
    '3.3.2.3.9',
    publish(text('t'), properties(PROPERTY.contentType('a'), PROPERTY.contentType('a'))),
    ...D_PROTOCOL,
  ],
  [
    'a content type that is not UTF-8',
    '3.3.2-19',
    publish(text('t'), properties([0x03, ...text([0xff])])),
    ...D_MALFORMED,
  ],
  [
    'a user property that is not UTF-8',
    '1.5.7-1',
    publish(text('t'), properties([0x26, ...text('a'), ...text([0xff])])),
    ...D_MALFORMED,
  ],
  ['a property that does not exist', '2.2.2.2', publish(text('t'), properties([0x7f, 0])), ...D_EITHER_81],
  ['a property of CONNECT', '2.2.2.2', publish(text('t'), properties(PROPERTY.sessionExpiry(1))), ...D_EITHER_81],
  ['properties longer than the packet', '2.2.2.1', packet(0x30, text('t'), variable(50)), ...D_MALFORMED],
  ...Object.entries(NOT_UTF8).map(
    ([what, bytes]): Row => [
      `a topic with ${what}`,
      '1.5.4-1',
      publish(text(bytes)),
      'disconnect 0x81',
      'disconnect 0x90',
    ],
  ),
]

const ACKNOWLEDGEMENTS: readonly Row[] = (['PUBACK', 'PUBREC', 'PUBREL', 'PUBCOMP'] as const).flatMap(
  (name, index): Row[] => {
    const header = 0x40 + 0x10 * index + (name === 'PUBREL' ? 2 : 0)
    return [
      [`${name} without a packet id`, '2.2.1', packet(header), ...D_MALFORMED],
      [`${name} with half a packet id`, '2.2.1', packet(header, [0]), ...D_MALFORMED],
      [`${name} with packet id 0`, '2.2.1', packet(header, uint16(0)), ...D_EITHER],
      [`${name} with an undefined reason code`, '3.4.2-1', packet(header, ID, [0x7f]), ...D_EITHER],
      [
        `${name} with a property that it does not have`,
        '2.2.2.2',
        packet(header, ID, [0], properties(PROPERTY.topicAlias(1))),
        ...D_EITHER_81,
      ],
      [
        `${name} with two reason strings`,
        '3.4.2.2.2',
        packet(header, ID, [0], properties(PROPERTY.reasonString('a'), PROPERTY.reasonString('a'))),
        ...D_PROTOCOL,
      ],
      [
        `${name} with properties longer than the packet`,
        '2.2.2.1',
        packet(header, ID, [0], variable(9)),
        ...D_MALFORMED,
      ],
    ]
  },
)

const FILTER = [...D_EITHER_81, 'suback 0x8f', 'disconnect 0x8f'] as const
const SUBSCRIBE: readonly Row[] = [
  ['no filter', '3.8.3-2', packet(0x82, ID, properties()), ...D_EITHER],
  ['packet id 0', '2.2.1-3', packet(0x82, uint16(0), properties(), text('t'), [0]), ...D_EITHER],
  ['QoS 3', '3.8.3-5', subscribe(text('t'), 3), ...D_EITHER],
  ['reserved options', '3.8.3-5', subscribe(text('t'), 0x40), ...D_EITHER_81],
  ['retain handling 3', '3.8.3.1', subscribe(text('t'), 0x30), ...D_EITHER],
  ['a filter with U+0000', '4.7.3-2', subscribe(text('a\0b')), ...D_MALFORMED, 'suback 0x8f'],
  ['a filter without options', '3.8.3-1', packet(0x82, ID, properties(), text('t')), ...D_EITHER_81],
  [
    'subscription identifier 0',
    '3.8.2.1.2',
    subscribe(text('t'), 0, properties(PROPERTY.subscriptionId(0))),
    ...D_PROTOCOL,
  ],
  [
    'two subscription identifiers',
    '3.8.2.1.2',
    subscribe(text('t'), 0, properties(PROPERTY.subscriptionId(1), PROPERTY.subscriptionId(2))),
    ...D_PROTOCOL,
  ],
  [
    'a property that SUBSCRIBE does not have',
    '2.2.2.2',
    subscribe(text('t'), 0, properties(PROPERTY.topicAlias(1))),
    ...D_EITHER_81,
  ],
  ['a shared filter with no local', '3.8.3-4', subscribe(text('$share/g/t'), 4), ...D_PROTOCOL],
  ['an empty filter', '4.7.3-1', subscribe([0, 0]), ...FILTER],
  ['# before the end', '4.7.1-1', subscribe(text('a/#/b')), ...FILTER],
  ['# that does not fill its level', '4.7.1-1', subscribe(text('a#')), ...FILTER],
  ['+ that does not fill its level', '4.7.1-2', subscribe(text('a/b+')), ...FILTER],
  ['a group without a name', '4.8.2-1', subscribe(text('$share//t')), ...FILTER],
  ['a group without a filter', '4.8.2-2', subscribe(text('$share/g')), ...FILTER],
  ['a group with an empty filter', '4.8.2-2', subscribe(text('$share/g/')), ...FILTER],
  ['a group named +', '4.8.2-2', subscribe(text('$share/+/t')), ...FILTER],
  ['a group with # in its name', '4.8.2-2', subscribe(text('$share/g#/t')), ...FILTER],
  ...Object.entries(NOT_UTF8).map(
    ([what, bytes]): Row => [
      `a filter with ${what}`,
      '1.5.4-1',
      subscribe(text(bytes)),
      'disconnect 0x81',
      'disconnect 0x8f',
      'suback 0x8f',
    ],
  ),
]

const UNSUBSCRIBE: readonly Row[] = [
  ['no filter', '3.10.3-2', packet(0xa2, ID, properties()), ...D_EITHER],
  ['packet id 0', '2.2.1-3', packet(0xa2, uint16(0), properties(), text('t')), ...D_EITHER],
  ['an end within the filter', '3.10.3-1', packet(0xa2, ID, properties(), uint16(9)), ...D_MALFORMED],
  [
    'a subscription identifier',
    '2.2.2.2',
    packet(0xa2, ID, properties(PROPERTY.subscriptionId(1)), text('t')),
    ...D_EITHER_81,
  ],
  [
    'an invalid filter',
    '4.7.1-1',
    packet(0xa2, ID, properties(), text('a/#/b')),
    ...D_EITHER_81,
    'unsuback 0x8f',
    'unsuback 0x11',
    'disconnect 0x8f',
  ],
  [
    'a filter that is not UTF-8',
    '3.10.3-1',
    packet(0xa2, ID, properties(), text([0xff])),
    'disconnect 0x81',
    'disconnect 0x8f',
    'unsuback 0x8f',
  ],
]

const LAST: readonly Row[] = [
  ['DISCONNECT with a reason code that only servers send', '3.14.2-1', packet(0xe0, [0x8b]), ...D_EITHER],
  ['DISCONNECT with an undefined reason code', '3.14.2-1', packet(0xe0, [0x03]), ...D_EITHER],
  [
    'DISCONNECT that sets a session expiry interval if CONNECT set none',
    '3.14.2.2.2',
    packet(0xe0, [0], properties(PROPERTY.sessionExpiry(9))),
    ...D_PROTOCOL,
  ],
  [
    'DISCONNECT with two session expiry intervals',
    '3.14.2.2.2',
    packet(0xe0, [0], properties(PROPERTY.sessionExpiry(0), PROPERTY.sessionExpiry(0))),
    ...D_PROTOCOL,
  ],
  [
    'DISCONNECT with a server reference',
    '3.14.2.2.5',
    packet(0xe0, [0], properties(PROPERTY.serverReference('a'))),
    ...D_EITHER,
  ],
  ['DISCONNECT with properties longer than the packet', '2.2.2.1', packet(0xe0, [0], variable(9)), ...D_MALFORMED],
  ['AUTH without a method', '4.12.0-1', packet(0xf0, [0x18], properties()), ...D_EITHER],
  [
    'an unsolicited AUTH',
    '4.12.1-1',
    packet(0xf0, [0x19], properties(PROPERTY.authenticationMethod('m'))),
    ...D_EITHER,
    'disconnect 0x8c',
  ],
  [
    'AUTH with an undefined reason code',
    '3.15.2-1',
    packet(0xf0, [0x01], properties(PROPERTY.authenticationMethod('m'))),
    ...D_EITHER,
  ],
]

describe.each([
  ['packet', FRAMES],
  ['PUBLISH', PUBLISH],
  ['acknowledgement', ACKNOWLEDGEMENTS],
  ['SUBSCRIBE', SUBSCRIBE],
  ['UNSUBSCRIBE', UNSUBSCRIBE],
  ['last packet', LAST],
] as const)('A malformed %s (MQTT 5.0) [4.13.1-1]', (_, rows) => {
  afterEach(() => expectWell(broker))

  it.each(cases(rows))(
    'a malformed packet gets a response that the specification permits: %s [%s]',
    async (_, __, { bytes, answers }) => {
      const peer = await TestClient.connect(broker.url, broker.name('wrong'))
      peer.send(Buffer.concat([bytes, PINGREQ]))
      expect(answers).toContain(await answerTo(peer))
    },
  )
})

/** A server cannot send DISCONNECT in MQTT 3.1.1. */
const OTHERS_311: readonly Row[] = [
  ['a second CONNECT', '3.1.0-2', connect({ version: 4 }), 'closed'],
  ['AUTH, which MQTT 3.1.1 does not define', '2.2.1', packet(0xf0), 'closed'],
  ['QoS 3', '3.3.1-4', packet(0x36, text('t'), ID), 'closed'],
  ['a topic with a wildcard', '3.3.2-2', packet(0x30, text('a/#')), 'closed'],
  ['an empty topic', '4.7.3-1', packet(0x30, [0, 0]), 'closed'],
  ['packet id 0', '2.3.1-1', packet(0x32, text('t'), uint16(0)), 'closed'],
  ['SUBSCRIBE without a filter', '3.8.3-3', packet(0x82, ID), 'closed'],
  ['SUBSCRIBE with options of MQTT 5', '3-8.3-4', packet(0x82, ID, text('t'), [0x04]), 'closed'],
  ['SUBSCRIBE without its flag', '3.8.1-1', packet(0x80, ID, text('t'), [0]), 'closed'],
  ['UNSUBSCRIBE without a filter', '3.10.3-2', packet(0xa2, ID), 'closed'],
  ['DISCONNECT with a reason code', '3.14', packet(0xe0, [0]), 'closed'],
]

describe('An MQTT 3.1.1 client that sends', () => {
  afterEach(() => expectWell(broker))

  it.each(cases(OTHERS_311))('%s is disconnected [%s]', async (_, __, { bytes, answers }) => {
    const peer = await TestClient.connect(broker.url, broker.name('old'), { protocolVersion: 4 })
    peer.send(Buffer.concat([bytes, PINGREQ]))
    expect(answers).toContain(await answerTo(peer))
  })
})
