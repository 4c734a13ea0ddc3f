import { malformed, PacketError, protocolError } from './packet-error.js'
import type {
  Acknowledgement,
  Auth,
  Disconnect,
  Qos,
  Subscribe,
  SubscriptionOptions,
  SubscriptionRequest,
  Unsubscribe,
  Version,
} from './packets.js'
import { readPacketId, readReason } from './read-fields.js'
import { NO_PAIRS, readProperties } from './read-properties.js'
import type { Reader } from './reader.js'
import * as REASON from './reason-codes.js'
import { SHARE_PREFIX } from './topic.js'

/** As many filters are read of one packet: each costs far more time than its bytes. */
const MOST = 10_000

/** Reads SUBSCRIBE (MQTT 5.0, section 3.8). */
export function decodeSubscribe(reader: Reader, version: Version): Subscribe {
  const packetId = readPacketId(reader)
  const { subscriptionId, userProperties = NO_PAIRS } = readProperties(reader, version, 'subscribe')
  const subscriptions: SubscriptionRequest[] = []
  while (reader.left > 0) {
    checkCount(subscriptions.length)
    subscriptions.push(readSubscription(reader, version))
  }
  if (subscriptions.length === 0) throw protocolError('SUBSCRIBE has no topic filter')
  return { type: 'subscribe', packetId, subscriptionId, userProperties, subscriptions }
}

/** Reads UNSUBSCRIBE (MQTT 5.0, section 3.10). */
export function decodeUnsubscribe(reader: Reader, version: Version): Unsubscribe {
  const packetId = readPacketId(reader)
  const { userProperties = NO_PAIRS } = readProperties(reader, version, 'unsubscribe')
  const filters: string[] = []
  while (reader.left > 0) {
    checkCount(filters.length)
    filters.push(reader.text())
  }
  if (filters.length === 0) throw protocolError('UNSUBSCRIBE has no topic filter')
  return { type: 'unsubscribe', packetId, userProperties, filters }
}

function checkCount(before: number): void {
  if (before >= MOST) throw new PacketError(REASON.quotaExceeded, `A packet has more than ${MOST} topic filters`)
}

function readSubscription(reader: Reader, version: Version): SubscriptionRequest {
  const filter = reader.text()
  const { qos, noLocal, retainAsPublished, retainHandling } = optionsOf(reader.byte(), version)
  if (noLocal && filter.startsWith(SHARE_PREFIX)) throw protocolError('No Local is set on a shared subscription')
  return { filter, qos, noLocal, retainAsPublished, retainHandling }
}

/** Section 3.8.3.1; with MQTT 3.1.1 (section 3.8.3) all bits but those of the QoS are reserved. */
function optionsOf(bits: number, version: Version): SubscriptionOptions {
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

/** Reads PUBACK, PUBREC, PUBREL or PUBCOMP (MQTT 5.0, sections 3.4 to 3.7). What is left out at the end has its default. */
export function decodeAcknowledgement(
  reader: Reader,
  type: Acknowledgement['type'],
  version: Version,
): Acknowledgement {
  const packetId = readPacketId(reader)
  if (version === 4 || reader.left === 0) return { type, packetId, reasonCode: REASON.success }
  const reasonCode = readReason(reader, type)
  if (reader.left === 0) return { type, packetId, reasonCode }
  const { reasonString, userProperties } = readProperties(reader, version, type)
  return { type, packetId, reasonCode, reasonString, userProperties }
}

/** Reads DISCONNECT (MQTT 5.0, section 3.14). What is left out at the end has its default. */
export function decodeDisconnect(reader: Reader, version: Version): Disconnect {
  const type = 'disconnect'
  if (version === 4 || reader.left === 0) return { type, reasonCode: REASON.success }
  const reasonCode = readReason(reader, type)
  if (reader.left === 0) return { type, reasonCode }
  const { sessionExpiry, reasonString, userProperties, serverReference } = readProperties(reader, version, type)
  // Section 3.14.2.2.5
  if (serverReference !== undefined) throw protocolError('A client refers to another server')
  return { type, reasonCode, sessionExpiry, reasonString, userProperties }
}

/** Reads AUTH (MQTT 5.0, section 3.15). */
export function decodeAuth(reader: Reader): Auth {
  const type = 'auth'
  // Left out it would be success (section 3.15.2.1), which is not for a client to say.
  const reasonCode = readReason(reader, type)
  const properties = readProperties(reader, 5, type)
  const { authenticationMethod, authenticationData, reasonString, userProperties } = properties
  if (authenticationMethod === undefined) throw protocolError('AUTH has no authentication method')
  return { type, reasonCode, authenticationMethod, authenticationData, reasonString, userProperties }
}
