import type { IClientOptions, Packet } from 'mqtt'
import { encodePuback } from '../../core/mqtt5/data-types.js'
import type { Publish } from '../../core/mqtt5/packets.js'
import { envelopeOf, PublishEncoder, type WriteBuffer } from '../../core/mqtt5/publish-encoder.js'
import { FIRST_FAILURE, noMatchingSubscribers } from '../../core/mqtt5/reason-codes.js'
import { afterIo } from '../../core/util/clock.js'
import { RequestRejectedError } from '../../core/util/errors.js'
import type { MqttJsClient, MqttJsStream } from './mqttjs-client.js'
import { isOutgoing } from './mqttjs-internals.js'
import { reasonName } from './reasons.js'
import type { Done } from './session.js'

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

type Stream = Pick<MqttJsStream, 'write' | 'cork' | 'uncork'>

/** Number of bytes that are written without waiting for the end of the turn. */
const MAX_CHUNK_BYTES = 8_192
/** Size of an allocation, bytes. One allocation per packet would cost much garbage collection. */
const BLOCK_BYTES = 16_384

/**
 * Coalesces the writes of one turn of the event loop: one system call over TCP, or one frame over WebSocket. Otherwise
 * the writes of many small packets take a quarter of a busy client's time.
 */
export class WriteCoalescer implements WriteBuffer {
  #stream: Stream | undefined
  #block = new Uint8Array(0)
  #start = 0
  #end = 0

  add(stream: Stream, packet: Uint8Array): void {
    this.hold(stream)
    const at = this.allocate(packet.length)
    this.#block.set(packet, at)
  }

  get block(): Uint8Array {
    return this.#block
  }

  /** Reserves memory for a packet. The caller must fill it synchronously, after {@link hold}. */
  allocate(bytes: number): number {
    if (this.#end - this.#start + bytes > MAX_CHUNK_BYTES) this.#flushEarly()
    if (this.#end + bytes > this.#block.length) this.#allocateBlock(bytes)
    const at = this.#end
    this.#end += bytes
    return at
  }

  /** Holds back all writes to the stream until the end of this turn. */
  hold(stream: Stream): void {
    if (this.#stream === stream) return
    this.flush()
    this.#stream = stream
    stream.cork?.()
    afterIo(() => {
      if (this.#stream === stream) this.flush()
    })
  }

  flush(): void {
    this.#write()
    const stream = this.#stream
    this.#stream = undefined
    stream?.uncork?.()
  }

  /** Writes early, so that the peer can start reading. */
  #flushEarly(): void {
    this.#write()
    this.#stream?.uncork?.()
    this.#stream?.cork?.()
  }

  #allocateBlock(bytes: number): void {
    this.#write()
    this.#block = new Uint8Array(Math.max(BLOCK_BYTES, bytes))
    this.#start = 0
    this.#end = 0
  }

  /** Writes the held bytes, which then belong to the stream. The rest of the block is still free. */
  #write(): void {
    if (this.#end === this.#start) return
    const chunk = this.#block.subarray(this.#start, this.#end)
    this.#start = this.#end
    this.#stream?.write(chunk)
  }
}

/** Packet ids for PUBLISH, which have 16 bits and are not zero (MQTT 5.0, section 2.2.1). */
export interface PacketIds {
  /** Returns a free id, or `undefined` if all ids are in use. */
  allocate(): number | undefined
  release(id: number): void
}

const MAX_PACKET_ID = 65_535
/** The first of the ids that mqtt.js uses, for SUBSCRIBE. */
const FIRST_MQTTJS_ID = 64_512

export const MAX_OWN_IDS = FIRST_MQTTJS_ID - 1

/**
 * Ids for an owned connection, below the ids of {@link mqttJsPacketIds}. Reuses released ids first, which keeps the ids
 * small.
 */
export class OwnPacketIds implements PacketIds {
  readonly #free: number[] = []
  #next = 1

  allocate(): number | undefined {
    return this.#free.pop() ?? (this.#next < FIRST_MQTTJS_ID ? this.#next++ : undefined)
  }

  release(id: number): void {
    this.#free.push(id)
  }
}

export function mqttJsPacketIds(): NonNullable<IClientOptions['messageIdProvider']> {
  let last = MAX_PACKET_ID
  return {
    allocate: () => {
      last = last === MAX_PACKET_ID ? FIRST_MQTTJS_ID : last + 1
      return last
    },
    getLastAllocated: () => last,
    register: () => true,
    deallocate: () => undefined,
    clear: () => undefined,
  }
}

/** Ids for a caller's connection. mqtt.js cycles through all ids, and the ones in use are skipped. */
export class SharedPacketIds implements PacketIds {
  readonly #client: MqttJsClient
  readonly #used = new Set<number>()

  constructor(client: MqttJsClient) {
    this.#client = client
  }

  allocate(): number | undefined {
    const { messageIdProvider } = this.#client
    for (let tried = 0; tried < MAX_PACKET_ID; tried++) {
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
