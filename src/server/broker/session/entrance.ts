import { decodePacket } from '../../../core/mqtt5/decode.js'
import { PacketError, protocolError } from '../../../core/mqtt5/packet-error.js'
import * as PACKET from '../../../core/mqtt5/packet-types.js'
import type { Auth, Version } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { LIMIT } from '../limits/limits.js'
import { levelOf } from './connack.js'
import { Deferred } from './deferred.js'
import { clientIdOf, type Guest, guestOf, keepGreeting } from './guest.js'
import type { Verdict } from './handler.js'
import type { Host } from './host.js'
import type { Link } from './link.js'
import type { OutboundPeer } from './outbound.js'

/** The connection of somebody who wants to come in. */
export interface EntrancePeer extends Client, OutboundPeer {
  /** Cuts the network connection without a word. */
  cut(): void
  /** What is made of the client's credentials. */
  decided(verdict: Verdict): void
  fail(error: unknown): void
}

/** How a client comes in: its CONNECT, its credentials, and what it sends before it is decided whether to let it in. */
export class Entrance {
  readonly #link: Link
  readonly #host: Host<never>
  readonly #peer: EntrancePeer
  /** Packets that came before their sender was let in. */
  readonly early: Deferred
  #clientId = ''
  #version: Version = 5
  #guest: Guest | undefined
  /** What CONNECT counts, bytes. */
  #greeting = 0

  constructor(link: Link, host: Host<never>, peer: EntrancePeer) {
    this.#link = link
    this.#host = host
    this.#peer = peer
    this.early = new Deferred(host.budget)
  }

  /** Empty before CONNECT. */
  get clientId(): string {
    return this.#clientId
  }

  /** As CONNECT says, and 5 before that. */
  get version(): Version {
    return this.#version
  }

  /** Who is there; `undefined` before CONNECT. */
  get guest(): Guest | undefined {
    return this.#guest
  }

  /** What its CONNECT counts, and packets that wait, bytes. */
  get held(): number {
    return this.#greeting + this.early.size
  }

  /** Takes a packet of somebody who is not let in. Raises {@link PacketError} for what ends the connection. */
  receive(frame: Uint8Array): void {
    const guest = this.#guest
    if (guest === undefined) this.#meet(frame)
    else if (guest.authentication.deciding) this.#defer(frame)
    else {
      const packet = decodePacket(frame, guest.connect.version, this.#host.accounts.mostUserProperties)
      if (packet.type !== 'auth') throw protocolError('AUTH is awaited')
      this.authenticate(packet)
    }
  }

  /** Takes a step of enhanced authentication. */
  authenticate(packet: Auth): void {
    this.#guest?.authentication.proceed(packet, this.#decided, this.#failed)
  }

  /** The connection is gone. */
  close(): void {
    this.#guest?.authentication.close()
    this.early.clear()
    this.#host.budget.give(this.#greeting)
    this.#greeting = 0
  }

  readonly #decided = (verdict: Verdict): void => this.#peer.decided(verdict)
  readonly #failed = (error: unknown): void => this.#peer.fail(error)

  #meet(frame: Uint8Array): void {
    // A client that does not begin with CONNECT gets no answer (MQTT 5.0, section 3.1).
    if ((frame[0] ?? 0) >> 4 !== PACKET.connect) {
      this.#peer.cut()
      return
    }
    this.#version = levelOf(frame)
    const connect = decodePacket(frame, this.#version, this.#host.accounts.mostUserProperties)
    if (connect.type !== 'connect') return
    this.#guest = guestOf(connect, this.#link, this.#host, this.#peer)
    this.#greeting = keepGreeting(frame, this.#host.budget)
    this.#clientId = clientIdOf(connect)
    this.#guest.authentication.begin(this.#decided, this.#failed)
  }

  #defer(frame: Uint8Array): void {
    if (this.early.size + frame.length > LIMIT.deferred)
      throw new PacketError(REASON.quotaExceeded, 'too much before the client is let in')
    this.early.push(frame)
  }
}
