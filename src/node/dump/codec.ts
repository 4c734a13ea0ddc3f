import { crc32 } from 'node:zlib'
import { Hlc } from '../../core/hlc/hlc.js'
import { isObject } from '../../core/util/built-in-types.js'
import { fromUtf8, isWellFormed, utf8 } from '../../core/util/bytes.js'
import { MAX_TIME_MS } from '../../core/util/clock.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import { isNestedWithin } from '../../core/util/json-nesting.js'

/**
 * A line of a dump, which is NDJSON with one key per line. `key` and `value` are text; if the bytes are not UTF-8,
 * `keyBytes` and `bytes` contain them as Base64.
 */
export interface DumpLine {
  readonly key?: string
  readonly keyBytes?: string
  readonly value?: string
  readonly bytes?: string
  /** Version of the value, such as `1696374425000:1:StateStore`. */
  readonly version?: string
  /** Time when the key expires, ms since the Unix epoch. */
  readonly expiresAt?: number
  /** The fencing token of the key: later writes must have this token or a newer one. */
  readonly fencingToken?: string
}

export interface DumpRecord {
  readonly key: Uint8Array
  readonly value: Uint8Array
  readonly version: Hlc | undefined
  readonly fencingToken: Hlc | undefined
  /** Time when the key expires, ms since the Unix epoch. */
  readonly expiresAt: number | undefined
}

export function toDumpLine({ key, value, version, expiresAt, fencingToken }: DumpRecord): DumpLine {
  const [keyText, valueText] = [textOf(key), textOf(value)]
  return {
    ...(keyText === undefined ? { keyBytes: base64(key) } : { key: keyText }),
    ...(valueText === undefined ? { bytes: base64(value) } : { value: valueText }),
    ...(version && { version: String(version) }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(fencingToken && { fencingToken: String(fencingToken) }),
  }
}

/** The nesting of the trailer, the deepest line. */
const MAX_LINE_NESTING = 2

/** Header and trailer of a dump. A truncated dump has no trailer. */
const FIRST_LINE = '{"dump":1}'
const formatLastLine = (keys: number, sum: number): string => `{"end":{"keys":${keys},"crc32":"${hex(sum)}"}}`
const hex = (sum: number): string => sum.toString(16).padStart(8, '0')

/** Writes a dump's text: a header, one line per key, and a trailer with the number of keys and a checksum. */
export class DumpWriter {
  #keys = 0
  #sum = 0

  get keys(): number {
    return this.#keys
  }

  begin(): string {
    return `${FIRST_LINE}\n`
  }

  line(line: DumpLine): string {
    const text = `${JSON.stringify(line)}\n`
    this.#keys++
    this.#sum = crc32(text, this.#sum)
    return text
  }

  end(): string {
    return `${formatLastLine(this.#keys, this.#sum)}\n`
  }
}

/**
 * Reads a dump line by line, as NDJSON text or parsed. Input written by hand needs no header or trailer, and several
 * dumps may be concatenated. Every method throws {@link ArgumentError} with the line number.
 */
export class DumpReader {
  #lineNumber = 0
  #current: { keys: number; sum: number } | undefined

  get lineNumber(): number {
    return this.#lineNumber
  }

  /**
   * Returns the record of the next line, or `undefined` for a blank line, a header or a trailer. Throws for any
   * deviation from the format, because an ignored member would be lost silently.
   */
  read(line: DumpLine | string): DumpRecord | undefined {
    this.#lineNumber++
    try {
      return this.#read(line)
    } catch (error) {
      throw error instanceof ArgumentError ? lineError(this.#lineNumber, error.message, error) : error
    }
  }

  /** Ends the input. Throws if a dump's trailer is missing. */
  end(): void {
    if (this.#current === undefined) return
    throw lineError(this.#lineNumber, `${TRUNCATED} here; ${REMEDY}`)
  }

  #read(line: DumpLine | string): DumpRecord | undefined {
    const text = typeof line === 'string' ? line.trim() : ''
    if (typeof line === 'string' && text === '') return undefined
    const members: unknown = typeof line === 'string' ? parse(line) : line
    if (!isObject(members)) throw new ArgumentError('it is not a JSON object')
    if (!isNestedWithin(MAX_LINE_NESTING, text)) throw new ArgumentError('it has a nested value')
    if ('dump' in members) this.#begin(members)
    else if ('end' in members) this.#close(JSON.stringify(members))
    else return this.#record(members, text)
    return undefined
  }

  #begin(members: Record<string, unknown>): void {
    if (this.#current !== undefined) throw new ArgumentError(`${TRUNCATED} before it; ${REMEDY}`)
    const text = JSON.stringify(members)
    if (text !== FIRST_LINE) throw new ArgumentError(`this version cannot read the dump: ${text.slice(0, 80)}`)
    this.#current = { keys: 0, sum: 0 }
  }

  #close(text: string): void {
    if (this.#current === undefined) throw new ArgumentError('the first line of the dump is missing')
    const expected = formatLastLine(this.#current.keys, this.#current.sum)
    this.#current = undefined
    if (text === expected) return
    throw new ArgumentError(
      `the dump was changed: expected the last line ${expected}, got ${text.slice(0, 80)}; ${REMEDY}`,
    )
  }

  #record(members: Record<string, unknown>, text: string): DumpRecord {
    if (this.#current !== undefined) {
      this.#current.keys++
      this.#current.sum = crc32(`${text === '' ? JSON.stringify(members) : text}\n`, this.#current.sum)
    }
    return parseRecord(members)
  }
}

const TRUNCATED = 'the dump is truncated: its last line, with count and checksum, is missing'
const REMEDY = 'save it again, or remove its first and last line to load the rest'

export const lineError = (number: number, why: string, cause?: unknown): ArgumentError =>
  new ArgumentError(`line ${number}: ${why}`, { cause })

const ONE_LINE_PER_KEY =
  'write each key as {"key":"...","value":"..."} on its own line, or give an object of values by key to `serve --seed`'

function parseRecord(members: Record<string, unknown>): DumpRecord {
  const { key, keyBytes, value, bytes, version, expiresAt, fencingToken, ...rest } = members
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined && [key, keyBytes, value, bytes].every(member => member === undefined))
    throw new ArgumentError(`it has neither \`key\` nor \`value\`: ${ONE_LINE_PER_KEY}`)
  if (unknown !== undefined) throw new ArgumentError(`it has an unknown member ${JSON.stringify(unknown.slice(0, 80))}`)
  const record: DumpRecord = {
    key: bytesOf({ key, keyBytes }, 'key', 'keyBytes'),
    value: bytesOf({ value, bytes }, 'value', 'bytes'),
    version: readClock('version', version),
    fencingToken: readClock('fencingToken', fencingToken),
    expiresAt: readTime(expiresAt),
  }
  if (record.key.length === 0) throw new ArgumentError('its key is empty')
  return record
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    // The parser's message is not used, because it quotes the line, which may have megabytes.
    // A line of only `{` begins an object that is printed over several lines.
    const hint = line.trim() === '{' ? `: ${ONE_LINE_PER_KEY}` : ''
    throw new ArgumentError(`it is not valid JSON${hint}`, { cause })
  }
}

function bytesOf(members: Record<string, unknown>, text: string, binary: string): Uint8Array {
  const [asText, asBinary] = [members[text], members[binary]]
  if ((asText === undefined) === (asBinary === undefined)) {
    throw new ArgumentError(`it needs either \`${text}\` or \`${binary}\``)
  }
  return asText === undefined ? fromBase64(binary, asBinary) : fromText(text, asText)
}

function fromText(name: string, text: unknown): Uint8Array {
  if (typeof text === 'string' && isWellFormed(text)) return utf8(text)
  throw new ArgumentError(`its \`${name}\` is not well-formed text`)
}

function fromBase64(name: string, text: unknown): Uint8Array {
  if (typeof text === 'string') {
    const bytes = Buffer.from(text, 'base64')
    // Node skips invalid characters, so a different value would be stored.
    if (bytes.toString('base64') === text) return bytes
  }
  throw new ArgumentError(`its \`${name}\` is not Base64`)
}

function readClock(name: string, text: unknown): Hlc | undefined {
  if (text === undefined) return undefined
  try {
    return Hlc.parse(typeof text === 'string' ? text : '')
  } catch (cause) {
    throw new ArgumentError(`its \`${name}\` is not a version such as 1696374425000:1:StateStore`, { cause })
  }
}

function readTime(time: unknown): number | undefined {
  if (time === undefined) return undefined
  if (typeof time === 'number' && Number.isSafeInteger(time) && time >= 0) return Math.min(time, MAX_TIME_MS)
  throw new ArgumentError(
    `its \`expiresAt\` is not a time in ms since the Unix epoch: ${formatValue(time).slice(0, 80)}`,
  )
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return fromUtf8(bytes)
  } catch {
    // Bytes that are not UTF-8 are a valid key or value.
    return undefined
  }
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

/**
 * Maximum length of a line, bytes. A line of this length fits a value of 16 MiB, the default packet limit of a store,
 * even if JSON escapes each character with six.
 */
export const MAX_LINE_BYTES = 128 * 1024 * 1024

const LINE_FEED = 0x0a

/**
 * Yields the lines of a UTF-8 stream without their ends; the last one may be unterminated. Throws `argument`, with the
 * line number, if a line is too long or not UTF-8. Errors of the stream pass through.
 *
 * @param maxBytes - maximum length of a line, bytes
 */
export async function* linesOf(
  source: AsyncIterable<Uint8Array>,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<string, void> {
  // Decoding is fatal, because an invalid byte must not become another character.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let parts: Uint8Array[] = []
  let [length, number] = [0, 1]
  const keep = (part: Uint8Array): void => {
    length += part.length
    if (length > maxBytes) throw lineError(number, `it is longer than ${maxBytes} bytes`)
    parts.push(part)
  }
  const line = (): string => {
    const text = decodeLine(decoder, parts, number)
    parts = []
    length = 0
    number++
    return text
  }
  for await (const chunk of source) {
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      keep(chunk.subarray(from, end))
      yield line()
      from = end + 1
    }
    if (from < chunk.length) keep(chunk.subarray(from))
  }
  if (length > 0) yield line()
}

/**
 * Yields a dump's lines in a file or a request body, like {@link linesOf}. Throws `argument` if there are no
 * lines, because even the dump of an empty store has a header and a trailer.
 */
export async function* dumpLinesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let isEmpty = true
  for await (const line of linesOf(source)) {
    isEmpty &&= line.trim() === ''
    yield line
  }
  if (isEmpty) throw new ArgumentError('the input is empty: even an empty dump has a first line')
}

function decodeLine(decoder: TextDecoder, parts: readonly Uint8Array[], number: number): string {
  const [first = new Uint8Array(0), ...more] = parts
  try {
    return decoder.decode(more.length === 0 ? first : Buffer.concat(parts))
  } catch (cause) {
    throw lineError(number, 'it is not valid UTF-8', cause)
  }
}
