/** Who waits for a turn to log in. */
export interface Waiter {
  /** Under which it wants to come in; those of one name share a place in the order. */
  readonly name: string
}

/**
 * Those who wait at one address, by name: names take turns, so that many logins under one name, however long they take, keep
 * those under another waiting for one of them and no more.
 *
 * @example
 * ```ts
 * line.add({ name: 'panel' })
 * line.next()?.name // the name whose turn it is, of those who wait the one that came first
 * ```
 */
export class LoginLine<T extends Waiter> {
  /** The name whose turn it is first. */
  readonly #names = new Map<string, Set<T>>()
  #size = 0

  /** How many wait. */
  get size(): number {
    return this.#size
  }

  add(waiter: T): void {
    const waiters = this.#names.get(waiter.name) ?? new Set()
    this.#names.set(waiter.name, waiters.add(waiter))
    this.#size++
  }

  /** Harmless for one that does not wait any more. */
  delete(waiter: T): void {
    const waiters = this.#names.get(waiter.name)
    if (!waiters?.delete(waiter)) return
    if (waiters.size === 0) this.#names.delete(waiter.name)
    this.#size--
  }

  /** Takes out the one whose turn it is; its name comes last then. */
  next(): T | undefined {
    for (const [name, waiters] of this.#names) {
      const [first] = waiters
      if (first === undefined) continue
      this.delete(first)
      if (this.#names.delete(name)) this.#names.set(name, waiters)
      return first
    }
    return undefined
  }

  /** The one that is to give way to another with this name: of a name under which at least two more wait. */
  yielding(name: string): T | undefined {
    const own = this.#names.get(name)?.size ?? 0
    let most: ReadonlySet<T> | undefined
    for (const waiters of this.#names.values()) if (waiters.size > (most?.size ?? own + 1)) most = waiters
    const [first] = most ?? []
    return first
  }
}
