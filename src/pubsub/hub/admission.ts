import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../core/util/clock.js'
import { isThisMachine, networkOf } from '../../node/limits/network.js'
import { Rates } from '../../node/limits/rate.js'
import type { Origins } from '../../node/net/origins.js'
import { jsonHubCodec } from '../wire/json-hub-codec.js'
import { protobufHubCodec } from '../wire/protobuf-hub-codec.js'
import type { Authenticator } from './authenticate.js'
import type { Doorman } from './doorman.js'
import { type Handshake, type HandshakeRefusal, readHandshake } from './handshake.js'
import type { HubDriver } from './hub-driver.js'
import { CLOSE } from './hub-link.js'
import type { HubSession } from './hub-session.js'
import type { Hubs } from './hubs.js'
import { type FrameMeter, ownerOf, type Senders } from './senders.js'
import { type PlaceQuotas, SessionPlaces } from './session-places.js'
import { type Agreement, agree, SharedCodec } from './shared-codec.js'
import type { WebSocketLink } from './websocket-link.js'

const FOREIGN: HandshakeRefusal = { status: 403, text: 'Pages of other origins may not connect' }

/** What a client asks for, and in which subprotocol. */
export interface Asked {
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
export class Admissions {
  readonly #hubs: Hubs
  readonly #authenticate: Authenticator
  readonly #doorman: Doorman
  readonly #senders: Senders
  readonly #places: SessionPlaces
  readonly #recoveries: RecoveryGuard
  readonly #options: AdmissionOptions
  readonly #codecs = [jsonHubCodec, protobufHubCodec].map(codec => new SharedCodec(codec))

  constructor(hubs: Hubs, authenticate: Authenticator, doorman: Doorman, senders: Senders, options: AdmissionOptions) {
    this.#hubs = hubs
    this.#authenticate = authenticate
    this.#doorman = doorman
    this.#senders = senders
    this.#places = new SessionPlaces(hubs, options)
    this.#recoveries = new RecoveryGuard(options.clock, doorman)
    this.#options = options
  }

  /** What a request asks for, or why it cannot be had. */
  read(request: IncomingMessage): Asked | HandshakeRefusal {
    const handshake = readHandshake(request.url ?? '', request.headers, this.#options.path)
    if ('status' in handshake) return handshake
    if (!this.#options.origins.allow(request.headers)) {
      this.#doorman.decided(request, handshake.hub, FOREIGN)
      return FOREIGN
    }
    const agreement = agree(handshake.subprotocols, this.#codecs)
    if (agreement !== undefined) return { handshake, agreement }
    const known = this.#codecs.map(({ name }) => name).join(' or ')
    return { status: 400, text: `Offer the subprotocol ${known}` }
  }

  /** Whether a client may begin a session. */
  async admit({ handshake, agreement }: Asked, request: IncomingMessage): Promise<Admission | HandshakeRefusal> {
    const objection = this.#doorman.objection(request, handshake.hub)
    if (objection) return objection
    if (!this.#hubs.allows(handshake.hub)) return { status: 404, text: `There is no hub ${handshake.hub}` }
    const identity = await this.#authenticate(handshake, request.headers)
    this.#doorman.decided(request, handshake.hub, identity)
    if ('status' in identity) return identity
    const { userId } = identity
    const address = this.#doorman.addressOf(request)
    const owner = ownerOf(userId, address)
    return {
      name: agreement.name,
      admits: () => this.#places.admits(owner, userId !== undefined),
      meter: () => this.#senders.meterOf(userId, address),
      attach: link => {
        const hub = this.#hubs.open(handshake.hub)
        const session = hub.connect(link, agreement.codec, { ...identity, owner })
        session.address = address
        bind(hub, session, link)
      },
    }
  }

  /** A client whose session is gone is let in all the same: only a close code tells it that this is final. */
  recovery(
    { handshake: { hub, claim, subprotocols }, agreement: fallback }: Asked,
    request: IncomingMessage,
  ): Admission | HandshakeRefusal {
    const driver = this.#hubs.find(hub)
    const wanted = claim && driver?.engine.find(claim)
    if (wanted === undefined) {
      const isThere = claim !== undefined && driver?.engine.roster.get(claim.connectionId) !== undefined
      const refusal = this.#recoveries.failed(request, hub, isThere)
      if (refusal !== undefined) return refusal
    }
    const agreement = wanted && agree(subprotocols, [wanted.codec])
    const address = this.#doorman.addressOf(request)
    return {
      name: (agreement ?? fallback).name,
      admits: () => undefined,
      meter: () => this.#senders.meterOf(wanted?.userId, address),
      attach: link => {
        const isAttached = wanted?.attached ?? false
        const session = agreement && claim && driver?.recover(claim, link)
        if (driver && session) {
          this.#recoveries.recovered(request, hub, { userId: session.userId, address: session.address, isAttached })
          session.address = address
          bind(driver, session, link)
        } else link.close(CLOSE.policy, 'there is no such session')
      },
    }
  }
}

/** Gives a session its network connection. */
export function bind(hub: HubDriver, session: HubSession, link: WebSocketLink): void {
  link.listen({
    receive: frame => hub.receive(session, link, frame),
    receiveAhead: frame => hub.receiveAhead(session, link, frame),
    alive: () => hub.alive(session, link),
    drained: () => hub.engine.drained(session, link),
    violated: () => hub.engine.violated(session, link),
    gone: code => hub.dropped(session, link, code),
  })
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
  readonly #doorman: Doorman
  readonly #failed: Rates

  constructor(clock: Clock, doorman: Doorman) {
    this.#clock = clock
    this.#doorman = doorman
    this.#failed = new Rates(MAX_FAILED_PER_SECOND, () => clock.monotonic())
  }

  /** A client goes on with a session: its own, or one whose token it has found. */
  recovered(request: IncomingMessage, hub: string, { userId, address, isAttached }: RecoveredSession): void {
    const place = address === this.#doorman.addressOf(request) ? '' : ` from another address than ${address}`
    this.#tell(request, hub, 'accepted', `recovery${place}${isAttached ? ' while it was connected' : ''}`, userId)
  }

  /**
   * A client claims a session that it cannot have.
   *
   * @param isThere - whether there is one with this id
   * @returns the refusal if there are too many; otherwise the client is let in, since only a close code is final for it
   */
  failed(request: IncomingMessage, hub: string, isThere: boolean): HandshakeRefusal | undefined {
    const reason = isThere ? 'recovery with a wrong token' : 'recovery of a session that is not there'
    this.#tell(request, hub, 'refused', reason)
    const address = this.#doorman.addressOf(request)
    if (isThisMachine(address)) return undefined
    const now = this.#clock.monotonic()
    const rate = this.#failed.of(networkOf(address))
    const wait = rate.wait(now)
    if (wait > 0) return { status: 429, text: `Too many recoveries failed; wait ${Math.ceil(wait / 1_000)} s` }
    rate.charge(1, now)
    return undefined
  }

  #tell(request: IncomingMessage, target: string, outcome: 'accepted' | 'refused', reason: string, username?: string) {
    const address = this.#doorman.addressOf(request)
    this.#doorman.audit.tell({ event: 'login', outcome, username, address, listener: 'hub', target, reason })
  }
}
