interface OwnerUsage<T> {
  /** The size of each item, in the order in which the items were added. */
  readonly sizes: Map<T, number>
  total: number
}

/**
 * Records each owner's usage, so that an owner with many items cannot displace the items of others.
 *
 * @example
 * ```ts
 * usage.add(session, 1)
 * if (usage.total > limit) end(usage.oldestOfLargestOwner())
 * ```
 */
export class UsageByOwner<T extends { readonly accountName: string }> {
  readonly #usage = new Map<string, OwnerUsage<T>>()
  #total = 0

  get total(): number {
    return this.#total
  }

  add(item: T, size: number): void {
    const usage = this.#usage.get(item.accountName) ?? { sizes: new Map(), total: 0 }
    this.#usage.set(item.accountName, usage)
    usage.sizes.set(item, size)
    usage.total += size
    this.#total += size
  }

  delete(item: T): void {
    const usage = this.#usage.get(item.accountName)
    const size = usage?.sizes.get(item)
    if (usage === undefined || size === undefined) return
    usage.sizes.delete(item)
    usage.total -= size
    this.#total -= size
    if (usage.sizes.size === 0) this.#usage.delete(item.accountName)
  }

  /** Returns the oldest item of the owner with the largest usage. */
  oldestOfLargestOwner(): T | undefined {
    let largest: OwnerUsage<T> | undefined
    for (const usage of this.#usage.values()) if (largest === undefined || usage.total > largest.total) largest = usage
    const [oldest] = largest?.sizes.keys() ?? []
    return oldest
  }
}
