import { StringMap } from '../../core/util/string-map.js'
import { GlobWatchers } from './glob-watchers.js'

/** A key that is watched, and by whom. */
interface Watched<C> {
  readonly key: string
  readonly connections: Set<C>
}

/** How many keys may be watched, by all connections of one owner and in all. `C` stands for a connection. */
export interface WatchQuotas<C> {
  readonly most: number
  readonly mostOfOwner: number
  /** Of one key, and of all keys by globs. Default no bound but the others. */
  readonly mostOfKey?: number
  /** Always the same for a connection; `undefined` for one that is nobody's. */
  ownerOf(connection: C): string | undefined
}

/** For so many watched keys a watched glob counts where these are counted. */
export const GLOB_COUNTS = 100

/** What a watched key takes besides itself, and what each of its registrations takes, bytes of the heap, rounded up. */
const KEY_OVERHEAD = 512
const REGISTRATION_OVERHEAD = 128

/**
 * Who watches which key. `C` is whatever stands for a connection: a registration belongs to it and goes with it
 * (state store protocol, "KEYNOTIFY notification topics and lifecycle").
 */
export class Watchers<C> {
  readonly #byKey = new StringMap<Watched<C>>()
  readonly #byConnection = new Map<C, Set<Watched<C>>>()
  readonly #quotas: WatchQuotas<C> | undefined
  readonly #byOwner = new Map<string, number>()
  readonly #globs: GlobWatchers<C>
  #count = 0
  #bytes = 0

  constructor(quotas?: WatchQuotas<C>) {
    this.#quotas = quotas
    this.#globs = new GlobWatchers(connection => quotas?.ownerOf(connection))
  }

  /** Registrations of all connections; one of a glob counts for {@link GLOB_COUNTS} of keys. */
  get count(): number {
    return this.#count
  }

  /** What all registrations take, bytes. */
  get bytes(): number {
    return this.#bytes + this.#globs.bytes
  }

  /** Who watches by globs; {@link addGlob} and {@link removeGlob} change it. */
  get globs(): Pick<GlobWatchers<C>, 'of' | 'workOf' | 'costOf' | 'countOf' | 'size' | 'registrations'> {
    return this.#globs
  }

  /** Number of keys a connection watches, and {@link GLOB_COUNTS} for each glob. */
  countOf(connection: C): number {
    return (this.#byConnection.get(connection)?.size ?? 0) + GLOB_COUNTS * this.#globs.countOf(connection)
  }

  /** {@link countOf} all connections of an owner. */
  countOfOwner(owner: string): number {
    return this.#byOwner.get(owner) ?? 0
  }

  /** Whether a connection may not watch so many keys more. */
  isFullFor(connection: C, more = 1): boolean {
    if (this.#quotas === undefined) return false
    const { most, mostOfOwner } = this.#quotas
    const owner = this.#quotas.ownerOf(connection)
    return this.#count + more > most || (owner !== undefined && this.countOfOwner(owner) + more > mostOfOwner)
  }

  /** Returns whether a key has as many watchers as one may have. */
  isKeyFull(key: string): boolean {
    return this.countFor(key) >= (this.#quotas?.mostOfKey ?? Number.POSITIVE_INFINITY)
  }

  /** Returns whether there are as many registrations by globs as one key may have watchers: one key may fit them all. */
  get areGlobsFull(): boolean {
    return this.#globs.registrations >= (this.#quotas?.mostOfKey ?? Number.POSITIVE_INFINITY)
  }

  /** The keys a connection watches, in the order they came. */
  *keysOf(connection: C): Iterable<string> {
    for (const { key } of this.#byConnection.get(connection) ?? []) yield key
  }

  /** Number of connections that watch a key. */
  countFor(key: string): number {
    return this.#byKey.get(key)?.connections.size ?? 0
  }

  /** The connections that watch a key, in the order in which they came. */
  of(key: string): Iterable<C> {
    return this.#byKey.get(key)?.connections ?? []
  }

  has(connection: C, key: string): boolean {
    return this.#byKey.get(key)?.connections.has(connection) ?? false
  }

  /** How many bytes more a registration would take; 0 when there is one. */
  costOf(connection: C, key: string): number {
    const watched = this.#byKey.get(key)
    if (watched === undefined) return costOfKey(key) + REGISTRATION_OVERHEAD
    return watched.connections.has(connection) ? 0 : REGISTRATION_OVERHEAD
  }

  add(connection: C, key: string): void {
    const watched = this.#byKey.get(key) ?? this.#watch(key)
    if (watched.connections.has(connection)) return
    watched.connections.add(connection)
    this.#counted(connection, 1)
    this.#bytes += REGISTRATION_OVERHEAD
    const keys = this.#byConnection.get(connection)
    if (keys === undefined) this.#byConnection.set(connection, new Set([watched]))
    else keys.add(watched)
  }

  /** Whether there was such a registration. */
  remove(connection: C, key: string): boolean {
    const watched = this.#byKey.get(key)
    if (!watched?.connections.has(connection)) return false
    const keys = this.#byConnection.get(connection)
    keys?.delete(watched)
    if (keys?.size === 0) this.#byConnection.delete(connection)
    this.#counted(connection, -1)
    this.#unwatch(watched, connection)
    return true
  }

  /** Registers for a glob, a binary string. Raises {@link CommandError} for one that is too long, or one too many that begin alike. */
  addGlob(connection: C, glob: string): void {
    if (this.#globs.add(connection, glob)) this.#counted(connection, GLOB_COUNTS)
  }

  /** Whether there was such a registration. */
  removeGlob(connection: C, glob: string): boolean {
    const removed = this.#globs.remove(connection, glob)
    if (removed) this.#counted(connection, -GLOB_COUNTS)
    return removed
  }

  /** Forgets by what a connection is told of a key, a binary string: the key itself, and globs that fit it. */
  removeAllOf(connection: C, key: string): void {
    this.remove(connection, key)
    const globs = this.#globs.removeFitting(connection, key)
    if (globs > 0) this.#counted(connection, -GLOB_COUNTS * globs)
  }

  /** Forgets a connection. */
  drop(connection: C): void {
    const globs = this.#globs.drop(connection)
    if (globs > 0) this.#counted(connection, -GLOB_COUNTS * globs)
    const keys = this.#byConnection.get(connection)
    this.#byConnection.delete(connection)
    if (keys !== undefined) this.#counted(connection, -keys.size)
    for (const watched of keys ?? []) this.#unwatch(watched, connection)
  }

  #watch(key: string): Watched<C> {
    const watched = { key, connections: new Set<C>() }
    this.#byKey.set(key, watched)
    this.#bytes += costOfKey(key)
    return watched
  }

  #counted(connection: C, more: number): void {
    this.#count += more
    const owner = this.#quotas?.ownerOf(connection)
    if (owner === undefined) return
    const count = this.countOfOwner(owner) + more
    if (count > 0) this.#byOwner.set(owner, count)
    else this.#byOwner.delete(owner)
  }

  #unwatch({ key, connections }: Watched<C>, connection: C): void {
    connections.delete(connection)
    this.#bytes -= REGISTRATION_OVERHEAD
    if (connections.size > 0) return
    this.#byKey.delete(key)
    this.#bytes -= costOfKey(key)
  }
}

const costOfKey = (key: string): number => key.length + KEY_OVERHEAD
