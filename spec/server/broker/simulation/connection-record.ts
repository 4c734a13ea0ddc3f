import type { IConnectPacket, IDisconnectPacket, IPublishPacket, Packet } from 'mqtt-packet'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import type { Publication } from './publication.js'
import type { ReportViolation, SessionModel } from './session-model.js'
import type { SimLink } from './sim-link.js'

/** The state of a connection, derived from its packets. */
export interface ConnectionRecord {
  readonly link: SimLink
  readonly clientId: string
  readonly clean: boolean
  readonly expiry: number
  readonly receiveMaximum: number
  readonly small: boolean
  readonly aliasMaximum: number
  /** In milliseconds. */
  readonly keepAliveTimeoutMs: number
  readonly will: Publication | undefined
  readonly willDelay: number
  readonly requests: Map<number, Packet>
  readonly unacknowledged: Set<number>
  readonly aliases: Map<number, string>
  session: SessionModel | undefined
  lastSeen: number
  /** The last time, in milliseconds, at which the broker paused reading because the client did not read. */
  unreadAt: number
  clientDisconnect: IDisconnectPacket | undefined
  /** The DISCONNECT that the broker sent or received. */
  serverDisconnect: IDisconnectPacket | undefined
  isOver: boolean
  lastRetransmitted: number
}

export function connectionRecordOf(
  link: SimLink,
  { clientId, clean, properties, will, keepalive, protocolVersion }: IConnectPacket,
  publications: ReadonlyMap<number, Publication>,
  now: number,
): ConnectionRecord {
  const expiry =
    protocolVersion === 4 ? (clean ? 0 : LIMIT.sessionExpirySeconds) : (properties?.sessionExpiryInterval ?? 0)
  const number = will && Number(will.payload.toString() || '0')
  return {
    link,
    clientId,
    clean: clean === true,
    expiry,
    receiveMaximum: properties?.receiveMaximum ?? 65_535,
    small: properties?.maximumPacketSize !== undefined,
    aliasMaximum: properties?.topicAliasMaximum ?? 0,
    keepAliveTimeoutMs: 1_500 * (keepalive ?? 0),
    will: number === undefined ? undefined : publications.get(number),
    willDelay: will?.properties?.willDelayInterval ?? 0,
    requests: new Map(),
    unacknowledged: new Set(),
    aliases: new Map(),
    session: undefined,
    lastSeen: now,
    unreadAt: 0,
    clientDisconnect: undefined,
    serverDisconnect: undefined,
    isOver: false,
    lastRetransmitted: 0,
  }
}

export function topicOf(
  { clientId, aliases, aliasMaximum }: ConnectionRecord,
  { topic, properties }: IPublishPacket,
  reportViolation: ReportViolation,
): string {
  const alias = properties?.topicAlias
  if (alias === undefined) return topic
  if (alias > aliasMaximum) reportViolation(`${clientId} received the alias ${alias}, which exceeds its maximum`)
  if (topic !== '') aliases.set(alias, topic)
  return aliases.get(alias) ?? ''
}
