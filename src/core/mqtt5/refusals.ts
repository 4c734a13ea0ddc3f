import type { ReasonCode } from './reason-codes.js'
import * as REASON from './reason-codes.js'

/**
 * Whether the client of this package connects again. `after-login`: only if the broker has accepted the client before,
 * because an operator can correct the mistake. `elsewhere`: only with another address.
 */
export type Retry = 'always' | 'after-login' | 'elsewhere' | 'never'

export interface Refusal {
  readonly cause: string
  readonly retry: Retry
  /**
   * The reason code in DISCONNECT, which has fewer codes than CONNACK (MQTT 5.0, section 3.14.2.1). Default: the same.
   */
  readonly disconnect?: ReasonCode
}

/**
 * All reason codes with which a broker refuses or ends a connection. This is the only place that decides which of them
 * are transient: `docs/errors.md` has the same table, and the sets of the client agree with it.
 */
export const REFUSALS: ReadonlyMap<ReasonCode, Refusal> = new Map<ReasonCode, Refusal>([
  [REASON.unspecifiedError, { cause: 'unspecified error', retry: 'always' }],
  [REASON.malformedPacket, { cause: 'malformed packet', retry: 'always' }],
  [REASON.protocolError, { cause: 'protocol error', retry: 'never' }],
  [REASON.implementationSpecificError, { cause: 'internal error of the broker', retry: 'always' }],
  [
    REASON.unsupportedProtocolVersion,
    { cause: 'unsupported protocol version', retry: 'never', disconnect: REASON.protocolError },
  ],
  [REASON.clientIdentifierNotValid, { cause: 'invalid client id', retry: 'never', disconnect: REASON.notAuthorized }],
  [
    REASON.badUserNameOrPassword,
    { cause: 'wrong user name, password or token', retry: 'after-login', disconnect: REASON.notAuthorized },
  ],
  [REASON.notAuthorized, { cause: 'not authorized', retry: 'after-login' }],
  [
    REASON.serverUnavailable,
    { cause: 'logins cannot be checked, or a node is not ready', retry: 'always', disconnect: REASON.serverBusy },
  ],
  [REASON.serverBusy, { cause: 'too many logins, or a node is not ready', retry: 'always' }],
  [REASON.banned, { cause: 'banned', retry: 'never', disconnect: REASON.notAuthorized }],
  [REASON.serverShuttingDown, { cause: 'shutdown', retry: 'always' }],
  [
    REASON.badAuthenticationMethod,
    { cause: 'unknown authentication method', retry: 'never', disconnect: REASON.notAuthorized },
  ],
  [REASON.keepAliveTimeout, { cause: 'silent for too long', retry: 'always' }],
  [REASON.sessionTakenOver, { cause: 'another client has the same id', retry: 'never' }],
  [REASON.topicNameInvalid, { cause: 'invalid topic name', retry: 'never' }],
  [REASON.receiveMaximumExceeded, { cause: 'too many packets in flight', retry: 'always' }],
  [REASON.topicAliasInvalid, { cause: 'invalid topic alias', retry: 'always' }],
  [REASON.packetTooLarge, { cause: 'packet too large', retry: 'always' }],
  [REASON.messageRateTooHigh, { cause: 'too many messages', retry: 'always' }],
  [REASON.quotaExceeded, { cause: 'quota or memory limit', retry: 'always' }],
  [REASON.administrativeAction, { cause: 'action of an administrator', retry: 'always' }],
  [REASON.useAnotherServer, { cause: 'use another server', retry: 'elsewhere' }],
  [REASON.serverMoved, { cause: 'server moved', retry: 'elsewhere' }],
  [REASON.connectionRateExceeded, { cause: 'too many logins from this address', retry: 'always' }],
  [REASON.maximumConnectTime, { cause: 'expired credentials', retry: 'always' }],
])

/** Returns the code in DISCONNECT for a refusal, which a connected client gets when it reauthenticates. */
export const disconnectCode = (refusal: ReasonCode): ReasonCode => REFUSALS.get(refusal)?.disconnect ?? refusal
