import type { IClientOptions, Packet } from 'mqtt'
import { pubackOf } from '../../core/mqtt5/data-types.js'
import type { Publish } from '../../core/mqtt5/packets.js'
import { envelopeOf, PublishEncoder, type Room } from '../../core/mqtt5/publish-encoder.js'
import { afterIo } from '../../core/util/clock.js'
import { RequestRejectedError } from '../../core/util/errors.js'
import type { MqttJsClient, MqttJsStream } from './mqttjs-client.js'
import { isOutgoing } from './mqttjs-internals.js'
import { reasonWords } from './reasons.js'
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
  readonly #writeCoalescer = new WriteCoalescer()
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
    const { stream } = this.#client
    const envelope = retain ? { ...envelopeOf(id), retain } : envelopeOf(id)
    this.#writeCoalescer.hold(stream)
    this.#encoder.encodeTo(message.topic, message, envelope, this.#writeCoalescer)
  }

  /** To be called with every packet that mqtt.js read, before it deals with it. */
  received(packet: Packet): void {
    // The PUBACKs of what arrives together leave together.
    if (packet.cmd === 'publish') this.#writeCoalescer.hold(this.#client.stream)
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
    this.#writeCoalescer.add(this.#client.stream, pubackOf(packetId))
  }

  /** Lets everything leave now. */
  flush(): void {
    this.#writeCoalescer.flush()
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

type Stream = Pick<MqttJsStream, 'write' | 'cork' | 'uncork'>

/** As much leaves without waiting for the end of the turn, bytes. */
const LARGEST_PIECE = 8_192
/** Memory is taken in blocks, bytes: one for each packet is a good part of what garbage collection has to do. */
const BLOCK = 16_384

/**
 * Lets what is written in one turn of the event loop leave as one piece: one system call over TCP, one frame over
 * WebSocket. The writes of many small packets are a quarter of a busy client's time otherwise.
 */
export class WriteCoalescer implements Room {
  #stream: Stream | undefined
  #block = new Uint8Array(0)
  /** What waits in the block. */
  #from = 0
  #to = 0

  /** Adds a packet to what leaves at the end of this turn. */
  add(stream: Stream, packet: Uint8Array): void {
    this.hold(stream)
    const at = this.take(packet.length)
    this.#block.set(packet, at)
  }

  get block(): Uint8Array {
    return this.#block
  }

  /** Memory for a packet that leaves with what is held back, to be filled at once; to be called after {@link hold}. */
  take(bytes: number): number {
    if (this.#to - this.#from + bytes > LARGEST_PIECE) this.#release()
    if (this.#to + bytes > this.#block.length) this.#renew(bytes)
    const at = this.#to
    this.#to += bytes
    return at
  }

  /** Holds back what others write to the stream until the end of this turn. */
  hold(stream: Stream): void {
    if (this.#stream === stream) return
    this.flush()
    this.#stream = stream
    stream.cork?.()
    afterIo(() => {
      if (this.#stream === stream) this.flush()
    })
  }

  /** Lets it leave now. */
  flush(): void {
    this.#write()
    const stream = this.#stream
    this.#stream = undefined
    stream?.uncork?.()
  }

  /** Not all at the end: the other side may begin. */
  #release(): void {
    this.#write()
    this.#stream?.uncork?.()
    this.#stream?.cork?.()
  }

  #renew(bytes: number): void {
    this.#write()
    this.#block = new Uint8Array(Math.max(BLOCK, bytes))
    this.#from = 0
    this.#to = 0
  }

  /** What is written belongs to the stream; the rest of the block is still ours. */
  #write(): void {
    if (this.#to === this.#from) return
    const piece = this.#block.subarray(this.#from, this.#to)
    this.#from = this.#to
    this.#stream?.write(piece)
  }
}

/** Packet ids for PUBLISH: 16 bits and not zero (MQTT 5.0, section 2.2.1). */
export interface PacketIds {
  /** An id that is not in use; `undefined` when all are. */
  allocate(): number | undefined
  release(id: number): void
}

const MOST_IDS = 65_535
/** From here on ids are left to mqtt.js, which subscribes. */
const FIRST_OTHER = 64_512

/** As many may be in use. */
export const MOST_OWN_IDS = FIRST_OTHER - 1

/** Ids of a connection of our own, in which {@link otherIds} are mqtt.js's: always small ones, used again at once. */
export class OwnPacketIds implements PacketIds {
  readonly #free: number[] = []
  #next = 1

  allocate(): number | undefined {
    return this.#free.pop() ?? (this.#next < FIRST_OTHER ? this.#next++ : undefined)
  }

  release(id: number): void {
    this.#free.push(id)
  }
}

/** Gives mqtt.js the ids that {@link OwnPacketIds} leaves. */
export function otherIds(): NonNullable<IClientOptions['messageIdProvider']> {
  let last = MOST_IDS
  return {
    allocate: () => {
      last = last === MOST_IDS ? FIRST_OTHER : last + 1
      return last
    },
    getLastAllocated: () => last,
    register: () => true,
    deallocate: () => undefined,
    clear: () => undefined,
  }
}

/** Ids of somebody else's connection: mqtt.js goes round and round through its own, past those that are in use. */
export class SharedPacketIds implements PacketIds {
  readonly #client: MqttJsClient
  readonly #used = new Set<number>()

  constructor(client: MqttJsClient) {
    this.#client = client
  }

  allocate(): number | undefined {
    const { messageIdProvider } = this.#client
    for (let tried = 0; tried < MOST_IDS; tried++) {
      const id = messageIdProvider.allocate()
      if (id === null) return undefined
      if (this.#used.has(id) || isOutgoing(this.#client, id)) continue
      this.#used.add(id)
      return id
    }
    return undefined
  }

  release(id: number): void {
    this.#used.delete(id)
    this.#client.messageIdProvider.deallocate(id)
  }
}
