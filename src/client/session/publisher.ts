import type { Packet } from 'mqtt'
import { pubackOf } from '../../core/mqtt5/layout.js'
import type { Publish } from '../../core/mqtt5/publish.js'
import { envelopeOf, PublishEncoder } from '../../core/mqtt5/publish-encoder.js'
import { RequestRejectedError } from '../../core/util/errors.js'
import type { MqttJsClient } from './mqttjs-client.js'
import { streamOf } from './mqttjs-insides.js'
import { Outbox } from './outbox.js'
import type { PacketIds } from './packet-ids.js'
import { reasonWords } from './reason-words.js'
import type { Done } from './session.js'

/** MQTT 5.0, section 3.4.2.1: nobody gets the message, and reason codes from here on are refusals. */
const NO_MATCHING_SUBSCRIBERS = 16
const FIRST_REFUSAL = 128

/**
 * Publishes over the connection of an mqtt.js client, past its store: that would send again after a reconnect what has no
 * PUBACK, and apply a write twice.
 */
export class Publisher {
  readonly #client: MqttJsClient
  readonly #outbox = new Outbox()
  readonly #encoder = new PublishEncoder()
  readonly #ids: PacketIds
  /** By packet id. */
  readonly #unacknowledged: (Done | undefined)[] = []

  constructor(client: MqttJsClient, ids: PacketIds) {
    this.#client = client
    this.#ids = ids
  }

  /** Size of the packet with a message, bytes. */
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
    const stream = streamOf(this.#client)
    const envelope = retain ? { ...envelopeOf(id), retain } : envelopeOf(id)
    this.#outbox.hold(stream)
    this.#encoder.encodeTo(message.topic, message, envelope, this.#outbox)
  }

  /** To be called with every packet that mqtt.js read, before it deals with it. */
  received(packet: Packet): void {
    // The PUBACKs of what arrives together leave together.
    if (packet.cmd === 'publish') this.#outbox.hold(streamOf(this.#client))
    else if (packet.cmd === 'puback') this.acknowledged(packet.messageId ?? 0, packet.reasonCode ?? 0)
  }

  /** To be called with every PUBACK; whether it is about something published here. */
  acknowledged(packetId: number, reasonCode: number): boolean {
    const done = this.#unacknowledged[packetId]
    if (done === undefined) return false
    this.#unacknowledged[packetId] = undefined
    this.#ids.release(packetId)
    const taken = reasonCode < FIRST_REFUSAL && reasonCode !== NO_MATCHING_SUBSCRIBERS
    done(taken ? undefined : refusal(reasonCode))
    return true
  }

  /** Says that a PUBLISH with QoS 1 has come. */
  acknowledge(packetId: number): void {
    this.#outbox.add(streamOf(this.#client), pubackOf(packetId))
  }

  /** Lets everything leave now. */
  flush(): void {
    this.#outbox.flush()
  }

  /** The connection is gone: no PUBACK will come. */
  forget(): void {
    for (const [id, done] of this.#unacknowledged.entries()) {
      this.#unacknowledged[id] = undefined
      if (done) this.#ids.release(id)
    }
  }
}

function refusal(code: number): RequestRejectedError {
  return new RequestRejectedError(code, `The broker refused the request: ${reasonWords(code)}`)
}
