import { HlcError } from '../base/errors.js'

const WIRE_FORM = /^([0-9]+):([0-9]+):([^:]+)$/

/**
 * A hybrid logical clock reading: the version of a value, or a fencing token.
 * Wire form `{wallClock}:{counter}:{nodeId}` (state store protocol, "Versioning and hybrid logical clocks").
 *
 * @example
 * ```ts
 * const version = Hlc.parse('1696374425000:1:StateStore')
 * version.wallClock             // ms since the Unix epoch
 * String(version)               // '1696374425000:1:StateStore'
 * version.compareTo(older) > 0
 * ```
 */
export class Hlc {
  /** Milliseconds since the Unix epoch. */
  readonly wallClock: number
  /** Orders readings of the same millisecond. */
  readonly counter: number
  /** Who read the clock; orders readings that are equal otherwise. */
  readonly nodeId: string

  /** Raises {@link HlcError} (`malformed`) when a number is no safe unsigned integer or the node id is empty or has a `:`. */
  constructor(wallClock: number, counter: number, nodeId: string) {
    if (!isUnsigned(wallClock) || !isUnsigned(counter) || nodeId === '' || nodeId.includes(':')) {
      throw new HlcError('malformed', `Not a hybrid logical clock: ${wallClock}:${counter}:${nodeId}`)
    }
    this.wallClock = wallClock
    this.counter = counter
    this.nodeId = nodeId
  }

  /** Reads the wire form; zero-padded numbers, which the official clients send, are fine. Raises {@link HlcError}. */
  static parse(text: string): Hlc {
    const [, wallClock, counter, nodeId] = WIRE_FORM.exec(text) ?? []
    if (wallClock === undefined || counter === undefined || nodeId === undefined) {
      throw new HlcError('malformed', `Not a hybrid logical clock: ${JSON.stringify(text.slice(0, 80))}`)
    }
    return new Hlc(Number(wallClock), Number(counter), nodeId)
  }

  /** Negative, zero or positive as this reading is older than, equal to or newer than the other. A total order. */
  compareTo(other: Hlc): number {
    if (this.wallClock !== other.wallClock) return this.wallClock - other.wallClock
    if (this.counter !== other.counter) return this.counter - other.counter
    if (this.nodeId === other.nodeId) return 0
    return this.nodeId < other.nodeId ? -1 : 1
  }

  toString(): string {
    return `${this.wallClock}:${this.counter}:${this.nodeId}`
  }

  toJSON(): string {
    return this.toString()
  }
}

const isUnsigned = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
