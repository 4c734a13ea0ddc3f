export interface Glob {
  /** Number of 32-state words, which is the cost per key byte. */
  readonly words: number
  matches(key: Uint8Array): boolean
}

/** The bytes that a position of a glob matches: the bytes in the ranges, or all other bytes. */
interface GlobPosition {
  readonly ranges: readonly (readonly [from: number, to: number])[]
  readonly negated: boolean
}

const [STAR, QUESTION, OPEN, CLOSE, ESCAPE, HYPHEN, CARET, BANG] = Array.from('*?[]\\-^!', sign => sign.charCodeAt(0))
const ANY: GlobPosition = { ranges: [], negated: true }

/**
 * Compiles a glob over bytes with the syntax of Redis: `*` matches any bytes, `?` any byte, `[abc]` and `[a-z]` one of
 * these bytes, `[^a]` and `[!a]` any other byte, and `\` escapes the next byte. Any bytes are a valid glob: an unclosed
 * class extends to the end, and `[]` matches nothing.
 *
 * Matching takes one step per key byte and 32 glob bytes, for any input, because it tracks the set of
 * reachable positions as bits and never backtracks.
 */
export function compileGlob(glob: Uint8Array): Glob {
  const { positions, stars } = parse(glob)
  const words = (positions.length >>> 5) + 1
  const [moves, stays] = [movesOf(positions, words), new Uint32Array(words)]
  for (const star of stars) setBit(stays, star)
  const end = positions.length
  if (words === 1) return { words, matches: key => matchesShort(key, moves, stays[0] ?? 0, end) }
  const endless = hasBit(stays, end)
  const reached = new Uint32Array(words)
  return {
    words,
    matches: key => {
      reached.fill(0)
      setBit(reached, 0)
      for (let at = 0; at < key.length; at++) {
        if (endless && hasBit(reached, end)) return true
        if (!step(reached, moves, stays, (key[at] ?? 0) * words)) return false
      }
      return hasBit(reached, end)
    },
  }
}

/** Matches a short glob. The positions of most globs fit in one number, which is five times as fast. */
function matchesShort(key: Uint8Array, moves: Uint32Array, stays: number, end: number): boolean {
  const last = 1 << end
  const endless = (stays & last) !== 0
  let reached = 1
  for (let at = 0; at < key.length; at++) {
    if (endless && (reached & last) !== 0) return true
    reached = ((reached & (moves[key[at] ?? 0] ?? 0)) << 1) | (reached & stays)
    if (reached === 0) return false
  }
  return (reached & last) !== 0
}

/** Returns the literal prefix of all matching keys, as a binary string. */
export function literalPrefix(glob: Uint8Array): string {
  const { positions, stars } = parse(glob)
  let prefix = ''
  for (const { ranges, negated } of positions.slice(0, stars[0])) {
    const [range] = ranges
    if (negated || range === undefined || ranges.length > 1 || range[0] !== range[1]) break
    prefix += String.fromCharCode(range[0])
  }
  return prefix
}

/** Advances by one byte, whose moves begin at `row`. Returns whether any position is reachable. */
function step(reached: Uint32Array, moves: Uint32Array, stays: Uint32Array, row: number): boolean {
  let [carry, any] = [0, 0]
  for (let word = 0; word < reached.length; word++) {
    const before = reached[word] ?? 0
    const moved = before & (moves[row + word] ?? 0)
    const after = (moved << 1) | carry | (before & (stays[word] ?? 0))
    carry = moved >>> 31
    any |= after
    reached[word] = after
  }
  return any !== 0
}

function movesOf(positions: readonly GlobPosition[], words: number): Uint32Array {
  const moves = new Uint32Array(256 * words)
  for (const [index, { ranges, negated }] of positions.entries()) {
    if (negated) for (let byte = 0; byte < 256; byte++) setBit(moves, byte * words * 32 + index)
    const put = negated ? clearBit : setBit
    for (const [from, to] of ranges) {
      for (let byte = from; byte <= to; byte++) put(moves, byte * words * 32 + index)
    }
  }
  return moves
}

function setBit(words: Uint32Array, index: number): void {
  words[index >>> 5] = (words[index >>> 5] ?? 0) | (1 << (index & 31))
}

function clearBit(words: Uint32Array, index: number): void {
  words[index >>> 5] = (words[index >>> 5] ?? 0) & ~(1 << (index & 31))
}

const hasBit = (words: Uint32Array, index: number): boolean => ((words[index >>> 5] ?? 0) & (1 << (index & 31))) !== 0

/** Parses a glob. A star is identified by the index of the position after it, or by the end. */
function parse(glob: Uint8Array): { readonly positions: readonly GlobPosition[]; readonly stars: readonly number[] } {
  const [positions, stars]: [GlobPosition[], number[]] = [[], []]
  const reader = new GlobReader(glob)
  for (let byte = reader.next(); byte !== undefined; byte = reader.next()) {
    if (byte === STAR) stars.push(positions.length)
    else if (byte === QUESTION) positions.push(ANY)
    else if (byte === OPEN) positions.push(reader.readClass())
    else positions.push(exactly(byte === ESCAPE ? (reader.next() ?? byte) : byte))
  }
  return { positions, stars }
}

const exactly = (byte: number): GlobPosition => ({ ranges: [[byte, byte]], negated: false })

class GlobReader {
  readonly #glob: Uint8Array
  #at = 0

  constructor(glob: Uint8Array) {
    this.#glob = glob
  }

  next(): number | undefined {
    return this.#glob[this.#at++]
  }

  readClass(): GlobPosition {
    const ranges: [number, number][] = []
    const negated = this.#peek() === CARET || this.#peek() === BANG
    if (negated) this.#at++
    for (let byte = this.next(); byte !== undefined && byte !== CLOSE; byte = this.next()) {
      const from = this.#member(byte)
      const to = this.#rangeEnd() ?? from
      ranges.push([Math.min(from, to), Math.max(from, to)])
    }
    return { ranges, negated }
  }

  #peek(offset = 0): number | undefined {
    return this.#glob[this.#at + offset]
  }

  /** Reads the end of a range. A `-` at the end of a class is literal. */
  #rangeEnd(): number | undefined {
    const end = this.#peek(1)
    if (this.#peek() !== HYPHEN || end === undefined || end === CLOSE) return undefined
    this.#at += 2
    return this.#member(end)
  }

  #member(byte: number): number {
    return byte === ESCAPE ? (this.next() ?? byte) : byte
  }
}
