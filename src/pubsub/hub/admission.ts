import type { IncomingMessage } from 'node:http'
import { jsonHubCodec } from '../wire/json-hub-codec.js'
import { protobufHubCodec } from '../wire/protobuf-hub-codec.js'
import type { Authenticator } from './authenticate.js'
import { type Handshake, type HandshakeRefusal, readHandshake } from './handshake.js'
import type { HubDriver } from './hub-driver.js'
import { CLOSE } from './hub-link.js'
import type { HubSession } from './hub-session.js'
import type { Hubs } from './hubs.js'
import { type Agreement, agree, SharedCodec } from './shared-codec.js'
import type { WebSocketLink } from './websocket-link.js'

/** What a client asks for, and in which subprotocol. */
export interface Asked {
  readonly handshake: Handshake
  readonly agreement: Agreement
}

/** A client that may come in. */
export interface Admission {
  /** Subprotocol in the answer. */
  readonly name: string
  /** Whether it begins another session. */
  readonly fresh: boolean
  /** Begins or resumes a session, once the socket is there. */
  readonly attach: (link: WebSocketLink) => void
}

/** What a client asks for in its handshake, and whether it gets it. */
export class Admissions {
  readonly #hubs: Hubs
  readonly #authenticate: Authenticator
  readonly #path: string
  readonly #codecs = [jsonHubCodec, protobufHubCodec].map(codec => new SharedCodec(codec))

  /** @param path - below which the hubs are */
  constructor(hubs: Hubs, authenticate: Authenticator, path: string) {
    this.#hubs = hubs
    this.#authenticate = authenticate
    this.#path = path
  }

  /** What a request asks for, or why it cannot be had. */
  read(request: IncomingMessage): Asked | HandshakeRefusal {
    const handshake = readHandshake(request.url ?? '', request.headers, this.#path)
    if ('status' in handshake) return handshake
    const agreement = agree(handshake.subprotocols, this.#codecs)
    if (agreement !== undefined) return { handshake, agreement }
    const known = this.#codecs.map(({ name }) => name).join(' or ')
    return { status: 400, text: `Offer the subprotocol ${known}` }
  }

  /** Whether a client may begin a session. */
  async admit({ handshake, agreement }: Asked, { headers }: IncomingMessage): Promise<Admission | HandshakeRefusal> {
    if (!this.#hubs.allows(handshake.hub)) return { status: 404, text: `There is no hub ${handshake.hub}` }
    const identity = await this.#authenticate(handshake, headers)
    if ('status' in identity) return identity
    return {
      name: agreement.name,
      fresh: true,
      attach: link => {
        const hub = this.#hubs.open(handshake.hub)
        bind(hub, hub.connect(link, agreement.codec, identity), link)
      },
    }
  }

  /** A client whose session is gone is let in all the same: only a close code tells it that this is final. */
  recovery({ handshake: { hub, claim, subprotocols }, agreement: fallback }: Asked): Admission {
    const driver = this.#hubs.find(hub)
    const wanted = claim && driver?.engine.find(claim)
    const agreement = wanted && agree(subprotocols, [wanted.codec])
    return {
      name: (agreement ?? fallback).name,
      fresh: false,
      attach: link => {
        const session = agreement && claim && driver?.recover(claim, link)
        if (driver && session) bind(driver, session, link)
        else link.close(CLOSE.policy, 'there is no such session')
      },
    }
  }
}

function bind(hub: HubDriver, session: HubSession, link: WebSocketLink): void {
  link.listen({
    receive: frame => hub.receive(session, link, frame),
    receiveAhead: frame => hub.receiveAhead(session, link, frame),
    alive: () => hub.alive(session, link),
    drained: () => hub.engine.drained(session, link),
    violated: () => hub.engine.violated(session, link),
    gone: code => hub.dropped(session, link, code),
  })
}
