import type { IConnectPacket, IDisconnectPacket, IPublishPacket, Packet } from 'mqtt-packet'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import type { Publication } from './publication.js'
import type { ReportViolation, SessionModel } from './session-model.js'
import type { SimLink } from './sim-link.js'

/** A connection's state, derived from its packets. */
export class ConnectionRecord {
  readonly link: SimLink
  readonly clientId: string
  readonly clean: boolean
  /** In seconds. */
  readonly expiry: number
  readonly receiveMaximum: number
  readonly small: boolean
  readonly keepAliveTimeoutMs: number
  readonly will: Publication | undefined
  readonly willDelay: number
  readonly requests = new Map<number, Packet>()
  readonly unacknowledged = new Set<number>()
  session: SessionModel | undefined
  lastSeen: number
  /** The last time, in milliseconds, at which the broker paused reading because the client did not read. */
  unreadAt = 0
  clientDisconnect: IDisconnectPacket | undefined
  /** The DISCONNECT that the broker sent or received. */
  serverDisconnect: IDisconnectPacket | undefined
  isOver = false
  lastRetransmitted = 0
  readonly #aliasMaximum: number
  readonly #aliases = new Map<number, string>()

  constructor(link: SimLink, connect: IConnectPacket, publications: ReadonlyMap<number, Publication>, now: number) {
    const { clientId, clean = false, properties = {}, will, keepalive = 0, protocolVersion } = connect
    const number = will && Number(will.payload.toString() || '0')
    this.link = link
    this.clientId = clientId
    this.clean = clean
    this.expiry =
      protocolVersion === 4 ? (clean ? 0 : LIMIT.sessionExpirySeconds) : (properties.sessionExpiryInterval ?? 0)
    this.receiveMaximum = properties.receiveMaximum ?? 65_535
    this.small = properties.maximumPacketSize !== undefined
    this.keepAliveTimeoutMs = 1_500 * keepalive
    this.will = number === undefined ? undefined : publications.get(number)
    this.willDelay = will?.properties?.willDelayInterval ?? 0
    this.lastSeen = now
    this.#aliasMaximum = properties.topicAliasMaximum ?? 0
  }

  /** Returns a message's topic, which may be replaced by an alias. */
  topicOf({ topic, properties }: IPublishPacket, reportViolation: ReportViolation): string {
    const alias = properties?.topicAlias
    if (alias === undefined) return topic
    if (alias > this.#aliasMaximum)
      reportViolation(`${this.clientId} received the alias ${alias}, which exceeds its maximum`)
    if (topic !== '') this.#aliases.set(alias, topic)
    return this.#aliases.get(alias) ?? ''
  }
}
