import { PROPERTY, packet, properties, publish, subscribe, text, uint16, unsubscribe } from '../../harness/packets.js'
import type { Row } from '../scene/row.js'
import { login } from '../scene/states.js'
import { frameRow, loginRow, type Sizes } from './frame-rows.js'

const MAX_TEXT = 65_535
const MAX_PAYLOAD = 16 * 1024 * 1024 - 1_024
const KIB = 1024

const TEXTS: Sizes<string> = [1, KIB, MAX_TEXT].map(
  size => [`${size.toLocaleString('en')} bytes`, 'x'.repeat(size)] as const,
)
const LEVELS: Sizes<string> = [10, 99, MAX_TEXT].map(
  count => [`${count.toLocaleString('en')} levels`, '/'.repeat(count)] as const,
)
const PAYLOADS: Sizes<Buffer> = [0, 4 * KIB, 256 * KIB, MAX_PAYLOAD].map(
  size => [`${size.toLocaleString('en')} bytes`, Buffer.alloc(size)] as const,
)
const USER_PROPERTIES: Sizes<Buffer> = [
  ...[1, 100, 1_000, 50_000].map(
    count =>
      [
        `${count.toLocaleString('en')} of one name`,
        Buffer.concat(Array.from({ length: count }, () => PROPERTY.user('a', ''))),
      ] as const,
  ),
  ['1,000 names', Buffer.concat(Array.from({ length: 1_000 }, (_, n) => PROPERTY.user(`name-${n}`, '')))],
  ['one of 128 KiB', PROPERTY.user('a'.repeat(MAX_TEXT), 'b'.repeat(MAX_TEXT))],
]
const FILTERS: Sizes<readonly string[]> = [1, 100, 1_000, 20_000].map(
  count => [count.toLocaleString('en'), Array.from({ length: count }, (_, n) => `t/${n}/+/x`)] as const,
)

const rowsOf = <T>(field: string, sizes: Sizes<T>, row: (name: string, value: T) => Row): readonly Row[] =>
  sizes.map(([label, value]) => row(`${field}: ${label}`, value))

const publishRows = ([0, 1, 2] as const).flatMap(qos => {
  const kind = `PUBLISH of QoS ${qos}`
  return [
    ...rowsOf(`${kind}, topic`, [...TEXTS, ...LEVELS], (name, topic) =>
      frameRow(name, id => publish(topic, 'x', { qos, id })),
    ),
    ...rowsOf(`${kind}, payload`, PAYLOADS, (name, payload) =>
      frameRow(name, id => publish('t', payload, { qos, id })),
    ),
    ...rowsOf(`${kind}, user properties`, USER_PROPERTIES, (name, own) =>
      frameRow(name, id => publish('t', 'x', { qos, id, properties: properties(own) })),
    ),
  ]
})

const propertyRows = (['contentType', 'responseTopic', 'correlationData'] as const).flatMap(property =>
  rowsOf(`PUBLISH, ${property}`, TEXTS, (name, value) =>
    frameRow(name, id => publish('t', 'x', { qos: 1, id, properties: properties(PROPERTY[property](value)) })),
  ),
)

const retainedRows = [
  ...rowsOf('PUBLISH, retained, payload', PAYLOADS, (name, payload) =>
    frameRow(name, id => publish(`kept/${id}`, payload, { retain: true })),
  ),
  ...rowsOf('PUBLISH, retained, topic', [...TEXTS, ...LEVELS], (name, topic) =>
    frameRow(name, id => publish(`${id}${topic}`.slice(0, MAX_TEXT), 'x', { retain: true })),
  ),
]

const subscribeRows = [
  ...rowsOf('SUBSCRIBE, filters', FILTERS, (name, filters) => frameRow(name, id => subscribe(filters, id, 1))),
  ...rowsOf('SUBSCRIBE, shared filters', FILTERS, (name, filters) =>
    frameRow(name, id =>
      subscribe(
        filters.map(filter => `$share/g/${filter}`),
        id,
        1,
      ),
    ),
  ),
  ...rowsOf('SUBSCRIBE, filter', [...TEXTS, ...LEVELS], (name, filter) =>
    frameRow(name, id => subscribe([filter], id)),
  ),
  ...rowsOf('SUBSCRIBE, user properties', USER_PROPERTIES, (name, own) =>
    frameRow(name, id => packet(0x82, uint16(id), properties(own), text('t'), Buffer.of(0))),
  ),
  ...rowsOf('UNSUBSCRIBE, filters', FILTERS, (name, filters) => frameRow(name, id => unsubscribe(filters, id))),
  ...rowsOf('UNSUBSCRIBE, filter', [...TEXTS, ...LEVELS], (name, filter) =>
    frameRow(name, id => unsubscribe([filter], id)),
  ),
  ...rowsOf('UNSUBSCRIBE, user properties', USER_PROPERTIES, (name, own) =>
    frameRow(name, id => packet(0xa2, uint16(id), properties(own), text('t'))),
  ),
]

const ACKNOWLEDGEMENTS = { PUBACK: 0x40, PUBREC: 0x50, PUBREL: 0x62, PUBCOMP: 0x70 } as const
const acknowledgementRows = Object.entries(ACKNOWLEDGEMENTS).flatMap(([kind, header]) => [
  ...rowsOf(`${kind}, reason string`, TEXTS, (name, reason) =>
    frameRow(name, id => packet(header, uint16(id), [0x10], properties(PROPERTY.reasonString(reason)))),
  ),
  ...rowsOf(`${kind}, user properties`, USER_PROPERTIES, (name, own) =>
    frameRow(name, id => packet(header, uint16(id), [0x10], properties(own))),
  ),
])

const otherRows = [
  frameRow('PINGREQ', () => packet(0xc0)),
  ...rowsOf('DISCONNECT, reason string', TEXTS, (name, reason) =>
    frameRow(name, () => packet(0xe0, [0], properties(PROPERTY.reasonString(reason)))),
  ),
  ...rowsOf('DISCONNECT, user properties', USER_PROPERTIES, (name, own) =>
    frameRow(name, () => packet(0xe0, [0], properties(own))),
  ),
  ...rowsOf('AUTH, data', TEXTS, (name, data) =>
    frameRow(name, () =>
      packet(0xf0, [0x19], properties(PROPERTY.authenticationMethod('x'), PROPERTY.authenticationData(data))),
    ),
  ),
]

const connectRows = [
  ...rowsOf('CONNECT, client id', TEXTS, (name, id) => loginRow(name, n => login(`${n}${id}`.slice(0, MAX_TEXT)))),
  ...rowsOf('CONNECT, user name', TEXTS, (name, username) => loginRow(name, n => login(`c${n}`, { username }))),
  ...rowsOf('CONNECT, password', TEXTS, (name, password) => loginRow(name, n => login(`c${n}`, { password }))),
  ...rowsOf('CONNECT, user properties', USER_PROPERTIES, (name, own) =>
    loginRow(name, n => login(`c${n}`, { properties: properties(own) })),
  ),
  ...rowsOf('CONNECT, authentication data', TEXTS, (name, data) =>
    loginRow(name, n =>
      login(`c${n}`, {
        properties: properties(PROPERTY.authenticationMethod('x'), PROPERTY.authenticationData(data)),
      }),
    ),
  ),
  ...rowsOf('CONNECT, will topic', [...TEXTS, ...LEVELS], (name, topic) =>
    loginRow(name, n => login(`c${n}`, { will: { topic, payload: Buffer.of(1) } })),
  ),
  ...rowsOf('CONNECT, will payload', TEXTS, (name, payload) =>
    loginRow(name, n => login(`c${n}`, { will: { topic: 't', payload: Buffer.from(payload) } })),
  ),
  ...rowsOf('CONNECT, will user properties', USER_PROPERTIES, (name, own) =>
    loginRow(name, n => login(`c${n}`, { will: { topic: 't', payload: Buffer.of(1), properties: properties(own) } })),
  ),
]

/** Every packet of MQTT 5 that a client sends, with each field at its smallest, a middle and its greatest size. */
export const MQTT5_ROWS: readonly Row[] = [
  ...publishRows,
  ...propertyRows,
  ...retainedRows,
  ...subscribeRows,
  ...acknowledgementRows,
  ...otherRows,
  ...connectRows,
].map(row => ({ ...row, name: `MQTT 5 ${row.name}` }))
