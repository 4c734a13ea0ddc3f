/**
 * A FIFO queue that takes constant time at any length. A `Set` or `Map` could be used in the same way, but iterates
 * over all deleted entries before its first one.
 *
 * @example
 * ```ts
 * const line = new Fifo<string>()
 * line.push('a'); line.push('b')
 * line.shift() // 'a'
 * ```
 */
export class Fifo<T> {
  #items: (T | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: T): void {
    this.#items.push(item)
  }

  peek(): T | undefined {
    return this.#items[this.#head]
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined
    const item = this.#items[this.#head]
    // The item is released immediately, because a long-lived array would retain it.
    this.#items[this.#head++] = undefined
    // Compacts in batches, so that each item moves once on average.
    if (this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  /** Iterates over a snapshot of the items. */
  *[Symbol.iterator](): Generator<T, void> {
    for (const item of this.#items.slice(this.#head)) if (item !== undefined) yield item
  }

  clear(): void {
    this.#items = []
    this.#head = 0
  }
}

/**
 * A FIFO queue that tracks its total size and reports every change, for a budget shared by several queues.
 *
 * @example
 * ```ts
 * const line = new CountedFifo<string>(
 *   ({ length }) => length,
 *   change => {
 *     used += change
 *   },
 * )
 * line.push('abc')
 * line.size // 3
 * ```
 */
export class CountedFifo<T> {
  readonly #items = new Fifo<T>()
  readonly #sizeOf: (item: T) => number
  readonly #onSizeChange: (by: number) => void
  #size = 0

  constructor(sizeOf: (item: T) => number, changed: (by: number) => void) {
    this.#sizeOf = sizeOf
    this.#onSizeChange = changed
  }

  get length(): number {
    return this.#items.length
  }

  get size(): number {
    return this.#size
  }

  push(item: T): void {
    this.#items.push(item)
    this.#addSize(this.#sizeOf(item))
  }

  peek(): T | undefined {
    return this.#items.peek()
  }

  shift(): T | undefined {
    const item = this.#items.shift()
    if (item !== undefined) this.#addSize(-this.#sizeOf(item))
    return item
  }

  clear(): void {
    this.#items.clear()
    this.#addSize(-this.#size)
  }

  #addSize(by: number): void {
    this.#size += by
    this.#onSizeChange(by)
  }
}

/**
 * Stores items under small numbers, which are reused. A `Map` works in the same way, but if its entries change
 * constantly, the tables that it discards keep each other and their former entries alive until the next full garbage
 * collection.
 *
 * @example
 * ```ts
 * const slots = new SlotMap<string>()
 * const place = slots.add('a')
 * slots.get(index) // 'a'
 * slots.delete(index) // true
 * ```
 */
export class SlotMap<T extends object> {
  #items: (T | undefined)[] = []
  #free: number[] = []

  get size(): number {
    return this.#items.length - this.#free.length
  }

  get values(): T[] {
    return this.#items.filter(item => item !== undefined)
  }

  /** Adds an item and returns its number, which may be reused. */
  add(item: T): number {
    const index = this.#free.pop() ?? this.#items.length
    this.#items[index] = item
    return index
  }

  get(index: number): T | undefined {
    return this.#items[index]
  }

  delete(index: number): boolean {
    if (this.#items[index] === undefined) return false
    this.#items[index] = undefined
    this.#free.push(index)
    return true
  }

  clear(): void {
    this.#items = []
    this.#free = []
  }
}
