import { concatBytes, displayText } from '../util/bytes.js'
import { PayloadError } from '../util/errors.js'

export type Resp3 =
  | { readonly type: 'array'; readonly items: readonly Resp3[] }
  | { readonly type: 'blob'; readonly bytes: Uint8Array | null }
  | { readonly type: 'simple'; readonly text: string }
  | { readonly type: 'error'; readonly text: string }
  | { readonly type: 'integer'; readonly value: number }

const CR = 0x0d
const LF = 0x0a
const [ARRAY, BLOB] = [0x2a, 0x24]
const [ZERO, NINE] = [0x30, 0x39]
const MAX_PLAIN_COUNT_BYTES = 9
const MAX_DEPTH = 4
// The shortest array item is "+\r\n".
const MIN_ITEM_BYTES = 3

/**
 * Decodes exactly one value from one or more chunks. Blobs are views of a single chunk, not copies. A length is checked
 * against the input before any allocation, so a hostile length costs nothing.
 *
 * Throws {@link PayloadError} for any other input: truncated, trailing bytes, unknown type, invalid number, deep
 * nesting.
 *
 * @example
 * ```ts
 * decode(utf8('$4\r\n1234\r\n')) // { type: 'blob', bytes: ... }
 * ```
 */
export function decode(...pieces: readonly Uint8Array[]): Resp3 {
  const [only] = pieces
  return new Decoder(pieces.length === 1 && only !== undefined ? only : concatBytes(pieces), true).decode()
}

/**
 * Decodes like {@link decode}, except that the last CRLF may be missing: the source documents show a `GET` reply and
 * `-ERR syntax error` without it (sections "GET response" and "Response format").
 */
export const decodeReply = (payload: Uint8Array): Resp3 => new Decoder(payload, false).decode()

class Decoder {
  readonly #input: Uint8Array
  readonly #strictEnd: boolean
  #at = 0

  constructor(input: Uint8Array, strictEnd: boolean) {
    this.#input = input
    this.#strictEnd = strictEnd
  }

  decode(): Resp3 {
    const value = this.#value(0)
    if (this.#at !== this.#input.length) throw fault(`${this.#input.length - this.#at} bytes too many`, this.#at)
    return value
  }

  #value(depth: number): Resp3 {
    if (depth > MAX_DEPTH) throw fault('nested too deep', this.#at)
    const type = this.#input[this.#at]
    const count = type === ARRAY || type === BLOB ? this.#plainCount() : undefined
    if (count !== undefined) {
      return type === ARRAY
        ? { type: 'array', items: this.#items(count, depth) }
        : { type: 'blob', bytes: this.#blob(count) }
    }
    const line = this.#line()
    switch (type) {
      case ARRAY:
        return { type: 'array', items: this.#items(this.#count(line), depth) }
      case BLOB:
        return { type: 'blob', bytes: line === '-1' ? null : this.#blob(this.#count(line)) }
      case 0x2b: // +
        return { type: 'simple', text: line }
      case 0x2d: // -
        return { type: 'error', text: line }
      case 0x3a: // :
        return { type: 'integer', value: this.#integer(line) }
      default:
        throw fault('unknown type', this.#at)
    }
  }

  #items(count: number, depth: number): Resp3[] {
    if (count > (this.#input.length - this.#at) / MIN_ITEM_BYTES) throw fault('truncated array', this.#at)
    const items: Resp3[] = []
    for (let i = 0; i < count; i++) items.push(this.#value(depth + 1))
    return items
  }

  #blob(length: number): Uint8Array {
    const end = this.#at + length
    if (end > this.#input.length) throw fault('truncated blob', this.#at)
    const bytes = this.#input.subarray(this.#at, end)
    this.#at = end
    this.#lineEnd()
    return bytes
  }

  #lineEnd(): void {
    if (!this.#strictEnd && this.#at === this.#input.length) return
    if (this.#input[this.#at] !== CR || this.#input[this.#at + 1] !== LF) throw fault('no CRLF after a blob', this.#at)
    this.#at += 2
  }

  #line(): string {
    const start = this.#at + 1
    const cr = this.#input.indexOf(CR, start)
    if (cr < 0 && !this.#strictEnd && start <= this.#input.length) return this.#unendedLine(start)
    if (cr < 0 || this.#input[cr + 1] !== LF) throw fault('no CRLF', this.#at)
    this.#at = cr + 2
    return displayText(this.#input.subarray(start, cr))
  }

  #unendedLine(start: number): string {
    this.#at = this.#input.length
    return displayText(this.#input.subarray(start))
  }

  /**
   * Reads the line of a small count, as nearly all counts are small. Returns `undefined` without advancing for any
   * other line.
   */
  #plainCount(): number | undefined {
    let count = 0
    for (let at = this.#at + 1; at <= this.#at + MAX_PLAIN_COUNT_BYTES; at++) {
      const byte = this.#input[at] ?? 0
      if (byte === CR && at > this.#at + 1 && this.#input[at + 1] === LF) {
        this.#at = at + 2
        return count
      }
      if (byte < ZERO || byte > NINE) return undefined
      count = 10 * count + byte - ZERO
    }
    return undefined
  }

  #count(line: string): number {
    if (!/^[0-9]{1,15}$/.test(line)) throw fault('bad length', this.#at)
    return Number(line)
  }

  #integer(line: string): number {
    const value = Number(line)
    if (!/^-?[0-9]{1,16}$/.test(line) || !Number.isSafeInteger(value)) throw fault('bad integer', this.#at)
    return value
  }
}

const fault = (what: string, at: number): PayloadError =>
  new PayloadError(`Not a state store payload: ${what} at byte ${at}`)

const MAX_COUNT_LINE_BYTES = 9

/**
 * Decodes an array of byte strings, the form of nearly all commands, to views of the payload. Returns `undefined` for
 * an array of more than `maxCount` items, and for any other or malformed input, which `decode` then diagnoses.
 *
 * @example
 * ```ts
 * decodeStrings(utf8('*1\r\n$4\r\n1234\r\n'), 16) // [utf8('1234')]
 * ```
 */
export function decodeStrings(payload: Uint8Array, maxCount: number): Uint8Array[] | undefined {
  const lines = new CommandLines(payload)
  const count = lines.count(ARRAY)
  if (count === undefined || count > maxCount) return undefined
  const strings = new Array<Uint8Array>(count)
  for (let i = 0; i < count; i++) {
    const length = lines.count(BLOB)
    const string = length === undefined ? undefined : lines.blob(length)
    if (string === undefined) return undefined
    strings[i] = string
  }
  return lines.isAtEnd ? strings : undefined
}

class CommandLines {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  count(type: number): number | undefined {
    const first = this.#at + 1
    if (this.#bytes[this.#at] !== type) return undefined
    let count = 0
    for (let at = first; at < first + MAX_COUNT_LINE_BYTES; at++) {
      const byte = this.#bytes[at] ?? 0
      if (byte === CR && at > first && this.#bytes[at + 1] === LF) {
        this.#at = at + 2
        return count
      }
      if (byte < ZERO || byte > NINE) return undefined
      count = 10 * count + byte - ZERO
    }
    return undefined
  }

  blob(length: number): Uint8Array | undefined {
    const end = this.#at + length
    if (this.#bytes[end] !== CR || this.#bytes[end + 1] !== LF) return undefined
    const blob = this.#bytes.subarray(this.#at, end)
    this.#at = end + 2
    return blob
  }
}
