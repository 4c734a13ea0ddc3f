import { encodePacket } from '../../../core/mqtt5/encode.js'
import { PacketError } from '../../../core/mqtt5/packet-error.js'
import type { Auth, Content, ServerPacket, Will } from '../../../core/mqtt5/packets.js'
import type { ReasonCode } from '../../../core/mqtt5/reason-codes.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { LIMIT } from '../limits/limits.js'
import type { Evictable } from '../limits/memory-evictor.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'
import {
  ConnectHandler,
  connackOf,
  disconnectCode,
  disconnectPacketFor,
  type EntrancePeer,
  keepAliveTimeoutMs,
  type PendingClient,
  willOf,
  willSize,
} from './connect-handler.js'
import type { Host } from './connection-host.js'
import type { Accepted, Verdict } from './handler.js'
import { CredentialExpiry, KeepAlive } from './keep-alive.js'
import { type Link, listenerName } from './link.js'
import { type ConversationPeer, PacketHandler } from './packet-handler.js'

/** Reason codes of connections that end for a limit. */
const LIMITS: ReadonlySet<ReasonCode> = new Set([
  REASON.receiveMaximumExceeded,
  REASON.packetTooLarge,
  REASON.messageRateTooHigh,
  REASON.quotaExceeded,
])

/**
 * One client's connection, from CONNECT to its end: what it does with each packet, and what it sends. It knows no socket
 * and no timer of the system, so that its driver decides what happens when.
 */
export class Connection implements ConversationPeer, EntrancePeer, Evictable {
  account: QuotaAccount | undefined
  /** `open`: the client is let in. */
  #state: 'entering' | 'open' | 'ended' = 'entering'
  #clientId = ''
  readonly #link: Link
  readonly #host: Host<Connection>
  readonly #connectHandler: ConnectHandler
  readonly #keepAlive: KeepAlive
  /** Counted to the broker's memory until it is published or not wanted any more. */
  #will: Will | undefined
  /** Since the client was let in. */
  #packetHandler: PacketHandler | undefined
  readonly #credentialExpiry: CredentialExpiry

  constructor(link: Link, host: Host<Connection>) {
    this.#link = link
    this.#host = host
    this.#connectHandler = new ConnectHandler(link, host, this)
    this.#keepAlive = new KeepAlive(host, LIMIT.connectTimeout, () => this.#silent())
    this.#credentialExpiry = new CredentialExpiry(host, () =>
      this.disconnect(REASON.maximumConnectTime, 'the credentials have expired'),
    )
  }

  get clientId(): string {
    return this.#clientId
  }

  get open(): boolean {
    return this.#state === 'open'
  }

  get ended(): boolean {
    return this.#state === 'ended'
  }

  get stalled(): boolean {
    return this.#link.unsent > LIMIT.unsent && !this.#packetHandler?.leaving
  }

  get owner(): string | undefined {
    return this.open ? (this.account?.name ?? '') : undefined
  }

  get held(): number {
    const will = this.#will ? willSize(this.#will) : 0
    return this.#link.held + this.#connectHandler.held + (this.#packetHandler?.held ?? 0) + will
  }

  get underway(): number {
    return this.#link.underway
  }

  /** Something came over the network. */
  seen(): void {
    this.#keepAlive.seen()
  }

  /** Takes one packet. */
  receive(frame: Uint8Array): void {
    if (this.#state === 'ended') return
    // No function of its own for every packet.
    try {
      if (this.#packetHandler) this.#packetHandler.receive(frame)
      else this.#connectHandler.receive(frame)
    } catch (error) {
      this.fail(error)
    }
  }

  /** As {@link receive} for a PUBACK that says nothing but success; while {@link open}. */
  acknowledged(packetId: number): void {
    this.#packetHandler?.session.outbox.puback(packetId)
  }

  /** Goes on with one packet that had to wait; returns whether there was one that may go on. */
  proceed(): boolean {
    if (this.#state !== 'open') return false
    try {
      return this.#packetHandler?.proceed() ?? false
    } catch (error) {
      this.fail(error)
      return false
    }
  }

  /** The client sends no more than what it has sent by now. */
  leave(): void {
    this.#packetHandler?.leave()
  }

  /** All is done that the client has sent, and it sends no more. */
  finish(): void {
    this.#link.end()
    this.lost()
  }

  /** The network connection is gone, without a word. */
  lost(): void {
    this.#leave(this.#packetHandler?.forgoesWill ? undefined : this.#will)
  }

  /** Cuts the network connection without a word, as a broken network does. */
  cut(): void {
    this.#link.destroy()
    this.lost()
  }

  /** Cuts it as what has begun is not complete after the time it may take. @param what - what has begun */
  overdue(what: string): void {
    this.#reportCut(`${what} took too long`)
    this.cut()
  }

  /** Ends it with its session: too much is unacknowledged. */
  abandon(): void {
    if (this.#packetHandler) this.#packetHandler.session.expiry = 0
    this.disconnect(REASON.quotaExceeded, 'too many unacknowledged messages')
  }

  giveUp(): void {
    this.disconnect(REASON.quotaExceeded, 'the broker has no room for what this connection holds')
    // Of what is left it would get rid when the network likes.
    if (this.#link.held + this.#link.underway > LIMIT.leftover) this.#link.destroy()
  }

  /** Ends the connection, and says why. The last will is published, as the client did not say goodbye. */
  disconnect(reasonCode: ReasonCode, reasonString: string, serverReference?: string): void {
    if (this.#state === 'ended') return
    if (LIMITS.has(reasonCode)) this.#reportCut(reasonString)
    const farewell = disconnectPacketFor(this.#connectHandler.version, this.open, {
      reasonCode,
      reasonString,
      serverReference,
    })
    if (farewell) this.send(farewell)
    this.#link.end()
    this.lost()
  }

  goodbye(withWill: boolean): void {
    this.#link.end()
    this.#leave(withWill ? this.#will : undefined)
  }

  /** Ends the connection because of an error: the client's, or one of ours. */
  fail(error: unknown): void {
    if (error instanceof PacketError) this.disconnect(error.reasonCode, error.message)
    else {
      this.disconnect(REASON.implementationSpecificError, 'the broker failed')
      this.#host.handler.failed(error, this.clientId)
    }
  }

  subscribes(topic: string): boolean {
    return this.#packetHandler?.session.grant(topic) !== undefined
  }

  deliver(topic: string, content: Content): void {
    this.#packetHandler?.deliver(topic, content)
  }

  send(packet: ServerPacket): void {
    const { guest } = this.#connectHandler
    if (guest) guest.outbound.send(packet)
    // The client has not said what it takes.
    else this.#link.write(encodePacket(packet, this.#connectHandler.version))
  }

  named(clientId: string): void {
    this.#clientId = clientId
  }

  authenticate(packet: Auth): void {
    this.#connectHandler.authenticate(packet)
  }

  decided(verdict: Verdict): void {
    const { guest } = this.#connectHandler
    if (this.#state === 'ended' || guest === undefined) return
    const { authenticationMethod } = guest.connect
    if (verdict.type === 'refused')
      this.disconnect(this.open ? disconnectCode(verdict) : verdict.reasonCode, verdict.reason, verdict.serverReference)
    else if (verdict.type === 'accepted' && this.#state === 'entering') this.#admit(guest, verdict)
    else {
      if (verdict.type === 'accepted' && !this.#renew(verdict)) return
      const reasonCode = verdict.type === 'continue' ? REASON.continueAuthentication : REASON.success
      this.send({ type: 'auth', reasonCode, authenticationMethod, authenticationData: verdict.data })
    }
  }

  tooSlow(): void {
    this.disconnect(REASON.quotaExceeded, 'too many unread messages')
  }

  /** Takes over what a client has proved anew; returns whether it may stay. */
  #renew(accepted: Accepted): boolean {
    const { session } = this.#packetHandler ?? {}
    this.#credentialExpiry.until(accepted.expiresAt)
    if (session && session.holder?.id !== accepted.holder?.id)
      this.disconnect(REASON.notAuthorized, 'these are the credentials of somebody else')
    else if (session) this.#host.recheck(session, accepted.holder)
    return !this.ended
  }

  #admit({ connect, outbound }: PendingClient, { data: authenticationData, holder, expiresAt }: Accepted): void {
    const host = this.#host
    this.#will = willOf(connect, this, host)
    const { session, present } = host.admit(this, connect, this.clientId, { holder, address: this.#link.remoteAddress })
    this.account = session.account
    this.#credentialExpiry.until(expiresAt)
    const { early } = this.#connectHandler
    this.#packetHandler = new PacketHandler({
      peer: this,
      link: this.#link,
      session,
      host,
      version: connect.version,
      early,
    })
    this.#state = 'open'
    this.#keepAlive.start(keepAliveTimeoutMs(connect, host.maxKeepAliveSeconds))
    const welcome = { clientId: this.clientId, sessionPresent: present, authenticationData }
    outbound.send(connackOf(connect, welcome, host))
    host.handler.connected(this)
    session.resume(outbound, connect.receiveMaximum)
    if (early.length > 0) this.#link.wake()
  }

  #silent(): void {
    if (this.#state === 'entering') this.overdue('the login')
    // It may have said something that was not read.
    else if (!this.stalled) this.disconnect(REASON.keepAliveTimeout, 'nothing came for one and a half keep-alives')
  }

  #reportCut(reason: string): void {
    const { remoteAddress: address, transport, secure } = this.#link
    const clientId = this.clientId === '' ? undefined : this.clientId
    this.#host.handler.cut?.(
      { reason, address, listener: listenerName(transport, secure !== undefined), clientId },
      this,
    )
  }

  #leave(will: Will | undefined): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#host.ended(this)
    this.#keepAlive.stop()
    this.#credentialExpiry.until(undefined)
    this.#connectHandler.close()
    const conversation = this.#packetHandler
    if (this.#will && (will === undefined || conversation === undefined)) this.#host.budget.give(willSize(this.#will))
    this.#will = undefined
    if (conversation === undefined) return
    conversation.end()
    try {
      this.#host.leave(this, conversation.session, will)
    } catch (error) {
      this.fail(error)
    }
  }
}
