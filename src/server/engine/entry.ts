import type { Hlc } from '../../core/hlc/hlc.js'
import type { Command, WriteCommand } from '../../core/protocol/commands.js'
import { CommandError, isWrite, parseCommand } from '../../core/protocol/parse-command.js'
import type { StoredRecord } from './apply.js'
import type { RawClocks } from './command-result.js'

/** A request's identity, by which a redelivery is recognized. */
export interface Origin {
  readonly clientId: string
  readonly correlationData: Uint8Array
  /** The DUP flag (MQTT 5.0, section 3.3.1.1), which means that the client may have sent this request before. */
  readonly dup: boolean
  /** The message expiry in seconds, after which the client cannot redeliver, or `undefined` for unlimited. */
  readonly messageExpiry: number | undefined
}

export interface Owner {
  /** The id, which is identical for all connections of a principal. */
  readonly id: string
  readonly maxKeys: number
  /** The limit on keys and values, including overhead. */
  readonly maxBytes: number
}

export interface LoggedWrite extends RawClocks {
  readonly type: 'write'
  readonly payload: Uint8Array
  /** The command parsed from `payload`. */
  readonly command: WriteCommand
  readonly origin: Origin | undefined
  readonly volatile?: true | undefined
  /** The principal to charge. Without one, only the limits of the store apply. */
  readonly owner?: Owner | undefined
}

/** A record of a dump. A missing or unusable version is replaced by a new version. */
export interface RestoredRecord extends Omit<StoredRecord, 'version'> {
  readonly key: Uint8Array
  readonly version: Hlc | undefined
}

/** Loads a dump atomically. With `replace`, deletes all other keys. */
export interface LoggedLoad {
  readonly type: 'load'
  readonly items: readonly RestoredRecord[]
  readonly replace: boolean
}

export type EntryCommand =
  | LoggedWrite
  | LoggedLoad
  /** Records that the store restarts, which deletes volatile keys. */
  | { readonly type: 'start' }

export interface StorageLimits {
  readonly maxKeys: number
  /** The limit on keys and values, including overhead. */
  readonly maxBytes: number
}

/**
 * A batch of commands, which is the unit of commit. Apart from the state, an entry contains all inputs of its result,
 * including the time and the limits, so that every node computes the same result.
 */
export interface LogEntry extends StorageLimits {
  /** The store's wall time, in ms since the Unix epoch. */
  readonly time: number
  /**
   * The maximum number of expired keys that the entry removes before its first command. The others count as absent until
   * later entries remove them. Default: unlimited.
   */
  readonly maxExpired?: number | undefined
  readonly commands: readonly EntryCommand[]
}

/** Parses a SET, DEL or VDEL. Returns `undefined` for any other payload. */
export function parseWriteCommand(payload: Uint8Array): WriteCommand | undefined {
  const command = tryParseCommand(payload)
  return command !== undefined && isWrite(command) ? command : undefined
}

/** Parses a payload. Returns `undefined` if the payload is invalid. */
export function tryParseCommand(payload: Uint8Array): Command | undefined {
  try {
    return parseCommand(payload)
  } catch (error) {
    if (error instanceof CommandError) return undefined
    throw error
  }
}
