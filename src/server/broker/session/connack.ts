import { startOfContent, uint16 } from '../../../core/mqtt5/data-types.js'
import type { Connack, Connect, Disconnect, ServerPacket, Version } from '../../../core/mqtt5/packets.js'
import type { ReasonCode } from '../../../core/mqtt5/reason-codes.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { LIMIT } from '../limits/limits.js'
import type { Refused } from './handler.js'
import type { Host } from './host.js'

/** What a client is told that is let in (MQTT 5.0, section 3.2). */
export interface Welcome {
  readonly clientId: string
  readonly sessionPresent: boolean
  /** Last step of enhanced authentication. */
  readonly authenticationData: Uint8Array | undefined
}

/** The keep-alive of a client, s: what it asked for, or the longest there is. */
export const keepAliveOf = ({ keepAlive, version }: Connect, longest: number): number =>
  // MQTT 3.1.1 cannot be told of another one; 0 turns it off, which only a longest one forbids.
  version === 4 || longest === 0 ? keepAlive : keepAlive === 0 ? longest : Math.min(keepAlive, longest)

/** How long a client may be silent, ms: one and a half times its keep-alive (MQTT 5.0, section 3.1.2.10); 0 for ever. */
export const patienceOf = (connect: Connect, longest: number): number => 1_500 * keepAliveOf(connect, longest)

/** CONNACK for a client that is let in. */
export function connackOf(
  connect: Connect,
  { clientId, sessionPresent, authenticationData }: Welcome,
  {
    handler,
    maximumPacketSize,
    maximumKeepAlive,
  }: Pick<Host<never>, 'handler' | 'maximumPacketSize' | 'maximumKeepAlive'>,
): Connack {
  const { sessionExpiry, authenticationMethod, requestResponseInformation } = connect
  const keepAlive = keepAliveOf(connect, maximumKeepAlive)
  return {
    type: 'connack',
    sessionPresent,
    reasonCode: REASON.success,
    sessionExpiry: sessionExpiry > LIMIT.sessionExpiry ? LIMIT.sessionExpiry : undefined,
    maximumPacketSize,
    topicAliasMaximum: LIMIT.inboundAliases,
    assignedClientId: connect.clientId === '' ? clientId : undefined,
    serverKeepAlive: keepAlive === connect.keepAlive ? undefined : keepAlive,
    responseInformation: requestResponseInformation ? handler.responseInformation?.(clientId) : undefined,
    authenticationMethod,
    authenticationData,
  }
}

/** The version a CONNECT is of, as far as an answer to it is concerned. */
export function levelOf(frame: Uint8Array): Version {
  const name = startOfContent(frame)
  const level = frame[name + 2 + uint16(frame, name)] ?? 0
  return level < 5 ? 4 : 5
}

/** Why a connection ends. */
export type Farewell = Pick<Disconnect, 'reasonCode' | 'reasonString' | 'serverReference'>

/**
 * What a client is told whose connection is ended; `undefined` when there is no word for it.
 *
 * @param admitted - whether it was let in
 */
export function farewellOf(version: Version, admitted: boolean, words: Farewell): ServerPacket | undefined {
  if (admitted) return version === 5 ? { type: 'disconnect', ...words } : undefined
  return canRefuse(version, words.reasonCode) ? { type: 'connack', sessionPresent: false, ...words } : undefined
}

/** Whether a client is told why it is not let in: MQTT 3.1.1 has no word for a CONNECT that makes no sense (its 3.1.4). */
const canRefuse = (version: Version, reasonCode: ReasonCode): boolean =>
  version === 5 || (reasonCode !== REASON.malformedPacket && reasonCode !== REASON.protocolError)

const DISCONNECT_CODES: ReadonlySet<number> = new Set([
  REASON.notAuthorized,
  REASON.useAnotherServer,
  REASON.serverMoved,
])

/** With what somebody is turned away who was let in before: DISCONNECT has fewer codes (MQTT 5.0, section 3.14.2.1). */
export const disconnectCode = ({ reasonCode }: Refused): ReasonCode =>
  DISCONNECT_CODES.has(reasonCode) ? reasonCode : REASON.notAuthorized
