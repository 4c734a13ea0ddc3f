import { Hlc } from '../../core/hlc/hlc.js'
import type { Command } from '../../core/protocol/commands.js'
import { CommandError } from '../../core/protocol/parse-command.js'
import { HlcError } from '../../core/util/errors.js'

/** A request as it came: the payload and the two clock properties in wire form. */
export interface RawRequest {
  readonly payload: Uint8Array
  /** What the payload says, if somebody has looked. */
  readonly command?: Command | undefined
  /** `__ts` */
  readonly timestamp?: string | undefined
  /** `__ft` */
  readonly fencingToken?: string | undefined
}

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
export function readClocks(command: Command, raw: Omit<RawRequest, 'payload'>, latest: number): RequestClocks {
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
