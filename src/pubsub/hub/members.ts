/** Which items belong to which name: the members of groups, the connections of users. */
export class Members<T> {
  readonly #byName = new Map<string, Set<T>>()

  /** The items of a name, in the order they came. */
  of(name: string): ReadonlySet<T> {
    return this.#byName.get(name) ?? NOBODY
  }

  add(name: string, item: T): void {
    const items = this.#byName.get(name)
    if (items) items.add(item)
    else this.#byName.set(name, new Set([item]))
  }

  remove(name: string, item: T): void {
    const items = this.#byName.get(name)
    items?.delete(item)
    if (items?.size === 0) this.#byName.delete(name)
  }
}

const NOBODY: ReadonlySet<never> = new Set<never>()
