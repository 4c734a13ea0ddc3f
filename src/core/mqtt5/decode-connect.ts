import { Carried } from './carried.js'
import { malformed, PacketError, protocolError } from './packet-error.js'
import type { Connect, Qos, Version, Will } from './packets.js'
import { NO_PAIRS, readProperties } from './read-properties.js'
import type { Reader } from './reader.js'
import * as REASON from './reason-codes.js'
import { checkTopicName } from './topic.js'
import { namedUserProperties } from './user-properties.js'

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

/** What a session that is not clean lives with MQTT 3.1.1, s: for ever. */
const FOR_EVER = 0xffff_ffff
const MOST_UINT16 = 0xffff

/** Reads CONNECT (MQTT 5.0, section 3.1; MQTT 3.1.1, section 3.1). */
export function decodeConnect(reader: Reader): Connect {
  const version = readVersion(reader)
  const flags = readFlags(reader, version)
  const cleanStart = (flags & CONNECT_FLAG.cleanStart) !== 0
  const keepAlive = reader.uint16()
  const properties = readProperties(reader, version, 'connect')
  if (properties.authenticationData !== undefined && properties.authenticationMethod === undefined)
    throw protocolError('There is authentication data, but no authentication method')
  const clientId = reader.text()
  // MQTT 3.1.1, section 3.1.3.1
  if (version === 4 && clientId === '' && !cleanStart)
    throw new PacketError(REASON.clientIdentifierNotValid, 'A client without an identifier wants to keep its session')
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
    sessionExpiry: properties.sessionExpiry ?? (version === 4 && !cleanStart ? FOR_EVER : 0),
    receiveMaximum: properties.receiveMaximum ?? MOST_UINT16,
    maximumPacketSize: properties.maximumPacketSize,
    topicAliasMaximum: properties.topicAliasMaximum ?? 0,
    requestResponseInformation: properties.requestResponseInformation ?? false,
    requestProblemInformation: properties.requestProblemInformation ?? true,
    authenticationMethod: properties.authenticationMethod,
    authenticationData: properties.authenticationData,
    userProperties: properties.userProperties ?? NO_PAIRS,
  }
}

/** MQTT 3.1 calls itself `MQIsdp`, with level 3. */
function readVersion(reader: Reader): Version {
  const name = reader.text()
  const level = reader.byte()
  if (name === 'MQTT' && (level === 4 || level === 5)) return level
  throw new PacketError(
    REASON.unsupportedProtocolVersion,
    `The protocol is ${JSON.stringify(name.slice(0, 10))} level ${level}, not MQTT 3.1.1 or 5`,
  )
}

function readFlags(reader: Reader, version: Version): number {
  const flags = reader.byte()
  if ((flags & CONNECT_FLAG.reserved) !== 0) throw malformed('The reserved flag of CONNECT is set')
  if ((flags & CONNECT_FLAG.willQos) === CONNECT_FLAG.willQos) throw malformed('The QoS of the will is 3')
  const ofWill = flags & (CONNECT_FLAG.willQos | CONNECT_FLAG.willRetain)
  if ((flags & CONNECT_FLAG.will) === 0 && ofWill !== 0) throw malformed('There are flags for a will, but no will')
  // MQTT 3.1.1, section 3.1.2.9
  if (version === 4 && (flags & (CONNECT_FLAG.username | CONNECT_FLAG.password)) === CONNECT_FLAG.password)
    throw malformed('There is a password, but no user name')
  return flags
}

function readWill(reader: Reader, version: Version, flags: number): Will {
  const carried = new Carried()
  const properties = readProperties(reader, version, 'will', carried)
  const end = reader.at
  const topic = reader.text()
  checkTopicName(topic)
  const { responseTopic, userProperties = NO_PAIRS } = properties
  if (responseTopic !== undefined) checkTopicName(responseTopic)
  return {
    topic,
    payload: reader.binary(),
    qos: qosOf(flags),
    retain: (flags & CONNECT_FLAG.willRetain) !== 0,
    delay: properties.willDelay ?? 0,
    messageExpiry: properties.messageExpiry,
    responseTopic,
    correlationData: properties.correlationData,
    userProperties: namedUserProperties(userProperties),
    carried: carried.of(reader.bytes, end),
  }
}

function qosOf(flags: number): Qos {
  const qos = (flags & CONNECT_FLAG.willQos) >> 3
  return qos === 0 ? 0 : qos === 1 ? 1 : 2
}
