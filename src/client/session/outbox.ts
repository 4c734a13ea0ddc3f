import type { Room } from '../../core/mqtt5/publish-encoder.js'
import { afterIo } from '../../core/util/clock.js'
import type { MqttJsStream } from './mqttjs-client.js'

type Stream = Pick<MqttJsStream, 'write' | 'cork' | 'uncork'>

/** As much leaves without waiting for the end of the turn, bytes. */
const LARGEST_PIECE = 8_192
/** Memory is taken in blocks, bytes: one for each packet is a good part of what garbage collection has to do. */
const BLOCK = 16_384

/**
 * Lets what is written in one turn of the event loop leave as one piece: one system call over TCP, one frame over
 * WebSocket. The writes of many small packets are a quarter of a busy client's time otherwise.
 */
export class Outbox implements Room {
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
