import { type Glob, literalPrefix } from '../../core/protocol/glob.js'
import { CommandError, compileGlob } from '../../core/protocol/parse-command.js'
import { fromBinaryString } from '../../core/util/bytes.js'

/** What a glob takes besides itself and each word of its states, and what each of its registrations takes, bytes of the heap. */
const GLOB_OVERHEAD = 2_048
const WORD_OVERHEAD = 1_024
const REGISTRATION_OVERHEAD = 256

/**
 * Most words of the globs that begin with the same bytes, up to 64, of one owner and in all: with these every change of a key
 * that begins alike is compared. The same glob of several connections counts once.
 */
const MOST_WORDS_OF_OWNER = 32
const MOST_WORDS = 128
/** Most words of an owner with which a change of any key is compared, whatever they begin with. */
const MOST_WORDS_OF_CHAIN = 64

/** Words that count to an owner, or, negative, do not any more. */
interface Counted extends GlobWords {
  readonly owner: string
}

/** Who watches which keys by a glob. `C` stands for a connection. */
export class GlobWatchers<C> {
  readonly #index = new GlobIndex<C>()
  readonly #byConnection = new Map<C, Set<WatchedGlob<C>>>()
  readonly #chains = new Map<string, GlobChains>()
  readonly #ownerOf: (connection: C) => string | undefined
  #bytes = 0
  #registrations = 0

  /** @param ownerOf - to whom a connection counts; `undefined` for one that is nobody's */
  constructor(ownerOf: (connection: C) => string | undefined) {
    this.#ownerOf = ownerOf
  }

  /** Number of different globs. */
  get size(): number {
    return this.#index.size
  }

  /** Registrations of all connections. */
  get registrations(): number {
    return this.#registrations
  }

  /** What all of this takes, bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Number of globs a connection watches. */
  countOf(connection: C): number {
    return this.#byConnection.get(connection)?.size ?? 0
  }

  /** How many bytes more a registration would take; 0 when there is one. Raises {@link CommandError} as {@link add} does. */
  costOf(connection: C, id: string): number {
    const known = this.#index.get(id)
    if (known === undefined) return costOf(this.#index.prepare(id)) + REGISTRATION_OVERHEAD
    return known.connections.has(connection) ? 0 : REGISTRATION_OVERHEAD
  }

  /**
   * Whether it is a new registration. Raises {@link CommandError}: `syntax-error` for a glob that is too long, `quota-exceeded`
   * for one too many of those that begin alike.
   */
  add(connection: C, id: string): boolean {
    const watched = this.#index.get(id) ?? this.#watch(connection, id)
    if (watched.connections.has(connection)) return false
    watched.connections.add(connection)
    this.#registrations++
    this.#bytes += REGISTRATION_OVERHEAD
    const own = this.#byConnection.get(connection)
    if (own === undefined) this.#byConnection.set(connection, new Set([watched]))
    else own.add(watched)
    return true
  }

  /** Whether there was such a registration. */
  remove(connection: C, id: string): boolean {
    const watched = this.#index.get(id)
    if (!watched?.connections.has(connection)) return false
    const own = this.#byConnection.get(connection)
    own?.delete(watched)
    if (own?.size === 0) this.#byConnection.delete(connection)
    this.#count(this.#unwatch(watched, connection))
    return true
  }

  /** Forgets a connection; returns how many globs it watched. */
  drop(connection: C): number {
    const own = this.#byConnection.get(connection)
    this.#byConnection.delete(connection)
    this.#count(Array.from(own ?? []).flatMap(watched => this.#unwatch(watched, connection)))
    return own?.size ?? 0
  }

  /** Forgets what a connection watches by the globs that fit a key, given as a binary string; returns how many. */
  removeFitting(connection: C, key: string): number {
    const own = this.#byConnection.get(connection)
    if (own === undefined) return 0
    const fitting = Array.from(this.#index.matching(key)).filter(watched => own.has(watched))
    for (const watched of fitting) own.delete(watched)
    if (own.size === 0) this.#byConnection.delete(connection)
    this.#count(fitting.flatMap(watched => this.#unwatch(watched, connection)))
    return fitting.length
  }

  /** The connections that watch a key by a glob, given as a binary string; one may come several times. */
  *of(key: string): Iterable<C> {
    for (const { connections } of this.#index.matching(key)) yield* connections
  }

  /** What that takes; see {@link GlobIndex.workOf}. */
  workOf(key: string): number {
    return this.#index.workOf(key)
  }

  #watch(connection: C, id: string): WatchedGlob<C> {
    const watched = this.#index.prepare(id, this.#ownerOf(connection))
    const { glob, owner } = watched
    let [own, all] = [glob.words, glob.words]
    for (const other of this.#index.beside(watched)) {
      all += other.glob.words
      if (other.owner === owner) own += other.glob.words
    }
    // One that is longer than all of an owner may have together is taken alone: a glob of 1,024 bytes has 33 words.
    const isTooMuch = owner !== undefined && own > MOST_WORDS_OF_OWNER && own > glob.words
    if (all > MOST_WORDS || isTooMuch) throw new CommandError('quota-exceeded')
    this.#chain(watched)
    this.#index.add(watched)
    this.#bytes += costOf(watched)
    return watched
  }

  /** Counts it to its owner, if there is one. */
  #chain({ owner, prefix, glob }: WatchedGlob<C>): void {
    if (owner === undefined) return
    const chains = this.#chains.get(owner) ?? new GlobChains()
    if (chains.mostWith(prefix, glob.words) > MOST_WORDS_OF_CHAIN) throw new CommandError('quota-exceeded')
    this.#chains.set(owner, chains)
    chains.add(prefix, glob.words)
  }

  /** Counts to owners what has come to them, and takes off what has gone. */
  #count(changes: readonly Counted[]): void {
    const byOwner = new Map<string, Counted[]>()
    for (const change of changes) {
      const ofOwner = byOwner.get(change.owner)
      if (ofOwner === undefined) byOwner.set(change.owner, [change])
      else ofOwner.push(change)
    }
    for (const [owner, ofOwner] of byOwner) {
      const chains = this.#chains.get(owner) ?? new GlobChains()
      if (ofOwner.length === 1) for (const { prefix, words } of ofOwner) chains.add(prefix, words)
      else chains.addAll(ofOwner)
      if (chains.isEmpty) this.#chains.delete(owner)
      else this.#chains.set(owner, chains)
    }
  }

  /** Ends a registration; returns what is to be counted for it: when others watch the glob as well, it is theirs now. */
  #unwatch(watched: WatchedGlob<C>, connection: C): Counted[] {
    const { connections, owner, prefix, glob } = watched
    connections.delete(connection)
    this.#registrations--
    this.#bytes -= REGISTRATION_OVERHEAD
    const [heir] = connections
    if (heir === undefined) {
      this.#index.remove(watched)
      this.#bytes -= costOf(watched)
    } else watched.owner = this.#ownerOf(heir)
    if (heir !== undefined && watched.owner === owner) return []
    const taken = owner === undefined ? [] : [{ owner, prefix, words: -glob.words }]
    const given =
      heir === undefined || watched.owner === undefined ? [] : [{ owner: watched.owner, prefix, words: glob.words }]
    return [...taken, ...given]
  }
}

const costOf = <C>({ id, glob }: WatchedGlob<C>): number => GLOB_OVERHEAD + id.length + WORD_OVERHEAD * glob.words

/** With what a glob begins, and its words; negative when they are taken off. */
export interface GlobWords {
  readonly prefix: string
  readonly words: number
}

/** Globs of an owner that begin with the same bytes. */
interface Link {
  words: number
  /** Words of these globs, and of those that begin with less of the same bytes. */
  chain: number
}

/**
 * What a change of a key is compared with at most of the globs of one owner: a key fits the beginnings of `*`, `a*`, `ab*` and
 * so on at the same time, and each of them may have as many globs as may begin alike.
 */
export class GlobChains {
  readonly #links = new Map<string, Link>()

  /** Whether there are no globs. */
  get isEmpty(): boolean {
    return this.#links.size === 0
  }

  /** Most words along any key that fits a beginning, if so many more begin like that. */
  mostWith(prefix: string, words: number): number {
    let most = this.#links.get(prefix)?.chain ?? this.#above(prefix)
    for (const { chain } of this.#below(prefix)) most = Math.max(most, chain)
    return most + words
  }

  /** Counts words that begin like that; negative ones are taken off. */
  add(prefix: string, words: number): void {
    const link = this.#links.get(prefix) ?? { words: 0, chain: this.#above(prefix) }
    this.#links.set(prefix, link)
    link.words += words
    link.chain += words
    for (const longer of this.#below(prefix)) longer.chain += words
    if (link.words === 0) this.#links.delete(prefix)
  }

  /** As {@link add} for many at once: one after the other they would take the square of their number. */
  addAll(globs: Iterable<GlobWords>): void {
    for (const { prefix, words } of globs) {
      const link = this.#links.get(prefix) ?? { words: 0, chain: 0 }
      this.#links.set(prefix, link)
      link.words += words
      if (link.words === 0) this.#links.delete(prefix)
    }
    for (const [prefix, link] of this.#links) link.chain = this.#above(prefix) + link.words
  }

  #above(prefix: string): number {
    let words = 0
    for (let length = 0; length < prefix.length; length++) words += this.#links.get(prefix.slice(0, length))?.words ?? 0
    return words
  }

  *#below(prefix: string): Iterable<Link> {
    for (const [other, link] of this.#links) if (other.length > prefix.length && other.startsWith(prefix)) yield link
  }
}

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
