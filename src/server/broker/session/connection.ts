import { serverConnectionChannel } from '../../../core/diagnostics/server-channels.js'
import type { ConnectionLimit } from '../../../core/diagnostics/server-events.js'
import { encodePacket } from '../../../core/mqtt5/encode.js'
import { PacketError } from '../../../core/mqtt5/packet-error.js'
import type { Auth, Connect, Content, ServerPacket, Will } from '../../../core/mqtt5/packets.js'
import type { ReasonCode } from '../../../core/mqtt5/reason-codes.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { disconnectCode } from '../../../core/mqtt5/refusals.js'
import type { Evictable } from '../../../node/limits/memory-evictor.js'
import type { Disconnection } from '../../../node/net/audit.js'
import { LIMIT } from '../limits/limits.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'
import {
  ConnectHandler,
  type ConnectHandlerPeer,
  connackOf,
  disconnectPacketFor,
  keepAliveTimeoutMs,
  type PendingClient,
} from './connect-handler.js'
import type { ConnectionHost } from './connection-host.js'
import type { Accepted, Verdict } from './handler.js'
import { CredentialExpiry, KeepAlive } from './keep-alive.js'
import { type Link, listenerName } from './link.js'
import { PacketHandler, type PacketHandlerPeer } from './packet-handler.js'
import type { Grant } from './session.js'
import { willSize } from './wills.js'

const LIMITS: ReadonlyMap<ReasonCode, ConnectionLimit> = new Map([
  [REASON.receiveMaximumExceeded, 'receive-maximum'],
  [REASON.packetTooLarge, 'packet-size'],
  [REASON.messageRateTooHigh, 'message-rate'],
  [REASON.quotaExceeded, 'quota'],
])

/** The user property of CONNECT that groups clients in metrics, as in Azure IoT Operations. */
const CATEGORY_PROPERTY = 'metriccategory'

/** The grant for a message to a client without a subscription. See {@link Connection.deliver}. */
const NO_GRANT: Grant = { qos: 1, subscriptionIds: [] }

/** The end of a connection, as reported in events. */
interface Ending {
  readonly by: 'client' | 'broker'
  readonly reasonCode?: ReasonCode
  readonly reason?: string
}

/**
 * The connection of one client. It uses no sockets or system timers, so that a simulation can control the order of
 * events.
 */
export class Connection implements PacketHandlerPeer, ConnectHandlerPeer, Evictable {
  account: QuotaAccount | undefined
  #state: 'connecting' | 'open' | 'ended' = 'connecting'
  #clientId = ''
  readonly #link: Link
  readonly #host: ConnectionHost<Connection>
  readonly #connectHandler: ConnectHandler
  readonly #keepAlive: KeepAlive
  /** The will, which is charged to the memory budget. */
  #will: Will | undefined
  #packetHandler: PacketHandler | undefined
  readonly #credentialExpiry: CredentialExpiry
  /** Undefined if the network connection closes first. */
  #ending: Ending | undefined

  constructor(link: Link, host: ConnectionHost<Connection>) {
    this.#link = link
    this.#host = host
    this.#connectHandler = new ConnectHandler(link, host, this)
    this.#keepAlive = new KeepAlive(host, LIMIT.connectTimeoutMs, () => this.#onKeepAliveTimeout())
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

  get isEnded(): boolean {
    return this.#state === 'ended'
  }

  get isStalled(): boolean {
    if (this.#link.unsentBytes <= LIMIT.readPauseBytes) return false
    // A client that has closed its side of the connection may still read queued and retained messages.
    return !this.#packetHandler?.hasInputEnded || this.canInterleave
  }

  get accountName(): string | undefined {
    return this.open ? (this.account?.name ?? '') : undefined
  }

  get hasWill(): boolean {
    return this.#will !== undefined
  }

  get heldBytes(): number {
    const will = this.#will ? willSize(this.#will) : 0
    return this.#link.heldBytes + this.#connectHandler.heldBytes + (this.#packetHandler?.heldBytes ?? 0) + will
  }

  get transientBytes(): number {
    return this.#link.transientBytes
  }

  recordActivity(): void {
    this.#keepAlive.recordActivity()
  }

  receive(frame: Uint8Array): void {
    if (this.#state === 'ended') return
    // This code is inlined, because a closure per packet would be too slow.
    try {
      if (this.#packetHandler) this.#packetHandler.receive(frame)
      else this.#connectHandler.receive(frame)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Processes a PUBACK with reason code 0 without the decoder. Must be called only while {@link open}. */
  handlePuback(packetId: number): void {
    this.#packetHandler?.session.deliveryQueue.puback(packetId)
  }

  processNext(): boolean {
    if (this.#state !== 'open') return false
    try {
      return this.#packetHandler?.processNext() ?? false
    } catch (error) {
      this.fail(error)
      return false
    }
  }

  /** See {@link PacketHandler.canInterleave}. */
  get canInterleave(): boolean {
    return this.#packetHandler?.canInterleave ?? false
  }

  /** Marks the end of input, because the client has closed its side of the connection. */
  endInput(): void {
    this.#packetHandler?.endInput()
  }

  finish(): void {
    this.#link.end()
    this.onNetworkClosed()
  }

  onNetworkClosed(): void {
    this.#end(this.#packetHandler?.discardsWill ? undefined : this.#will)
  }

  cut(): void {
    this.#ending ??= { by: 'broker' }
    this.#link.destroy()
    this.onNetworkClosed()
  }

  /**
   * Cuts the connection of a client that missed a deadline.
   *
   * @param what - operation that took too long, for the audit log
   */
  cutOverdue(what: string): void {
    const reason = `${what} took too long`
    this.#reportCut(this.#packetHandler ? 'packet-time' : 'login-time', reason)
    this.#ending = { by: 'broker', reason }
    this.cut()
  }

  /** Ends the connection and its session because too many messages are unacknowledged. */
  endWithSession(): void {
    if (this.#packetHandler) this.#packetHandler.session.expirySeconds = 0
    this.disconnect(REASON.quotaExceeded, 'too many unacknowledged messages')
  }

  evict(): void {
    this.disconnect(REASON.quotaExceeded, 'closed because the memory of the broker is exhausted')
    // Waiting for the client to read the remaining data would not free the memory.
    if (this.#link.heldBytes + this.#link.transientBytes > LIMIT.disconnectBytes) this.#link.destroy()
  }

  /** Ends the connection and publishes the will. Sends the reason if the protocol version supports that. */
  disconnect(cause: ReasonCode, reasonString: string, serverReference?: string): void {
    if (this.#state === 'ended') return
    const reasonCode = this.open ? disconnectCode(cause) : cause
    const limit = LIMITS.get(reasonCode)
    if (limit !== undefined) this.#reportCut(limit, reasonString)
    this.#ending = { by: 'broker', reasonCode, reason: reasonString }
    const packet = disconnectPacketFor(this.#connectHandler.version, this.open, {
      reasonCode,
      reasonString,
      serverReference,
    })
    if (packet) this.#sendFitting(packet)
    this.#link.end()
    this.onNetworkClosed()
  }

  closeByClient(reasonCode: ReasonCode): void {
    this.#ending = { by: 'client', reasonCode }
    this.#link.end()
    this.#end(reasonCode === REASON.success ? undefined : this.#will)
  }

  fail(error: unknown): void {
    if (error instanceof PacketError) this.disconnect(error.reasonCode, error.message)
    else {
      this.disconnect(REASON.implementationSpecificError, 'internal error of the broker')
      this.#host.handler.onError(error, this.clientId)
    }
  }

  subscribes(topic: string): boolean {
    return this.#packetHandler?.session.grant(topic) !== undefined
  }

  deliver(topic: string, content: Content): void {
    this.#packetHandler?.deliver(topic, content)
  }

  exceededPacketSize(topic: string, content: Content): number | undefined {
    const grantOf = (): Grant => this.#packetHandler?.session.grant(topic) ?? NO_GRANT
    return this.#connectHandler.pendingClient?.outbound.exceededPacketSize(topic, content, grantOf)
  }

  send(packet: ServerPacket): void {
    if (this.#sendFitting(packet)) return
    // Without the response, the client would wait forever.
    const name = packet.type.toUpperCase()
    this.disconnect(REASON.packetTooLarge, `the response ${name} exceeds the maximum packet size of the client`)
  }

  #sendFitting(packet: ServerPacket): boolean {
    const { pendingClient } = this.#connectHandler
    if (pendingClient) return pendingClient.outbound.send(packet)
    // The client's version and limits are unknown before CONNECT.
    this.#link.write(encodePacket(packet, this.#connectHandler.version))
    return true
  }

  setClientId(clientId: string): void {
    this.#clientId = clientId
  }

  authenticate(packet: Auth): void {
    this.#connectHandler.authenticate(packet)
  }

  onVerdict(verdict: Verdict): void {
    const { pendingClient } = this.#connectHandler
    if (this.#state === 'ended' || pendingClient === undefined) return
    const { authenticationMethod } = pendingClient.connect
    if (verdict.type === 'refused') this.disconnect(verdict.reasonCode, verdict.reason, verdict.serverReference)
    else if (verdict.type === 'accepted' && this.#state === 'connecting') this.#admit(pendingClient, verdict)
    else {
      if (verdict.type === 'accepted' && !this.#reauthenticate(verdict)) return
      const reasonCode = verdict.type === 'continue' ? REASON.continueAuthentication : REASON.success
      this.send({ type: 'auth', reasonCode, authenticationMethod, authenticationData: verdict.data })
    }
  }

  disconnectSlowClient(): void {
    this.disconnect(REASON.quotaExceeded, 'too many unread messages')
  }

  /** Applies a successful reauthentication. Returns whether the client may remain connected. */
  #reauthenticate(accepted: Accepted): boolean {
    const { session } = this.#packetHandler ?? {}
    this.#credentialExpiry.set(accepted.expiresAt)
    if (session && session.owner?.id !== accepted.owner?.id)
      this.disconnect(REASON.notAuthorized, 'AUTH has the credentials of another principal')
    else if (session) this.#host.revalidateSession(session, accepted.owner)
    return !this.isEnded
  }

  #admit({ connect, outbound }: PendingClient, { data: authenticationData, owner, expiresAt }: Accepted): void {
    const host = this.#host
    this.#will = host.wills.reserve(connect, this)
    const address = this.#link.remoteAddress
    const { session, isSessionPresent: sessionPresent } = host.admit(this, connect, this.clientId, { owner, address })
    this.account = session.account
    this.#credentialExpiry.set(expiresAt)
    const { early } = this.#connectHandler
    this.#packetHandler = new PacketHandler({
      peer: this,
      link: this.#link,
      session,
      host,
      version: connect.version,
      early,
    })
    const details = { clientId: this.clientId, sessionPresent, authenticationData }
    this.send(connackOf(connect, details, host))
    if (this.isEnded) return
    this.#state = 'open'
    this.#keepAlive.start(keepAliveTimeoutMs(connect, host.maxKeepAliveSeconds))
    this.#publishOpened(connect, sessionPresent)
    host.handler.onConnected(this)
    session.resume(outbound, connect.receiveMaximum)
    if (early.length > 0 || session.hasUnsent) this.#link.wake()
  }

  #onKeepAliveTimeout(): void {
    if (this.#state === 'connecting') this.cutOverdue('the login')
    // While the connection is stalled, the client may have sent packets that were not read.
    else if (!this.isStalled)
      this.disconnect(REASON.keepAliveTimeout, 'no packet arrived within one and a half times the keep-alive')
  }

  #publishOpened({ userProperties }: Connect, isSessionPresent: boolean): void {
    if (!serverConnectionChannel.hasSubscribers) return
    const [, category] = userProperties.find(([name]) => name === CATEGORY_PROPERTY) ?? []
    const { clientId } = this
    serverConnectionChannel.publish({ type: 'opened', clientId, ...this.#origin, isSessionPresent, category })
  }

  #publishClosed(isAdmitted: boolean): void {
    if (!serverConnectionChannel.hasSubscribers) return
    const { by, reasonCode, reason } = {
      by: 'network',
      reasonCode: undefined,
      reason: undefined,
      ...this.#ending,
    } as const
    const { clientId } = this
    serverConnectionChannel.publish({ type: 'closed', clientId, ...this.#origin, isAdmitted, by, reasonCode, reason })
  }

  get #origin(): Pick<Disconnection, 'address' | 'listener'> {
    const { remoteAddress: address, transport, secure } = this.#link
    return { address, listener: listenerName(transport, secure !== undefined) }
  }

  #reportCut(limit: ConnectionLimit, reason: string): void {
    const clientId = this.clientId === '' ? undefined : this.clientId
    this.#host.handler.onConnectionCut?.({ limit, reason, ...this.#origin, clientId }, this)
  }

  #end(will: Will | undefined): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#publishClosed(this.#packetHandler !== undefined)
    this.#host.removeConnection(this)
    this.#keepAlive.stop()
    this.#credentialExpiry.set(undefined)
    this.#connectHandler.close()
    const packetHandler = this.#packetHandler
    if (this.#will && (will === undefined || packetHandler === undefined)) this.#host.wills.cancel(this.#will)
    this.#will = undefined
    if (packetHandler === undefined) return
    packetHandler.end()
    try {
      this.#host.detach(this, packetHandler.session, will)
    } catch (error) {
      this.fail(error)
    }
  }
}
