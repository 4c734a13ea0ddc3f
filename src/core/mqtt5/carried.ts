import { concatBytes } from '../util/bytes.js'
import { viewOf } from './layout.js'

const NOTHING = new Uint8Array(0)

/**
 * Collects of a block of properties what is passed on with a message: a view as long as that is in one piece, else one
 * copy. Used for one block after another.
 */
export class Carried {
  #from = 0
  /** What lies between two properties that are not passed on. */
  #pieces: [from: number, to: number][] | undefined

  /** A block begins here. */
  begin(at: number): void {
    this.#from = at
    this.#pieces = undefined
  }

  /** A property is not passed on. */
  skip(from: number, to: number): void {
    if (from > this.#from) {
      this.#pieces ??= []
      this.#pieces.push([this.#from, from])
    }
    this.#from = to
  }

  /** All but what was skipped. @param end - of the block */
  of(bytes: Uint8Array, end: number): Uint8Array {
    const last = end > this.#from ? viewOf(bytes, this.#from, end) : NOTHING
    if (this.#pieces === undefined) return last
    const pieces = this.#pieces.map(([from, to]) => viewOf(bytes, from, to))
    const [only] = pieces
    return only !== undefined && pieces.length === 1 && last.length === 0 ? only : concatBytes([...pieces, last])
  }
}
