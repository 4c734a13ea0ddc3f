// A default import, because the browser build has no named exports.
import mqtt from 'mqtt'
import * as REASON from '../../core/mqtt5/reason-codes.js'

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
export const TAKEN_OVER = REASON.sessionTakenOver

// Reasons for which the same CONNECT would fail again or take the session from another client (MQTT 5.0, section 2.4).
// Brokers before MQTT 5 send the codes 1, 2, 4 and 5.
const FATAL_REASONS = new Set<number>([
  1, // unacceptable protocol version
  2, // identifier rejected
  4, // bad user name or password
  5, // not authorized
  REASON.protocolError,
  REASON.unsupportedProtocolVersion,
  REASON.clientIdentifierNotValid,
  REASON.badUserNameOrPassword,
  REASON.notAuthorized,
  REASON.banned,
  REASON.badAuthenticationMethod,
  TAKEN_OVER,
  REASON.topicNameInvalid,
  // The following two refer to the will. Only attached stores have a will, and only those stores can change it.
  REASON.retainNotSupported,
  REASON.qosNotSupported,
  REASON.useAnotherServer,
  REASON.serverMoved,
])

export const isRedirect = (reasonCode: number | undefined): boolean =>
  reasonCode === REASON.useAnotherServer || reasonCode === REASON.serverMoved

/** Returns whether a reason code of CONNACK or DISCONNECT makes connecting again pointless. */
export const isFatalReason = (reasonCode: number | undefined): boolean =>
  reasonCode !== undefined && FATAL_REASONS.has(reasonCode)

/** Returns whether a broker that responds with a reason code has too many clients. */
export const isOverloadReason = (reasonCode: number | undefined): boolean =>
  reasonCode === REASON.serverBusy ||
  reasonCode === REASON.quotaExceeded ||
  reasonCode === REASON.connectionRateExceeded

const LOGIN_REFUSALS: ReadonlySet<number> = new Set([
  4, // bad user name or password, before MQTT 5
  5, // not authorized, before MQTT 5
  REASON.badUserNameOrPassword,
  REASON.notAuthorized,
])

/** Returns whether a reason code of CONNACK means that the broker does not accept the client's credentials or id. */
export const isLoginRefusal = (reasonCode: number | undefined): boolean =>
  reasonCode !== undefined && LOGIN_REFUSALS.has(reasonCode)

/** Reasons that blame a packet of the client (MQTT 5.0, section 2.4). */
const PACKET_REJECTED_REASONS: ReadonlySet<number> = new Set([
  REASON.malformedPacket,
  REASON.protocolError,
  REASON.notAuthorized,
  REASON.topicNameInvalid,
  REASON.topicAliasInvalid,
  REASON.packetTooLarge,
  REASON.payloadFormatInvalid,
  REASON.retainNotSupported,
  REASON.qosNotSupported,
])

export const isPacketRejected = (reasonCode: number | undefined): boolean =>
  reasonCode !== undefined && PACKET_REJECTED_REASONS.has(reasonCode)

/** The number of consecutive losses after which the only message in flight is assumed to be their cause. */
const MAX_LOSSES = 3

/** Returns whether the broker ended a connection because of the only message in flight. */
export const isCauseOfLoss = (lossCount: number, reasonCode: number | undefined): boolean =>
  lossCount >= MAX_LOSSES || isPacketRejected(reasonCode)
