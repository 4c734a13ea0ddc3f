import { ArgumentError, reason } from '../../core/util/errors.js'
import { findToken, MAX_NESTING } from '../../core/util/json-nesting.js'

const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
/** The distance from an opening bracket to its closing bracket. */
const CLOSING = 2
/**
 * The length up to which a run of string characters or white space is scanned in a loop. A regular expression is faster
 * for longer runs.
 */
const SHORT_RUN_LENGTH = 32
/** The characters of short escapes: `"\\/bfnrt`. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([QUOTE, BACKSLASH, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74])
const PLAIN_CHARACTERS = /[ !#-[\]-\uffff]*/y
const WHITE_SPACE = /[ \t\n\r]*/y
const ESCAPE = /\\u[\da-fA-F]{4}/y
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/**
 * Validates JSON text (RFC 8259) as strictly as `JSON.parse`, without building values, in linear time. `JSON.parse`
 * takes up to a hundred times longer per byte for many small members than for a long string, and the sender chooses
 * which of them to send. Throws a `SyntaxError` at the first mistake.
 *
 * @example
 * ```ts
 * const scanner = new JsonScanner('{"a":[1,2]}', 512)
 * scanner.scanValue()
 * scanner.expectEnd()
 * ```
 */
export class JsonScanner {
  position = 0
  readonly #text: string
  readonly #maxNesting: number
  readonly #openBrackets: number[] = []

  constructor(text: string, maxNesting: number) {
    this.#text = text
    this.#maxNesting = maxNesting
  }

  scanValue(): void {
    const outer = this.#openBrackets.length
    do {
      this.skipSpace()
      const code = this.#text.charCodeAt(this.position)
      if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
        if (this.#enter(code)) continue
      } else this.#scalar(code)
      if (!this.#nextInContainer(outer)) return
    } while (this.position < this.#text.length)
    throw this.fault('Unexpected end')
  }

  /**
   * Scans an object.
   *
   * @param member - function that is called with each member's name, quoted and escaped, and must scan the
   * member's value
   */
  scanObject(member: (quotedName: string) => void): void {
    this.#expect(OPEN_OBJECT)
    if (this.#skip(OPEN_OBJECT + CLOSING)) return
    this.#openBrackets.push(OPEN_OBJECT)
    do {
      this.skipSpace()
      const start = this.position
      this.#string()
      const name = this.#text.slice(start, this.position)
      this.#expect(COLON)
      this.skipSpace()
      member(name)
    } while (this.#skip(COMMA))
    this.#expect(OPEN_OBJECT + CLOSING)
    this.#openBrackets.pop()
  }

  skipSpace(): void {
    const text = this.#text
    const limit = this.position + SHORT_RUN_LENGTH
    let at = this.position
    while (at < limit && isSpace(text.charCodeAt(at))) at++
    this.position = at
    if (at === limit) this.#match(WHITE_SPACE)
  }

  expectEnd(): void {
    this.skipSpace()
    if (this.position < this.#text.length) throw this.fault('Unexpected character')
  }

  fault(what: string): SyntaxError {
    return new SyntaxError(`${what} at position ${this.position} of ${this.#text.length} in JSON text`)
  }

  /** Returns whether the container has a first value. */
  #enter(bracket: number): boolean {
    if (this.#openBrackets.length >= this.#maxNesting) throw this.fault(`nested deeper than ${this.#maxNesting} levels`)
    this.position++
    if (this.#skip(bracket + CLOSING)) return false
    this.#openBrackets.push(bracket)
    if (bracket === OPEN_OBJECT) this.#name()
    return true
  }

  /**
   * Called after a value. Returns whether another value follows before all containers except the `outer` ones are
   * closed.
   */
  #nextInContainer(outer: number): boolean {
    while (this.#openBrackets.length > outer) {
      const bracket = this.#openBrackets[this.#openBrackets.length - 1] ?? 0
      if (this.#skip(COMMA)) {
        if (bracket === OPEN_OBJECT) this.#name()
        return true
      }
      this.#expect(bracket + CLOSING)
      this.#openBrackets.pop()
    }
    return false
  }

  #name(): void {
    this.skipSpace()
    this.#string()
    this.#expect(COLON)
  }

  #scalar(code: number): void {
    if (code === QUOTE) this.#string()
    else if (isDigit(code) && !continuesNumber(this.#text.charCodeAt(this.position + 1))) this.position++
    else this.#match(SCALAR)
  }

  #string(): void {
    const text = this.#text
    if (text.charCodeAt(this.position) !== QUOTE) throw this.fault('Unexpected character')
    this.position++
    for (;;) {
      this.#plainCharacters()
      const code = text.charCodeAt(this.position)
      if (code === QUOTE) break
      if (code !== BACKSLASH) throw this.fault('Unexpected character')
      if (SHORT_ESCAPES.has(text.charCodeAt(this.position + 1))) this.position += 2
      else this.#match(ESCAPE)
    }
    this.position++
  }

  #plainCharacters(): void {
    const text = this.#text
    const limit = this.position + SHORT_RUN_LENGTH
    let at = this.position
    while (at < limit && isPlain(text.charCodeAt(at))) at++
    this.position = at
    if (at === limit) this.#match(PLAIN_CHARACTERS)
  }

  /** Advances by a match, which must not be empty. */
  #match(pattern: RegExp): void {
    pattern.lastIndex = this.position
    if (!pattern.test(this.#text)) throw this.fault('Unexpected character')
    this.position = pattern.lastIndex
  }

  #skip(code: number): boolean {
    this.skipSpace()
    if (this.#text.charCodeAt(this.position) !== code) return false
    this.position++
    return true
  }

  #expect(code: number): void {
    if (!this.#skip(code)) throw this.fault('Unexpected character')
  }
}

/** Returns whether a character is a space, line feed, carriage return or tab (RFC 8259, section 2). */
const isSpace = (code: number): boolean => code === SPACE || code === 0x0a || code === 0x0d || code === 0x09

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

const continuesNumber = (code: number): boolean => isDigit(code) || code === 0x2e || code === 0x45 || code === 0x65

const isPlain = (code: number): boolean => code >= SPACE && code !== QUOTE && code !== BACKSLASH

export function checkedJson(text: string): JsonText {
  const scanner = new JsonScanner(text, MAX_NESTING)
  scanner.scanValue()
  scanner.expectEnd()
  return new JsonText(text)
}

/**
 * Parses members of a JSON object shallowly, so that arrays and objects stay {@link JsonText}. The last of several
 * members with the same name wins, as in `JSON.parse`. Throws if the text is malformed.
 *
 * @param names - names of the members to parse
 */
export function shallowMembers(text: string, names: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  const scanner = new JsonScanner(text, MAX_NESTING)
  const members: Record<string, unknown> = {}
  scanner.scanObject(quoted => {
    const start = scanner.position
    scanner.scanValue()
    const name = nameOf(quoted)
    if (typeof name === 'string' && names.has(name)) members[name] = shallowValue(text.slice(start, scanner.position))
  })
  scanner.expectEnd()
  return members
}

const shallowValue = (text: string): unknown => (/^[{[]/.test(text) ? new JsonText(text) : JSON.parse(text))

/**
 * Returns the text of a top-level member's value, character by character, without surrounding white space. Returns
 * `undefined` if the object has no such member. The last of several members wins, as in `JSON.parse`. The text must be
 * an object that `JSON.parse` accepts, because it is not validated again. Takes linear time.
 *
 * @example
 * ```ts
 * // '9007199254740993'
 * memberText('{"sequenceId":9007199254740993}', 'sequenceId')
 * ```
 */
export function memberText(text: string, name: string): string | undefined {
  let found: string | undefined
  for (let at = text.indexOf('{') + 1; at < text.length; at++) {
    const colon = findToken(text, at, code => code === COLON)
    const quoted = text.slice(at, colon).trim()
    at = findToken(text, colon + 1, (code, depth) => depth < 0 || (depth === 0 && code === COMMA))
    if (nameOf(quoted) === name) found = text.slice(colon + 1, at).trim()
  }
  return found
}

/** Returns a member's name, which may be escaped, as in "sequence\u0049d". */
const nameOf = (quoted: string): unknown => (quoted.includes('\\') ? JSON.parse(quoted) : quoted.slice(1, -1))

/**
 * A JSON value as text. A hub writes it character by character, which preserves digits beyond a number's precision, the
 * order of members, and white space.
 *
 * @example
 * ```ts
 * // 12345678901234567000, as JavaScript has it
 * new JsonText('12345678901234567890').value
 * ```
 */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** The value, parsed from the text on every access. */
  get value(): unknown {
    return JSON.parse(this.text)
  }
}

/**
 * Returns the JSON text of a value, or the text of a {@link JsonText}. Throws {@link ArgumentError} if the value has no
 * JSON text.
 */
export const jsonOf = (value: unknown): string => (value instanceof JsonText ? value.text : toJson(value))

/** Throws {@link ArgumentError} if a value has no JSON text, such as `undefined`, a bigint or a cycle. */
export function toJson(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw new ArgumentError(`Data of type json must be serializable: ${reason(cause)}`, { cause })
  }
  if (text !== undefined) return text
  throw new ArgumentError(`Data of type json must be serializable, not ${typeof value}`)
}
