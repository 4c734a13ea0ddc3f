const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
/** Every closing bracket is the opening one plus this. */
const CLOSING = 2
/** Characters of a string, or of white space, that are looked at one by one; the rest is left to a regular expression. */
const SHORT_RUN = 32
const SHORT_ESCAPES: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', character => character.charCodeAt(0)))
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
