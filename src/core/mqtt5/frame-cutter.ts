import { endOfPacket, PUBACK_SIZE, uint16, viewOf } from './data-types.js'
import { malformed, PacketError } from './packet-error.js'
import * as PACKET from './packet-types.js'
import * as REASON from './reason-codes.js'

const NOTHING = new Uint8Array(0)
const PUBACK = PACKET.puback << 4

/**
 * Cuts what comes over a connection into packets, one at a time, so that the reader can stop between two. A packet
 * that comes in one piece is a view of it. What comes in many is put together in memory that grows with it, to twice as
 * much at most and never beyond the packet's end: in linear time, and never for what has only been announced.
 *
 * @example
 * ```ts
 * cutter.push(chunk)
 * for (let frame = cutter.next(); frame; frame = cutter.next()) take(frame)
 * ```
 */
export class FrameCutter {
  readonly #largest: number
  /** What is unread lies between the two places; memory behind it is free if it is our own. */
  #bytes: Uint8Array = NOTHING
  #at = 0
  #end = 0
  /** What came with the end of the packet that was put together. */
  #rest: Uint8Array = NOTHING

  /** @param maxPacketSize - largest packet, with its header, bytes */
  constructor(maxPacketSize: number) {
    this.#largest = maxPacketSize
  }

  /** Adds the next bytes, which must not change any more. */
  push(chunk: Uint8Array): void {
    if (this.held > 0) this.#append(chunk)
    // Of a Buffer, `slice` makes a view, and not the copy that a reader may need.
    else this.#hold(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength))
  }

  /**
   * The next packet that is complete. Throws {@link PacketError} when its length is malformed or beyond the maximum, and
   * does so again from then on.
   */
  next(): Uint8Array | undefined {
    const end = this.#endOfFirst()
    if (end === undefined || end > this.#end) {
      this.#spare()
      return undefined
    }
    const frame = viewOf(this.#bytes, this.#at, end)
    this.#advance(end)
    return frame
  }

  /**
   * The packet id if the next packet is a PUBACK that says nothing but success, which then is taken; otherwise 0. Every
   * other packet of a busy connection is one: a view of each would cost more than all else that is done about it.
   */
  nextPuback(): number {
    const bytes = this.#bytes
    const at = this.#at
    if (bytes[at] !== PUBACK || bytes[at + 1] !== PUBACK_SIZE - 2 || at + PUBACK_SIZE > this.#end) return 0
    const packetId = uint16(bytes, at + 2)
    if (packetId > 0) this.#advance(at + PUBACK_SIZE)
    return packetId
  }

  /** Bytes that are kept: of packets that were not asked for, and of one that is not complete. */
  get held(): number {
    return this.#end - this.#at + this.#rest.length
  }

  /** Whether a packet has begun and is not complete. */
  get partial(): boolean {
    const end = endOfPacket(this.#bytes, this.#at)
    return this.held > 0 && (end === undefined || end > this.#end)
  }

  #endOfFirst(): number | undefined {
    const end = endOfPacket(this.#bytes, this.#at)
    if (end === Number.POSITIVE_INFINITY) throw malformed('The length of a packet has more than four bytes')
    if (end !== undefined && end - this.#at > this.#largest)
      throw new PacketError(
        REASON.packetTooLarge,
        `A packet of ${end - this.#at} bytes came, and \`maxPacketSize\` is ${this.#largest}`,
      )
    return end
  }

  #advance(to: number): void {
    if (to === this.#end) this.#hold(this.#rest)
    else this.#at = to
  }

  #hold(bytes: Uint8Array): void {
    this.#bytes = bytes
    this.#at = 0
    this.#end = bytes.length
    this.#rest = NOTHING
  }

  #append(chunk: Uint8Array): void {
    const missing = this.#missing()
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
    this.#rest = NOTHING
    if (rest.length > 0) this.#fill(rest, Number.POSITIVE_INFINITY)
    this.#fill(chunk, Number.POSITIVE_INFINITY)
  }

  /** Of the first packet, bytes; 0 when it is complete, and when its length is not known. */
  #missing(): number {
    // What is behind the last byte that came is not part of its length.
    const end = endOfPacket(this.#bytes.subarray(0, this.#end), this.#at)
    return end === undefined || end === Number.POSITIVE_INFINITY ? 0 : Math.max(0, end - this.#end)
  }

  /** @param most - how many bytes may come, this chunk among them: there is no use in room for more */
  #fill(chunk: Uint8Array, most: number): void {
    const held = this.#end - this.#at
    if (this.#end + chunk.length > this.#bytes.length) {
      const larger = new Uint8Array(Math.min(held + most, Math.max(held + chunk.length, 2 * held)))
      larger.set(this.#bytes.subarray(this.#at, this.#end))
      this.#bytes = larger
      this.#end = held
      this.#at = 0
    }
    this.#bytes.set(chunk, this.#end)
    this.#end += chunk.length
  }

  /** The beginning of a packet shall not keep alive all that came with it. */
  #spare(): void {
    if (2 * this.held < this.#bytes.buffer.byteLength) this.#hold(this.#bytes.slice(this.#at, this.#end))
  }
}
