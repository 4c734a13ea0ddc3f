import { HlcError } from '../util/errors.js'
import { Hlc } from './hlc.js'

/** How far a reading may run ahead of the wall clock, ms (state store protocol, "Clock drift": one minute). */
export const MAXIMUM_DRIFT = 60_000

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
  readonly #maximumDrift: number
  #last: Hlc

  /** @param maximumDrift - ms a reading may be ahead of the wall clock; default one minute */
  constructor(nodeId: string, maximumDrift: number = MAXIMUM_DRIFT) {
    this.#nodeId = nodeId
    this.#maximumDrift = maximumDrift
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
    this.#last = advance(floor, now, this.#nodeId, this.#maximumDrift)
    return this.#last
  }
}

/**
 * The update rule, pure: the first reading of `nodeId` after `floor` at wall time `now` (ms).
 * Raises {@link HlcError}: `drift` when it would be more than `maximumDrift` ms ahead of `now`, `overflow` when the
 * counter is exhausted.
 */
export function advance(floor: Hlc, now: number, nodeId: string, maximumDrift: number = MAXIMUM_DRIFT): Hlc {
  const wall = Math.floor(now)
  const next = wall > floor.wallClock ? new Hlc(wall, 0, nodeId) : increment(floor, nodeId)
  if (next.wallClock - wall > maximumDrift) {
    throw new HlcError('drift', `Clock reading ${next} is more than ${maximumDrift} ms ahead of the wall clock`)
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
