import { advance, Hlc, laterTime, MAX_DRIFT_MS } from '../../core/hlc/hlc.js'
import type { Command } from '../../core/protocol/commands.js'
import { CommandError } from '../../core/protocol/parse-command.js'
import { HlcError } from '../../core/util/errors.js'
import type { RawClocks } from './command-result.js'

const NODE_ID = 'StateStore'

/**
 * The store's own hybrid logical clock, from which all versions come. They only rise, whatever becomes of the wall clock:
 * when that was set back, or ran ahead and was put right, versions stay where they were and count on until it has caught
 * up. Nothing is refused because of it.
 *
 * @example
 * ```ts
 * const clock = new VersionClock()
 * const version = clock.next(Date.now())
 * clock.keep(version)
 * ```
 */
export class VersionClock {
  #last = new Hlc(0, 0, NODE_ID)

  /** The newest version there is. */
  get last(): Hlc {
    return this.#last
  }

  /**
   * The latest time of a clock that is believed at wall time `now`, ms: a minute ahead (state store protocol, "Clock
   * drift"), or what the store has given out itself, which comes back in fencing tokens and in the clocks of clients.
   */
  latest(now: number): number {
    return Math.max(now + MAX_DRIFT_MS, this.#last.wallClock)
  }

  /** How far versions are ahead of wall time `now`, ms, if that is more than the clock of a client can make it; else 0. */
  drift(now: number): number {
    const ahead = this.#last.wallClock - now
    return ahead > MAX_DRIFT_MS ? ahead : 0
  }

  /** The version of a change at wall time `now` (ms) that a request with this clock asks for. */
  next(now: number, received: Hlc = this.#last): Hlc {
    return advance(withRoom(laterTime(this.#last, received)), now, NODE_ID, Number.POSITIVE_INFINITY)
  }

  /** Makes a version, which must be newer, the newest. */
  keep(version: Hlc): void {
    this.#last = version
  }

  /** The next version, kept. */
  tick(now: number): Hlc {
    this.#last = this.next(now)
    return this.#last
  }
}

// A counter at its end goes on in the next millisecond, for a change has to have a version.
const withRoom = (floor: Hlc): Hlc =>
  floor.counter < Number.MAX_SAFE_INTEGER ? floor : new Hlc(floor.wallClock + 1, 0, NODE_ID)

/** The clocks of a request that is well-formed and near enough in time. */
export interface RequestClocks {
  readonly timestamp: Hlc | undefined
  readonly fencingToken: Hlc | undefined
}

/**
 * A reading at the drift limit with a counter near the end would stop every writer for a minute: the store's counter
 * grows past the largest it accepts. Honest counters are small, they start over every millisecond.
 */
export const LARGEST_COUNTER = 2 ** 32 - 1

/**
 * Reads the clocks of a request. Raises {@link CommandError} with the code of the store's answer.
 *
 * @param latest - time of a clock that is believed, ms since the Unix epoch
 */
export function readClocks(command: Command, raw: RawClocks, latest: number): RequestClocks {
  const timestamp = readClock(raw.timestamp)
  const fencingToken = readClock(raw.fencingToken)
  if (command.verb === 'SET' && timestamp === undefined) throw new CommandError('timestamp-missing')
  if (timestamp && timestamp.wallClock > latest) throw new CommandError('clock-skew')
  if (timestamp && timestamp.counter > LARGEST_COUNTER) throw new CommandError('timestamp-malformed')
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
