import { crc32 } from 'node:zlib'
import { Hlc } from '../../core/hlc/hlc.js'
import { fromUtf8, isWellFormed, utf8 } from '../../core/util/bytes.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'

/**
 * A key in a dump, which is NDJSON: one such object per line. `key` and `value` are text; where the bytes are not UTF-8,
 * `keyBytes` and `bytes` hold them as Base64 instead.
 */
export interface DumpLine {
  readonly key?: string
  readonly keyBytes?: string
  readonly value?: string
  readonly bytes?: string
  /** Version of the value, such as `1696374425000:1:StateStore`. */
  readonly version?: string
  /** When the key is gone, ms since the Unix epoch. */
  readonly expiresAt?: number
  /** Later writes must carry this token or a newer one. */
  readonly fencingToken?: string
}

/** What a line of a dump holds. */
export interface DumpRecord {
  readonly key: Uint8Array
  readonly value: Uint8Array
  readonly version: Hlc | undefined
  readonly fencingToken: Hlc | undefined
  /** ms since the Unix epoch. */
  readonly expiresAt: number | undefined
}

/** The line of a record. Members it has no use for are left out. */
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

/** What is before the keys of a dump, and behind them: a dump that was cut somewhere has no last line. */
const FIRST_LINE = '{"dump":1}'
const lastLine = (keys: number, sum: number): string => `{"end":{"keys":${keys},"crc32":"${hex(sum)}"}}`
const hex = (sum: number): string => sum.toString(16).padStart(8, '0')

/** The text of a dump, piece by piece: a first line, keys, and a last line that says how many they are, with their checksum. */
export class DumpWriter {
  #keys = 0
  #sum = 0

  /** How many keys were written. */
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
    return `${lastLine(this.#keys, this.#sum)}\n`
  }
}

/**
 * Reads the lines of a dump one by one, NDJSON as text or what it says. Lines written by hand need no first and no last one;
 * several dumps may follow one another. Every method throws {@link ArgumentError} with the number of the line.
 */
export class DumpReader {
  #number = 0
  /** Of the dump that is being read: keys and checksum so far. */
  #open: { keys: number; sum: number } | undefined

  /** Lines so far. */
  get number(): number {
    return this.#number
  }

  /**
   * The record of the next line; `undefined` for a blank line, and for the first and last one of a dump. Throws for anything
   * that is not exactly a line of a dump: a member that nobody reads would be lost silently.
   */
  read(line: DumpLine | string): DumpRecord | undefined {
    this.#number++
    try {
      return this.#read(line)
    } catch (error) {
      throw error instanceof ArgumentError ? wrongLine(this.#number, error.message, error) : error
    }
  }

  /** There are no more lines. Throws when a dump has begun, and its last line is missing. */
  end(): void {
    if (this.#open === undefined) return
    throw wrongLine(this.#number, `${CUT} here; ${REMEDY}`)
  }

  #read(line: DumpLine | string): DumpRecord | undefined {
    const text = typeof line === 'string' ? line.trim() : ''
    if (typeof line === 'string' && text === '') return undefined
    const members: unknown = typeof line === 'string' ? parse(line) : line
    if (!isObject(members)) throw new ArgumentError('it is not a JSON object')
    if ('dump' in members) this.#begin(members)
    else if ('end' in members) this.#close(JSON.stringify(members))
    else return this.#record(members, text)
    return undefined
  }

  #begin(members: Record<string, unknown>): void {
    if (this.#open !== undefined) throw new ArgumentError(`${CUT} before it; ${REMEDY}`)
    const text = JSON.stringify(members)
    if (text !== FIRST_LINE)
      throw new ArgumentError(`a dump begins that this version cannot read: ${text.slice(0, 80)}`)
    this.#open = { keys: 0, sum: 0 }
  }

  #close(text: string): void {
    if (this.#open === undefined) throw new ArgumentError('a dump ends that has not begun: its beginning is missing')
    const expected = lastLine(this.#open.keys, this.#open.sum)
    this.#open = undefined
    if (text === expected) return
    throw new ArgumentError(
      `the dump is not what was written: it should end with ${expected}, and ends with ${text.slice(0, 80)}; ${REMEDY}`,
    )
  }

  #record(members: Record<string, unknown>, text: string): DumpRecord {
    if (this.#open !== undefined) {
      this.#open.keys++
      this.#open.sum = crc32(`${text === '' ? JSON.stringify(members) : text}\n`, this.#open.sum)
    }
    return recordOf(members)
  }
}

const CUT = 'the dump was cut: its last line, with count and checksum, is missing'
const REMEDY = 'save it again, or remove its first and last line to load what there is'

/** The error of a line that is wrong. */
export const wrongLine = (number: number, why: string, cause?: unknown): ArgumentError =>
  new ArgumentError(`line ${number}: ${why}`, { cause })

function recordOf(members: Record<string, unknown>): DumpRecord {
  const { key, keyBytes, value, bytes, version, expiresAt, fencingToken, ...rest } = members
  const [unknown] = Object.keys(rest)
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
    // The parser's words quote the line, which may have megabytes.
    throw new ArgumentError('it is not valid JSON', { cause })
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

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
    // Node skips characters that are not Base64, and would store something else.
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
  if (time === undefined || (typeof time === 'number' && Number.isSafeInteger(time) && time >= 0)) return time
  throw new ArgumentError(
    `its \`expiresAt\` is not a time in ms since the Unix epoch: ${formatValue(time).slice(0, 80)}`,
  )
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return fromUtf8(bytes)
  } catch {
    // Any bytes are a legal key or value.
    return undefined
  }
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

/**
 * Longest line, bytes: a value of the largest packet a store takes by default, 16 MiB, of characters that JSON writes
 * with six.
 */
export const LONGEST_LINE = 128 * 1024 * 1024

const LINE_FEED = 0x0a

/**
 * The lines of a stream of UTF-8, without their ends; the last one may have none. Raises `argument`, with the
 * number of the line, for one that is too long or no UTF-8; what the stream raises passes through.
 *
 * @param longest - bytes
 */
export async function* linesOf(
  source: AsyncIterable<Uint8Array>,
  longest = LONGEST_LINE,
): AsyncGenerator<string, void> {
  // Fatal: a wrong byte must not become another character.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let parts: Uint8Array[] = []
  let [length, number] = [0, 1]
  const keep = (part: Uint8Array): void => {
    length += part.length
    if (length > longest) throw wrongLine(number, `it is longer than ${longest} bytes`)
    parts.push(part)
  }
  const line = (): string => {
    const text = decoded(decoder, parts, number)
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
 * The lines of a dump that comes as a file or as the body of a request, as {@link linesOf}. Raises `argument` when there is
 * none: the dump of an empty store has a first line and a last one, so an empty file is what became of another one.
 */
export async function* dumpLinesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let isEmpty = true
  for await (const line of linesOf(source)) {
    isEmpty &&= line.trim() === ''
    yield line
  }
  if (isEmpty) throw new ArgumentError('the input is empty: not even the first line of a dump is there')
}

function decoded(decoder: TextDecoder, parts: readonly Uint8Array[], number: number): string {
  const [first = new Uint8Array(0), ...more] = parts
  try {
    return decoder.decode(more.length === 0 ? first : Buffer.concat(parts))
  } catch (cause) {
    throw wrongLine(number, 'it is not valid UTF-8', cause)
  }
}
