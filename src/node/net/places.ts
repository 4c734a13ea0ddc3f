import { networkOf } from '../limits/network.js'

/**
 * What takes places, by address: when there are none left, the address with most of them gives way with its oldest.
 *
 * @example
 * ```ts
 * places.add('192.0.2.1', socket)
 * if (places.size > 100) places.yielding()?.destroy()
 * ```
 */
export class Places<T> {
  /** By network. */
  readonly #items = new Map<string, Set<T>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Those of an address, or of its network. */
  countOf(address: string): number {
    return this.#items.get(networkOf(address))?.size ?? 0
  }

  add(address: string, item: T): void {
    const network = networkOf(address)
    const items = this.#items.get(network) ?? new Set()
    this.#items.set(network, items)
    if (items.has(item)) return
    items.add(item)
    this.#size++
  }

  /** Harmless for one that has none. */
  delete(address: string, item: T): void {
    const network = networkOf(address)
    const items = this.#items.get(network)
    if (!items?.delete(item)) return
    if (items.size === 0) this.#items.delete(network)
    this.#size--
  }

  /** The oldest of the address that has most, if that has more than `least`. */
  yielding(least = 0): T | undefined {
    let most: ReadonlySet<T> | undefined
    for (const items of this.#items.values()) if (items.size > (most?.size ?? least)) most = items
    const [oldest] = most ?? []
    return oldest
  }
}
