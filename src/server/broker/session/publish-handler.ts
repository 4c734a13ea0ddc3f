import { serverPublishChannel } from '../../../core/diagnostics/server-channels.js'
import { PUBACK_SIZE, putPuback } from '../../../core/mqtt5/data-types.js'
import { PacketError } from '../../../core/mqtt5/packet-error.js'
import type { Acknowledgement, InboundPublish, Version } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import { PublishDecoder } from '../../../core/mqtt5/publish-decoder.js'
import type { ReasonCode } from '../../../core/mqtt5/reason-codes.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { copyIfSparse } from '../../../core/util/bytes.js'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import { LIMIT, OVERHEAD_BYTES } from '../limits/limits.js'
import { isTooDeep } from '../routing/filter-trie.js'
import type { ConnectionHost } from './connection-host.js'
import type { Link } from './link.js'
import type { Session } from './session.js'

interface PublishOutcome {
  readonly reasonCode: ReasonCode
  readonly reasonString?: string
}

export interface PublishHandlerPeer extends Client {
  send(packet: Acknowledgement): void
}

export interface PublishHandlerParts {
  readonly peer: PublishHandlerPeer
  readonly link: Link
  readonly session: Session
  readonly host: ConnectionHost<never>
  readonly version: Version
}

const SUCCESS: PublishOutcome = { reasonCode: REASON.success }
const NO_PROPERTIES = {}
const unchanged = (bytes: Uint8Array): Uint8Array => bytes

/** Processes the messages that one client publishes (MQTT 5.0, sections 3.3 and 4.3). */
export class PublishHandler {
  readonly #peer: PublishHandlerPeer
  readonly #link: Link
  readonly #session: Session
  readonly #host: ConnectionHost<never>
  readonly #version: Version
  /** The decoder, created lazily because many clients only subscribe. */
  #decoder: PublishDecoder | undefined
  readonly #aliases: AliasTable

  constructor({ peer, link, session, host, version }: PublishHandlerParts) {
    this.#peer = peer
    this.#link = link
    this.#session = session
    this.#host = host
    this.#version = version
    this.#aliases = new AliasTable(host.budget)
  }

  /** Processes a PUBLISH. Throws {@link PacketError} to end the connection. */
  publish(frame: Uint8Array): void {
    this.#decoder ??= this.#newDecoder()
    const message = this.#aliases.resolve(this.#decoder.decode(frame))
    const { topic, qos, packetId } = message
    const { handler, traffic } = this.#host
    traffic.publishesReceived++
    traffic.publishBytesReceived += message.payload.length
    if (serverPublishChannel.hasSubscribers) {
      const { clientId } = this.#peer
      serverPublishChannel.publish({ direction: 'received', clientId, qos, payloadBytes: message.payload.length })
    }
    const isForHandler = topic === handler.topic
    if (!isForHandler && isTooDeep(topic))
      throw new PacketError(REASON.topicNameInvalid, `the topic has more than ${LIMIT.topicLevels} levels`)
    if (qos === 2) {
      this.#publishQos2(message)
      return
    }
    const rejection = this.#rejectionOf(message)
    if (rejection === undefined && isForHandler) {
      if (qos === 1) this.#acknowledge(packetId)
      if (handler.handlePublish(this.#peer, message)) this.#link.delayFlush()
      return
    }
    const outcome = rejection ?? this.#route(message)
    if (qos === 0) return
    if (outcome === SUCCESS) this.#acknowledge(packetId)
    else this.#peer.send({ type: 'puback', packetId, ...outcome })
  }

  pubrel(packetId: number): void {
    const reasonCode = this.#session.releaseReceived(packetId) ? REASON.success : REASON.packetIdentifierNotFound
    this.#peer.send({ type: 'pubcomp', packetId, reasonCode })
  }

  get heldBytes(): number {
    return this.#aliases.bytes
  }

  #acknowledge(packetId: number): void {
    const { writeBuffer } = this.#link
    this.#host.traffic.packetsSent++
    const at = writeBuffer.allocate(PUBACK_SIZE)
    putPuback(writeBuffer.block, at, packetId)
  }

  end(): void {
    this.#aliases.clear()
  }

  #newDecoder(): PublishDecoder {
    const { handler, accounts } = this.#host
    return new PublishDecoder({
      version: this.#version,
      endTopic: handler.topic,
      maxUserProperties: accounts.maxUserProperties,
    })
  }

  /**
   * Routes a QoS 2 message on arrival. A repetition before PUBREL is the same message (MQTT 5.0, section 4.3.3, method
   * A).
   */
  #publishQos2(message: InboundPublish): void {
    const { packetId } = message
    const outcome = this.#session.isUnreleased(packetId)
      ? SUCCESS
      : (this.#rejectionOf(message) ?? this.#acceptQos2(message))
    this.#peer.send({ type: 'pubrec', packetId, ...outcome })
  }

  #acceptQos2(message: InboundPublish): PublishOutcome {
    if (!this.#session.tryRememberReceived(message.packetId))
      return this.#quotaExceeded('the broker has no memory left for another QoS 2 message')
    if (message.topic === this.#host.handler.topic) {
      this.#host.handler.handlePublish(this.#peer, message)
      return SUCCESS
    }
    const outcome = this.#route(message)
    // After a rejection the client sends no PUBREL, so the packet id is free again.
    if (outcome.reasonCode >= REASON.unspecifiedError) this.#session.releaseReceived(message.packetId)
    return outcome
  }

  #rejectionOf(message: InboundPublish): PublishOutcome | undefined {
    const rejection = this.#host.handler.checkPublish(this.#peer, message)
    if (rejection === undefined) return undefined
    // MQTT 3.1.1 can reject a PUBLISH only by closing the connection (its section 3.3.5).
    if (this.#version === 4) throw new PacketError(REASON.notAuthorized, rejection.reason)
    if (rejection.disconnect !== undefined) throw new PacketError(rejection.disconnect, rejection.reason)
    return { reasonCode: REASON.notAuthorized, reasonString: rejection.reason }
  }

  /**
   * Rejects a message at a quota. An MQTT 3.1.1 client is disconnected, because an acknowledgement would confirm the
   * message.
   */
  #quotaExceeded(reasonString: string): PublishOutcome {
    const reasonCode = REASON.quotaExceeded
    if (this.#version === 4) throw new PacketError(reasonCode, reasonString)
    return { reasonCode, reasonString }
  }

  #route(inbound: InboundPublish): PublishOutcome {
    const { topic, qos, retain, payload, carried, messageExpiry } = inbound
    const expiresAt = messageExpiry === undefined ? undefined : this.#host.clock.monotonic() + 1000 * messageExpiry
    const copy = qos > 0 || retain ? copyIfSparse : unchanged
    const content = { payload: copy(payload), carried: copy(carried), userProperties: NO_PROPERTIES }
    const receiverCount = this.#host.publish({ topic, content, qos, retain, expiresAt }, this.#session)
    if (receiverCount === undefined) {
      this.#host.handler.onQuotaExceeded?.(this.#peer, 'publish', topic)
      return this.#quotaExceeded('a limit of retained messages is reached')
    }
    return receiverCount > 0 || qos === 0 ? SUCCESS : { reasonCode: REASON.noMatchingSubscribers }
  }
}

/** The topic aliases of a client (MQTT 5.0, section 3.3.2.3.4). */
export class AliasTable {
  readonly #budget: MemoryBudget
  #topics: Map<number, string> | undefined
  #bytes = 0

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Replaces a topic alias by its topic. Throws {@link PacketError} for an unknown alias. */
  resolve(message: InboundPublish): InboundPublish {
    const { topic, topicAlias } = message
    if (topicAlias === undefined) return message
    if (topicAlias > LIMIT.inboundAliases)
      throw new PacketError(
        REASON.topicAliasInvalid,
        `topic alias ${topicAlias} exceeds the maximum of ${LIMIT.inboundAliases}`,
      )
    if (topic !== '') {
      this.#set(topicAlias, topic)
      return message
    }
    const known = this.#topics?.get(topicAlias)
    if (known === undefined) throw new PacketError(REASON.protocolError, `topic alias ${topicAlias} is unknown`)
    return { ...message, topic: known }
  }

  clear(): void {
    this.#budget.release(this.#bytes)
    this.#bytes = 0
    this.#topics = undefined
  }

  #set(alias: number, topic: string): void {
    this.#topics ??= new Map()
    const previous = this.#topics.get(alias)
    if (previous === topic) return
    const bytes = topic.length - (previous === undefined ? -OVERHEAD_BYTES : previous.length)
    this.#bytes += bytes
    this.#budget.adjust(bytes)
    this.#topics.set(alias, topic)
  }
}
