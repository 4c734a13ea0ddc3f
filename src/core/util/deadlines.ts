/** An item's place in a {@link DeadlineQueue}; hand it back to `remove`. */
export interface Deadline<T> {
  readonly at: number
  readonly item: T
  /** Place in the heap, -1 once removed. Kept by the queue alone. */
  position: number
}

/**
 * Items ordered by a time, earliest first: a binary heap in which an item knows its place, so that adding and removing
 * cost O(log n) and nothing removed lingers. Its owner needs one timer only, for {@link earliest}.
 *
 * @example
 * ```ts
 * const queue = new DeadlineQueue<string>()
 * const entry = queue.add(50, 'b'); queue.add(10, 'a')
 * queue.takeDue(20) // 'a'
 * queue.remove(entry)
 * ```
 */
export class DeadlineQueue<T> {
  readonly #heap: Deadline<T>[] = []

  get size(): number {
    return this.#heap.length
  }

  /** When the first item is due; `Infinity` when there is none. */
  get earliest(): number {
    return this.#heap[0]?.at ?? Number.POSITIVE_INFINITY
  }

  /** The earliest deadline, if any. */
  peek(): Deadline<T> | undefined {
    return this.#heap[0]
  }

  add(at: number, item: T): Deadline<T> {
    const entry: Deadline<T> = { at, item, position: this.#heap.length }
    this.#heap.push(entry)
    this.#rise(entry)
    return entry
  }

  /** Removes an entry; harmless when it is gone already. */
  remove(entry: Deadline<T>): void {
    const hole = entry.position
    if (hole < 0) return
    entry.position = -1
    const last = this.#heap.pop()
    if (last === undefined || last === entry) return
    this.#place(last, hole)
    this.#rise(last)
    this.#sink(last)
  }

  /** Takes the earliest item whose time has come, or `undefined`. */
  takeDue(now: number): T | undefined {
    const first = this.#heap[0]
    if (first === undefined || first.at > now) return undefined
    this.remove(first)
    return first.item
  }

  #place(entry: Deadline<T>, position: number): void {
    this.#heap[position] = entry
    entry.position = position
  }

  #rise(entry: Deadline<T>): void {
    while (entry.position > 0) {
      const place = entry.position
      const parent = this.#heap[(place - 1) >> 1]
      if (parent === undefined || parent.at <= entry.at) return
      this.#place(entry, parent.position)
      this.#place(parent, place)
    }
  }

  #sink(entry: Deadline<T>): void {
    for (;;) {
      const place = entry.position
      const child = this.#earlier(this.#heap[2 * place + 1], this.#heap[2 * place + 2])
      if (child === undefined || child.at >= entry.at) return
      this.#place(entry, child.position)
      this.#place(child, place)
    }
  }

  #earlier(left: Deadline<T> | undefined, right: Deadline<T> | undefined): Deadline<T> | undefined {
    if (left === undefined || right === undefined) return left
    return right.at < left.at ? right : left
  }
}
