import { StringMap } from '../../core/util/string-map.js'
import { GlobWatchers } from './glob-watchers.js'

interface WatchedKey<C> {
  readonly key: string
  readonly connections: Set<C>
}

/** The limits on watches in total and per owner. `C` identifies a connection. */
export interface WatchQuotas<C> {
  readonly max: number
  readonly maxPerOwner: number
  /** The limit per key, and for all globs together. Default: unlimited. */
  readonly maxPerKey?: number
  /** Returns a connection's owner, or `undefined` for none. The owner must be constant for a connection. */
  ownerOf(connection: C): string | undefined
}

/** The number of watched keys that one watched glob counts as. */
export const WATCHES_PER_GLOB = 100

/**
 * The heap in bytes that a watched key takes in addition to its text, and that each registration takes, both rounded
 * up.
 */
const KEY_OVERHEAD_BYTES = 512
const REGISTRATION_OVERHEAD_BYTES = 128

/**
 * Keeps the registrations of keys and globs. `C` identifies a connection, and the registrations of a connection end
 * with it (state store protocol, "KEYNOTIFY notification topics and lifecycle").
 */
export class Watchers<C> {
  readonly #byKey = new StringMap<WatchedKey<C>>()
  readonly #byConnection = new Map<C, Set<WatchedKey<C>>>()
  readonly #quotas: WatchQuotas<C> | undefined
  /** The watched keys of connections that have ended, which are removed in parts. They receive no notifications. */
  readonly #ended = new Map<C, WatchedKey<C>[]>()
  readonly #byOwner = new Map<string, number>()
  readonly #globs: GlobWatchers<C>
  #count = 0
  #bytes = 0

  constructor(quotas?: WatchQuotas<C>) {
    this.#quotas = quotas
    this.#globs = new GlobWatchers(connection => quotas?.ownerOf(connection))
  }

  /** The number of registrations. A glob counts as {@link WATCHES_PER_GLOB}. */
  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#bytes + this.#globs.bytes
  }

  /** Read access to glob registrations. Use {@link addGlob} and {@link removeGlob} to change them. */
  get globs(): Pick<GlobWatchers<C>, 'watchersOf' | 'workOf' | 'addedBytes' | 'countOf' | 'size' | 'registrations'> {
    return this.#globs
  }

  /** Returns the number of watches of a connection. A glob counts as {@link WATCHES_PER_GLOB}. */
  countOf(connection: C): number {
    return (this.#byConnection.get(connection)?.size ?? 0) + WATCHES_PER_GLOB * this.#globs.countOf(connection)
  }

  countOfOwner(owner: string): number {
    return this.#byOwner.get(owner) ?? 0
  }

  isFullFor(connection: C, added = 1): boolean {
    if (this.#quotas === undefined) return false
    const { max, maxPerOwner } = this.#quotas
    const owner = this.#quotas.ownerOf(connection)
    return this.#count + added > max || (owner !== undefined && this.countOfOwner(owner) + added > maxPerOwner)
  }

  isKeyFull(key: string): boolean {
    return this.countFor(key) >= (this.#quotas?.maxPerKey ?? Number.POSITIVE_INFINITY)
  }

  /**
   * Returns whether the glob registrations have reached the watcher limit of a key, because one key may match all of
   * them.
   */
  get areGlobsFull(): boolean {
    return this.#globs.registrations >= (this.#quotas?.maxPerKey ?? Number.POSITIVE_INFINITY)
  }

  *keysOf(connection: C): Iterable<string> {
    for (const { key } of this.#byConnection.get(connection) ?? []) yield key
  }

  countFor(key: string): number {
    return this.#byKey.get(key)?.connections.size ?? 0
  }

  /** Returns the connections that watch a key, in the order of registration. */
  watchersOf(key: string): Iterable<C> {
    const connections = this.#byKey.get(key)?.connections ?? []
    return this.#ended.size === 0 ? connections : Array.from(connections).filter(each => !this.#ended.has(each))
  }

  has(connection: C, key: string): boolean {
    return this.#byKey.get(key)?.connections.has(connection) ?? false
  }

  /** Returns the bytes that a registration would add, or 0 if the registration exists. */
  addedBytes(connection: C, key: string): number {
    const watched = this.#byKey.get(key)
    if (watched === undefined) return bytesOfKey(key) + REGISTRATION_OVERHEAD_BYTES
    return watched.connections.has(connection) ? 0 : REGISTRATION_OVERHEAD_BYTES
  }

  add(connection: C, key: string): void {
    if (this.#ended.has(connection)) this.removeConnection(connection)
    const watched = this.#byKey.get(key) ?? this.#watch(key)
    if (watched.connections.has(connection)) return
    watched.connections.add(connection)
    this.#addCount(connection, 1)
    this.#bytes += REGISTRATION_OVERHEAD_BYTES
    const keys = this.#byConnection.get(connection)
    if (keys === undefined) this.#byConnection.set(connection, new Set([watched]))
    else keys.add(watched)
  }

  /** Removes the registration for a key. Returns whether the registration existed. */
  remove(connection: C, key: string): boolean {
    const watched = this.#byKey.get(key)
    if (!watched?.connections.has(connection)) return false
    const keys = this.#byConnection.get(connection)
    keys?.delete(watched)
    if (keys?.size === 0) this.#byConnection.delete(connection)
    this.#addCount(connection, -1)
    this.#unwatch(watched, connection)
    return true
  }

  /**
   * Registers a glob, given as a binary string. Throws {@link CommandError} if the glob is too long or too many globs
   * share its prefix.
   */
  addGlob(connection: C, glob: string): void {
    if (this.#globs.add(connection, glob)) this.#addCount(connection, WATCHES_PER_GLOB)
  }

  /** Removes the registration for a glob. Returns whether the registration existed. */
  removeGlob(connection: C, glob: string): boolean {
    const removed = this.#globs.remove(connection, glob)
    if (removed) this.#addCount(connection, -WATCHES_PER_GLOB)
    return removed
  }

  /** Removes a connection's registration for a key, given as a binary string, and its globs that match the key. */
  removeMatching(connection: C, key: string): void {
    this.remove(connection, key)
    const globs = this.#globs.removeMatching(connection, key)
    if (globs > 0) this.#addCount(connection, -WATCHES_PER_GLOB * globs)
  }

  /** Removes all globs of a connection. */
  removeGlobs(connection: C): void {
    const globs = this.#globs.removeConnection(connection)
    if (globs > 0) this.#addCount(connection, -WATCHES_PER_GLOB * globs)
  }

  /**
   * Removes all registrations of a connection, at most `limit` of its keys in one call. Returns whether keys remain, which
   * no longer count as watches.
   */
  removeConnection(connection: C, limit = Number.POSITIVE_INFINITY): boolean {
    this.removeGlobs(connection)
    const keys = this.#ended.get(connection) ?? Array.from(this.#byConnection.get(connection) ?? [])
    if (this.#byConnection.delete(connection)) this.#addCount(connection, -keys.length)
    for (let count = 0; count < limit; count++) {
      const watched = keys.pop()
      if (watched === undefined) break
      this.#unwatch(watched, connection)
    }
    if (keys.length > 0) this.#ended.set(connection, keys)
    else this.#ended.delete(connection)
    return keys.length > 0
  }

  #watch(key: string): WatchedKey<C> {
    const watched = { key, connections: new Set<C>() }
    this.#byKey.set(key, watched)
    this.#bytes += bytesOfKey(key)
    return watched
  }

  #addCount(connection: C, added: number): void {
    this.#count += added
    const owner = this.#quotas?.ownerOf(connection)
    if (owner === undefined) return
    const count = this.countOfOwner(owner) + added
    if (count > 0) this.#byOwner.set(owner, count)
    else this.#byOwner.delete(owner)
  }

  #unwatch({ key, connections }: WatchedKey<C>, connection: C): void {
    connections.delete(connection)
    this.#bytes -= REGISTRATION_OVERHEAD_BYTES
    if (connections.size > 0) return
    this.#byKey.delete(key)
    this.#bytes -= bytesOfKey(key)
  }
}

const bytesOfKey = (key: string): number => key.length + KEY_OVERHEAD_BYTES
