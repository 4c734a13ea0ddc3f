/**
 * Remembers a limited number of items. The ones that were added first are forgotten first.
 *
 * @example
 * ```ts
 * const seen = new RecentSet<string>(1_000)
 * seen.add('a')
 * seen.has('a') // true
 * ```
 */
export class RecentSet<T> {
  readonly #maxSize: number
  readonly #items = new Set<T>()

  constructor(maxSize: number) {
    this.#maxSize = maxSize
  }

  add(item: T): void {
    this.#items.add(item)
    const [oldest] = this.#items
    if (this.#items.size > this.#maxSize && oldest !== undefined) this.#items.delete(oldest)
  }

  has(item: T): boolean {
    return this.#items.has(item)
  }

  get isEmpty(): boolean {
    return this.#items.size === 0
  }
}
