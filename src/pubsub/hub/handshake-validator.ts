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

/** A client's handshake and the subprotocol chosen for it. */
export interface HandshakeRequest {
  readonly handshake: Handshake
  readonly agreement: Agreement
}

/** Permission to connect. */
export interface Admission {
  /** Subprotocol in the response. */
  readonly name: string
  /** Returns a refusal if a limit is reached; may end detached sessions to make room. */
  readonly admits: () => HandshakeRefusal | undefined
  readonly meter: () => FrameMeter
  /** Begins or resumes a session over the opened socket. */
  readonly attach: (link: WebSocketLink) => void
}

/** Where clients connect, and how many. */
export interface AdmissionOptions extends PlaceQuotas {
  /** Path prefix of the hubs. */
  readonly path: string
  readonly clock: Clock
  /** Origins of pages that may connect. */
  readonly origins: Origins
}

/** Validates handshakes of clients. */
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

  /** Parses a request, or returns a refusal. */
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

  /** Decides whether a client may begin a session. */
  async admit(
    { handshake, agreement }: HandshakeRequest,
    request: IncomingMessage,
  ): Promise<Admission | HandshakeRefusal> {
    const objection = this.#loginGuard.objection(request, handshake.hub)
    if (objection) return objection
    if (!this.#hubs.allows(handshake.hub)) return { status: 404, text: `Unknown hub ${handshake.hub}` }
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

  /**
   * Decides about a recovery. A client whose session does not exist is still connected: it treats only a close code as
   * final.
   */
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

/** Failed claims per second and address. After a restart of the hub, the claims of all its clients fail. */
const MAX_FAILED_PER_SECOND = 100

/** State of a session before its recovery. */
export interface RecoveredSession {
  readonly userId: string | undefined
  /** Address of the client's last connection. */
  readonly address: string | undefined
  readonly isAttached: boolean
}

/**
 * Audits recoveries, and limits failed ones: a token cannot be guessed, but each attempt costs a handshake. Valid
 * claims are not limited, so an attacker cannot delay them.
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

  /** Audits a recovery, by the session's client or by one that stole its token. */
  recovered(request: IncomingMessage, hub: string, { userId, address, isAttached }: RecoveredSession): void {
    const place = address === this.#loginGuard.addressOf(request) ? '' : ` from a different address than ${address}`
    this.#loginGuard.record(
      request,
      hub,
      'accepted',
      `recovery${place}${isAttached ? ' while it was connected' : ''}`,
      userId,
    )
  }

  /**
   * Audits a failed recovery.
   *
   * @param exists - whether a session with this id exists
   * @returns a refusal if too many failed; otherwise the client is connected, because only a close code is final for it
   */
  failed(request: IncomingMessage, hub: string, isThere: boolean): HandshakeRefusal | undefined {
    const reason = isThere ? 'recovery with a wrong token' : 'recovery of an unknown session'
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

export const BUSY: HandshakeRefusal = { status: 503, text: 'Too many connections; try again later' }
const BUSY_USER: HandshakeRefusal = { status: 503, text: 'Too many connections of this user' }
const BUSY_ADDRESS: HandshakeRefusal = { status: 503, text: 'Too many connections of this address' }
/** Detached sessions that an owner keeps even when the session limit is reached. */
const FEW_AWAY = 16

/** Limits of sessions. */
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
 * Enforces the session limits. Detached sessions count but cost their clients nothing, so at the limit the owner with
 * the most detached sessions loses one.
 */
export class SessionPlaces {
  readonly #hubs: Hubs
  readonly #quotas: PlaceQuotas

  constructor(hubs: Hubs, quotas: PlaceQuotas) {
    this.#hubs = hubs
    this.#quotas = quotas
  }

  /**
   * Returns a refusal if a limit prevents another session.
   *
   * @param owner - `undefined` for a client of this machine without a user id
   * @param isUser - whether the owner is a user, not an address
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

  /** Ends a session of the owner with the most detached ones. Returns whether it ended one. */
  #endCrowded(): boolean {
    let crowd: readonly Away[] = []
    for (const away of this.#away().values()) if (away.length > crowd.length) crowd = away
    return crowd.length > FEW_AWAY && this.#endFirst(crowd)
  }

  /** Ends the session that has been detached longest. */
  #endFirst(away: readonly Away[]): boolean {
    let first: Away | undefined
    for (const one of away) if (first === undefined || one.session.heardAt < first.session.heardAt) first = one
    first?.engine.end(first.session, 'expired', CLOSE.policy, '')
    return first !== undefined
  }

  /** Detached sessions by owner; those of this machine without a user id share an entry. */
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

/** Throttles login guessing and writes the audit log. */
export class LoginGuard {
  readonly audit: Audit
  /** Undefined if credentials cannot be guessed. */
  readonly #throttle: LoginThrottle | undefined
  readonly #trustProxy: boolean

  /**
   * @param trustProxy - whether a proxy on this machine forwards the requests
   * @param guessable - whether credentials could be guessed
   */
  constructor(clock: Clock, trustProxy: boolean, guessable: boolean) {
    this.audit = new Audit(clock)
    this.#throttle = guessable ? new LoginThrottle(clock) : undefined
    this.#trustProxy = trustProxy
  }

  /** Returns the client's address. */
  addressOf({ socket, headers }: IncomingMessage): string {
    return callerOf(socket.remoteAddress ?? '', headers['x-forwarded-for'], this.#trustProxy)
  }

  /** Returns a refusal if too many logins of the address failed. */
  objection(request: IncomingMessage, hub: string): HandshakeRefusal | undefined {
    const pause = this.#throttle?.pause(this.addressOf(request)) ?? 0
    if (pause === 0) return undefined
    const refusal = { status: 429, text: `Too many failed logins; wait ${Math.ceil(pause / 1_000)} s` } as const
    this.record(request, hub, 'refused', refusal.text)
    return refusal
  }

  decided(request: IncomingMessage, hub: string, decision: Identity | HandshakeRefusal): void {
    if ('status' in decision) {
      const address = this.addressOf(request)
      // Guessing on this machine must not lock out its other clients.
      if (decision.status === 401 && !isThisMachine(address)) this.#throttle?.failed(address)
      this.record(request, hub, 'refused', decision.trouble ?? decision.text)
    } else this.record(request, hub, 'accepted', undefined, decision.userId)
  }

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
