import type { IConnackPacket } from 'mqtt'
import { ConnectionRefusedError, PayloadError } from '../../core/util/errors.js'
import { MOST_OWN_IDS } from './packet-ids.js'
import type { ConnectionInfo } from './session.js'

/** MQTT 5.0, section 2.4. */
const QOS_NOT_SUPPORTED = 155
const ONLY_QOS_0 =
  'The broker takes messages with QoS 0 alone (its CONNACK says so), and requests to a state store need QoS 1: allow QoS 1 there'

/**
 * What a broker says of itself in CONNACK. Raises {@link PayloadError} for a limit with which nothing could be sent: it is
 * a protocol error (MQTT 5.0, sections 3.2.2.3.3 and 3.2.2.3.6), and {@link ConnectionRefusedError} for a broker that does
 * not take the QoS of requests.
 */
export function connectionInfo(
  sessionPresent: boolean,
  properties: IConnackPacket['properties'] | undefined,
): ConnectionInfo {
  if (properties?.maximumQoS === 0) throw new ConnectionRefusedError(ONLY_QOS_0, QOS_NOT_SUPPORTED)
  return {
    sessionPresent,
    receiveMaximum: Math.min(limit('receive maximum', properties?.receiveMaximum) ?? MOST_OWN_IDS, MOST_OWN_IDS),
    maximumPacketSize: limit('maximum packet size', properties?.maximumPacketSize),
    subscriptionIds: properties?.subscriptionIdentifiersAvailable !== false,
    retain: properties?.retainAvailable !== false,
    wildcards: properties?.wildcardSubscriptionAvailable !== false,
  }
}

// One that came twice is an array.
function limit(name: string, value: unknown): number | undefined {
  if (value === undefined || (typeof value === 'number' && value > 0)) return value
  throw new PayloadError(`the broker has a ${name} of ${value}`)
}
