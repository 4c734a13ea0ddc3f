import type { IConnectPacket, IDisconnectPacket, IPublishPacket, Packet } from 'mqtt-packet'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import type { Publication } from './publication.js'
import type { Complain, SessionModel } from './session-model.js'
import type { SimLink } from './sim-link.js'

/** What is known of a connection, from the packets on it. */
export interface Talk {
  readonly link: SimLink
  readonly clientId: string
  readonly clean: boolean
  readonly expiry: number
  readonly receiveMaximum: number
  readonly small: boolean
  readonly aliasMaximum: number
  /** ms */
  readonly patience: number
  readonly will: Publication | undefined
  readonly willDelay: number
  readonly requests: Map<number, Packet>
  readonly unacknowledged: Set<number>
  readonly aliases: Map<number, string>
  session: SessionModel | undefined
  lastSeen: number
  /** When it took nothing, and was not read. */
  excused: number
  goodbye: IDisconnectPacket | undefined
  /** The broker said why it ends it. */
  dismissed: IDisconnectPacket | undefined
  over: boolean
  lastAgain: number
}

/** A connection, as its CONNECT says. */
export function talkOf(
  link: SimLink,
  { clientId, clean, properties, will, keepalive, protocolVersion }: IConnectPacket,
  publications: ReadonlyMap<number, Publication>,
  now: number,
): Talk {
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
    patience: 1_500 * (keepalive ?? 0),
    will: number === undefined ? undefined : publications.get(number),
    willDelay: will?.properties?.willDelayInterval ?? 0,
    requests: new Map(),
    unacknowledged: new Set(),
    aliases: new Map(),
    session: undefined,
    lastSeen: now,
    excused: 0,
    goodbye: undefined,
    dismissed: undefined,
    over: false,
    lastAgain: 0,
  }
}

/** The topic of a message, which may have an alias. */
export function topicOf(
  { clientId, aliases, aliasMaximum }: Talk,
  { topic, properties }: IPublishPacket,
  complain: Complain,
): string {
  const alias = properties?.topicAlias
  if (alias === undefined) return topic
  if (alias > aliasMaximum) complain(`${clientId} got the alias ${alias}, which is over its maximum`)
  if (topic !== '') aliases.set(alias, topic)
  return aliases.get(alias) ?? ''
}
