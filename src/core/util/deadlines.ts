export interface Deadline<T> {
  readonly at: number
  /** Orders entries of the same time. */
  readonly rank: number
  readonly item: T
  /** Index in the heap; -1 once removed. Managed by the queue. */
  position: number
}

/**
 * Orders items by time in a binary heap. Each entry knows its index, so that adding and removing take O(log n), and
 * removed entries are freed. The owner needs only one timer, for {@link earliest}.
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

  /** Time of the first entry; `Infinity` for an empty queue. */
  get earliest(): number {
    return this.#heap[0]?.at ?? Number.POSITIVE_INFINITY
  }

  peek(): Deadline<T> | undefined {
    return this.#heap[0]
  }

  /** @param rank - order among entries of the same time; equal ranks are in no particular order */
  add(at: number, item: T, rank = 0): Deadline<T> {
    const entry: Deadline<T> = { at, rank, item, position: this.#heap.length }
    this.#heap.push(entry)
    this.#siftUp(entry)
    return entry
  }

  remove(entry: Deadline<T>): void {
    const hole = entry.position
    if (hole < 0) return
    entry.position = -1
    const last = this.#heap.pop()
    if (last === undefined || last === entry) return
    this.#place(last, hole)
    this.#siftUp(last)
    this.#siftDown(last)
  }

  /** Removes and returns the earliest item if it is due; otherwise returns `undefined`. */
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

  #siftUp(entry: Deadline<T>): void {
    while (entry.position > 0) {
      const place = entry.position
      const parent = this.#heap[(place - 1) >> 1]
      if (parent === undefined || !isBefore(entry, parent)) return
      this.#place(entry, parent.position)
      this.#place(parent, place)
    }
  }

  #siftDown(entry: Deadline<T>): void {
    for (;;) {
      const place = entry.position
      const child = this.#earlier(this.#heap[2 * place + 1], this.#heap[2 * place + 2])
      if (child === undefined || !isBefore(child, entry)) return
      this.#place(entry, child.position)
      this.#place(child, place)
    }
  }

  #earlier(left: Deadline<T> | undefined, right: Deadline<T> | undefined): Deadline<T> | undefined {
    if (left === undefined || right === undefined) return left
    return isBefore(right, left) ? right : left
  }
}

const isBefore = (a: Deadline<unknown>, b: Deadline<unknown>): boolean => (a.at - b.at || a.rank - b.rank) < 0
