import { literalPrefix } from '../../core/protocol/glob.js'
import { fromBinaryString } from '../../core/util/bytes.js'
import { compileGlob, type Glob } from './glob.js'

/** A glob that is watched, and by whom. `C` stands for a connection. */
export interface WatchedGlob<C> {
  /** The glob as a binary string. */
  readonly id: string
  readonly connections: Set<C>
  /** To whom it counts: of whom the first registration is, unless that is nobody's. */
  owner: string | undefined
  readonly glob: Glob
  /** Where the index has it. */
  readonly prefix: string
}

/** Globs that begin alike, and what they have in common costs every change of a key that begins like that, too. */
interface Bucket<C> {
  readonly globs: Set<WatchedGlob<C>>
  words: number
}

/** Globs whose literal beginning is longer are told apart by so much of it. Each length is looked up for each change. */
const LONGEST_PREFIX = 64

/**
 * Watched globs by the bytes they begin with, so that a change of a key is compared with those alone that begin as the key
 * does. Comparing takes one step per byte of the key and {@link Glob.words} of the glob.
 */
export class GlobIndex<C> {
  readonly #globs = new Map<string, WatchedGlob<C>>()
  readonly #buckets = new Map<string, Bucket<C>>()
  /** How many buckets have a prefix of a length. */
  readonly #lengths = new Map<number, number>()

  /** Number of globs. */
  get size(): number {
    return this.#globs.size
  }

  get(id: string): WatchedGlob<C> | undefined {
    return this.#globs.get(id)
  }

  /** A glob that is not in the index yet, ready to be {@link add}ed. Raises {@link CommandError} for a longer one than may be. */
  prepare(id: string, owner?: string): WatchedGlob<C> {
    const bytes = fromBinaryString(id)
    const glob = compileGlob(bytes)
    return { id, glob, owner, connections: new Set(), prefix: literalPrefix(bytes).slice(0, LONGEST_PREFIX) }
  }

  /** Globs that begin as this one does. */
  beside({ prefix }: WatchedGlob<C>): Iterable<WatchedGlob<C>> {
    return this.#buckets.get(prefix)?.globs ?? []
  }

  add(watched: WatchedGlob<C>): void {
    const { id, prefix, glob } = watched
    this.#globs.set(id, watched)
    const bucket = this.#buckets.get(prefix)
    if (bucket === undefined) {
      this.#buckets.set(prefix, { globs: new Set([watched]), words: glob.words })
      this.#lengths.set(prefix.length, (this.#lengths.get(prefix.length) ?? 0) + 1)
      return
    }
    bucket.globs.add(watched)
    bucket.words += glob.words
  }

  remove(watched: WatchedGlob<C>): void {
    const { id, prefix, glob } = watched
    this.#globs.delete(id)
    const bucket = this.#buckets.get(prefix)
    if (bucket === undefined) return
    bucket.globs.delete(watched)
    bucket.words -= glob.words
    if (bucket.globs.size > 0) return
    this.#buckets.delete(prefix)
    const left = (this.#lengths.get(prefix.length) ?? 1) - 1
    if (left > 0) this.#lengths.set(prefix.length, left)
    else this.#lengths.delete(prefix.length)
  }

  /** The globs that a key fits, given as a binary string. */
  *matching(id: string): Iterable<WatchedGlob<C>> {
    if (this.#globs.size === 0) return
    const key = fromBinaryString(id)
    for (const { globs } of this.#candidates(id)) {
      for (const watched of globs) if (watched.glob.matches(key)) yield watched
    }
  }

  /** What that takes: bytes of the key, times the words of the globs it is compared with. */
  workOf(id: string): number {
    let words = 0
    for (const bucket of this.#candidates(id)) words += bucket.words
    return words * (id.length + 1)
  }

  *#candidates(id: string): Iterable<Bucket<C>> {
    for (const length of this.#lengths.keys()) {
      const bucket = length > id.length ? undefined : this.#buckets.get(id.slice(0, length))
      if (bucket !== undefined) yield bucket
    }
  }
}
