/** More stars than this make a pattern invalid; those of `**` count twice. */
const MOST_STARS = 5

// What a pattern consists of: code points of literal characters, and these.
const ONE = -1
const RUN = -2
const ANY = -3
const DOT = 0x2e

/**
 * A pattern of group names: `?` is one character but `.`, `*` a run without `.`, `**` any run, `\` escapes `\`, `*` and
 * `?`. Matching takes at most (characters of the name) x (characters of the pattern) steps, whatever they are.
 * (Azure documentation, "Use wildcard group role patterns".)
 *
 * @example
 * ```ts
 * GroupPattern.parse('rooms.*')?.matches('rooms.kitchen') // true
 * ```
 */
export class GroupPattern {
  readonly #tokens: readonly number[]

  private constructor(tokens: readonly number[]) {
    this.#tokens = tokens
  }

  /** `undefined` for an empty pattern, one with more than five stars, and one that ends in the middle of an escape. */
  static parse(pattern: string): GroupPattern | undefined {
    const tokens: number[] = []
    const characters = Array.from(pattern)
    let stars = 0
    for (let at = 0; at < characters.length; at++) {
      const character = characters[at] ?? ''
      const next = characters[at + 1]
      if (character === '\\') {
        if (next === undefined) return undefined
        const escapes = next === '\\' || next === '*' || next === '?'
        tokens.push(codeOf(escapes ? next : character))
        if (escapes) at++
      } else if (character === '*') {
        const double = next === '*'
        tokens.push(double ? ANY : RUN)
        stars += double ? 2 : 1
        if (double) at++
      } else {
        tokens.push(character === '?' ? ONE : codeOf(character))
      }
    }
    return tokens.length === 0 || stars > MOST_STARS ? undefined : new GroupPattern(tokens)
  }

  /** Whether the whole name matches. */
  matches(name: string): boolean {
    const tokens = this.#tokens
    // reached[i]: the first i tokens match what has been read. All of them are followed at once: nothing is tried twice.
    const reached = new Uint8Array(tokens.length + 1)
    reached[0] = 1
    this.#skipStars(reached)
    for (const character of name) {
      const code = codeOf(character)
      for (let i = tokens.length; i >= 0; i--) {
        const advanced = i > 0 && reached[i - 1] === 1 && takes(tokens[i - 1], code)
        const stayed = reached[i] === 1 && staysAt(tokens[i], code)
        reached[i] = advanced || stayed ? 1 : 0
      }
      this.#skipStars(reached)
    }
    return reached[tokens.length] === 1
  }

  /** A star may stand for nothing. */
  #skipStars(reached: Uint8Array): void {
    for (const [i, token] of this.#tokens.entries()) {
      if (reached[i] === 1 && (token === RUN || token === ANY)) reached[i + 1] = 1
    }
  }
}

const codeOf = (character: string): number => character.codePointAt(0) ?? 0

const takes = (token: number | undefined, code: number): boolean => token === code || (token === ONE && code !== DOT)

const staysAt = (token: number | undefined, code: number): boolean => token === ANY || (token === RUN && code !== DOT)
