import { ArgumentError, reason } from '../../core/util/errors.js'

const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
/** Every closing bracket is the opening one plus this. */
const CLOSING = 2
/** Characters of a string, or of white space, that are looked at one by one; the rest is left to a regular expression. */
const SHORT_RUN = 32
/** `"\\/bfnrt` */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([QUOTE, BACKSLASH, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74])
const PLAIN_CHARACTERS = /[ !#-[\]-\uffff]*/y
const WHITE_SPACE = /[ \t\n\r]*/y
const ESCAPE = /\\u[\da-fA-F]{4}/y
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/**
 * Checks JSON text (RFC 8259) as strictly as `JSON.parse` does without building values, in a time proportional to its
 * length. `JSON.parse` needs up to a hundred times longer per byte for many small members than for a long string, and
 * the sender chooses which of them it sends. Raises a `SyntaxError` at the first mistake.
 *
 * @example
 * ```ts
 * const scanner = new JsonScanner('{"a":[1,2]}', 512)
 * scanner.value()
 * scanner.end()
 * ```
 */
export class JsonScanner {
  /** Index of the next character. */
  at = 0
  readonly #text: string
  readonly #maxNesting: number
  /** Opening brackets without a closing one yet. */
  readonly #open: number[] = []

  /** @param maxNesting - levels of arrays and objects */
  constructor(text: string, maxNesting: number) {
    this.#text = text
    this.#maxNesting = maxNesting
  }

  /** Passes one value. */
  value(): void {
    const outer = this.#open.length
    do {
      this.space()
      const code = this.#text.charCodeAt(this.at)
      if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
        if (this.#enter(code)) continue
      } else this.#scalar(code)
      if (!this.#goOn(outer)) return
    } while (this.at < this.#text.length)
    throw this.fault('Unexpected end')
  }

  /**
   * Passes an object.
   *
   * @param member - called with the name of each member, as it is written, and has to pass its value
   */
  object(member: (quotedName: string) => void): void {
    this.#expect(OPEN_OBJECT)
    if (this.#skip(OPEN_OBJECT + CLOSING)) return
    this.#open.push(OPEN_OBJECT)
    do {
      this.space()
      const start = this.at
      this.#string()
      const name = this.#text.slice(start, this.at)
      this.#expect(COLON)
      this.space()
      member(name)
    } while (this.#skip(COMMA))
    this.#expect(OPEN_OBJECT + CLOSING)
    this.#open.pop()
  }

  /** Passes white space. */
  space(): void {
    const text = this.#text
    const limit = this.at + SHORT_RUN
    let at = this.at
    while (at < limit && isSpace(text.charCodeAt(at))) at++
    this.at = at
    if (at === limit) this.#pass(WHITE_SPACE)
  }

  /** Passes white space up to the end of the text. */
  end(): void {
    this.space()
    if (this.at < this.#text.length) throw this.fault('Unexpected character')
  }

  /** The error that says what is wrong at this place. */
  fault(what: string): SyntaxError {
    return new SyntaxError(`${what} at position ${this.at} of JSON text with ${this.#text.length} characters`)
  }

  /** Returns whether a value in it is next: it may be empty. */
  #enter(bracket: number): boolean {
    if (this.#open.length >= this.#maxNesting) throw this.fault(`nested deeper than ${this.#maxNesting} levels`)
    this.at++
    if (this.#skip(bracket + CLOSING)) return false
    this.#open.push(bracket)
    if (bracket === OPEN_OBJECT) this.#name()
    return true
  }

  /** After a value: returns whether another one is next before all but the `outer` containers are closed. */
  #goOn(outer: number): boolean {
    while (this.#open.length > outer) {
      const bracket = this.#open[this.#open.length - 1] ?? 0
      if (this.#skip(COMMA)) {
        if (bracket === OPEN_OBJECT) this.#name()
        return true
      }
      this.#expect(bracket + CLOSING)
      this.#open.pop()
    }
    return false
  }

  #name(): void {
    this.space()
    this.#string()
    this.#expect(COLON)
  }

  #scalar(code: number): void {
    if (code === QUOTE) this.#string()
    else if (isDigit(code) && !goesOnWith(this.#text.charCodeAt(this.at + 1))) this.at++
    else this.#pass(SCALAR)
  }

  #string(): void {
    const text = this.#text
    if (text.charCodeAt(this.at) !== QUOTE) throw this.fault('Unexpected character')
    this.at++
    for (;;) {
      this.#passPlain()
      const code = text.charCodeAt(this.at)
      if (code === QUOTE) break
      if (code !== BACKSLASH) throw this.fault('Unexpected character')
      if (SHORT_ESCAPES.has(text.charCodeAt(this.at + 1))) this.at += 2
      else this.#pass(ESCAPE)
    }
    this.at++
  }

  #passPlain(): void {
    const text = this.#text
    const limit = this.at + SHORT_RUN
    let at = this.at
    while (at < limit && isPlain(text.charCodeAt(at))) at++
    this.at = at
    if (at === limit) this.#pass(PLAIN_CHARACTERS)
  }

  /** What a pattern matches; it must match something. */
  #pass(pattern: RegExp): void {
    pattern.lastIndex = this.at
    if (!pattern.test(this.#text)) throw this.fault('Unexpected character')
    this.at = pattern.lastIndex
  }

  #skip(code: number): boolean {
    this.space()
    if (this.#text.charCodeAt(this.at) !== code) return false
    this.at++
    return true
  }

  #expect(code: number): void {
    if (!this.#skip(code)) throw this.fault('Unexpected character')
  }
}

/** Space, line feed, carriage return and tab (RFC 8259, section 2). */
const isSpace = (code: number): boolean => code === SPACE || code === 0x0a || code === 0x0d || code === 0x09

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

/** Whether a character may belong to a number that has begun. */
const goesOnWith = (code: number): boolean => isDigit(code) || code === 0x2e || code === 0x45 || code === 0x65

const isPlain = (code: number): boolean => code >= SPACE && code !== QUOTE && code !== BACKSLASH

/** Checks that a text is JSON. Raises an error that says what is wrong with it. */
export function checkedJson(text: string): JsonText {
  const scanner = new JsonScanner(text, MAXIMUM_NESTING)
  scanner.value()
  scanner.end()
  return new JsonText(text)
}

/**
 * Members of a JSON object, without building more than that: arrays and objects stay {@link JsonText}. Of several members
 * with the same name the last one counts, as for `JSON.parse`. Raises an error that says what is wrong.
 *
 * @param names - of the members that are wanted
 */
export function shallowMembers(text: string, names: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  const scanner = new JsonScanner(text, MAXIMUM_NESTING)
  const members: Record<string, unknown> = {}
  scanner.object(quoted => {
    const start = scanner.at
    scanner.value()
    const name: unknown = quoted.includes('\\') ? JSON.parse(quoted) : quoted.slice(1, -1)
    if (typeof name === 'string' && names.has(name)) members[name] = shallowValue(text.slice(start, scanner.at))
  })
  scanner.end()
  return members
}

const shallowValue = (text: string): unknown => (/^[{[]/.test(text) ? new JsonText(text) : JSON.parse(text))

/**
 * The text of the value of a top-level member, character by character as it was written, without the white space around
 * it; `undefined` when the object has no such member. Of several the last one counts, as for `JSON.parse`. The text must
 * be an object that `JSON.parse` took: nothing is checked again. Takes time in proportion to its length.
 *
 * @example
 * ```ts
 * memberText('{"sequenceId":9007199254740993}', 'sequenceId') // '9007199254740993'
 * ```
 */
export function memberText(text: string, name: string): string | undefined {
  let found: string | undefined
  for (let at = afterSpace(text, text.indexOf('{') + 1); text.charCodeAt(at) === QUOTE; ) {
    const end = stringEnd(text, at)
    const start = afterSpace(text, afterSpace(text, end) + 1)
    const next = valueEnd(text, start)
    if (isName(text.slice(at, end), name)) found = text.slice(start, next).trimEnd()
    at = afterSpace(text, next + 1)
  }
  return found
}

/** Whether arrays and objects of a JSON text are nested no deeper than `limit`. Takes time in proportion to its length. */
export function isNestedWithin(limit: number, text: string): boolean {
  // So short a text has no room for it: most messages end here.
  if (text.length <= limit) return true
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    depth += nesting(code)
    if (depth > limit) return false
    if (code === QUOTE) at = stringEnd(text, at) - 1
  }
  return true
}

/** Where the comma or the bracket after a value is. */
function valueEnd(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (depth === 0 && (code === COMMA || code === CLOSE_OBJECT)) return at
    depth += nesting(code)
    if (code === QUOTE) at = stringEnd(text, at) - 1
  }
  return text.length
}

function nesting(code: number): number {
  if (code === OPEN_OBJECT || code === OPEN_ARRAY) return 1
  return code === CLOSE_OBJECT || code === CLOSE_ARRAY ? -1 : 0
}

/** Where the text goes on after the string that begins at `start`; its length when the string has no end. */
function stringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1)
  while (quote >= 0 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote < 0 ? text.length : quote + 1
}

function isEscaped(text: string, at: number): boolean {
  let before = at
  while (text.charCodeAt(before - 1) === BACKSLASH) before--
  return (at - before) % 2 === 1
}

function afterSpace(text: string, start: number): number {
  let at = start
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

// A name may be written with escapes: "sequence\u0049d".
const isName = (quoted: string, name: string): boolean =>
  quoted === `"${name}"` || (quoted.includes('\\') && JSON.parse(quoted) === name)

/**
 * How deep arrays and objects of a JSON text may be nested. `JSON.parse` takes any depth and `JSON.stringify` does not:
 * without a limit, one publisher could send what cannot be written to the subscribers.
 */
export const MAXIMUM_NESTING = 512

/** What is wrong with JSON text before it is parsed. */
export const nestingProblem = (text: string): string | undefined =>
  isNestedWithin(MAXIMUM_NESTING, text) ? undefined : `nested deeper than ${MAXIMUM_NESTING} levels`

/**
 * A JSON value as the text it is written in. Wherever a hub writes JSON this text goes out character by character, so that
 * what is only passed on stays what it was: digits beyond what a number holds, the order of members, spaces.
 *
 * @example
 * ```ts
 * new JsonText('12345678901234567890').value // 12345678901234567000, as JavaScript has it
 * ```
 */
export class JsonText {
  readonly text: string

  /** @param text - JSON; must have been checked to be */
  constructor(text: string) {
    this.text = text
  }

  /** What `JSON.parse` makes of it, anew each time. */
  get value(): unknown {
    return JSON.parse(this.text)
  }
}

/** JSON text of a value; that of {@link JsonText} as it is. Raises {@link ArgumentError} for what has none. */
export const jsonOf = (value: unknown): string => (value instanceof JsonText ? value.text : toJson(value))

/** JSON text of a value. Raises {@link ArgumentError} for what has none, such as `undefined`, a bigint or a cycle. */
export function toJson(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw new ArgumentError(`Data of type json must have JSON text: ${reason(cause)}`, { cause })
  }
  if (text !== undefined) return text
  throw new ArgumentError(`Data of type json must have JSON text, and ${typeof value} has none`)
}
