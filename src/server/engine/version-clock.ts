import { advance, Hlc, laterTime, MAX_COUNTER, MAX_DRIFT_MS } from '../../core/hlc/hlc.js'
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
   * Returns whether the store accepts a clock reading of a client at wall time `now` in ms: one that is up to a minute
   * ahead (state store protocol, "Clock drift"), with any counter, or one up to the newest version assigned, because
   * clients return versions in fencing tokens and merge them into their clocks.
   */
  isAccepted({ wallClock, counter }: Hlc, now: number): boolean {
    if (wallClock <= now + MAX_DRIFT_MS) return true
    // A clock that merged the newest version has ticked since. Any larger counter would push versions further ahead.
    const { last } = this
    return wallClock === last.wallClock ? counter <= last.counter + MAX_COUNTER : wallClock < last.wallClock
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
    return advance(laterTime(this.#last, received), now, NODE_ID, Number.POSITIVE_INFINITY)
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

export interface RequestClocks {
  readonly timestamp: Hlc | undefined
  readonly fencingToken: Hlc | undefined
}

/** Parses a request's clocks at wall time `now` in ms. Throws {@link CommandError} for an invalid clock. */
export function readClocks(command: Command, raw: RawClocks, clock: VersionClock, now: number): RequestClocks {
  const timestamp = readClock(raw.timestamp)
  const fencingToken = readClock(raw.fencingToken)
  if (command.verb === 'SET' && timestamp === undefined) throw new CommandError('timestamp-missing')
  if (timestamp && !clock.isAccepted(timestamp, now)) throw new CommandError('clock-skew')
  if (fencingToken && !clock.isAccepted(fencingToken, now)) throw new CommandError('fencing-token-skew')
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
