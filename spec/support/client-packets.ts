import type { ClientPacket, Connect, UserProperties, Version, Will } from '../../src/core/mqtt5/packets.js'
import { type Bytes, binary, PINGREQ, PROPERTY, packet, properties, text, uint16 } from './packets.js'

/** Encodes a complete client packet, as `decodePacket` reads it. */
export function encodeClientPacket(of: ClientPacket, version: Version): Buffer {
  const own = version === 5 ? propertiesOf(of) : []
  switch (of.type) {
    case 'connect':
      return connect(of, own)
    case 'subscribe': {
      const filters = of.subscriptions.flatMap(({ filter, qos, noLocal, retainAsPublished, retainHandling }) => [
        text(filter),
        [qos | (Number(noLocal) << 2) | (Number(retainAsPublished) << 3) | (retainHandling << 4)],
      ])
      return packet(0x82, uint16(of.packetId), own, ...filters)
    }
    case 'unsubscribe':
      return packet(0xa2, uint16(of.packetId), own, ...of.filters.map(text))
    case 'disconnect':
    case 'auth':
      return packet(of.type === 'auth' ? 0xf0 : 0xe0, version === 5 ? [of.reasonCode] : [], own)
    case 'puback':
    case 'pubrec':
    case 'pubrel':
    case 'pubcomp': {
      const header = { puback: 0x40, pubrec: 0x50, pubrel: 0x62, pubcomp: 0x70 }[of.type]
      return packet(header, uint16(of.packetId), version === 5 ? [of.reasonCode] : [], own)
    }
    default:
      return PINGREQ
  }
}

function connect(of: Connect, own: Bytes): Buffer {
  const { version, will, username, password, cleanStart } = of
  const ofWill = will === undefined ? 0 : 0b100 | (will.qos << 3) | (Number(will.retain) << 5)
  const ofUser = (Number(password !== undefined) << 6) | (Number(username !== undefined) << 7)
  const flags = (Number(cleanStart) << 1) | ofWill | ofUser
  const willProperties = will && version === 5 ? propertiesOf(will) : []
  return packet(
    0x10,
    ...[text('MQTT'), [version, flags], uint16(of.keepAlive), own, text(of.clientId), willProperties],
    ...(will ? [text(will.topic), binary(will.payload)] : []),
    ...(username === undefined ? [] : [text(username)]),
    ...(password === undefined ? [] : [binary(password)]),
  )
}

/** The encoder of each field that is a property. */
const WRITTEN: Readonly<Record<string, (value: never) => Bytes>> = {
  sessionExpiry: PROPERTY.sessionExpiry,
  receiveMaximum: PROPERTY.receiveMaximum,
  maximumPacketSize: PROPERTY.maximumPacketSize,
  topicAliasMaximum: PROPERTY.topicAliasMaximum,
  requestResponseInformation: (value: boolean) => PROPERTY.requestResponseInformation(Number(value)),
  requestProblemInformation: (value: boolean) => PROPERTY.requestProblemInformation(Number(value)),
  authenticationMethod: PROPERTY.authenticationMethod,
  authenticationData: PROPERTY.authenticationData,
  subscriptionId: PROPERTY.subscriptionId,
  reasonString: PROPERTY.reasonString,
  delay: PROPERTY.willDelay,
  messageExpiry: PROPERTY.messageExpiry,
  responseTopic: PROPERTY.responseTopic,
  correlationData: PROPERTY.correlationData,
  userProperties: (pairs: UserProperties | Will['userProperties']) =>
    Buffer.concat(pairsOf(pairs).map(([name, value]) => PROPERTY.user(name, value))),
}

const pairsOf = (given: UserProperties | Will['userProperties']): UserProperties =>
  isList(given)
    ? given
    : Object.entries(given).flatMap(([name, value]) => [value].flat().map(one => [name, one] as const))

const isList = (given: UserProperties | Will['userProperties']): given is UserProperties => Array.isArray(given)

const propertiesOf = (of: ClientPacket | Will): Bytes =>
  properties(
    ...Object.entries(of).flatMap(([field, value]): Bytes[] => {
      const write = WRITTEN[field]
      return write === undefined || value === undefined ? [] : [Reflect.apply(write, undefined, [value])]
    }),
  )
