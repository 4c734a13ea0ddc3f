import { fromUtf8 } from '../util/bytes.js'
import { viewOf } from './layout.js'
import { malformed } from './packet-error.js'

/** What may be done with a text before it is taken: throws when it is not what it should be. */
export type Check = (text: string) => void

/** Text of bytes: well-formed UTF-8 without U+0000; a byte order mark is part of it (MQTT 5.0, section 1.5.4). */
export function textOf(bytes: Uint8Array, at: number, length: number): string {
  if (length === 0) return ''
  const text = decoded(viewOf(bytes, at, at + length))
  if (text.includes('\0')) throw malformed('A text has U+0000 in it')
  return text
}

function decoded(bytes: Uint8Array): string {
  try {
    return fromUtf8(bytes)
  } catch (cause) {
    throw malformed('A text is not well-formed UTF-8', { cause })
  }
}

/** A text, and where its bytes begin. */
interface Known {
  readonly text: string
  readonly start: number
}

/** A power of two. */
const SLOTS = 32
/** What is known takes so many bytes; then all of it is forgotten. */
const MOST_BYTES = 1_024

/**
 * Texts of ASCII that came before, for one connection: names of properties and topics come with every packet. They are
 * compared as bytes, which takes less than half the time it takes to compare them with a text.
 */
export class KnownTexts {
  readonly #longest: number
  readonly #known: (Known | undefined)[] = []
  readonly #bytes = new Uint8Array(MOST_BYTES)
  #end = 0

  /** @param longest - longer texts are not likely to come again, bytes; at most 1,024 */
  constructor(longest: number) {
    this.#longest = longest
  }

  /** As the function {@link textOf}, and checked unless it is known. */
  textOf(bytes: Uint8Array, at: number, length: number, check?: Check): string {
    const slot = slotOf(bytes, at, length)
    const known = this.#find(slot, bytes, at, length) ?? this.#find(slot ^ 1, bytes, at, length)
    if (known) return known.text
    const text = textOf(bytes, at, length)
    check?.(text)
    // Of ASCII alone as many bytes as characters.
    if (text.length === length && length <= this.#longest) this.#remember(slot, text, bytes, at)
    return text
  }

  #find(slot: number, bytes: Uint8Array, at: number, length: number): Known | undefined {
    const known = this.#known[slot]
    const fits = known?.text.length === length && areSame(this.#bytes, known.start, bytes, at, length)
    return fits ? known : undefined
  }

  /** Two that belong to the same place are both known, or each would have to be read anew when the other has come. */
  #remember(slot: number, text: string, bytes: Uint8Array, at: number): void {
    if (this.#end + text.length > MOST_BYTES) {
      this.#known.length = 0
      this.#end = 0
    }
    this.#known[slot ^ 1] = this.#known[slot]
    this.#known[slot] = { text, start: this.#end }
    this.#bytes.set(bytes.subarray(at, at + text.length), this.#end)
    this.#end += text.length
  }
}

/** Texts that differ mostly do so in the middle or at the end, every other digit of what is in Base16. */
function slotOf(bytes: Uint8Array, at: number, length: number): number {
  const last = at + length - 1
  const sum = length * 31 + (bytes[last] ?? 0) * 7 + (bytes[last - 2] ?? 0) * 19 + (bytes[at + (length >> 1)] ?? 0)
  return sum & (SLOTS - 1)
}

function areSame(a: Uint8Array, from: number, b: Uint8Array, at: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[from + i] !== b[at + i]) return false
  return true
}
