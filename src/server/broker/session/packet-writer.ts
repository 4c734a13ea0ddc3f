import { serverDropChannel, serverPublishChannel } from '../../../core/diagnostics/server-channels.js'
import type { ServerDropEvent } from '../../../core/diagnostics/server-events.js'
import { encodePacket } from '../../../core/mqtt5/encode.js'
import type { Connect, Content, Envelope, ServerPacket, Version } from '../../../core/mqtt5/packets.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { LIMIT, OVERHEAD_BYTES } from '../limits/limits.js'
import type { Delivery } from '../routing/delivery.js'
import type { ConnectionHost } from './connection-host.js'
import type { Sender } from './delivery-queue.js'
import type { Link } from './link.js'
import type { Grant } from './session.js'

export interface PacketWriterPeer {
  readonly clientId: string
  disconnectSlowClient(): void
}

/** The share of the memory budget that may be in use when a new alias is assigned. No client needs aliases. */
const ALIAS_BUDGET_SHARE = 1 / 2

/**
 * Upper bound in bytes for a store message without its payload: a few texts of at most 65,535 bytes each, and the
 * subscription identifiers.
 */
const MAX_OVERHEAD_BYTES = 1024 * 1024

/** The packets that carry a reason string even if the client requests none (MQTT 5.0, section 3.1.2.11.7). */
const ALWAYS_EXPLAINED: ReadonlySet<string> = new Set(['connack', 'disconnect'])

/** Encodes packets for one client according to its version, maximum packet size and topic aliases. */
export class PacketWriter implements Sender {
  readonly #link: Link
  readonly #host: ConnectionHost<never>
  readonly #peer: PacketWriterPeer
  readonly #version: Version
  readonly #sendsReasons: boolean
  readonly #maximumPacketSize: number
  #aliasMaximum: number
  /** The topic aliases by topic (MQTT 5.0, section 3.3.2.3.4). */
  #aliases: Map<string, number> | undefined
  #aliasBytes = 0

  constructor(link: Link, host: ConnectionHost<never>, peer: PacketWriterPeer, client: Connect) {
    this.#link = link
    this.#host = host
    this.#peer = peer
    this.#sendsReasons = client.requestProblemInformation
    this.#version = client.version
    this.#maximumPacketSize = client.maximumPacketSize ?? Number.POSITIVE_INFINITY
    this.#aliasMaximum = Math.min(client.topicAliasMaximum, LIMIT.outboundAliases)
  }

  /** The bytes of the topic aliases, which are charged to the memory budget. */
  get aliasBytes(): number {
    return this.#aliasBytes
  }

  get hasBacklog(): boolean {
    return this.#link.unsentBytes > LIMIT.readPauseBytes
  }

  /** Forgets the topic aliases. Later messages have none. */
  close(): void {
    this.#host.budget.release(this.#aliasBytes)
    this.#aliasBytes = this.#aliasMaximum = 0
    this.#aliases = undefined
  }

  /** Sends a packet. Returns whether it fits the client's maximum packet size, even without its reason string. */
  send(packet: ServerPacket): boolean {
    const bytes = encodePacket(this.#withReason(packet), this.#version, this.#maximumPacketSize)
    if (bytes.length > this.#maximumPacketSize) return false
    this.#link.write(bytes)
    this.#host.traffic.packetsSent++
    return true
  }

  pubrel(packetId: number): void {
    this.send({ type: 'pubrel', packetId, reasonCode: REASON.success })
  }

  publish(delivery: Delivery, packetId: number, dup: boolean): boolean {
    const { topic, qos, retain, subscriptionIds, expiresAt } = delivery
    const { clock, budget, traffic } = this.#host
    const remainingSeconds = expiresAt === undefined ? undefined : Math.ceil((expiresAt - clock.monotonic()) / 1000)
    // A QoS 2 message does not expire after it has been sent once (MQTT 5.0, section 4.3.3).
    if (remainingSeconds !== undefined && remainingSeconds <= 0 && !(dup && qos === 2))
      return this.#drop('expired', qos)
    const maxUnsentBytes = packetId === 0 ? LIMIT.qos0BacklogBytes : LIMIT.backlogBytes
    if (this.#link.unsentBytes > (budget.isExceeded ? LIMIT.readPauseBytes : maxUnsentBytes)) {
      if (packetId === 0) return this.#drop('slow-client', qos)
      this.#peer.disconnectSlowClient()
      return true
    }
    const version = this.#version
    const messageExpiry = remainingSeconds && Math.max(0, remainingSeconds)
    const options = { packetId, qos, dup, retain, messageExpiry, subscriptionIds, topicAlias: undefined, version }
    // A message that is too large for the client counts as delivered (MQTT 5.0, section 3.1.2.11.4).
    if (!this.#fitsClientLimit(topic, delivery.content, options)) return this.#drop('too-large', qos)
    if (this.#aliasMaximum === 0) this.#write(topic, delivery, options)
    else this.#writeAliased(delivery, options)
    const payloadBytes = delivery.content.payload.length
    traffic.packetsSent++
    traffic.publishesSent++
    traffic.publishBytesSent += payloadBytes
    if (serverPublishChannel.hasSubscribers) {
      serverPublishChannel.publish({ direction: 'sent', clientId: this.#peer.clientId, qos, payloadBytes })
    }
    return true
  }

  /** Returns the client's maximum packet size in bytes if a message exceeds it. */
  exceededPacketSize(topic: string, content: Content, grantOf: () => Grant): number | undefined {
    const limit = this.#maximumPacketSize
    // Only messages that might exceed the limit are measured.
    if (content.payload.length + MAX_OVERHEAD_BYTES <= limit) return undefined
    const { qos, subscriptionIds } = grantOf()
    const envelope: Envelope = {
      packetId: qos === 0 ? 0 : 1,
      qos,
      dup: false,
      retain: false,
      messageExpiry: undefined,
      subscriptionIds,
      topicAlias: undefined,
      version: this.#version,
    }
    return this.#fitsClientLimit(topic, content, envelope) ? undefined : limit
  }

  #drop(reason: ServerDropEvent['reason'], qos: 0 | 1 | 2): false {
    if (reason === 'slow-client') this.#host.traffic.publishesDropped++
    if (serverDropChannel.hasSubscribers) serverDropChannel.publish({ reason, clientId: this.#peer.clientId, qos })
    return false
  }

  #withReason(packet: ServerPacket): ServerPacket {
    if (this.#sendsReasons || ALWAYS_EXPLAINED.has(packet.type) || !('reasonString' in packet)) return packet
    return { ...packet, reasonString: undefined }
  }

  #writeAliased(delivery: Delivery, options: Envelope): void {
    const { topic } = delivery
    this.#aliases ??= new Map()
    const alias = this.#aliases.get(topic)
    if (alias !== undefined) {
      this.#write('', delivery, { ...options, topicAlias: alias })
      return
    }
    if (this.#aliases.size >= this.#aliasMaximum) {
      this.#write(topic, delivery, options)
      return
    }
    const withAlias = { ...options, topicAlias: this.#aliases.size + 1 }
    const bytes = topic.length + OVERHEAD_BYTES
    const { budget } = this.#host
    const hasMemory = budget.used + bytes <= ALIAS_BUDGET_SHARE * budget.limit
    if (!hasMemory || !this.#fitsClientLimit(topic, delivery.content, withAlias)) {
      this.#write(topic, delivery, options)
      return
    }
    this.#aliasBytes += bytes
    budget.adjust(bytes)
    this.#aliases.set(topic, withAlias.topicAlias)
    this.#write(topic, delivery, withAlias)
  }

  #fitsClientLimit(topic: string, content: Content, options: Envelope): boolean {
    const limit = this.#maximumPacketSize
    return limit === Number.POSITIVE_INFINITY || this.#host.encoder.sizeOf(topic, content, options) <= limit
  }

  #write(topic: string, { content }: Delivery, options: Envelope): void {
    const isSeparate = this.#link.isLarge(content.payload)
    this.#host.encoder.encodeTo(topic, content, options, this.#link.writeBuffer, isSeparate)
    if (isSeparate) this.#link.write(content.payload)
  }
}
