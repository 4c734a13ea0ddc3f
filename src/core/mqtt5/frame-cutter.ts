import { PUBACK_SIZE, packetEnd, uint16, viewOf } from './data-types.js'
import { malformed, PacketError } from './packet-error.js'
import * as PACKET from './packet-types.js'
import * as REASON from './reason-codes.js'

const NO_BYTES = new Uint8Array(0)
const PUBACK = PACKET.puback << 4

/**
 * Cuts a connection's data into packets, one at a time, so that the reader can stop in between. A packet that
 * arrives in one chunk is a view of that chunk. A fragmented packet is assembled in memory that grows with the data, to
 * at most twice its size and never beyond the packet's end: linear time, and no allocation for announced data.
 *
 * @example
 * ```ts
 * cutter.push(chunk)
 * for (let frame = cutter.next(); frame; frame = cutter.next())
 *   take(frame)
 * ```
 */
export class FrameCutter {
  readonly #maxPacketSize: number
  /** Unread bytes lie between the two offsets. The memory behind them is free if it was allocated here. */
  #bytes: Uint8Array = NO_BYTES
  #at = 0
  #end = 0
  /** Bytes that arrived after the end of the assembled packet. */
  #rest: Uint8Array = NO_BYTES

  /** @param maxPacketSize - maximum including the fixed header, bytes */
  constructor(maxPacketSize: number) {
    this.#maxPacketSize = maxPacketSize
  }

  /** Adds the next bytes, which must not change afterwards. */
  push(chunk: Uint8Array): void {
    if (this.bufferedBytes > 0) this.#append(chunk)
    // `slice` of a Buffer would be a view, not the copy that a reader may need.
    else this.#setBuffer(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength))
  }

  /**
   * Returns the next complete packet. Throws {@link PacketError} on this and every later call if the length of the
   * packet is malformed or beyond the maximum.
   */
  next(): Uint8Array | undefined {
    const end = this.#firstPacketEnd()
    if (end === undefined || end > this.#end) {
      this.#releaseChunk()
      return undefined
    }
    const frame = viewOf(this.#bytes, this.#at, end)
    this.#advance(end)
    return frame
  }

  /**
   * Removes the next packet and returns its packet id if the packet is a PUBACK that only reports success; otherwise
   * returns 0. On a busy connection every other packet is such a PUBACK, and a view of each would dominate its cost.
   */
  nextPuback(): number {
    const bytes = this.#bytes
    const at = this.#at
    if (bytes[at] !== PUBACK || bytes[at + 1] !== PUBACK_SIZE - 2 || at + PUBACK_SIZE > this.#end) return 0
    const packetId = uint16(bytes, at + 2)
    if (packetId > 0) this.#advance(at + PUBACK_SIZE)
    return packetId
  }

  get bufferedBytes(): number {
    return this.#end - this.#at + this.#rest.length
  }

  get hasPartialPacket(): boolean {
    const end = packetEnd(this.#bytes, this.#at)
    return this.bufferedBytes > 0 && (end === undefined || end > this.#end)
  }

  #firstPacketEnd(): number | undefined {
    const end = packetEnd(this.#bytes, this.#at)
    if (end === Number.POSITIVE_INFINITY) throw malformed('The length of a packet has more than four bytes')
    if (end !== undefined && end - this.#at > this.#maxPacketSize)
      throw new PacketError(
        REASON.packetTooLarge,
        `A packet of ${end - this.#at} bytes exceeds \`maxPacketSize\` ${this.#maxPacketSize}`,
      )
    return end
  }

  #advance(to: number): void {
    if (to === this.#end) this.#setBuffer(this.#rest)
    else this.#at = to
  }

  #setBuffer(bytes: Uint8Array): void {
    this.#bytes = bytes
    this.#at = 0
    this.#end = bytes.length
    this.#rest = NO_BYTES
  }

  #append(chunk: Uint8Array): void {
    const missing = this.#missingBytes()
    if (chunk.length <= missing) {
      this.#fill(chunk, missing)
      return
    }
    const rest = this.#rest
    if (missing > 0) {
      this.#fill(chunk.subarray(0, missing), missing)
      this.#rest = new Uint8Array(chunk.buffer, chunk.byteOffset + missing, chunk.byteLength - missing)
      return
    }
    this.#rest = NO_BYTES
    if (rest.length > 0) this.#fill(rest, Number.POSITIVE_INFINITY)
    this.#fill(chunk, Number.POSITIVE_INFINITY)
  }

  /**
   * Returns the number of bytes missing from the first packet; 0 if the packet is complete or its length is unknown.
   */
  #missingBytes(): number {
    // Memory behind the last received byte is not part of the length.
    const end = packetEnd(this.#bytes.subarray(0, this.#end), this.#at)
    return end === undefined || end === Number.POSITIVE_INFINITY ? 0 : Math.max(0, end - this.#end)
  }

  /** @param maxBytes - maximum bytes still to arrive, including this chunk, which limits the allocation */
  #fill(chunk: Uint8Array, maxBytes: number): void {
    const held = this.#end - this.#at
    if (this.#end + chunk.length > this.#bytes.length) {
      const larger = new Uint8Array(Math.min(held + maxBytes, Math.max(held + chunk.length, 2 * held)))
      larger.set(this.#bytes.subarray(this.#at, this.#end))
      this.#bytes = larger
      this.#end = held
      this.#at = 0
    }
    this.#bytes.set(chunk, this.#end)
    this.#end += chunk.length
  }

  /** Copies an incomplete packet, which would otherwise retain the whole chunk. */
  #releaseChunk(): void {
    if (2 * this.bufferedBytes < this.#bytes.buffer.byteLength) this.#setBuffer(this.#bytes.slice(this.#at, this.#end))
  }
}
