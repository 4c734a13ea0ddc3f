import { type Glob, literalPrefix } from '../../core/protocol/glob.js'
import { CommandError, compileRequestGlob } from '../../core/protocol/parse-command.js'
import { fromBinaryString } from '../../core/util/bytes.js'

/**
 * The heap in bytes that a glob takes in addition to its text, that each of its words takes, and that each registration
 * takes, all rounded up.
 */
const GLOB_OVERHEAD_BYTES = 2_048
const WORD_OVERHEAD_BYTES = 1_024
const REGISTRATION_OVERHEAD_BYTES = 256

/**
 * The maximum words of globs that share a literal prefix of up to 64 bytes, per owner and in total. Every change of a
 * key with that prefix is compared with all of these globs. A glob watched by several connections counts once.
 */
const MAX_WORDS_PER_OWNER = 32
const MAX_WORDS = 128
/** The maximum words of one owner with which a change of any key is compared, over all prefixes. */
const MAX_WORDS_PER_OWNER_AND_KEY = 64

interface WordCountChange extends GlobWords {
  readonly owner: string
}

export class GlobWatchers<C> {
  readonly #index = new GlobIndex<C>()
  readonly #byConnection = new Map<C, Set<WatchedGlob<C>>>()
  readonly #wordCounts = new Map<string, PrefixWordCounts>()
  readonly #ownerOf: (connection: C) => string | undefined
  #bytes = 0
  #registrations = 0

  /** @param ownerOf - returns the owner to charge for a connection, or `undefined` for none */
  constructor(ownerOf: (connection: C) => string | undefined) {
    this.#ownerOf = ownerOf
  }

  get size(): number {
    return this.#index.size
  }

  get registrations(): number {
    return this.#registrations
  }

  get bytes(): number {
    return this.#bytes
  }

  countOf(connection: C): number {
    return this.#byConnection.get(connection)?.size ?? 0
  }

  /**
   * Returns the bytes that a registration would add, or 0 if it exists. Throws {@link CommandError} as {@link add}
   * does.
   */
  addedBytes(connection: C, id: string): number {
    const watched = this.#index.get(id)
    if (watched === undefined) return bytesOf(this.#index.compile(id)) + REGISTRATION_OVERHEAD_BYTES
    return watched.connections.has(connection) ? 0 : REGISTRATION_OVERHEAD_BYTES
  }

  /**
   * Adds a registration. Returns whether the registration is new. Throws {@link CommandError} with `syntax-error` for a
   * glob that is too long, and with `quota-exceeded` when too many globs share its prefix.
   */
  add(connection: C, id: string): boolean {
    const watched = this.#index.get(id) ?? this.#addGlob(connection, id)
    if (watched.connections.has(connection)) return false
    watched.connections.add(connection)
    this.#registrations++
    this.#bytes += REGISTRATION_OVERHEAD_BYTES
    const watchedGlobs = this.#byConnection.get(connection)
    if (watchedGlobs === undefined) this.#byConnection.set(connection, new Set([watched]))
    else watchedGlobs.add(watched)
    return true
  }

  /** Removes a registration. Returns whether the registration existed. */
  remove(connection: C, id: string): boolean {
    const watched = this.#index.get(id)
    if (!watched?.connections.has(connection)) return false
    const watchedGlobs = this.#byConnection.get(connection)
    watchedGlobs?.delete(watched)
    if (watchedGlobs?.size === 0) this.#byConnection.delete(connection)
    this.#applyWordCounts(this.#removeRegistration(watched, connection))
    return true
  }

  /** Removes all registrations of a connection. Returns the number of globs that the connection watched. */
  removeConnection(connection: C): number {
    const watchedGlobs = this.#byConnection.get(connection)
    this.#byConnection.delete(connection)
    this.#applyWordCounts(
      Array.from(watchedGlobs ?? []).flatMap(watched => this.#removeRegistration(watched, connection)),
    )
    return watchedGlobs?.size ?? 0
  }

  /** Removes a connection's globs that match a key, given as a binary string. Returns the number of removed globs. */
  removeMatching(connection: C, key: string): number {
    const watchedGlobs = this.#byConnection.get(connection)
    if (watchedGlobs === undefined) return 0
    const matching = Array.from(this.#index.matching(key)).filter(watched => watchedGlobs.has(watched))
    for (const watched of matching) watchedGlobs.delete(watched)
    if (watchedGlobs.size === 0) this.#byConnection.delete(connection)
    this.#applyWordCounts(matching.flatMap(watched => this.#removeRegistration(watched, connection)))
    return matching.length
  }

  /**
   * Yields the connections whose globs match a key, given as a binary string. A connection may appear more than once.
   */
  *watchersOf(key: string): Iterable<C> {
    for (const { connections } of this.#index.matching(key)) yield* connections
  }

  /** Returns the cost of matching a key. See {@link GlobIndex.workOf}. */
  workOf(key: string): number {
    return this.#index.workOf(key)
  }

  #addGlob(connection: C, id: string): WatchedGlob<C> {
    const watched = this.#index.compile(id, this.#ownerOf(connection))
    const { glob, owner } = watched
    let [ownerWords, allWords] = [glob.words, glob.words]
    for (const other of this.#index.withSamePrefix(watched)) {
      allWords += other.glob.words
      if (other.owner === owner) ownerWords += other.glob.words
    }
    // A single glob may exceed the owner's limit, because a glob of 1,024 bytes has 33 words.
    const isOverOwnerLimit = owner !== undefined && ownerWords > MAX_WORDS_PER_OWNER && ownerWords > glob.words
    if (allWords > MAX_WORDS || isOverOwnerLimit) throw new CommandError('quota-exceeded')
    this.#chargeOwner(watched)
    this.#index.add(watched)
    this.#bytes += bytesOf(watched)
    return watched
  }

  #chargeOwner({ owner, prefix, glob }: WatchedGlob<C>): void {
    if (owner === undefined) return
    const counts = this.#wordCounts.get(owner) ?? new PrefixWordCounts()
    if (counts.maxWordsWith(prefix, glob.words) > MAX_WORDS_PER_OWNER_AND_KEY) throw new CommandError('quota-exceeded')
    this.#wordCounts.set(owner, counts)
    counts.add(prefix, glob.words)
  }

  #applyWordCounts(changes: readonly WordCountChange[]): void {
    const byOwner = new Map<string, WordCountChange[]>()
    for (const change of changes) {
      const ofOwner = byOwner.get(change.owner)
      if (ofOwner === undefined) byOwner.set(change.owner, [change])
      else ofOwner.push(change)
    }
    for (const [owner, ofOwner] of byOwner) {
      const counts = this.#wordCounts.get(owner) ?? new PrefixWordCounts()
      if (ofOwner.length === 1) for (const { prefix, words } of ofOwner) counts.add(prefix, words)
      else counts.addAll(ofOwner)
      if (counts.isEmpty) this.#wordCounts.delete(owner)
      else this.#wordCounts.set(owner, counts)
    }
  }

  /**
   * Removes a registration and returns the resulting word counts. If other connections watch the glob, the owner of one
   * of them is charged instead.
   */
  #removeRegistration(watched: WatchedGlob<C>, connection: C): WordCountChange[] {
    const { connections, owner, prefix, glob } = watched
    connections.delete(connection)
    this.#registrations--
    this.#bytes -= REGISTRATION_OVERHEAD_BYTES
    const [successor] = connections
    if (successor === undefined) {
      this.#index.remove(watched)
      this.#bytes -= bytesOf(watched)
    } else watched.owner = this.#ownerOf(successor)
    if (successor !== undefined && watched.owner === owner) return []
    const released = owner === undefined ? [] : [{ owner, prefix, words: -glob.words }]
    const charged =
      successor === undefined || watched.owner === undefined
        ? []
        : [{ owner: watched.owner, prefix, words: glob.words }]
    return [...released, ...charged]
  }
}

const bytesOf = <C>({ id, glob }: WatchedGlob<C>): number =>
  GLOB_OVERHEAD_BYTES + id.length + WORD_OVERHEAD_BYTES * glob.words

/** The literal prefix of a glob and its size in words, which is negative when the glob is removed. */
export interface GlobWords {
  readonly prefix: string
  readonly words: number
}

interface WordCount {
  words: number
  /** The words of these globs and of all globs with a shorter, matching prefix. */
  total: number
}

/**
 * Bounds the words of one owner's globs with which a change of a key is compared. A key matches the prefixes of `*`,
 * `a*`, `ab*` and so on at the same time, and each prefix may have as many globs as the limit per prefix permits.
 */
export class PrefixWordCounts {
  readonly #byPrefix = new Map<string, WordCount>()

  get isEmpty(): boolean {
    return this.#byPrefix.size === 0
  }

  /** Returns the maximum words for any key that matches `prefix` after `words` are added. */
  maxWordsWith(prefix: string, words: number): number {
    let max = this.#byPrefix.get(prefix)?.total ?? this.#wordsOfPrefixes(prefix)
    for (const { total } of this.#extensionsOf(prefix)) max = Math.max(max, total)
    return max + words
  }

  add(prefix: string, words: number): void {
    const count = this.#byPrefix.get(prefix) ?? { words: 0, total: this.#wordsOfPrefixes(prefix) }
    this.#byPrefix.set(prefix, count)
    count.words += words
    count.total += words
    for (const longer of this.#extensionsOf(prefix)) longer.total += words
    if (count.words === 0) this.#byPrefix.delete(prefix)
  }

  /** Adds globs in bulk, because separate calls to {@link add} would take quadratic time. */
  addAll(globs: Iterable<GlobWords>): void {
    for (const { prefix, words } of globs) {
      const count = this.#byPrefix.get(prefix) ?? { words: 0, total: 0 }
      this.#byPrefix.set(prefix, count)
      count.words += words
      if (count.words === 0) this.#byPrefix.delete(prefix)
    }
    for (const [prefix, count] of this.#byPrefix) count.total = this.#wordsOfPrefixes(prefix) + count.words
  }

  #wordsOfPrefixes(prefix: string): number {
    let words = 0
    for (let length = 0; length < prefix.length; length++)
      words += this.#byPrefix.get(prefix.slice(0, length))?.words ?? 0
    return words
  }

  *#extensionsOf(prefix: string): Iterable<WordCount> {
    for (const [other, count] of this.#byPrefix)
      if (other.length > prefix.length && other.startsWith(prefix)) yield count
  }
}

export interface WatchedGlob<C> {
  /** The glob as a binary string. */
  readonly id: string
  readonly connections: Set<C>
  /** The owner that is charged, which is the owner of the first registration, or `undefined` for none. */
  owner: string | undefined
  readonly glob: Glob
  readonly prefix: string
}

/** The globs with a common prefix. Every change of a key with that prefix is compared with all of them. */
interface Bucket<C> {
  readonly globs: Set<WatchedGlob<C>>
  words: number
}

/** The length to which longer prefixes are truncated, because each change looks up every length in use. */
const MAX_PREFIX_BYTES = 64

/**
 * Indexes watched globs by literal prefix, so that a change is compared only with globs whose prefix the key has. A
 * comparison takes one step per byte of the key and {@link Glob.words} of the glob.
 */
export class GlobIndex<C> {
  readonly #globs = new Map<string, WatchedGlob<C>>()
  readonly #buckets = new Map<string, Bucket<C>>()
  /** The number of buckets per length of prefix. */
  readonly #bucketsByLength = new Map<number, number>()

  get size(): number {
    return this.#globs.size
  }

  get(id: string): WatchedGlob<C> | undefined {
    return this.#globs.get(id)
  }

  /** Compiles a glob without adding it. Throws {@link CommandError} if the glob is too long. */
  compile(id: string, owner?: string): WatchedGlob<C> {
    const bytes = fromBinaryString(id)
    const glob = compileRequestGlob(bytes)
    return { id, glob, owner, connections: new Set(), prefix: literalPrefix(bytes).slice(0, MAX_PREFIX_BYTES) }
  }

  withSamePrefix({ prefix }: WatchedGlob<C>): Iterable<WatchedGlob<C>> {
    return this.#buckets.get(prefix)?.globs ?? []
  }

  add(watched: WatchedGlob<C>): void {
    const { id, prefix, glob } = watched
    this.#globs.set(id, watched)
    const bucket = this.#buckets.get(prefix)
    if (bucket === undefined) {
      this.#buckets.set(prefix, { globs: new Set([watched]), words: glob.words })
      this.#bucketsByLength.set(prefix.length, (this.#bucketsByLength.get(prefix.length) ?? 0) + 1)
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
    const remaining = (this.#bucketsByLength.get(prefix.length) ?? 1) - 1
    if (remaining > 0) this.#bucketsByLength.set(prefix.length, remaining)
    else this.#bucketsByLength.delete(prefix.length)
  }

  /** Yields the globs that match a key, given as a binary string. */
  *matching(id: string): Iterable<WatchedGlob<C>> {
    if (this.#globs.size === 0) return
    const key = fromBinaryString(id)
    for (const { globs } of this.#candidates(id)) {
      for (const watched of globs) if (watched.glob.matches(key)) yield watched
    }
  }

  /** Returns the cost of {@link matching}: the bytes of the key times the words of the compared globs. */
  workOf(id: string): number {
    let words = 0
    for (const bucket of this.#candidates(id)) words += bucket.words
    return words * (id.length + 1)
  }

  *#candidates(id: string): Iterable<Bucket<C>> {
    for (const length of this.#bucketsByLength.keys()) {
      const bucket = length > id.length ? undefined : this.#buckets.get(id.slice(0, length))
      if (bucket !== undefined) yield bucket
    }
  }
}
