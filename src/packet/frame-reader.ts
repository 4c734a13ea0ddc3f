import { concatBytes } from '../bytes.js'
import { endOfPacket } from './layout.js'

/** Who looks at packets first. */
export interface FrameTaker {
  /** Whether packets of a type (MQTT 5.0, section 2.1.2) are of interest at all. */
  wants(type: number): boolean
  /**
   * Takes a packet, or leaves it to whoever reads the rest. The bytes are a view of what was read. `behind`: something
   * that came before it is left already, and not passed on yet.
   */
  take(frame: Uint8Array, behind: boolean): boolean
}

/**
 * Cuts what comes over a connection into packets, offers each to a taker, and passes on what is not taken, byte for byte
 * and in order. What comes in pieces is put together.
 *
 * @example
 * ```ts
 * const frames = new FrameReader({ wants: type => type === PACKET.puback, take: frame => acknowledge(frame) }, 65_536)
 * for (const rest of frames.read(chunk)) parser.parse(rest)
 * ```
 */
export class FrameReader {
  readonly #taker: FrameTaker
  readonly #largest: number
  /** Pieces of a packet that is not complete, and how long they have to be until there is something to see, bytes. */
  #pieces: Uint8Array[] = []
  #held = 0
  #needed = 0
  /** Rest of a packet that is passed on in pieces, bytes. */
  #passing = 0

  /** @param largest - packet that is put together and offered, bytes; larger ones are passed on as they come */
  constructor(taker: FrameTaker, largest: number) {
    this.#taker = taker
    this.#largest = largest
  }

  /** Takes the next bytes, which must not change any more; returns what is not taken. */
  read(chunk: Uint8Array): Uint8Array[] {
    const rest: Uint8Array[] = []
    // Of a Buffer, `slice` is no copy, which whoever takes a packet may need.
    const plain = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const bytes = this.#held === 0 ? plain : this.#complete(plain)
    if (bytes !== undefined) this.#cut(bytes, rest)
    return rest
  }

  #complete(chunk: Uint8Array): Uint8Array | undefined {
    this.#pieces.push(chunk)
    this.#held += chunk.length
    if (this.#held < this.#needed) return undefined
    const bytes = concatBytes(this.#pieces)
    this.#pieces = []
    this.#held = 0
    return bytes
  }

  #cut(bytes: Uint8Array, rest: Uint8Array[]): void {
    let at = Math.min(this.#passing, bytes.length)
    this.#passing -= at
    let passed = 0
    while (at < bytes.length) {
      const wanted = this.#taker.wants((bytes[at] ?? 0) >> 4)
      const end = endOfPacket(bytes, at)
      if (end === undefined || (wanted && end > bytes.length && end - at <= this.#largest)) {
        this.#hold(bytes.subarray(at), end === undefined ? bytes.length - at + 1 : end - at)
        break
      }
      const offered = wanted && end <= bytes.length && end - at <= this.#largest
      if (offered && this.#taker.take(bytes.subarray(at, end), at > passed || rest.length > 0)) {
        if (at > passed) rest.push(bytes.subarray(passed, at))
        passed = end
      }
      this.#passing = Math.max(0, end - bytes.length)
      at = Math.min(end, bytes.length)
    }
    if (at > passed) rest.push(bytes.subarray(passed, at))
  }

  #hold(piece: Uint8Array, needed: number): void {
    this.#pieces = [piece]
    this.#held = piece.length
    this.#needed = needed
  }
}
