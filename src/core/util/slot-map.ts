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
