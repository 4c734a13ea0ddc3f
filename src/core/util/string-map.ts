/**
 * Maximum length of a string whose content V8 hashes. V8 hashes a longer string by its length only
 * (`String::kMaxHashCalcLength`), so all longer keys of one length collide and are compared character by character.
 */
const MAX_HASHED_LENGTH = 16_383

/**
 * A `Map` for keys that clients choose. The cost of a key depends only on its length, never on other keys. A long key
 * is hashed in pieces, each of which leads to the map of the next piece. Short keys cost as much as in a `Map`.
 * Iteration is in insertion order, with long keys last.
 *
 * @example
 * ```ts
 * const sessions = new StringMap<Session>()
 * sessions.set(clientId, session)
 * // The session.
 * sessions.get(clientId)
 * sessions.delete(clientId) // true
 * ```
 */
export class StringMap<V extends NonNullable<unknown>> {
  /** Values by the rest of the key after the pieces that lead to this map. */
  readonly #values = new Map<string, V>()
  #nextPieces: Map<string, StringMap<V>> | undefined
  /** Number of long keys, which is maintained only in the outermost map. */
  #longKeyCount = 0

  get size(): number {
    return this.#values.size + this.#longKeyCount
  }

  get(key: string): V | undefined {
    if (key.length <= MAX_HASHED_LENGTH) return this.#values.get(key)
    const last = this.#pathOf(key)?.at(-1)
    return last === undefined ? undefined : last.map.#values.get(lastPieceOf(key))
  }

  has(key: string): boolean {
    return this.get(key) !== undefined
  }

  set(key: string, value: V): this {
    if (key.length <= MAX_HASHED_LENGTH) {
      this.#values.set(key, value)
      return this
    }
    let map: StringMap<V> = this
    for (let at = 0; at < lastPieceStart(key); at += MAX_HASHED_LENGTH) map = map.#childFor(pieceOf(key, at))
    const before = map.#values.size
    map.#values.set(lastPieceOf(key), value)
    this.#longKeyCount += map.#values.size - before
    return this
  }

  delete(key: string): boolean {
    if (key.length <= MAX_HASHED_LENGTH) return this.#values.delete(key)
    const path = this.#pathOf(key) ?? []
    const last = path.at(-1)
    if (last === undefined || !last.map.#values.delete(lastPieceOf(key))) return false
    this.#longKeyCount--
    for (const { parent, piece, map } of path.reverse()) {
      if (map.#values.size > 0 || (map.#nextPieces?.size ?? 0) > 0) break
      parent.#nextPieces?.delete(piece)
    }
    return true
  }

  clear(): void {
    this.#values.clear()
    this.#nextPieces = undefined
    this.#longKeyCount = 0
  }

  *values(): Generator<V, void> {
    if (this.#longKeyCount === 0) yield* this.#values.values()
    else for (const [, value] of this) yield value
  }

  *keys(): Generator<string, void> {
    for (const [key] of this) yield key
  }

  *[Symbol.iterator](): Generator<[key: string, value: V], void> {
    yield* this.#values
    // The loop is not recursive, because clients choose the length of keys.
    const rest: [string, StringMap<V>][] = [...(this.#nextPieces ?? [])]
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      const [head, map] = next
      for (const [tail, value] of map.#values) yield [head + tail, value]
      for (const [piece, deeper] of map.#nextPieces ?? []) rest.push([head + piece, deeper])
    }
  }

  #pathOf(key: string): PathStep<V>[] | undefined {
    const path: PathStep<V>[] = []
    let parent: StringMap<V> = this
    for (let at = 0; at < lastPieceStart(key); at += MAX_HASHED_LENGTH) {
      const piece = pieceOf(key, at)
      const map = parent.#nextPieces?.get(piece)
      if (map === undefined) return undefined
      path.push({ parent, piece, map })
      parent = map
    }
    return path
  }

  #childFor(piece: string): StringMap<V> {
    this.#nextPieces ??= new Map()
    const existing = this.#nextPieces.get(piece)
    if (existing !== undefined) return existing
    const map = new StringMap<V>()
    this.#nextPieces.set(copyString(piece), map)
    return map
  }
}

interface PathStep<V extends NonNullable<unknown>> {
  readonly parent: StringMap<V>
  readonly piece: string
  readonly map: StringMap<V>
}

const pieceOf = (key: string, at: number): string => key.slice(at, at + MAX_HASHED_LENGTH)
/** Returns the offset of the last piece of a key; the piece is never empty. */
const lastPieceStart = (key: string): number => key.length - 1 - ((key.length - 1) % MAX_HASHED_LENGTH)
const lastPieceOf = (key: string): string => key.slice(lastPieceStart(key))

// A slice would retain the whole key, even after its deletion.
const copyString = (piece: string): string => ` ${piece}`.slice(1)
