const CR = 0x0d
const LF = 0x0a
const [ARRAY, BLOB] = [0x2a, 0x24]
const [ZERO, NINE] = [0x30, 0x39]
/** Digits and line end. */
const LONGEST_LINE = 9

/**
 * The byte strings of an array of nothing else, as nearly all commands are, as views of the payload. `undefined` for an array
 * of more than `most` and for everything else, also what is malformed: `decode` finds out what it is.
 *
 * @example
 * ```ts
 * decodeStrings(utf8('*1\r\n$4\r\n1234\r\n'), 16) // [utf8('1234')]
 * ```
 */
export function decodeStrings(payload: Uint8Array, most: number): Uint8Array[] | undefined {
  const lines = new Lines(payload)
  const count = lines.count(ARRAY)
  if (count === undefined || count > most) return undefined
  const strings = new Array<Uint8Array>(count)
  for (let i = 0; i < count; i++) {
    const length = lines.count(BLOB)
    const string = length === undefined ? undefined : lines.blob(length)
    if (string === undefined) return undefined
    strings[i] = string
  }
  return lines.ended ? strings : undefined
}

class Lines {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get ended(): boolean {
    return this.#at === this.#bytes.length
  }

  /** The number behind a type, if the next line is that of a small one. */
  count(type: number): number | undefined {
    const first = this.#at + 1
    if (this.#bytes[this.#at] !== type) return undefined
    let count = 0
    for (let at = first; at < first + LONGEST_LINE; at++) {
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
