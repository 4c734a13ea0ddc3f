import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../core/util/clock.js'
import { isThisMachine, networkOf } from '../../node/limits/network.js'
import { KeyedRateLimiter } from '../../node/limits/rate.js'
import { LoginThrottle } from '../../node/limits/throttle.js'
import { Audit } from '../../node/net/audit.js'
import { callerOf } from '../../node/net/connection-limiter.js'
import type { Origins } from '../../node/net/origins.js'
import { jsonHubCodec } from '../wire/json-hub-codec.js'
import { protobufHubCodec } from '../wire/protobuf-hub-codec.js'
import type { Authenticator } from './authenticate.js'
import { type Handshake, type HandshakeRefusal, readHandshake } from './handshake.js'
import type { HubEngine } from './hub-engine.js'
import { CLOSE } from './hub-link.js'
import type { HubSession } from './hub-session.js'
import type { Hubs } from './hubs.js'
import type { Identity } from './identity.js'
import { type FrameMeter, ownerOf, type SenderRateLimiter } from './sender-rate-limiter.js'
import { type Agreement, negotiateSubprotocol, SharedCodec } from './shared-codec.js'
import type { WebSocketLink } from './websocket-link.js'

const FOREIGN: HandshakeRefusal = { status: 403, text: 'Pages of other origins may not connect' }

/** What a client asks for, and in which subprotocol. */
export interface HandshakeRequest {
  readonly handshake: Handshake
  readonly agreement: Agreement
}

/** A client that may come in. */
export interface Admission {
  /** Subprotocol in the answer. */
  readonly name: string
  /** Why there is no room for its session, if there is none; may end sessions that are away in its place. */
  readonly admits: () => HandshakeRefusal | undefined
  /** For what it sends. */
  readonly meter: () => FrameMeter
  /** Begins or resumes a session, once the socket is there. */
  readonly attach: (link: WebSocketLink) => void
}

/** Where clients come in, and how many. */
export interface AdmissionOptions extends PlaceQuotas {
  /** Below which the hubs are. */
  readonly path: string
  readonly clock: Clock
  /** Whose pages may connect. */
  readonly origins: Origins
}

/** What a client asks for in its handshake, and whether it gets it. */
export class HandshakeValidator {
  readonly #hubs: Hubs
  readonly #authenticate: Authenticator
  readonly #loginGuard: LoginGuard
  readonly #senderRateLimiter: SenderRateLimiter
  readonly #places: SessionPlaces
  readonly #recoveries: RecoveryGuard
  readonly #options: AdmissionOptions
  readonly #codecs = [jsonHubCodec, protobufHubCodec].map(codec => new SharedCodec(codec))

  constructor(
    hubs: Hubs,
    authenticate: Authenticator,
    doorman: LoginGuard,
    senders: SenderRateLimiter,
    options: AdmissionOptions,
  ) {
    this.#hubs = hubs
    this.#authenticate = authenticate
    this.#loginGuard = doorman
    this.#senderRateLimiter = senders
    this.#places = new SessionPlaces(hubs, options)
    this.#recoveries = new RecoveryGuard(options.clock, doorman)
    this.#options = options
  }

  /** What a request asks for, or why it cannot be had. */
  read(request: IncomingMessage): HandshakeRequest | HandshakeRefusal {
    const handshake = readHandshake(request.url ?? '', request.headers, this.#options.path)
    if ('status' in handshake) return handshake
    if (!this.#options.origins.allow(request.headers)) {
      this.#loginGuard.decided(request, handshake.hub, FOREIGN)
      return FOREIGN
    }
    const agreement = negotiateSubprotocol(handshake.subprotocols, this.#codecs)
    if (agreement !== undefined) return { handshake, agreement }
    const known = this.#codecs.map(({ name }) => name).join(' or ')
    return { status: 400, text: `Offer the subprotocol ${known}` }
  }

  /** Whether a client may begin a session. */
  async admit(
    { handshake, agreement }: HandshakeRequest,
    request: IncomingMessage,
  ): Promise<Admission | HandshakeRefusal> {
    const objection = this.#loginGuard.objection(request, handshake.hub)
    if (objection) return objection
    if (!this.#hubs.allows(handshake.hub)) return { status: 404, text: `There is no hub ${handshake.hub}` }
    const identity = await this.#authenticate(handshake, request.headers)
    this.#loginGuard.decided(request, handshake.hub, identity)
    if ('status' in identity) return identity
    const { userId } = identity
    const address = this.#loginGuard.addressOf(request)
    const owner = ownerOf(userId, address)
    return {
      name: agreement.name,
      admits: () => this.#places.admits(owner, userId !== undefined),
      meter: () => this.#senderRateLimiter.meterOf(userId, address),
      attach: link => {
        const hub = this.#hubs.open(handshake.hub)
        const session = hub.connect(link, agreement.codec, { ...identity, owner })
        session.address = address
        hub.bind(session, link)
      },
    }
  }

  /** A client whose session is gone is let in all the same: only a close code tells it that this is final. */
  recovery(
    { handshake: { hub, claim, subprotocols }, agreement: fallback }: HandshakeRequest,
    request: IncomingMessage,
  ): Admission | HandshakeRefusal {
    const driver = this.#hubs.find(hub)
    const wanted = claim && driver?.engine.find(claim)
    if (wanted === undefined) {
      const isThere = claim !== undefined && driver?.engine.roster.get(claim.connectionId) !== undefined
      const refusal = this.#recoveries.failed(request, hub, isThere)
      if (refusal !== undefined) return refusal
    }
    const agreement = wanted && negotiateSubprotocol(subprotocols, [wanted.codec])
    const address = this.#loginGuard.addressOf(request)
    return {
      name: (agreement ?? fallback).name,
      admits: () => undefined,
      meter: () => this.#senderRateLimiter.meterOf(wanted?.userId, address),
      attach: link => {
        const isAttached = wanted?.attached ?? false
        const session = agreement && claim && driver?.recover(claim, link)
        if (driver && session) {
          this.#recoveries.recovered(request, hub, { userId: session.userId, address: session.address, isAttached })
          session.address = address
          driver.bind(session, link)
        } else link.close(CLOSE.policy, 'there is no such session')
      },
    }
  }
}

/** Claims that fail, of one address in a second: after a restart of the hub all its clients have one that does. */
const MAX_FAILED_PER_SECOND = 100

/** A session as it was before it was recovered. */
export interface RecoveredSession {
  readonly userId: string | undefined
  /** From which its client connected last. */
  readonly address: string | undefined
  readonly isAttached: boolean
}

/**
 * Puts on record which sessions are recovered, and limits claims that fail: their token cannot be guessed, but each costs a
 * handshake. Right claims are not limited, so that nobody can hold them up.
 */
export class RecoveryGuard {
  readonly #clock: Clock
  readonly #loginGuard: LoginGuard
  readonly #failed: KeyedRateLimiter

  constructor(clock: Clock, doorman: LoginGuard) {
    this.#clock = clock
    this.#loginGuard = doorman
    this.#failed = new KeyedRateLimiter(MAX_FAILED_PER_SECOND, () => clock.monotonic())
  }

  /** A client goes on with a session: its own, or one whose token it has found. */
  recovered(request: IncomingMessage, hub: string, { userId, address, isAttached }: RecoveredSession): void {
    const place = address === this.#loginGuard.addressOf(request) ? '' : ` from another address than ${address}`
    this.#loginGuard.record(
      request,
      hub,
      'accepted',
      `recovery${place}${isAttached ? ' while it was connected' : ''}`,
      userId,
    )
  }

  /**
   * A client claims a session that it cannot have.
   *
   * @param isThere - whether there is one with this id
   * @returns the refusal if there are too many; otherwise the client is let in, since only a close code is final for it
   */
  failed(request: IncomingMessage, hub: string, isThere: boolean): HandshakeRefusal | undefined {
    const reason = isThere ? 'recovery with a wrong token' : 'recovery of a session that is not there'
    this.#loginGuard.record(request, hub, 'refused', reason)
    const address = this.#loginGuard.addressOf(request)
    if (isThisMachine(address)) return undefined
    const now = this.#clock.monotonic()
    const rate = this.#failed.of(networkOf(address))
    const wait = rate.wait(now)
    if (wait > 0) return { status: 429, text: `Too many recoveries failed; wait ${Math.ceil(wait / 1_000)} s` }
    rate.charge(1, now)
    return undefined
  }
}

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

/** Keeps those from guessing who are refused again and again, and puts on record who came. */
export class LoginGuard {
  readonly audit: Audit
  /** Without one there is nothing to be guessed. */
  readonly #throttle: LoginThrottle | undefined
  readonly #trustProxy: boolean

  /**
   * @param trustProxy - whether a proxy on this machine may stand before us
   * @param guessable - whether somebody could come in by guessing
   */
  constructor(clock: Clock, trustProxy: boolean, guessable: boolean) {
    this.audit = new Audit(clock)
    this.#throttle = guessable ? new LoginThrottle(clock) : undefined
    this.#trustProxy = trustProxy
  }

  /** Where a request comes from. */
  addressOf({ socket, headers }: IncomingMessage): string {
    return callerOf(socket.remoteAddress ?? '', headers['x-forwarded-for'], this.#trustProxy)
  }

  /** Why nobody looks at a request at present: too many from its address were refused. */
  objection(request: IncomingMessage, hub: string): HandshakeRefusal | undefined {
    const pause = this.#throttle?.pause(this.addressOf(request)) ?? 0
    if (pause === 0) return undefined
    const refusal = { status: 429, text: `Too many were refused; wait ${Math.ceil(pause / 1_000)} s` } as const
    this.record(request, hub, 'refused', refusal.text)
    return refusal
  }

  /** It was decided who somebody is, or that it may not come in. */
  decided(request: IncomingMessage, hub: string, decision: Identity | HandshakeRefusal): void {
    if ('status' in decision) {
      const address = this.addressOf(request)
      // A guesser on this machine must not keep out the others on it.
      if (decision.status === 401 && !isThisMachine(address)) this.#throttle?.failed(address)
      this.record(request, hub, 'refused', decision.trouble ?? decision.text)
    } else this.record(request, hub, 'accepted', undefined, decision.userId)
  }

  /** Puts on record who came, or did not. */
  record(
    request: IncomingMessage,
    target: string,
    outcome: 'accepted' | 'refused',
    reason?: string,
    username?: string,
  ) {
    const address = this.addressOf(request)
    this.audit.tell({ event: 'login', outcome, username, address, listener: 'hub', target, reason })
  }
}
