import type { ByteReader, ByteWriter } from '../util/byte-codec.js'
import { HlcError } from '../util/errors.js'

const DIGIT_ZERO = 48

/**
 * A hybrid logical clock reading, used as the version of a value or as a fencing token. The wire form is
 * `{wallClock}:{counter}:{nodeId}` (state store protocol, "Versioning and hybrid logical clocks").
 *
 * @example
 * ```ts
 * const version = Hlc.parse('1696374425000:1:StateStore')
 * // ms since the Unix epoch
 * version.wallClock
 * String(version) // '1696374425000:1:StateStore'
 * version.compareTo(older) > 0
 * ```
 */
export class Hlc {
  /** Milliseconds since the Unix epoch. */
  readonly wallClock: number
  /** Orders readings of the same millisecond. */
  readonly counter: number
  /** The node that read the clock. Orders otherwise equal readings. */
  readonly nodeId: string

  /**
   * Creates a reading. Throws {@link HlcError} (`malformed`) if a number is not a safe unsigned integer, or the node id
   * is empty or contains `:`.
   */
  constructor(wallClock: number, counter: number, nodeId: string) {
    if (!isUnsigned(wallClock) || !isUnsigned(counter) || nodeId === '' || nodeId.includes(':')) {
      throw malformed(`${wallClock}:${counter}:${nodeId}`)
    }
    this.wallClock = wallClock
    this.counter = counter
    this.nodeId = nodeId
  }

  /**
   * Parses the wire form. Accepts zero-padded numbers, which the official clients send. Throws {@link HlcError} for
   * malformed text.
   */
  static parse(text: string): Hlc {
    const wallClockEnd = text.indexOf(':')
    const counterEnd = text.indexOf(':', wallClockEnd + 1)
    const wallClock = unsignedAt(text, 0, wallClockEnd)
    const counter = unsignedAt(text, wallClockEnd + 1, counterEnd)
    if (wallClock === undefined || counter === undefined) throw malformed(text)
    return new Hlc(wallClock, counter, text.slice(counterEnd + 1))
  }

  /**
   * Returns a negative number, zero or a positive number if this reading is older than, equal to or newer than the
   * other one. The order is total.
   */
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

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString()
  }
}

const malformed = (text: string): HlcError =>
  new HlcError('malformed', `Not a hybrid logical clock: ${JSON.stringify(text.slice(0, 80))}`)

const isUnsigned = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

/**
 * Parses digits in a loop, because a regular expression would take longer than all other work with the clock of a
 * request.
 */
function unsignedAt(text: string, from: number, to: number): number | undefined {
  if (to <= from) return undefined
  let value = 0
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - DIGIT_ZERO
    if (digit < 0 || digit > 9) return undefined
    value = 10 * value + digit
  }
  return value
}

const STORE_NODE_ID = 'StateStore'
const NO_HLC = 0
const STORE_HLC = 1
const OTHER_HLC = 2

export function writeHlc(writer: ByteWriter, hlc: Hlc | undefined): void {
  if (hlc === undefined) {
    writer.uint8(NO_HLC)
    return
  }
  const { wallClock, counter, nodeId } = hlc
  writer.uint8(nodeId === STORE_NODE_ID ? STORE_HLC : OTHER_HLC)
  writer.float64(wallClock)
  writer.float64(counter)
  if (nodeId !== STORE_NODE_ID) writer.text(nodeId)
}

export function readHlc(reader: ByteReader): Hlc | undefined {
  const kind = reader.uint8()
  if (kind === NO_HLC) return undefined
  const [wallClock, counter] = [reader.float64(), reader.float64()]
  return new Hlc(wallClock, counter, kind === STORE_HLC ? STORE_NODE_ID : reader.text())
}

/** Maximum lead of a reading over the wall clock, ms (state store protocol, "Clock drift": one minute). */
export const MAX_DRIFT_MS = 60_000

/**
 * The largest counter of a new reading. It continues in the next millisecond, so that no received counter, which may
 * have any value, exhausts the counter of a clock that merges it. Official clients have 32 bits for a counter.
 */
export const MAX_COUNTER = 2 ** 16 - 1

/**
 * The hybrid logical clock of a node. Every reading is greater than all earlier and all merged readings.
 *
 * @example
 * ```ts
 * const clock = new HlcClock('panel-7')
 * // For a local event
 * clock.tick(Date.now())
 * // For an event caused by a message
 * clock.merge(received, Date.now())
 * ```
 */
export class HlcClock {
  readonly #nodeId: string
  readonly #maxDriftMs: number
  #last: Hlc

  /** @param maxDriftMs - maximum lead over the wall clock, ms; default one minute */
  constructor(nodeId: string, maxDriftMs: number = MAX_DRIFT_MS) {
    this.#nodeId = nodeId
    this.#maxDriftMs = maxDriftMs
    this.#last = new Hlc(0, 0, nodeId)
  }

  get last(): Hlc {
    return this.#last
  }

  /**
   * Returns a reading for an event at wall time `now` (ms). Throws {@link HlcError} (`drift`) without changing the
   * clock.
   */
  tick(now: number): Hlc {
    return this.#advance(this.#last, now)
  }

  /**
   * Returns a reading that is greater than `received` and all earlier ones. Throws {@link HlcError} (`drift`) without
   * changing the clock.
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
 * Returns the first reading of `nodeId` after `floor` at wall time `now` (ms). Pure. Throws {@link HlcError} (`drift`)
 * if the reading would lead `now` by more than `maxDriftMs`.
 */
export function advance(floor: Hlc, now: number, nodeId: string, maxDriftMs: number = MAX_DRIFT_MS): Hlc {
  const wall = Math.floor(now)
  const next = wall > floor.wallClock ? new Hlc(wall, 0, nodeId) : increment(floor, nodeId)
  if (next.wallClock - wall > maxDriftMs) {
    throw new HlcError('drift', `Clock reading ${next} is more than ${maxDriftMs} ms ahead of the wall clock`)
  }
  return next
}

/** Returns the reading with the later time. The node id is irrelevant, because the next counter will exceed both. */
export function laterTime(a: Hlc, b: Hlc): Hlc {
  if (a.wallClock !== b.wallClock) return a.wallClock > b.wallClock ? a : b
  return a.counter >= b.counter ? a : b
}

const increment = ({ wallClock, counter }: Hlc, nodeId: string): Hlc =>
  counter < MAX_COUNTER ? new Hlc(wallClock, counter + 1, nodeId) : new Hlc(wallClock + 1, 0, nodeId)
