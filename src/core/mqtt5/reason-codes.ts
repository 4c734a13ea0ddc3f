import type * as REASON from './reason-codes.js'

// Reason codes (MQTT 5.0, section 2.4). Codes from 0x80 are failures. They are separate exports, so that a client
// bundles only the ones it uses.

export const success = 0x00
export const grantedQos1 = 0x01
export const grantedQos2 = 0x02
export const disconnectWithWill = 0x04
export const noMatchingSubscribers = 0x10
export const noSubscriptionExisted = 0x11
export const continueAuthentication = 0x18
export const reAuthenticate = 0x19
export const unspecifiedError = 0x80
export const malformedPacket = 0x81
export const protocolError = 0x82
export const implementationSpecificError = 0x83
export const unsupportedProtocolVersion = 0x84
export const clientIdentifierNotValid = 0x85
export const badUserNameOrPassword = 0x86
export const notAuthorized = 0x87
export const serverUnavailable = 0x88
export const serverBusy = 0x89
export const banned = 0x8a
export const serverShuttingDown = 0x8b
export const badAuthenticationMethod = 0x8c
export const keepAliveTimeout = 0x8d
export const sessionTakenOver = 0x8e
export const topicFilterInvalid = 0x8f
export const topicNameInvalid = 0x90
export const packetIdentifierInUse = 0x91
export const packetIdentifierNotFound = 0x92
export const receiveMaximumExceeded = 0x93
export const topicAliasInvalid = 0x94
export const packetTooLarge = 0x95
export const messageRateTooHigh = 0x96
export const quotaExceeded = 0x97
export const administrativeAction = 0x98
export const payloadFormatInvalid = 0x99
export const retainNotSupported = 0x9a
export const qosNotSupported = 0x9b
export const useAnotherServer = 0x9c
export const serverMoved = 0x9d
export const sharedSubscriptionsNotSupported = 0x9e
export const connectionRateExceeded = 0x9f
export const maximumConnectTime = 0xa0
export const subscriptionIdentifiersNotSupported = 0xa1
export const wildcardSubscriptionsNotSupported = 0xa2

export type ReasonCode = Extract<(typeof REASON)[keyof typeof REASON], number>

/** First failure code (MQTT 5.0, section 2.4). */
export const FIRST_FAILURE = 0x80

/** MQTT 3.1.1 return codes (section 3.2.2.3) by MQTT 5.0 reason code. All other codes become "server unavailable". */
const RETURN_CODES: Partial<Record<ReasonCode, number>> = {
  [success]: 0,
  [unsupportedProtocolVersion]: 1,
  [clientIdentifierNotValid]: 2,
  [badUserNameOrPassword]: 4,
  [badAuthenticationMethod]: 4,
  [notAuthorized]: 5,
  [banned]: 5,
}
const SERVER_UNAVAILABLE = 3

export function returnCodeOf(code: ReasonCode): number {
  return RETURN_CODES[code] ?? SERVER_UNAVAILABLE
}

/** Codes in a client's acknowledgement of a PUBLISH (MQTT 5.0, sections 3.4.2.1 and 3.5.2.1). */
const PUBLISH_ACK_REASONS = [
  success,
  noMatchingSubscribers,
  unspecifiedError,
  implementationSpecificError,
  notAuthorized,
  topicNameInvalid,
  packetIdentifierInUse,
  quotaExceeded,
  payloadFormatInvalid,
] as const

/** Codes that a client may send, by packet type (MQTT 5.0, sections 3.4 to 3.7, 3.14 and 3.15). */
export const CLIENT_REASONS = {
  puback: PUBLISH_ACK_REASONS,
  pubrec: PUBLISH_ACK_REASONS,
  pubrel: [success, packetIdentifierNotFound],
  pubcomp: [success, packetIdentifierNotFound],
  disconnect: [
    success,
    disconnectWithWill,
    unspecifiedError,
    malformedPacket,
    protocolError,
    implementationSpecificError,
    topicNameInvalid,
    receiveMaximumExceeded,
    topicAliasInvalid,
    packetTooLarge,
    messageRateTooHigh,
    quotaExceeded,
    administrativeAction,
    payloadFormatInvalid,
  ],
  auth: [continueAuthentication, reAuthenticate],
} as const satisfies Record<string, readonly number[]>

export type ReasonedType = keyof typeof CLIENT_REASONS
