import { advance, Hlc, laterTime, MAX_DRIFT_MS } from '../../core/hlc/hlc.js'
import type { Command } from '../../core/protocol/commands.js'
import { CommandError } from '../../core/protocol/parse-command.js'
import { HlcError } from '../../core/util/errors.js'
import type { RawClocks } from './command-result.js'

const NODE_ID = 'StateStore'

/**
 * The store's hybrid logical clock, which assigns all versions. Versions only increase. If the wall clock is set back,
 * versions stay ahead and keep counting until the wall clock has caught up, and no request is rejected because of that.
 *
 * @example
 * ```ts
 * const clock = new VersionClock()
 * const version = clock.next(Date.now())
 * clock.advanceTo(version)
 * ```
 */
export class VersionClock {
  #last = new Hlc(0, 0, NODE_ID)

  get last(): Hlc {
    return this.#last
  }

  /**
   * Returns the latest clock value that the store accepts at wall time `now` in ms. The value is one minute ahead
   * (state store protocol, "Clock drift"), or the clock value of the newest version assigned, because clients return
   * versions in fencing tokens and in their clocks.
   */
  latestAccepted(now: number): number {
    return Math.max(now + MAX_DRIFT_MS, this.#last.wallClock)
  }

  /**
   * Returns the time in ms by which versions are ahead of wall time `now`, or 0 if that time does not exceed the drift
   * permitted to clients.
   */
  drift(now: number): number {
    const ahead = this.#last.wallClock - now
    return ahead > MAX_DRIFT_MS ? ahead : 0
  }

  /**
   * Returns the version of a change at wall time `now` (ms) for a request with the clock `received`. Does not assign
   * the version.
   */
  next(now: number, received: Hlc = this.#last): Hlc {
    return advance(withFreeCounter(laterTime(this.#last, received)), now, NODE_ID, Number.POSITIVE_INFINITY)
  }

  /** Assigns a version, which must be newer than the last version. */
  advanceTo(version: Hlc): void {
    this.#last = version
  }

  /** Assigns and returns the next version. */
  tick(now: number): Hlc {
    this.#last = this.next(now)
    return this.#last
  }
}

// An exhausted counter continues in the next millisecond, because every change needs a version.
const withFreeCounter = (floor: Hlc): Hlc =>
  floor.counter < Number.MAX_SAFE_INTEGER ? floor : new Hlc(floor.wallClock + 1, 0, NODE_ID)

export interface RequestClocks {
  readonly timestamp: Hlc | undefined
  readonly fencingToken: Hlc | undefined
}

/**
 * The largest counter that the store accepts from a client. A counter near the maximum, at the drift limit, would block
 * all writers for a minute. Genuine counters are small, because they restart every millisecond.
 */
export const MAX_COUNTER = 2 ** 32 - 1

/**
 * Parses the clocks of a request. Throws {@link CommandError} for an invalid clock.
 *
 * @param latest - latest accepted clock value, ms since the Unix epoch
 */
export function readClocks(command: Command, raw: RawClocks, latest: number): RequestClocks {
  const timestamp = readClock(raw.timestamp)
  const fencingToken = readClock(raw.fencingToken)
  if (command.verb === 'SET' && timestamp === undefined) throw new CommandError('timestamp-missing')
  if (timestamp && timestamp.wallClock > latest) throw new CommandError('clock-skew')
  if (timestamp && timestamp.counter > MAX_COUNTER) throw new CommandError('timestamp-malformed')
  if (fencingToken && fencingToken.wallClock > latest) throw new CommandError('fencing-token-skew')
  return { timestamp, fencingToken }
}

function readClock(text: string | undefined): Hlc | undefined {
  if (text === undefined) return undefined
  try {
    return Hlc.parse(text)
  } catch (error) {
    throw error instanceof HlcError ? new CommandError('timestamp-malformed') : error
  }
}
