import { fromUtf8, putAscii, toBinaryString } from './bytes.js'
import { StateStoreError } from './errors.js'

const INITIAL_CAPACITY = 1024
const MAX_LOOP_BYTES = 48
const encoder = /* @__PURE__ */ new TextEncoder()

export class ByteWriter {
  #bytes: Uint8Array
  #view: DataView
  #at = 0

  constructor(capacity = INITIAL_CAPACITY) {
    this.#bytes = new Uint8Array(capacity)
    this.#view = new DataView(this.#bytes.buffer)
  }

  get length(): number {
    return this.#at
  }

  uint8(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#at++] = value
  }

  uint32(value: number): void {
    this.#reserve(4)
    this.#view.setUint32(this.#at, value)
    this.#at += 4
  }

  /** Writes a number, which is exact for integers up to 2^53. */
  float64(value: number): void {
    this.#reserve(8)
    this.#view.setFloat64(this.#at, value)
    this.#at += 8
  }

  optional(value: number | undefined): void {
    this.float64(value ?? Number.NaN)
  }

  blob(bytes: Uint8Array): void {
    this.uint32(bytes.length)
    this.raw(bytes)
  }

  text(text: string): void {
    // A UTF-16 code unit takes at most three bytes.
    this.#reserve(4 + 3 * text.length)
    const from = this.#at + 4
    const written = putAscii(this.#bytes, from, text) ?? encoder.encodeInto(text, this.#bytes.subarray(from)).written
    this.#view.setUint32(this.#at, written)
    this.#at += 4 + written
  }

  /** Writes a string with one byte per code unit. */
  binary(text: string): void {
    this.uint32(text.length)
    this.#reserve(text.length)
    for (let i = 0; i < text.length; i++) this.#bytes[this.#at++] = text.charCodeAt(i)
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    // For a few bytes, calling `set` takes longer than the loop.
    if (bytes.length > MAX_LOOP_BYTES) this.#bytes.set(bytes, this.#at)
    else for (let i = 0; i < bytes.length; i++) this.#bytes[this.#at + i] = bytes[i] ?? 0
    this.#at += bytes.length
  }

  /** Starts again in the same memory, so that earlier views see the new data. */
  reset(): void {
    this.#at = 0
  }

  /** Returns a view of the written bytes, which later growth does not affect. */
  done(): Uint8Array {
    return this.#bytes.subarray(0, this.#at)
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#at + bytes))
    larger.set(this.#bytes.subarray(0, this.#at))
    this.#bytes = larger
    this.#view = new DataView(larger.buffer)
  }
}

/** Reads data that a `ByteWriter` wrote. Throws `damaged` if the data is malformed. */
export class ByteReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at: number

  constructor(bytes: Uint8Array, at = 0) {
    this.#at = at
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  get offset(): number {
    return this.#at
  }

  uint8(): number {
    return this.#view.getUint8(this.#advance(1))
  }

  uint32(): number {
    return this.#view.getUint32(this.#advance(4))
  }

  float64(): number {
    return this.#view.getFloat64(this.#advance(8))
  }

  optional(): number | undefined {
    const value = this.float64()
    return Number.isNaN(value) ? undefined : value
  }

  blob(): Uint8Array {
    const length = this.uint32()
    const from = this.#advance(length)
    return this.#bytes.subarray(from, from + length)
  }

  text(): string {
    return fromUtf8(this.blob())
  }

  binary(): string {
    return toBinaryString(this.blob())
  }

  #advance(length: number): number {
    const at = this.#at
    if (length > this.#bytes.length - at) throw new StateStoreError('damaged', 'it ends within a field')
    this.#at += length
    return at
  }
}
