/** An item's place in a {@link Queue}. */
export interface Place<T> {
  readonly item: T
  before: Place<T> | undefined
  /** The place behind it. */
  after: Place<T> | undefined
}

/**
 * A queue that is left at any place at once, however long it is: what has left takes no room.
 *
 * @example
 * ```ts
 * const queue = new Queue<string>()
 * const place = queue.add('a')
 * queue.remove(place)
 * ```
 */
export class Queue<T> {
  #first: Place<T> | undefined
  #last: Place<T> | undefined

  /** The place at its head. */
  get first(): Place<T> | undefined {
    return this.#first
  }

  /** Puts an item at the end. */
  add(item: T): Place<T> {
    const place: Place<T> = { item, before: this.#last, after: undefined }
    if (this.#last) this.#last.after = place
    else this.#first = place
    this.#last = place
    return place
  }

  /** Takes an item out; to be called once with each place. */
  remove(place: Place<T>): void {
    const { before, after } = place
    // What has lived long would keep alive what came after it, one after the other.
    place.before = undefined
    place.after = undefined
    if (before) before.after = after
    else this.#first = after
    if (after) after.before = before
    else this.#last = before
  }
}
