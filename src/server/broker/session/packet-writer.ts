import { encodePacket } from '../../../core/mqtt5/encode.js'
import type { Connect, Envelope, ServerPacket, Version } from '../../../core/mqtt5/packets.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { LIMIT } from '../limits/limits.js'
import type { Delivery } from '../routing/delivery.js'
import type { Host } from './connection-host.js'
import type { Sender } from './delivery-queue.js'
import type { Link } from './link.js'

/** Who is told that the client does not take what it is sent. */
export interface OutboundPeer {
  tooSlow(): void
}

/** Packets whose reasons a client may do without (MQTT 5.0, section 3.1.2.11.7). */
const ALWAYS_EXPLAINED: ReadonlySet<string> = new Set(['connack', 'disconnect'])

/** What is sent to one client, as it has asked for it: its version, its largest packet, its topic aliases. */
export class PacketWriter implements Sender {
  readonly #link: Link
  readonly #host: Host<never>
  readonly #peer: OutboundPeer
  readonly #version: Version
  readonly #explained: boolean
  readonly #maximumPacketSize: number
  readonly #aliasMaximum: number
  /** By topic (MQTT 5.0, section 3.3.2.3.4). */
  #aliases: Map<string, number> | undefined

  constructor(link: Link, host: Host<never>, peer: OutboundPeer, client: Connect) {
    this.#link = link
    this.#host = host
    this.#peer = peer
    this.#explained = client.requestProblemInformation
    this.#version = client.version
    this.#maximumPacketSize = client.maximumPacketSize ?? Number.POSITIVE_INFINITY
    this.#aliasMaximum = Math.min(client.topicAliasMaximum, LIMIT.outboundAliases)
  }

  send(packet: ServerPacket): void {
    const bytes = encodePacket(this.#withReason(packet), this.#version, this.#maximumPacketSize)
    if (bytes.length <= this.#maximumPacketSize) this.#link.write(bytes)
  }

  pubrel(packetId: number): void {
    this.send({ type: 'pubrel', packetId, reasonCode: REASON.success })
  }

  publish(delivery: Delivery, packetId: number, dup: boolean): boolean {
    const { topic, qos, retain, subscriptionIds, expiresAt } = delivery
    const { clock, budget } = this.#host
    const left = expiresAt === undefined ? undefined : Math.ceil((expiresAt - clock.monotonic()) / 1000)
    // MQTT 5.0, section 4.3.3: what was sent with QoS 2 does not expire.
    if (left !== undefined && left <= 0 && !(dup && qos === 2)) return false
    const backlog = packetId === 0 ? LIMIT.qos0Backlog : LIMIT.backlog
    if (this.#link.unsent > (budget.exceeded ? LIMIT.unsent : backlog)) {
      // QoS 0 promises nothing.
      if (packetId === 0) return false
      this.#peer.tooSlow()
      return true
    }
    const version = this.#version
    const messageExpiry = left && Math.max(0, left)
    const envelope = { packetId, qos, dup, retain, messageExpiry, subscriptionIds, topicAlias: undefined, version }
    // MQTT 5.0, section 3.1.2.11.4: as if it had been delivered.
    if (!this.#fits(topic, delivery, envelope)) return false
    if (this.#aliasMaximum === 0) this.#write(topic, delivery, envelope)
    else this.#writeAliased(delivery, envelope)
    return true
  }

  #withReason(packet: ServerPacket): ServerPacket {
    if (this.#explained || ALWAYS_EXPLAINED.has(packet.type) || !('reasonString' in packet)) return packet
    return { ...packet, reasonString: undefined }
  }

  #writeAliased(delivery: Delivery, envelope: Envelope): void {
    const { topic } = delivery
    this.#aliases ??= new Map()
    const known = this.#aliases.get(topic)
    if (known !== undefined) {
      this.#write('', delivery, { ...envelope, topicAlias: known })
      return
    }
    if (this.#aliases.size >= this.#aliasMaximum) {
      this.#write(topic, delivery, envelope)
      return
    }
    const introduced = { ...envelope, topicAlias: this.#aliases.size + 1 }
    if (!this.#fits(topic, delivery, introduced)) {
      this.#write(topic, delivery, envelope)
      return
    }
    this.#aliases.set(topic, introduced.topicAlias)
    this.#write(topic, delivery, introduced)
  }

  #fits(topic: string, { content }: Delivery, envelope: Envelope): boolean {
    const most = this.#maximumPacketSize
    return most === Number.POSITIVE_INFINITY || this.#host.encoder.sizeOf(topic, content, envelope) <= most
  }

  #write(topic: string, { content }: Delivery, envelope: Envelope): void {
    const apart = this.#link.isLarge(content.payload)
    this.#host.encoder.encodeTo(topic, content, envelope, this.#link.room, apart)
    if (apart) this.#link.write(content.payload)
  }
}
