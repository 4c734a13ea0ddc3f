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
import type { ReasonCode } from '../../../core/mqtt5/reason-codes.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { copyIfSparse } from '../../../core/util/bytes.js'
import { CountedFifo } from '../../../core/util/collections.js'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import { LIMIT, OVERHEAD_BYTES } from '../limits/limits.js'
import type { QuotaAccounts } from '../limits/quota-accounts.js'
import type { Traffic } from '../limits/traffic.js'
import { ClientSubscriptions, type FilterSteps } from './client-subscriptions.js'
import type { ConnectionHost } from './connection-host.js'
import type { Link } from './link.js'
import { PublishHandler } from './publish-handler.js'
import type { Session } from './session.js'

export interface PacketHandlerPeer extends Client {
  /** Whether the client reads too slowly for its packets to be processed. */
  readonly isStalled: boolean
  send(packet: ServerPacket): void
  closeByClient(reasonCode: ReasonCode): void
  authenticate(packet: Auth): void
  disconnectSlowClient(): void
}

export interface PacketHandlerParts {
  readonly peer: PacketHandlerPeer
  readonly link: Link
  readonly session: Session
  readonly host: ConnectionHost<never>
  readonly version: Version
  /** Packets received before authentication, which are processed first. */
  readonly early: DeferredPackets
}

/** The way in which the client ended its input: by DISCONNECT, or by closing its side of the connection. */
type InputEnd = Disconnect | 'closed' | undefined

/** A SUBSCRIBE or UNSUBSCRIBE that is being processed. */
interface FilterPacket {
  readonly answer: 'suback' | 'unsuback'
  readonly packetId: number
  readonly steps: FilterSteps
}

const NO_IDS: readonly number[] = []
const PINGRESP = new Uint8Array([PACKET.pingresp << 4, 0])
/** The types of packets that are processed in order. Acknowledgements and PINGREQ are processed immediately. */
const ORDERED_TYPES: ReadonlySet<number> = new Set([PACKET.publish, PACKET.subscribe, PACKET.unsubscribe])

/** Processes the packets of an authenticated client. The methods throw `PacketError` to end the connection. */
export class PacketHandler {
  readonly session: Session
  readonly #peer: PacketHandlerPeer
  readonly #link: Link
  readonly #version: Version
  readonly #quotaAccounts: QuotaAccounts
  readonly #traffic: Traffic
  readonly #publishHandler: PublishHandler
  readonly #clientSubscriptions: ClientSubscriptions
  readonly #deferredPackets: DeferredPackets
  #filterPacket: FilterPacket | undefined
  #inputEnd: InputEnd

  constructor({ peer, link, session, host, version, early }: PacketHandlerParts) {
    this.session = session
    this.#peer = peer
    this.#link = link
    this.#version = version
    this.#quotaAccounts = host.accounts
    this.#traffic = host.traffic
    this.#publishHandler = new PublishHandler({ peer, link, session, host, version })
    this.#clientSubscriptions = new ClientSubscriptions(peer, session, host)
    this.#deferredPackets = early
  }

  receive(frame: Uint8Array): void {
    // After DISCONNECT, a client must send nothing (MQTT 5.0, section 3.14.4).
    if (this.#pendingDisconnect() !== undefined) return
    const type = (frame[0] ?? 0) >> 4
    if (ORDERED_TYPES.has(type) && this.#hasEarlierWork()) this.#deferredPackets.push(frame)
    else this.#handle(frame)
  }

  /** Marks the end of input. Queued packets are still processed, without waiting for acknowledgements. */
  endInput(): void {
    this.#inputEnd ??= 'closed'
  }

  /** Processes one queued item if possible. Returns whether an item was processed. */
  processNext(): boolean {
    if (this.#filterPacket !== undefined) {
      this.#continue(this.#filterPacket)
      return true
    }
    if (this.#pendingDisconnect() === undefined && this.session.deliveryQueue.sendNext()) return true
    if (this.#canReplay()) {
      this.#clientSubscriptions.replayNext()
      return true
    }
    if (this.#deferredPackets.length === 0) {
      const disconnect = this.#pendingDisconnect()
      if (disconnect !== undefined) this.#closeByClient(disconnect)
      return disconnect !== undefined
    }
    const frame = this.#isThrottled() ? undefined : this.#deferredPackets.shift()
    if (frame !== undefined) this.#handle(frame)
    return frame !== undefined
  }

  /**
   * Whether the next packet may be received although queued or retained messages remain to be sent. Otherwise PINGREQ
   * would wait for all of them.
   */
  get canInterleave(): boolean {
    return (
      this.#filterPacket === undefined &&
      this.session.hasUnsent &&
      this.#pendingDisconnect() === undefined &&
      this.#deferredPackets.size < LIMIT.deferredBytes
    )
  }

  /** Returns whether a DISCONNECT with reason code 0 was received, which discards the will. */
  get discardsWill(): boolean {
    return this.#pendingDisconnect()?.reasonCode === REASON.success
  }

  get hasInputEnded(): boolean {
    return this.#inputEnd !== undefined
  }

  /** The held bytes, excluding queued packets. */
  get heldBytes(): number {
    return this.#publishHandler.heldBytes
  }

  deliver(topic: string, content: Content): void {
    const { watchCheck, owner } = this.session
    if (watchCheck !== undefined && owner?.canReceive(topic) === false) return
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

  end(): void {
    this.#deferredPackets.clear()
    this.#filterPacket = undefined
    this.#publishHandler.end()
  }

  // The next four are methods, because V8 calls a function of its runtime for each read of a private getter.

  /** Returns the DISCONNECT that takes effect after the queued packets. */
  #pendingDisconnect(): Disconnect | undefined {
    return this.#inputEnd === 'closed' ? undefined : this.#inputEnd
  }

  #hasEarlierWork(): boolean {
    return (
      this.#filterPacket !== undefined || this.#deferredPackets.length > 0 || this.#canReplay() || this.#isThrottled()
    )
  }

  #canReplay(): boolean {
    return this.session.canReplay && this.#pendingDisconnect() === undefined
  }

  /** Returns whether the client must first read or acknowledge earlier messages. */
  #isThrottled(): boolean {
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
      case 'subscribe':
        this.#start('suback', packet.packetId, this.#clientSubscriptions.subscribe(packet))
        return
      case 'unsubscribe':
        this.#start('unsuback', packet.packetId, this.#clientSubscriptions.unsubscribe(packet))
        return
      case 'pingreq':
        this.#link.write(PINGRESP)
        this.#traffic.packetsSent++
        return
      case 'disconnect':
        this.#handleDisconnect(packet)
        return
      case 'auth':
        this.#peer.authenticate(packet)
        return
      default:
        throw protocolError(`unexpected ${packet.type.toUpperCase()}`)
    }
  }

  #start(answer: FilterPacket['answer'], packetId: number, steps: FilterSteps): void {
    this.#filterPacket = { answer, packetId, steps }
    this.#continue(this.#filterPacket)
  }

  /** Processes the next filters of a packet, and answers the packet after the last of them. */
  #continue({ answer, packetId, steps }: FilterPacket): void {
    const { value: reasonCodes, done } = steps.next()
    if (!done) return
    this.#filterPacket = undefined
    this.#peer.send({ type: answer, packetId, reasonCodes })
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
      // DISCONNECT must not set a session expiry if CONNECT set none (MQTT 5.0, section 3.14.2.2.2).
      if (sessionExpiry > 0 && this.session.expirySeconds === 0)
        throw protocolError('DISCONNECT cannot set a session expiry, because CONNECT set none')
      this.session.expirySeconds = Math.min(sessionExpiry, LIMIT.sessionExpirySeconds)
    }
    this.#inputEnd = packet
    if (!this.#hasEarlierWork()) this.#closeByClient(packet)
  }

  #closeByClient({ reasonCode }: Disconnect): void {
    this.#peer.closeByClient(reasonCode)
  }
}

export class DeferredPackets extends CountedFifo<Uint8Array> {
  constructor(budget: MemoryBudget) {
    super(
      packet => packet.length + OVERHEAD_BYTES,
      bytes => budget.adjust(bytes),
    )
  }

  override push(packet: Uint8Array): void {
    super.push(copyIfSparse(packet))
  }
}
