import { fromUtf8, toBinaryString } from './bytes.js'
import { StateStoreError } from './errors.js'

/** Reads what a `ByteWriter` wrote. Raises `damaged` for what cannot be that. */
export class ByteReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at: number

  /** @param at - where to begin */
  constructor(bytes: Uint8Array, at = 0) {
    this.#at = at
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Whether nothing is left. */
  get ended(): boolean {
    return this.#at === this.#bytes.length
  }

  /** Where the next thing begins. */
  get place(): number {
    return this.#at
  }

  uint8(): number {
    return this.#view.getUint8(this.#take(1))
  }

  uint32(): number {
    return this.#view.getUint32(this.#take(4))
  }

  float64(): number {
    return this.#view.getFloat64(this.#take(8))
  }

  optional(): number | undefined {
    const value = this.float64()
    return Number.isNaN(value) ? undefined : value
  }

  /** A view of what is read. */
  blob(): Uint8Array {
    const length = this.uint32()
    const from = this.#take(length)
    return this.#bytes.subarray(from, from + length)
  }

  text(): string {
    return fromUtf8(this.blob())
  }

  binary(): string {
    return toBinaryString(this.blob())
  }

  #take(length: number): number {
    const at = this.#at
    if (length > this.#bytes.length - at) throw new StateStoreError('damaged', 'it ends in the middle of something')
    this.#at += length
    return at
  }
}
