import type { Hlc } from '../../core/hlc/hlc.js'
import type { Command, WriteCommand } from '../../core/protocol/commands.js'
import { CommandError, isWrite, parseCommand } from '../../core/protocol/parse-command.js'
import type { StoredRecord } from './apply.js'
import type { RawClocks } from './command-result.js'

/** Identifies a request, so that a redelivery is recognized. */
export interface Origin {
  readonly clientId: string
  readonly correlationData: Uint8Array
  /** The DUP flag (MQTT 5.0, section 3.3.1.1): the client may have sent this before. */
  readonly dup: boolean
  /** Message expiry in seconds, after which the client cannot redeliver; `undefined` for unlimited. */
  readonly messageExpiry: number | undefined
}

export interface Owner {
  /** Identical for all connections of a principal. */
  readonly id: string
  readonly maxKeys: number
  /** Keys and values, including overhead. */
  readonly maxBytes: number
}

export interface LoggedWrite extends RawClocks {
  readonly type: 'write'
  readonly payload: Uint8Array
  /** The parsed `payload`. */
  readonly command: WriteCommand
  readonly origin: Origin | undefined
  readonly volatile?: true | undefined
  /** The principal charged; without one, only the limits of the store apply. */
  readonly owner?: Owner | undefined
}

/** A record of a dump. A missing or unusable version is replaced by a new one. */
export interface RestoredRecord extends Omit<StoredRecord, 'version'> {
  readonly key: Uint8Array
  readonly version: Hlc | undefined
}

/** Loads a dump atomically. With `replace`, all other keys are deleted. */
export interface LoggedLoad {
  readonly type: 'load'
  readonly items: readonly RestoredRecord[]
  readonly replace: boolean
}

export type EntryCommand =
  | LoggedWrite
  | LoggedLoad
  /** The store restarts, which deletes volatile keys. */
  | { readonly type: 'start' }

export interface StorageLimits {
  readonly maxKeys: number
  /** Keys and values, including overhead. */
  readonly maxBytes: number
}

/**
 * A batch of commands: the unit of commit. It carries everything its result depends on besides the state, including the
 * time and the limits, so that every node computes the same result.
 */
export interface LogEntry extends StorageLimits {
  /** Store wall time, ms since the Unix epoch. */
  readonly time: number
  readonly commands: readonly EntryCommand[]
}

/** Parses a SET, DEL or VDEL; returns `undefined` for any other payload. */
export function parseWriteCommand(payload: Uint8Array): WriteCommand | undefined {
  const command = tryParseCommand(payload)
  return command !== undefined && isWrite(command) ? command : undefined
}

/** Parses a payload; returns `undefined` if it is invalid. */
export function tryParseCommand(payload: Uint8Array): Command | undefined {
  try {
    return parseCommand(payload)
  } catch (error) {
    if (error instanceof CommandError) return undefined
    throw error
  }
}
