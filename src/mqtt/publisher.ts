// By its default alone: the build for browsers exports nothing else.
import mqtt, { type MqttClient, type Packet } from 'mqtt'
import { RequestRejectedError } from '../errors.js'
import { Outbox } from './outbox.js'
import { PublishEncoder } from '../packet/publish-encoder.js'
import type { Done, OutboundRequest } from './session.js'

type Puback = Extract<Packet, { cmd: 'puback' }>

/** Packet ids are 16 bits and not zero (MQTT 5.0, section 2.2.1). */
const MOST_IDS = 65_535
/** MQTT 5.0, section 3.4.2.1: reason codes from here on are refusals. */
const FIRST_REFUSAL = 128

/**
 * Publishes over the connection of an mqtt.js client, past its store: that would send again after a reconnect what has no
 * PUBACK, and apply a write twice. Packet ids are the client's.
 */
export class Publisher {
  readonly #client: MqttClient
  readonly #outbox = new Outbox()
  readonly #encoder = new PublishEncoder()
  readonly #unacknowledged = new Map<number, Done>()

  constructor(client: MqttClient) {
    this.#client = client
  }

  publish(request: OutboundRequest, done: Done): void {
    const id = this.#freeId()
    if (id === undefined) {
      done(new RequestRejectedError(0, 'No MQTT packet id is free for the request'))
      return
    }
    this.#unacknowledged.set(id, done)
    this.#outbox.add(this.#client.stream, this.#encoder.encode(request, id))
  }

  /** To be called with every packet, before mqtt.js deals with it. */
  received(packet: Packet): void {
    // The PUBACKs of what arrives together leave together.
    if (packet.cmd === 'publish') this.#outbox.hold(this.#client.stream)
    else if (packet.cmd === 'puback') this.#acknowledged(packet)
  }

  /** Lets everything leave now. */
  flush(): void {
    this.#outbox.flush()
  }

  /** The connection is gone: no PUBACK will come. */
  forget(): void {
    for (const id of this.#unacknowledged.keys()) this.#client.messageIdProvider.deallocate(id)
    this.#unacknowledged.clear()
  }

  #acknowledged({ messageId = 0, reasonCode = 0 }: Puback): void {
    const done = this.#unacknowledged.get(messageId)
    if (done === undefined) return
    this.#unacknowledged.delete(messageId)
    this.#client.messageIdProvider.deallocate(messageId)
    done(reasonCode < FIRST_REFUSAL ? undefined : refusal(reasonCode))
  }

  /** mqtt.js goes round and round through its ids, past those that are in use. */
  #freeId(): number | undefined {
    const { messageIdProvider, outgoing } = this.#client
    for (let tried = 0; tried < MOST_IDS; tried++) {
      const id = messageIdProvider.allocate()
      if (id === null) return undefined
      if (!this.#unacknowledged.has(id) && outgoing[id] === undefined) return id
    }
    return undefined
  }
}

function refusal(code: number): RequestRejectedError {
  const [, words = `reason ${code}`] = Object.entries(mqtt.ReasonCodes).find(([known]) => Number(known) === code) ?? []
  return new RequestRejectedError(code, `The broker refused the request: ${words}`)
}
