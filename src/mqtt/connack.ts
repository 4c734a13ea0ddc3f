import type { IConnackPacket } from 'mqtt'
import { PayloadError } from '../base/errors.js'
import { MOST_OWN_IDS } from './packet-ids.js'
import type { ConnectionInfo } from './session.js'

/**
 * What a broker says of itself in CONNACK. Raises {@link PayloadError} for a limit with which nothing could be sent: it is
 * a protocol error (MQTT 5.0, sections 3.2.2.3.3 and 3.2.2.3.6).
 */
export function connectionInfo(
  sessionPresent: boolean,
  properties: IConnackPacket['properties'] | undefined,
): ConnectionInfo {
  return {
    sessionPresent,
    receiveMaximum: Math.min(limit('receive maximum', properties?.receiveMaximum) ?? MOST_OWN_IDS, MOST_OWN_IDS),
    maximumPacketSize: limit('maximum packet size', properties?.maximumPacketSize),
    subscriptionIds: properties?.subscriptionIdentifiersAvailable !== false,
  }
}

// One that came twice is an array.
function limit(name: string, value: unknown): number | undefined {
  if (value === undefined || (typeof value === 'number' && value > 0)) return value
  throw new PayloadError(`the broker has a ${name} of ${value}`)
}
