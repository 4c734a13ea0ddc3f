/**
 * Who watches which key. `C` is whatever stands for a connection: a registration belongs to it and goes with it
 * (state store protocol, "KEYNOTIFY notification topics and lifecycle").
 */
export class Watchers<C> {
  readonly #byKey = new Map<string, Set<C>>()
  readonly #byConnection = new Map<C, Set<string>>()
  #count = 0

  /** Registrations of all connections. */
  get count(): number {
    return this.#count
  }

  /** Number of keys a connection watches. */
  countOf(connection: C): number {
    return this.#byConnection.get(connection)?.size ?? 0
  }

  /** The keys a connection watches, in the order they came. */
  keysOf(connection: C): Iterable<string> {
    return this.#byConnection.get(connection) ?? []
  }

  /** Number of connections that watch a key. */
  countFor(key: string): number {
    return this.#byKey.get(key)?.size ?? 0
  }

  /** Whoever watches a key, in the order they came. */
  of(key: string): Iterable<C> {
    return this.#byKey.get(key) ?? []
  }

  has(connection: C, key: string): boolean {
    return this.#byConnection.get(connection)?.has(key) ?? false
  }

  add(connection: C, key: string): void {
    if (this.has(connection, key)) return
    entry(this.#byKey, key).add(connection)
    entry(this.#byConnection, connection).add(key)
    this.#count++
  }

  /** Whether there was such a registration. */
  remove(connection: C, key: string): boolean {
    if (!this.has(connection, key)) return false
    discard(this.#byKey, key, connection)
    discard(this.#byConnection, connection, key)
    this.#count--
    return true
  }

  /** Forgets a connection. */
  drop(connection: C): void {
    for (const key of this.#byConnection.get(connection) ?? []) this.remove(connection, key)
  }
}

function entry<K, V>(map: Map<K, Set<V>>, key: K): Set<V> {
  const existing = map.get(key)
  if (existing) return existing
  const created = new Set<V>()
  map.set(key, created)
  return created
}

function discard<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const set = map.get(key)
  set?.delete(value)
  if (set?.size === 0) map.delete(key)
}
