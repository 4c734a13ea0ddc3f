/**
 * First in, first out, in constant time however long it is. A `Set` or `Map` looks the same, but walks over all that was
 * deleted before its first entry.
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

  /** The first item, which stays. */
  peek(): T | undefined {
    return this.#items[this.#head]
  }

  /** Takes the first item. */
  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined
    const item = this.#items[this.#head]
    // Let go at once: what an array that has lived long still holds lives on with it.
    this.#items[this.#head++] = undefined
    // The others move up in batches, each of them once on average.
    if (this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  /** All items in their order, as they are now; they stay. */
  *[Symbol.iterator](): Generator<T, void> {
    for (const item of this.#items.slice(this.#head)) if (item !== undefined) yield item
  }

  clear(): void {
    this.#items = []
    this.#head = 0
  }
}

/**
 * First in, first out, and how much that is together; those who share room with it are told of every change.
 *
 * @example
 * ```ts
 * const line = new CountedFifo<string>(({ length }) => length, change => { used += change })
 * line.push('abc')
 * line.size // 3
 * ```
 */
export class CountedFifo<T> {
  readonly #items = new Fifo<T>()
  readonly #sizeOf: (item: T) => number
  readonly #changed: (by: number) => void
  #size = 0

  /**
   * @param sizeOf - of an item, always the same
   * @param changed - is told by how much the size of all together has changed
   */
  constructor(sizeOf: (item: T) => number, changed: (by: number) => void) {
    this.#sizeOf = sizeOf
    this.#changed = changed
  }

  get length(): number {
    return this.#items.length
  }

  /** Of all items together. */
  get size(): number {
    return this.#size
  }

  push(item: T): void {
    this.#items.push(item)
    this.#count(this.#sizeOf(item))
  }

  /** The first item, which stays. */
  peek(): T | undefined {
    return this.#items.peek()
  }

  /** Takes the first item. */
  shift(): T | undefined {
    const item = this.#items.shift()
    if (item !== undefined) this.#count(-this.#sizeOf(item))
    return item
  }

  clear(): void {
    this.#items.clear()
    this.#count(-this.#size)
  }

  #count(by: number): void {
    this.#size += by
    this.#changed(by)
  }
}

/**
 * Items under small numbers, which are given out again as soon as they are free. A `Map` does the same; but when its
 * entries come and go all the time, the tables it leaves behind keep each other alive, and with them all that was in
 * them, until the next full garbage collection.
 *
 * @example
 * ```ts
 * const slots = new SlotMap<string>()
 * const place = slots.add('a')
 * slots.get(place)     // 'a'
 * slots.delete(place)  // true
 * ```
 */
export class SlotMap<T extends object> {
  #items: (T | undefined)[] = []
  #free: number[] = []

  /** Number of items. */
  get size(): number {
    return this.#items.length - this.#free.length
  }

  /** The items, in no particular order. */
  get values(): T[] {
    return this.#items.filter(item => item !== undefined)
  }

  /** Puts an item in; its number is the lowest or one that was free before. */
  add(item: T): number {
    const place = this.#free.pop() ?? this.#items.length
    this.#items[place] = item
    return place
  }

  get(place: number): T | undefined {
    return this.#items[place]
  }

  /** Whether there was an item. */
  delete(place: number): boolean {
    if (this.#items[place] === undefined) return false
    this.#items[place] = undefined
    this.#free.push(place)
    return true
  }

  clear(): void {
    this.#items = []
    this.#free = []
  }
}
