import { HlcError } from '../errors.js'
import { Hlc } from '../hlc/hlc.js'
import { MAXIMUM_DRIFT } from '../hlc/hlc-clock.js'
import { type Command, CommandError, parseCommand } from '../protocol/commands.js'

/** A request as it came: the payload and the two clock properties in wire form. */
export interface RawRequest {
  readonly payload: Uint8Array
  /** `__ts` */
  readonly timestamp?: string | undefined
  /** `__ft` */
  readonly fencingToken?: string | undefined
}

/** A request that is well-formed and near enough in time. */
export interface StoreRequest {
  readonly command: Command
  readonly timestamp: Hlc | undefined
  readonly fencingToken: Hlc | undefined
}

/**
 * A reading at the drift limit with a counter near the end would stop every writer for a minute: the store's counter
 * grows past the largest it accepts. Honest counters are small, they start over every millisecond.
 */
export const LARGEST_COUNTER = 2 ** 32 - 1

/** Reads a request at store time `now` (ms). Raises {@link CommandError} with the code of the store's answer. */
export function readRequest(raw: RawRequest, now: number): StoreRequest {
  const command = parseCommand(raw.payload)
  const timestamp = readClock(raw.timestamp)
  const fencingToken = readClock(raw.fencingToken)
  if (command.verb === 'SET' && timestamp === undefined) throw new CommandError('timestamp-missing')
  if (timestamp && timestamp.wallClock - now > MAXIMUM_DRIFT) throw new CommandError('clock-skew')
  if (timestamp && timestamp.counter > LARGEST_COUNTER) throw new CommandError('timestamp-malformed')
  if (fencingToken && fencingToken.wallClock - now > MAXIMUM_DRIFT) throw new CommandError('fencing-token-skew')
  return { command, timestamp, fencingToken }
}

function readClock(text: string | undefined): Hlc | undefined {
  if (text === undefined) return undefined
  try {
    return Hlc.parse(text)
  } catch (error) {
    throw error instanceof HlcError ? new CommandError('timestamp-malformed') : error
  }
}
