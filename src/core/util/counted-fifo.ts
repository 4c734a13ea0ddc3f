import { Fifo } from './fifo.js'

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
