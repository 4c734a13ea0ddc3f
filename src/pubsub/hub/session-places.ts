import type { HandshakeRefusal } from './handshake.js'
import type { HubEngine } from './hub-engine.js'
import { CLOSE } from './hub-link.js'
import type { HubSession } from './hub-session.js'
import type { Hubs } from './hubs.js'

export const BUSY: HandshakeRefusal = { status: 503, text: 'There are too many connections; try again later' }
const BUSY_USER: HandshakeRefusal = { status: 503, text: 'There are too many connections of the same user' }
const BUSY_ADDRESS: HandshakeRefusal = { status: 503, text: 'There are too many connections of the same address' }
/** Sessions without a connection that one owner may have even if there is no place for others. */
const FEW_AWAY = 16

/** How many sessions there may be. */
export interface PlaceQuotas {
  readonly maxConnections: number
  readonly maxConnectionsPerUser: number
  readonly maxConnectionsPerAddress: number
}

/** A session without a network connection. */
interface Away {
  readonly engine: HubEngine
  readonly session: HubSession
}

/**
 * The places for sessions. A session without a network connection takes one as well, and costs its client nothing: when
 * there is none left, the owner with most of these makes room.
 */
export class SessionPlaces {
  readonly #hubs: Hubs
  readonly #quotas: PlaceQuotas

  constructor(hubs: Hubs, quotas: PlaceQuotas) {
    this.#hubs = hubs
    this.#quotas = quotas
  }

  /**
   * Why there is no place for one more session, if there is none.
   *
   * @param owner - `undefined` for a client of this machine without a user id
   * @param isUser - or an address
   */
  admits(owner: string | undefined, isUser: boolean): HandshakeRefusal | undefined {
    const { maxConnections, maxConnectionsPerUser, maxConnectionsPerAddress } = this.#quotas
    const most = isUser ? maxConnectionsPerUser : maxConnectionsPerAddress
    if (owner !== undefined && this.#hubs.sessionsOf(owner) >= most) {
      if (isUser) return BUSY_USER
      if (!this.#endFirst(this.#away().get(owner) ?? [])) return BUSY_ADDRESS
    }
    return this.#hubs.sessions < maxConnections || this.#endCrowded() ? undefined : BUSY
  }

  /** Ends a session of the owner with most sessions that are away; returns whether there was one to end. */
  #endCrowded(): boolean {
    let crowd: readonly Away[] = []
    for (const away of this.#away().values()) if (away.length > crowd.length) crowd = away
    return crowd.length > FEW_AWAY && this.#endFirst(crowd)
  }

  /** Ends the one that has been away longest. */
  #endFirst(away: readonly Away[]): boolean {
    let first: Away | undefined
    for (const one of away) if (first === undefined || one.session.heardAt < first.session.heardAt) first = one
    first?.engine.end(first.session, 'expired', CLOSE.policy, '')
    return first !== undefined
  }

  /** Sessions without a connection by owner; those of this machine without a user id together. */
  #away(): ReadonlyMap<string, readonly Away[]> {
    const byOwner = new Map<string, Away[]>()
    for (const { engine } of this.#hubs.all) {
      for (const session of engine.roster.all) {
        if (session.attached) continue
        const owner = session.owner === session.connectionId ? '' : session.owner
        const away = byOwner.get(owner) ?? []
        byOwner.set(owner, away)
        away.push({ engine, session })
      }
    }
    return byOwner
  }
}
