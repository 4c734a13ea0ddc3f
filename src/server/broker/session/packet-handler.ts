import { decodePacket } from '../../../core/mqtt5/decode.js'
import { protocolError } from '../../../core/mqtt5/packet-error.js'
import * as PACKET from '../../../core/mqtt5/packet-types.js'
import type {
  Acknowledgement,
  Auth,
  ClientPacket,
  Content,
  Disconnect,
  ServerPacket,
  Version,
} from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { copyIfSparse } from '../../../core/util/bytes.js'
import { CountedFifo } from '../../../core/util/collections.js'
import { LIMIT, OVERHEAD_BYTES } from '../limits/limits.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'
import type { QuotaAccounts } from '../limits/quota-accounts.js'
import { ClientSubscriptions } from './client-subscriptions.js'
import type { ConnectionHost } from './connection-host.js'
import type { Link } from './link.js'
import { PublishHandler } from './publish-handler.js'
import type { Session } from './session.js'

/** The connection a conversation is held over. */
export interface PacketHandlerPeer extends Client {
  /** Whether the client takes so little of what it is sent that nothing more should be done for it. */
  readonly isStalled: boolean
  send(packet: ServerPacket): void
  /** The client goes; its last will is not published unless it says so. */
  closeByClient(withWill: boolean): void
  /** A step of enhanced authentication. */
  authenticate(packet: Auth): void
  /** The client does not take what it is sent. */
  disconnectSlowClient(): void
}

/** What a conversation is made of. */
export interface PacketHandlerParts {
  readonly peer: PacketHandlerPeer
  readonly link: Link
  readonly session: Session
  readonly host: ConnectionHost<never>
  readonly version: Version
  /** Packets that came before the client was let in; they are done first, in their turn. */
  readonly early: DeferredPackets
}

/** How a client goes that sends no more: with DISCONNECT, or without a word. */
type InputEnd = Disconnect | 'silent' | undefined

const NO_IDS: readonly number[] = []
const PINGRESP = new Uint8Array([PACKET.pingresp << 4, 0])
/** Packets whose order counts: they wait for each other. What a client acknowledges, and PINGREQ, is heard at once. */
const ORDERED_TYPES: ReadonlySet<number> = new Set([PACKET.publish, PACKET.subscribe, PACKET.unsubscribe])

/** What a client that is let in says, and what is done about it. Its methods raise `PacketError` for what ends it. */
export class PacketHandler {
  readonly session: Session
  readonly #peer: PacketHandlerPeer
  readonly #link: Link
  readonly #version: Version
  readonly #quotaAccounts: QuotaAccounts
  readonly #publishHandler: PublishHandler
  readonly #clientSubscriptions: ClientSubscriptions
  readonly #deferredPackets: DeferredPackets
  #inputEnd: InputEnd

  constructor({ peer, link, session, host, version, early }: PacketHandlerParts) {
    this.session = session
    this.#peer = peer
    this.#link = link
    this.#version = version
    this.#quotaAccounts = host.accounts
    this.#publishHandler = new PublishHandler({ peer, link, session, host, version })
    this.#clientSubscriptions = new ClientSubscriptions(peer, session, host)
    this.#deferredPackets = early
  }

  /** Takes a packet; it may have to wait. */
  receive(frame: Uint8Array): void {
    // MQTT 5.0, section 3.14.4: after DISCONNECT a client sends nothing.
    if (this.#pendingDisconnect !== undefined) return
    const type = (frame[0] ?? 0) >> 4
    if (ORDERED_TYPES.has(type) && this.#hasEarlierWork) this.#deferredPackets.push(frame)
    else this.#handle(frame)
  }

  /** The client sends no more: what waits is done, in its turn, without waiting for what it would acknowledge. */
  endInput(): void {
    this.#inputEnd ??= 'silent'
  }

  /** Goes on with one piece of work that had to wait, if it may; returns whether there was one. */
  processNext(): boolean {
    if (this.session.replays.size > 0) {
      this.#clientSubscriptions.replayNext()
      return true
    }
    if (this.#deferredPackets.length === 0) {
      const disconnect = this.#pendingDisconnect
      if (disconnect !== undefined) this.#closeByClient(disconnect)
      return disconnect !== undefined
    }
    const frame = this.#isThrottled ? undefined : this.#deferredPackets.shift()
    if (frame !== undefined) this.#handle(frame)
    return frame !== undefined
  }

  /** Whether the client has said goodbye so that its last will is not to be published. */
  get discardsWill(): boolean {
    return this.#pendingDisconnect?.reasonCode === REASON.success
  }

  /** Whether the client sends no more. */
  get hasInputEnded(): boolean {
    return this.#inputEnd !== undefined
  }

  /** What it holds, bytes, besides packets that wait. */
  get heldBytes(): number {
    return this.#publishHandler.heldBytes
  }

  /** Sends what the handler has for the client. */
  deliver(topic: string, content: Content): void {
    if (this.#link.unsentBytes > LIMIT.backlogBytes) this.#peer.disconnectSlowClient()
    const grant = this.session.grant(topic)
    this.session.deliver({
      topic,
      content,
      qos: grant?.qos === 0 ? 0 : 1,
      retain: false,
      expiresAt: undefined,
      subscriptionIds: grant?.subscriptionIds ?? NO_IDS,
    })
  }

  /** The connection is gone. */
  end(): void {
    this.#deferredPackets.clear()
    this.#publishHandler.end()
  }

  /** With which the client has taken its leave; there may be something to do before. */
  get #pendingDisconnect(): Disconnect | undefined {
    return this.#inputEnd === 'silent' ? undefined : this.#inputEnd
  }

  /** Whether something that came before is still to be done. */
  get #hasEarlierWork(): boolean {
    return this.#deferredPackets.length > 0 || this.session.replays.size > 0 || this.#isThrottled
  }

  /** Whether the client is to get on with what it has before anything new is done for it. */
  get #isThrottled(): boolean {
    if (this.#inputEnd !== undefined) return false
    return (
      this.#peer.isStalled ||
      (this.session.deliveryQueue.isOverHalfFull && this.#deferredPackets.size < LIMIT.deferredBytes)
    )
  }

  #handle(frame: Uint8Array): void {
    if ((frame[0] ?? 0) >> 4 === PACKET.publish) this.#publishHandler.publish(frame)
    else this.#dispatch(decodePacket(frame, this.#version, this.#quotaAccounts.maxUserProperties))
  }

  #dispatch(packet: ClientPacket): void {
    switch (packet.type) {
      case 'puback':
        this.session.deliveryQueue.puback(packet.packetId)
        return
      case 'pubrec':
        this.#handlePubrec(packet)
        return
      case 'pubcomp':
        this.session.deliveryQueue.pubcomp(packet.packetId)
        return
      case 'pubrel':
        this.#publishHandler.pubrel(packet.packetId)
        return
      case 'subscribe': {
        const reasonCodes = this.#clientSubscriptions.subscribe(packet)
        this.#peer.send({ type: 'suback', packetId: packet.packetId, reasonCodes })
        return
      }
      case 'unsubscribe': {
        const reasonCodes = this.#clientSubscriptions.unsubscribe(packet)
        this.#peer.send({ type: 'unsuback', packetId: packet.packetId, reasonCodes })
        return
      }
      case 'pingreq':
        this.#link.write(PINGRESP)
        return
      case 'disconnect':
        this.#handleDisconnect(packet)
        return
      case 'auth':
        this.#peer.authenticate(packet)
        return
      default:
        throw protocolError(`a client must not send ${packet.type} now`)
    }
  }

  #handlePubrec({ packetId, reasonCode }: Acknowledgement): void {
    const isAccepted = reasonCode < REASON.unspecifiedError
    const isKnown = this.session.deliveryQueue.pubrec(packetId, isAccepted)
    if (!isAccepted) return
    const code = isKnown ? REASON.success : REASON.packetIdentifierNotFound
    this.#peer.send({ type: 'pubrel', packetId, reasonCode: code })
  }

  #handleDisconnect(packet: Disconnect): void {
    const { sessionExpiry } = packet
    if (sessionExpiry !== undefined) {
      // MQTT 5.0, section 3.14.2.2.2
      if (sessionExpiry > 0 && this.session.expirySeconds === 0)
        throw protocolError('an ending session cannot be kept after all')
      this.session.expirySeconds = Math.min(sessionExpiry, LIMIT.sessionExpirySeconds)
    }
    this.#inputEnd = packet
    if (!this.#hasEarlierWork) this.#closeByClient(packet)
  }

  #closeByClient({ reasonCode }: Disconnect): void {
    this.#peer.closeByClient(reasonCode !== REASON.success)
  }
}

/** Packets of a connection that wait for their turn, in order. */
export class DeferredPackets extends CountedFifo<Uint8Array> {
  constructor(budget: BrokerMemoryBudget) {
    super(
      packet => packet.length + OVERHEAD_BYTES,
      bytes => budget.adjust(bytes),
    )
  }

  override push(packet: Uint8Array): void {
    super.push(copyIfSparse(packet))
  }
}
