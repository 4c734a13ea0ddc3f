import type { Packet } from 'mqtt'
import { encodePuback } from '../../core/mqtt5/data-types.js'
import type { Publish } from '../../core/mqtt5/packets.js'
import { envelopeOf, PublishEncoder } from '../../core/mqtt5/publish-encoder.js'
import { FIRST_FAILURE, noMatchingSubscribers } from '../../core/mqtt5/reason-codes.js'
import { RequestRejectedError } from '../../core/util/errors.js'
import type { MqttJsClient } from './mqttjs-client.js'
import type { PacketIds } from './packet-ids.js'
import { reasonName } from './reasons.js'
import type { Done } from './session.js'
import { WriteCoalescer } from './write-coalescer.js'

/**
 * Publishes over the connection of an mqtt.js client but bypasses its store, which would resend unacknowledged messages
 * after a reconnect and so could apply a write twice.
 */
export class Publisher {
  readonly #client: MqttJsClient
  readonly #writeCoalescer = new WriteCoalescer()
  readonly #encoder = new PublishEncoder()
  readonly #ids: PacketIds
  /** The callbacks of unacknowledged messages, by packet id. */
  readonly #unacknowledged: (Done | undefined)[] = []

  constructor(client: MqttJsClient, ids: PacketIds) {
    this.#client = client
    this.#ids = ids
  }

  /** Returns the packet size of a message, bytes. */
  sizeOf(message: Publish): number {
    return this.#encoder.sizeOf(message.topic, message, envelopeOf(1))
  }

  publish(message: Publish, done: Done, retain = false): void {
    const id = this.#ids.allocate()
    if (id === undefined) {
      done(new RequestRejectedError(0, 'No MQTT packet id is free'))
      return
    }
    this.#unacknowledged[id] = done
    const { stream } = this.#client
    const envelope = retain ? { ...envelopeOf(id), retain } : envelopeOf(id)
    this.#writeCoalescer.hold(stream)
    try {
      this.#encoder.encodeTo(message.topic, message, envelope, this.#writeCoalescer)
    } catch (error) {
      this.#unacknowledged[id] = undefined
      this.#ids.release(id)
      throw error
    }
  }

  received(packet: Packet): void {
    // Coalesces the PUBACKs of messages that arrive together.
    if (packet.cmd === 'publish') this.#writeCoalescer.hold(this.#client.stream)
    else if (packet.cmd === 'puback') this.acknowledged(packet.messageId ?? 0, packet.reasonCode ?? 0)
  }

  /** Returns whether the PUBACK belongs to a message published here. */
  acknowledged(packetId: number, reasonCode: number): boolean {
    const done = this.#unacknowledged[packetId]
    if (done === undefined) return false
    this.#unacknowledged[packetId] = undefined
    this.#ids.release(packetId)
    const isAccepted = reasonCode < FIRST_FAILURE && reasonCode !== noMatchingSubscribers
    done(isAccepted ? undefined : rejectionError(reasonCode))
    return true
  }

  acknowledge(packetId: number): void {
    this.#writeCoalescer.add(this.#client.stream, encodePuback(packetId))
  }

  flush(): void {
    this.#writeCoalescer.flush()
  }

  /** Drops all callbacks, because no PUBACK arrives after a lost connection. */
  dropCallbacks(): void {
    for (const [id, done] of this.#unacknowledged.entries()) {
      this.#unacknowledged[id] = undefined
      if (done) this.#ids.release(id)
    }
  }
}

function rejectionError(code: number): RequestRejectedError {
  return new RequestRejectedError(code, `The broker rejected the request: ${reasonName(code)}`)
}
