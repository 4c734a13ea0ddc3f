import type { WriteBuffer } from '../../core/mqtt5/publish-encoder.js'
import { afterIo } from '../../core/util/clock.js'
import type { MqttJsStream } from './mqttjs-client.js'

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
