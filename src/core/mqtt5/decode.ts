import { checkedContentStart, contentStart, FIXED_FLAGS, MqttReader } from './data-types.js'
import { malformed, PacketError, protocolError } from './packet-error.js'
import * as PACKET from './packet-types.js'
import type {
  Acknowledgement,
  Auth,
  ClientPacket,
  Connect,
  Disconnect,
  Qos,
  Subscribe,
  SubscriptionOptions,
  SubscriptionRequest,
  Unsubscribe,
  Version,
  Will,
} from './packets.js'
import { ForwardedProperties, namedUserProperties } from './properties.js'
import { NO_PAIRS, readProperties } from './property-table.js'
import * as REASON from './reason-codes.js'
import { checkTopicName, SHARE_PREFIX } from './topic.js'

/**
 * Decodes a client's packet of any type but PUBLISH, as strictly as the standard requires. Byte strings are views of
 * the frame. The syntax of topic filters is checked by the broker, which responds to each filter; see `isTopicFilter`.
 *
 * @param frame - one whole packet, as cut by `FrameCutter`
 * @param version - version of the connection; ignored for a CONNECT, which contains its own version
 * @param maxUserProperties - maximum number per packet; default 1,000
 * @throws PacketError with the reason code for the client
 * @example
 * ```ts
 * const packet = decodePacket(frame, 5)
 * if (packet.type === 'subscribe')
 *   answer(packet.packetId, packet.subscriptions)
 * ```
 */
export function decodePacket(frame: Uint8Array, version: Version, maxUserProperties?: number): ClientPacket {
  const reader = new MqttReader(frame, contentStart(frame))
  if (maxUserProperties !== undefined) reader.maxUserProperties = maxUserProperties
  const packet = decode(reader, frame[0] ?? 0, version)
  checkedContentStart(frame, packet.type === 'connect' ? packet.version : version)
  if (reader.remaining > 0) throw malformed('The packet has trailing bytes')
  return packet
}

function decode(reader: MqttReader, first: number, version: Version): ClientPacket {
  const type = first >> 4
  checkFlags(type, first & 0b1111)
  switch (type) {
    case PACKET.connect:
      return decodeConnect(reader)
    case PACKET.puback:
      return decodeAcknowledgement(reader, 'puback', version)
    case PACKET.pubrec:
      return decodeAcknowledgement(reader, 'pubrec', version)
    case PACKET.pubrel:
      return decodeAcknowledgement(reader, 'pubrel', version)
    case PACKET.pubcomp:
      return decodeAcknowledgement(reader, 'pubcomp', version)
    case PACKET.subscribe:
      return decodeSubscribe(reader, version)
    case PACKET.unsubscribe:
      return decodeUnsubscribe(reader, version)
    case PACKET.pingreq:
      return { type: 'pingreq' }
    case PACKET.disconnect:
      return decodeDisconnect(reader, version)
    case PACKET.auth:
      if (version === 5) return decodeAuth(reader)
      break
    case PACKET.connack:
    case PACKET.publish:
    case PACKET.suback:
    case PACKET.unsuback:
    case PACKET.pingresp:
      throw protocolError(`A client must not send packet type ${type}, or not in this state`)
  }
  throw malformed(`The packet type ${type} is reserved`)
}

/** Checks the fixed header flags (MQTT 5.0, section 2.1.3), which are variable for PUBLISH. */
function checkFlags(type: number, flags: number): void {
  const fixed = type === PACKET.pubrel || type === PACKET.subscribe || type === PACKET.unsubscribe ? FIXED_FLAGS : 0
  if (flags !== fixed && type !== PACKET.publish) throw malformed(`Flags ${flags} are reserved for packet type ${type}`)
}

/** Connect flags (MQTT 5.0, section 3.1.2.3). */
const CONNECT_FLAG = {
  reserved: 0b0000_0001,
  cleanStart: 0b0000_0010,
  will: 0b0000_0100,
  willQos: 0b0001_1000,
  willRetain: 0b0010_0000,
  password: 0b0100_0000,
  username: 0b1000_0000,
} as const

/** Session expiry of a persistent session of MQTT 3.1.1, which never expires, s. */
const NEVER_EXPIRES = 0xffff_ffff
const MAX_UINT16 = 0xffff

/** Decodes CONNECT (MQTT 5.0, section 3.1; MQTT 3.1.1, section 3.1). */
function decodeConnect(reader: MqttReader): Connect {
  const version = readVersion(reader)
  const flags = readFlags(reader, version)
  const cleanStart = (flags & CONNECT_FLAG.cleanStart) !== 0
  const keepAlive = reader.uint16()
  const properties = readProperties(reader, version, 'connect')
  if (properties.authenticationData !== undefined && properties.authenticationMethod === undefined)
    throw protocolError('Authentication data requires an authentication method')
  const clientId = reader.text()
  // Required by MQTT 3.1.1, section 3.1.3.1.
  if (version === 4 && clientId === '' && !cleanStart)
    throw new PacketError(REASON.clientIdentifierNotValid, 'A persistent session requires a client identifier')
  const will = (flags & CONNECT_FLAG.will) === 0 ? undefined : readWill(reader, version, flags)
  return {
    type: 'connect',
    version,
    cleanStart,
    keepAlive,
    clientId,
    will,
    username: (flags & CONNECT_FLAG.username) === 0 ? undefined : reader.text(),
    password: (flags & CONNECT_FLAG.password) === 0 ? undefined : reader.binary(),
    sessionExpiry: properties.sessionExpiry ?? (version === 4 && !cleanStart ? NEVER_EXPIRES : 0),
    receiveMaximum: properties.receiveMaximum ?? MAX_UINT16,
    maximumPacketSize: properties.maximumPacketSize,
    topicAliasMaximum: properties.topicAliasMaximum ?? 0,
    requestResponseInformation: properties.requestResponseInformation ?? false,
    requestProblemInformation: properties.requestProblemInformation ?? true,
    authenticationMethod: properties.authenticationMethod,
    authenticationData: properties.authenticationData,
    userProperties: properties.userProperties ?? NO_PAIRS,
  }
}

/** Reads the protocol name and level. MQTT 3.1 has the name `MQIsdp` and level 3. */
function readVersion(reader: MqttReader): Version {
  const name = reader.text()
  const level = reader.byte()
  if (name === 'MQTT' && (level === 4 || level === 5)) return level
  throw new PacketError(
    REASON.unsupportedProtocolVersion,
    `The protocol is ${JSON.stringify(name.slice(0, 10))} level ${level}, not MQTT 3.1.1 or 5`,
  )
}

function readFlags(reader: MqttReader, version: Version): number {
  const flags = reader.byte()
  if ((flags & CONNECT_FLAG.reserved) !== 0) throw malformed('The reserved flag of CONNECT is set')
  if ((flags & CONNECT_FLAG.willQos) === CONNECT_FLAG.willQos) throw malformed('The QoS of the will is 3')
  const ofWill = flags & (CONNECT_FLAG.willQos | CONNECT_FLAG.willRetain)
  if ((flags & CONNECT_FLAG.will) === 0 && ofWill !== 0) throw malformed('Will flags are set without a will')
  // Required by MQTT 3.1.1, section 3.1.2.9.
  if (version === 4 && (flags & (CONNECT_FLAG.username | CONNECT_FLAG.password)) === CONNECT_FLAG.password)
    throw malformed('A password requires a user name')
  return flags
}

function willQosOf(flags: number): Qos {
  const qos = (flags & CONNECT_FLAG.willQos) >> 3
  return qos === 0 ? 0 : qos === 1 ? 1 : 2
}

function readWill(reader: MqttReader, version: Version, flags: number): Will {
  const carried = new ForwardedProperties()
  const properties = readProperties(reader, version, 'will', carried)
  const end = reader.at
  const topic = reader.text()
  checkTopicName(topic)
  const { responseTopic, userProperties = NO_PAIRS } = properties
  if (responseTopic !== undefined) checkTopicName(responseTopic)
  return {
    topic,
    payload: reader.binary(),
    qos: willQosOf(flags),
    retain: (flags & CONNECT_FLAG.willRetain) !== 0,
    delay: properties.willDelay ?? 0,
    messageExpiry: properties.messageExpiry,
    responseTopic,
    correlationData: properties.correlationData,
    userProperties: namedUserProperties(userProperties),
    carried: carried.of(reader.bytes, end),
  }
}

/** Maximum number of filters per packet, because each filter costs far more time than its bytes suggest. */
const MAX_FILTERS = 10_000

/** Decodes SUBSCRIBE (MQTT 5.0, section 3.8). */
function decodeSubscribe(reader: MqttReader, version: Version): Subscribe {
  const packetId = readPacketId(reader)
  const { subscriptionId, userProperties = NO_PAIRS } = readProperties(reader, version, 'subscribe')
  const subscriptions: SubscriptionRequest[] = []
  while (reader.remaining > 0) {
    checkFilterCount(subscriptions.length)
    subscriptions.push(readSubscription(reader, version))
  }
  if (subscriptions.length === 0) throw protocolError('SUBSCRIBE has no topic filter')
  return { type: 'subscribe', packetId, subscriptionId, userProperties, subscriptions }
}

/** Decodes UNSUBSCRIBE (MQTT 5.0, section 3.10). */
function decodeUnsubscribe(reader: MqttReader, version: Version): Unsubscribe {
  const packetId = readPacketId(reader)
  const { userProperties = NO_PAIRS } = readProperties(reader, version, 'unsubscribe')
  const filters: string[] = []
  while (reader.remaining > 0) {
    checkFilterCount(filters.length)
    filters.push(reader.text())
  }
  if (filters.length === 0) throw protocolError('UNSUBSCRIBE has no topic filter')
  return { type: 'unsubscribe', packetId, userProperties, filters }
}

function checkFilterCount(before: number): void {
  if (before >= MAX_FILTERS)
    throw new PacketError(REASON.quotaExceeded, `A packet has more than ${MAX_FILTERS} topic filters`)
}

function readSubscription(reader: MqttReader, version: Version): SubscriptionRequest {
  const filter = reader.text()
  const { qos, noLocal, retainAsPublished, retainHandling } = readOptions(reader.byte(), version)
  if (noLocal && filter.startsWith(SHARE_PREFIX)) throw protocolError('No Local is set on a shared subscription')
  return { filter, qos, noLocal, retainAsPublished, retainHandling }
}

/**
 * Reads subscription options (section 3.8.3.1). In MQTT 3.1.1 (section 3.8.3), all bits except the QoS are reserved.
 */
function readOptions(bits: number, version: Version): SubscriptionOptions {
  if (bits >> (version === 5 ? 6 : 2) !== 0) throw malformed('Reserved bits of subscription options are set')
  const retainHandling = (bits >> 4) & 0b11
  if (retainHandling === 3) throw protocolError('Retain Handling is 3')
  return {
    qos: qosOf(bits & 0b11),
    noLocal: (bits & 0b100) !== 0,
    retainAsPublished: (bits & 0b1000) !== 0,
    retainHandling: retainHandling === 0 ? 0 : retainHandling === 1 ? 1 : 2,
  }
}

function qosOf(bits: number): Qos {
  if (bits === 3) throw protocolError('The maximum QoS of a subscription is 3')
  return bits === 0 ? 0 : bits === 1 ? 1 : 2
}

/**
 * Decodes PUBACK, PUBREC, PUBREL or PUBCOMP (MQTT 5.0, sections 3.4 to 3.7). Trailing fields may be omitted and have
 * defaults.
 */
function decodeAcknowledgement(reader: MqttReader, type: Acknowledgement['type'], version: Version): Acknowledgement {
  const packetId = readPacketId(reader)
  if (version === 4 || reader.remaining === 0) return { type, packetId, reasonCode: REASON.success }
  const reasonCode = readReason(reader, type)
  if (reader.remaining === 0) return { type, packetId, reasonCode }
  const { reasonString, userProperties } = readProperties(reader, version, type)
  return { type, packetId, reasonCode, reasonString, userProperties }
}

/** Decodes DISCONNECT (MQTT 5.0, section 3.14). Trailing fields may be omitted and have defaults. */
function decodeDisconnect(reader: MqttReader, version: Version): Disconnect {
  const type = 'disconnect'
  if (version === 4 || reader.remaining === 0) return { type, reasonCode: REASON.success }
  const reasonCode = readReason(reader, type)
  if (reader.remaining === 0) return { type, reasonCode }
  const { sessionExpiry, reasonString, userProperties, serverReference } = readProperties(reader, version, type)
  // Required by section 3.14.2.2.5.
  if (serverReference !== undefined) throw protocolError('A client must not send a server reference')
  return { type, reasonCode, sessionExpiry, reasonString, userProperties }
}

/** Decodes AUTH (MQTT 5.0, section 3.15). */
function decodeAuth(reader: MqttReader): Auth {
  const type = 'auth'
  // An omitted reason code means success (section 3.15.2.1), which a client must not send.
  const reasonCode = readReason(reader, type)
  const properties = readProperties(reader, 5, type)
  const { authenticationMethod, authenticationData, reasonString, userProperties } = properties
  if (authenticationMethod === undefined) throw protocolError('AUTH has no authentication method')
  return { type, reasonCode, authenticationMethod, authenticationData, reasonString, userProperties }
}

/** Reads a nonzero packet identifier (MQTT 5.0, section 2.2.1). */
function readPacketId(reader: MqttReader): number {
  const packetId = reader.uint16()
  if (packetId === 0) throw protocolError('The packet identifier is 0')
  return packetId
}

function readReason(reader: MqttReader, type: REASON.ReasonedType): REASON.ReasonCode {
  const code = reader.byte()
  const known = REASON.CLIENT_REASONS[type].find((one: REASON.ReasonCode) => one === code)
  if (known === undefined) throw protocolError(`A client must not send reason code ${code} in ${type}`)
  return known
}
