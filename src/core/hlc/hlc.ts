import type { ByteReader, ByteWriter } from '../util/byte-codec.js'
import { HlcError } from '../util/errors.js'

/** Code of the digit. */
const ZERO = 48

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

  /** Raises {@link HlcError} (`malformed`) when a number is not a safe unsigned integer or the node id is empty or has a `:`. */
  constructor(wallClock: number, counter: number, nodeId: string) {
    if (!isUnsigned(wallClock) || !isUnsigned(counter) || nodeId === '' || nodeId.includes(':')) {
      throw malformed(`${wallClock}:${counter}:${nodeId}`)
    }
    this.wallClock = wallClock
    this.counter = counter
    this.nodeId = nodeId
  }

  /** Reads the wire form; zero-padded numbers, which the official clients send, are fine. Raises {@link HlcError}. */
  static parse(text: string): Hlc {
    const wallClockEnd = text.indexOf(':')
    const counterEnd = text.indexOf(':', wallClockEnd + 1)
    const wallClock = unsignedAt(text, 0, wallClockEnd)
    const counter = unsignedAt(text, wallClockEnd + 1, counterEnd)
    if (wallClock === undefined || counter === undefined) throw malformed(text)
    return new Hlc(wallClock, counter, text.slice(counterEnd + 1))
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

  /** As `console.log` and `util.inspect` of Node print it. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString()
  }
}

const malformed = (text: string): HlcError =>
  new HlcError('malformed', `Not a hybrid logical clock: ${JSON.stringify(text.slice(0, 80))}`)

const isUnsigned = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

/** The number some digits spell; read by hand, for a regular expression would take longer than all else of a request's clock. */
function unsignedAt(text: string, from: number, to: number): number | undefined {
  if (to <= from) return undefined
  let value = 0
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - ZERO
    if (digit < 0 || digit > 9) return undefined
    value = 10 * value + digit
  }
  return value
}

/** The node id of nearly all versions. */
const STORE = 'StateStore'
const NONE = 0
const OF_STORE = 1
const OF_ANOTHER = 2

/** Writes a clock, or none. */
export function writeHlc(writer: ByteWriter, hlc: Hlc | undefined): void {
  if (hlc === undefined) {
    writer.uint8(NONE)
    return
  }
  const { wallClock, counter, nodeId } = hlc
  writer.uint8(nodeId === STORE ? OF_STORE : OF_ANOTHER)
  writer.float64(wallClock)
  writer.float64(counter)
  if (nodeId !== STORE) writer.text(nodeId)
}

/** Reads a clock, or none. */
export function readHlc(reader: ByteReader): Hlc | undefined {
  const kind = reader.uint8()
  if (kind === NONE) return undefined
  const [wallClock, counter] = [reader.float64(), reader.float64()]
  return new Hlc(wallClock, counter, kind === OF_STORE ? STORE : reader.text())
}

/** How far a reading may run ahead of the wall clock, ms (state store protocol, "Clock drift": one minute). */
export const MAX_DRIFT_MS = 60_000

/**
 * A node's own hybrid logical clock: every reading is greater than all it gave or merged before.
 *
 * @example
 * ```ts
 * const clock = new HlcClock('panel-7')
 * clock.tick(Date.now())             // for an event here
 * clock.merge(received, Date.now())  // for an event caused by a message
 * ```
 */
export class HlcClock {
  readonly #nodeId: string
  readonly #maxDriftMs: number
  #last: Hlc

  /** @param maxDriftMs - ms a reading may be ahead of the wall clock; default one minute */
  constructor(nodeId: string, maxDriftMs: number = MAX_DRIFT_MS) {
    this.#nodeId = nodeId
    this.#maxDriftMs = maxDriftMs
    this.#last = new Hlc(0, 0, nodeId)
  }

  /** The last reading. */
  get last(): Hlc {
    return this.#last
  }

  /** A reading for an event at wall time `now` (ms). Raises {@link HlcError} (`drift`, `overflow`) and then changes nothing. */
  tick(now: number): Hlc {
    return this.#advance(this.#last, now)
  }

  /**
   * A reading greater than `received` too. Raises {@link HlcError} (`drift`, `overflow`) and then changes nothing.
   */
  merge(received: Hlc, now: number): Hlc {
    return this.#advance(laterTime(this.#last, received), now)
  }

  #advance(floor: Hlc, now: number): Hlc {
    this.#last = advance(floor, now, this.#nodeId, this.#maxDriftMs)
    return this.#last
  }
}

/**
 * The update rule, pure: the first reading of `nodeId` after `floor` at wall time `now` (ms).
 * Raises {@link HlcError}: `drift` when it would be more than `maxDriftMs` ms ahead of `now`, `overflow` when the
 * counter is exhausted.
 */
export function advance(floor: Hlc, now: number, nodeId: string, maxDriftMs: number = MAX_DRIFT_MS): Hlc {
  const wall = Math.floor(now)
  const next = wall > floor.wallClock ? new Hlc(wall, 0, nodeId) : increment(floor, nodeId)
  if (next.wallClock - wall > maxDriftMs) {
    throw new HlcError('drift', `Clock reading ${next} is more than ${maxDriftMs} ms ahead of the wall clock`)
  }
  return next
}

/** The reading with the later time; the node id takes no part, because the counter will grow past both. */
export function laterTime(a: Hlc, b: Hlc): Hlc {
  if (a.wallClock !== b.wallClock) return a.wallClock > b.wallClock ? a : b
  return a.counter >= b.counter ? a : b
}

function increment(floor: Hlc, nodeId: string): Hlc {
  if (floor.counter >= Number.MAX_SAFE_INTEGER) throw new HlcError('overflow', `The counter of ${floor} is exhausted`)
  return new Hlc(floor.wallClock, floor.counter + 1, nodeId)
}
