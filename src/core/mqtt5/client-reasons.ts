import type { ReasonCode } from './reason-code.js'
import * as REASON from './reason-codes.js'

/** What a client says when it acknowledges a PUBLISH (MQTT 5.0, sections 3.4.2.1 and 3.5.2.1). */
const OF_PUBLISH = [
  REASON.success,
  REASON.noMatchingSubscribers,
  REASON.unspecifiedError,
  REASON.implementationSpecificError,
  REASON.notAuthorized,
  REASON.topicNameInvalid,
  REASON.packetIdentifierInUse,
  REASON.quotaExceeded,
  REASON.payloadFormatInvalid,
] as const

/** A packet in which a client gives a reason. */
export type ReasonedType = 'puback' | 'pubrec' | 'pubrel' | 'pubcomp' | 'disconnect' | 'auth'

/** Codes that a client may send, by packet type (MQTT 5.0, sections 3.4 to 3.7, 3.14 and 3.15). */
export const CLIENT_REASONS: Readonly<Record<ReasonedType, readonly ReasonCode[]>> = {
  puback: OF_PUBLISH,
  pubrec: OF_PUBLISH,
  pubrel: [REASON.success, REASON.packetIdentifierNotFound],
  pubcomp: [REASON.success, REASON.packetIdentifierNotFound],
  disconnect: [
    REASON.success,
    REASON.disconnectWithWill,
    REASON.unspecifiedError,
    REASON.malformedPacket,
    REASON.protocolError,
    REASON.implementationSpecificError,
    REASON.topicNameInvalid,
    REASON.receiveMaximumExceeded,
    REASON.topicAliasInvalid,
    REASON.packetTooLarge,
    REASON.messageRateTooHigh,
    REASON.quotaExceeded,
    REASON.administrativeAction,
    REASON.payloadFormatInvalid,
  ],
  auth: [REASON.continueAuthentication, REASON.reAuthenticate],
}
