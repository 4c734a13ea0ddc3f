// A default import, because the browser build has no named exports.
import mqtt from 'mqtt'

/** Returns the name of a reason code (MQTT 5.0, section 2.4), or `reason 7` if unknown. */
export const reasonName = (code: number): string =>
  Object.entries(mqtt.ReasonCodes).find(([known]) => Number(known) === code)?.[1] ?? `reason ${code}`

export function disconnectMessage(code: number, clientId: string): string {
  if (code === TAKEN_OVER) {
    return `another client took over the id ${JSON.stringify(clientId)}: client ids must be unique`
  }
  return `DISCONNECT ${code}, ${reasonName(code)}`
}

/**
 * The reason code for a session that was taken over, by another client with the same id or by a delayed attempt of this
 * client.
 */
export const TAKEN_OVER = 142

// Reasons for which the same CONNECT would fail again or take the session from another client (MQTT 5.0, section 2.4).
// Brokers before MQTT 5 send the codes 1, 2, 4 and 5.
const FATAL_REASONS = new Set([
  1, // unacceptable protocol version
  2, // identifier rejected
  4, // bad user name or password
  5, // not authorized
  130, // protocol error
  132, // unsupported protocol version
  133, // client identifier not valid
  134, // bad user name or password
  135, // not authorized
  138, // banned
  140, // bad authentication method
  TAKEN_OVER,
  144, // topic name invalid
  // The following two refer to the will. Only attached stores have a will, and only those stores can change it.
  154, // retain not supported
  155, // QoS not supported
  156, // use another server
  157, // server moved
])

export const isRedirect = (reasonCode: number | undefined): boolean => reasonCode === 156 || reasonCode === 157

/** Returns whether a reason code of CONNACK or DISCONNECT makes connecting again pointless. */
export const isFatalReason = (reasonCode: number | undefined): boolean =>
  reasonCode !== undefined && FATAL_REASONS.has(reasonCode)

const LOGIN_REFUSALS: ReadonlySet<number> = new Set([
  4, // bad user name or password, before MQTT 5
  5, // not authorized, before MQTT 5
  134, // bad user name or password
  135, // not authorized
])

/** Returns whether a reason code of CONNACK means that the broker does not accept the client's credentials or id. */
export const isLoginRefusal = (reasonCode: number | undefined): boolean =>
  reasonCode !== undefined && LOGIN_REFUSALS.has(reasonCode)

/** Reasons that blame a packet of the client (MQTT 5.0, section 2.4). */
const PACKET_REJECTED_REASONS: ReadonlySet<number> = new Set([
  129, // malformed packet
  130, // protocol error
  135, // not authorized
  144, // topic name invalid
  148, // topic alias invalid
  149, // packet too large
  153, // payload format invalid
  154, // retain not supported
  155, // QoS not supported
])

export const isPacketRejected = (reasonCode: number | undefined): boolean =>
  reasonCode !== undefined && PACKET_REJECTED_REASONS.has(reasonCode)
