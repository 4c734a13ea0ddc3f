import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../core/util/clock.js'
import { isThisMachine, networkOf } from '../../node/limits/network.js'
import { KeyedRateLimiter } from '../../node/limits/rate.js'
import { LoginThrottle } from '../../node/limits/throttle.js'
import { Audit } from '../../node/net/audit.js'
import { clientAddress } from '../../node/net/connection-limiter.js'
import { hasSeveralHosts } from '../../node/net/http.js'
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
import { type NegotiatedSubprotocol, negotiateSubprotocol, SharedCodec } from './shared-codec.js'
import type { WebSocketLink } from './websocket-link.js'

const FOREIGN_ORIGIN: HandshakeRefusal = { status: 403, text: 'Pages of other origins may not connect' }

export interface HandshakeRequest {
  readonly handshake: Handshake
  readonly agreement: NegotiatedSubprotocol
}

export interface Admission {
  readonly name: string
  /** Returns a refusal if a limit is reached. May end detached sessions to make room. */
  readonly checkLimits: () => HandshakeRefusal | undefined
  readonly meter: () => FrameMeter
  readonly attach: (link: WebSocketLink) => void
}

export interface AdmissionOptions extends SessionLimits {
  readonly path: string
  readonly clock: Clock
  readonly origins: Origins
}

export class HandshakeValidator {
  readonly #hubs: Hubs
  readonly #authenticate: Authenticator
  readonly #loginGuard: LoginGuard
  readonly #senderRateLimiter: SenderRateLimiter
  readonly #sessionLimiter: SessionLimiter
  readonly #recoveries: RecoveryGuard
  readonly #options: AdmissionOptions
  readonly #codecs = [jsonHubCodec, protobufHubCodec].map(codec => new SharedCodec(codec))

  constructor(
    hubs: Hubs,
    authenticate: Authenticator,
    loginGuard: LoginGuard,
    senderRateLimiter: SenderRateLimiter,
    options: AdmissionOptions,
  ) {
    this.#hubs = hubs
    this.#authenticate = authenticate
    this.#loginGuard = loginGuard
    this.#senderRateLimiter = senderRateLimiter
    this.#sessionLimiter = new SessionLimiter(hubs, options)
    this.#recoveries = new RecoveryGuard(options.clock, loginGuard)
    this.#options = options
  }

  read(request: IncomingMessage): HandshakeRequest | HandshakeRefusal {
    if (hasSeveralHosts(request)) return { status: 400, text: 'The request has more than one Host header' }
    const handshake = readHandshake(request.url ?? '', request.headers, this.#options.path)
    if ('status' in handshake) return handshake
    if (!this.#options.origins.allow(request.headers)) {
      this.#loginGuard.onDecision(request, handshake.hub, FOREIGN_ORIGIN)
      return FOREIGN_ORIGIN
    }
    const agreement = negotiateSubprotocol(handshake.subprotocols, this.#codecs)
    if (agreement !== undefined) return { handshake, agreement }
    const names = this.#codecs.map(({ name }) => name).join(' or ')
    return { status: 400, text: `Offer the subprotocol ${names}` }
  }

  async admit(
    { handshake, agreement }: HandshakeRequest,
    request: IncomingMessage,
  ): Promise<Admission | HandshakeRefusal> {
    const throttled = this.#loginGuard.checkThrottle(request, handshake.hub)
    if (throttled) return throttled
    if (!this.#hubs.allows(handshake.hub)) return { status: 404, text: `Unknown hub ${handshake.hub}` }
    const identity = await this.#authenticate(handshake, request.headers)
    this.#loginGuard.onDecision(request, handshake.hub, identity)
    if ('status' in identity) return identity
    const { userId } = identity
    const address = this.#loginGuard.addressOf(request)
    const owner = ownerOf(userId, address)
    return {
      name: agreement.name,
      checkLimits: () => this.#sessionLimiter.checkLimits(owner, userId !== undefined),
      meter: () => this.#senderRateLimiter.meterFor(userId, address),
      attach: link => {
        const hub = this.#hubs.open(handshake.hub)
        const session = hub.connect(link, agreement.codec, { ...identity, owner })
        session.address = address
        hub.attachLink(session, link)
      },
    }
  }

  /**
   * Admits a client that recovers a session. Clients of unknown sessions are also connected, because they treat only a
   * close code as final.
   */
  recovery(
    { handshake: { hub, claim, subprotocols }, agreement: fallback }: HandshakeRequest,
    request: IncomingMessage,
  ): Admission | HandshakeRefusal {
    const driver = this.#hubs.find(hub)
    const lost = claim && driver?.engine.findClaimed(claim)
    if (lost === undefined) {
      const exists = claim !== undefined && driver?.engine.sessionIndex.get(claim.connectionId) !== undefined
      const refusal = this.#recoveries.onFailed(request, hub, exists)
      if (refusal !== undefined) return refusal
    }
    const agreement = lost && negotiateSubprotocol(subprotocols, [lost.codec])
    const address = this.#loginGuard.addressOf(request)
    return {
      name: (agreement ?? fallback).name,
      checkLimits: () => undefined,
      meter: () => this.#senderRateLimiter.meterFor(lost?.userId, address),
      attach: link => {
        const isAttached = lost?.attached ?? false
        const session = agreement && claim && driver?.recover(claim, link)
        if (driver && session) {
          this.#recoveries.onRecovered(request, hub, { userId: session.userId, address: session.address, isAttached })
          session.address = address
          driver.attachLink(session, link)
        } else link.close(CLOSE.policy, 'there is no such session')
      },
    }
  }
}

/**
 * The limit on failed claims per second and address. After a restart of the hub, the claims of all its clients fail.
 */
const MAX_FAILED_PER_SECOND = 100

export interface RecoveredSession {
  readonly userId: string | undefined
  readonly address: string | undefined
  readonly isAttached: boolean
}

/** Audits recoveries, and limits failed recoveries, which cost a handshake each. Valid claims are not limited. */
export class RecoveryGuard {
  readonly #clock: Clock
  readonly #loginGuard: LoginGuard
  readonly #failed = new KeyedRateLimiter(MAX_FAILED_PER_SECOND)

  constructor(clock: Clock, loginGuard: LoginGuard) {
    this.#clock = clock
    this.#loginGuard = loginGuard
  }

  /** Audits a recovery, which comes from the session's client or from a client that stole the session's token. */
  onRecovered(request: IncomingMessage, hub: string, { userId, address, isAttached }: RecoveredSession): void {
    const addressNote =
      address === this.#loginGuard.addressOf(request) ? '' : ` from a different address than ${address}`
    this.#loginGuard.record(
      request,
      hub,
      'accepted',
      `recovery${addressNote}${isAttached ? ' while it was connected' : ''}`,
      userId,
    )
  }

  /**
   * Audits a failed recovery.
   *
   * @param exists - whether a session with this id exists
   * @returns a refusal if too many recoveries failed, otherwise `undefined`; the client is then connected, because only
   * a close code is final for a client
   */
  onFailed(request: IncomingMessage, hub: string, exists: boolean): HandshakeRefusal | undefined {
    const reason = exists ? 'recovery with a wrong token' : 'recovery of an unknown session'
    this.#loginGuard.record(request, hub, 'refused', reason)
    const address = this.#loginGuard.addressOf(request)
    if (isThisMachine(address)) return undefined
    const now = this.#clock.monotonic()
    const rate = this.#failed.of(networkOf(address), now)
    const wait = rate.wait(now)
    if (wait > 0) return { status: 429, text: `Too many recoveries failed; wait ${Math.ceil(wait / 1_000)} s` }
    rate.charge(1, now)
    return undefined
  }
}

export const BUSY: HandshakeRefusal = { status: 503, text: 'Too many connections; try again later' }
const BUSY_USER: HandshakeRefusal = { status: 503, text: 'Too many connections of this user' }
const BUSY_ADDRESS: HandshakeRefusal = { status: 503, text: 'Too many connections of this address' }
/** The number of detached sessions that an owner keeps even when the session limit is reached. */
const MAX_PROTECTED_DETACHED = 16

export interface SessionLimits {
  readonly maxConnections: number
  readonly maxConnectionsPerUser: number
  readonly maxConnectionsPerAddress: number
}

/** A session without a network connection. */
interface DetachedSession {
  readonly engine: HubEngine
  readonly session: HubSession
}

/**
 * Limits the number of sessions. At the limit, the owner with the most detached sessions loses a session, because the
 * loss of a detached session interrupts no connected client.
 */
export class SessionLimiter {
  readonly #hubs: Hubs
  readonly #limits: SessionLimits

  constructor(hubs: Hubs, limits: SessionLimits) {
    this.#hubs = hubs
    this.#limits = limits
  }

  /**
   * Returns a refusal if a limit prevents another session.
   *
   * @param owner - owner of the session, `undefined` for a client of this machine without a user id
   * @param isUser - whether the owner is a user and not an address
   */
  checkLimits(owner: string | undefined, isUser: boolean): HandshakeRefusal | undefined {
    const { maxConnections, maxConnectionsPerUser, maxConnectionsPerAddress } = this.#limits
    const limit = isUser ? maxConnectionsPerUser : maxConnectionsPerAddress
    if (owner !== undefined && this.#hubs.sessionCountOf(owner) >= limit) {
      if (isUser) return BUSY_USER
      if (!this.#evictOldest(this.#detachedByOwner().get(owner) ?? [])) return BUSY_ADDRESS
    }
    return this.#hubs.sessionCount < maxConnections || this.#evictFromLargestOwner() ? undefined : BUSY
  }

  #evictFromLargestOwner(): boolean {
    let largest: readonly DetachedSession[] = []
    for (const detached of this.#detachedByOwner().values()) if (detached.length > largest.length) largest = detached
    return largest.length > MAX_PROTECTED_DETACHED && this.#evictOldest(largest)
  }

  #evictOldest(detached: readonly DetachedSession[]): boolean {
    let oldest: DetachedSession | undefined
    for (const candidate of detached)
      if (oldest === undefined || candidate.session.lastReceivedAt < oldest.session.lastReceivedAt) oldest = candidate
    oldest?.engine.end(oldest.session, 'expired', CLOSE.policy, '')
    return oldest !== undefined
  }

  /** Returns the detached sessions by owner. The sessions of this machine without a user id share an entry. */
  #detachedByOwner(): ReadonlyMap<string, readonly DetachedSession[]> {
    const byOwner = new Map<string, DetachedSession[]>()
    for (const { engine } of this.#hubs.all) {
      for (const session of engine.sessionIndex.all) {
        if (session.attached) continue
        const owner = session.owner === session.connectionId ? '' : session.owner
        const detached = byOwner.get(owner) ?? []
        byOwner.set(owner, detached)
        detached.push({ engine, session })
      }
    }
    return byOwner
  }
}

/** Throttles addresses that guess credentials, and writes the audit log. */
export class LoginGuard {
  readonly audit: Audit
  /** The throttle, or `undefined` if credentials cannot be guessed. */
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

  addressOf({ socket, headers }: IncomingMessage): string {
    return clientAddress(socket.remoteAddress ?? '', headers['x-forwarded-for'], this.#trustProxy)
  }

  checkThrottle(request: IncomingMessage, hub: string): HandshakeRefusal | undefined {
    const pause = this.#throttle?.pause(this.addressOf(request)) ?? 0
    if (pause === 0) return undefined
    const refusal = { status: 429, text: `Too many failed logins; wait ${Math.ceil(pause / 1_000)} s` } as const
    this.record(request, hub, 'refused', refusal.text)
    return refusal
  }

  onDecision(request: IncomingMessage, hub: string, decision: Identity | HandshakeRefusal): void {
    if ('status' in decision) {
      const address = this.addressOf(request)
      // A client that guesses on this machine must not lock out the machine's other clients.
      if (decision.status === 401 && !isThisMachine(address)) this.#throttle?.recordFailure(address)
      this.record(request, hub, 'refused', decision.internalReason ?? decision.text)
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
    this.audit.report({ event: 'login', outcome, username, address, listener: 'hub', target, reason })
  }
}
