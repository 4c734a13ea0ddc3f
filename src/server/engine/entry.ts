import type { Hlc } from '../../core/hlc/hlc.js'
import type { Command, WriteCommand } from '../../core/protocol/commands.js'
import { CommandError, isWrite, parseCommand } from '../../core/protocol/parse-command.js'
import type { StoredRecord } from './apply.js'
import type { RawClocks } from './command-result.js'

/** Who asked for something, so that a repeated request is known for what it is. */
export interface Origin {
  readonly clientId: string
  readonly correlationData: Uint8Array
  /** The client says that it may have asked before (the DUP flag of MQTT 5.0, section 3.3.1.1). */
  readonly dup: boolean
  /** How long it may ask again, s; `undefined` for ever. */
  readonly messageExpiry: number | undefined
}

/** To whose quota a key counts, and how much of all there is it may have. */
export interface Owner {
  /** The same for all connections of one principal. */
  readonly id: string
  readonly maxKeys: number
  /** Keys and values with what they take besides, bytes. */
  readonly maxBytes: number
}

/** A SET, DEL or VDEL as it came. */
export interface Write extends RawClocks {
  readonly type: 'write'
  readonly payload: Uint8Array
  /** What the payload says. */
  readonly command: WriteCommand
  readonly origin: Origin | undefined
  /** The key shall not outlive this start of the store. */
  readonly volatile?: true | undefined
  /** Whose quota it is to keep to; without one there are only the bounds of the store. */
  readonly owner?: Owner | undefined
}

/** A record of a dump: a version that is missing, or not to be kept, becomes a new one. */
export interface Restored extends Omit<StoredRecord, 'version'> {
  readonly key: Uint8Array
  readonly version: Hlc | undefined
}

/** Records of a dump, all of them or none; with `replace`, all other keys are deleted. */
export interface Load {
  readonly type: 'load'
  readonly items: readonly Restored[]
  readonly replace: boolean
}

/** Something that changes the state of a store, or may. */
export type EntryCommand =
  | Write
  | Load
  /** The store starts again: keys that are not to outlive it are gone. */
  | { readonly type: 'start' }

/** How much there may be once an entry is applied. */
export interface Room {
  readonly maxKeys: number
  /** Keys and values with what they take besides, bytes. */
  readonly maxBytes: number
}

/**
 * What a store gathered in a turn. It holds all that its outcome depends on besides the state, time and bounds included,
 * so that it comes to the same wherever and whenever it is applied.
 */
export interface Entry extends Room {
  /** Store wall time, ms since the Unix epoch. */
  readonly time: number
  readonly commands: readonly EntryCommand[]
}

/** The command of a payload, if that is one that may change a record. */
export function writeCommandOf(payload: Uint8Array): WriteCommand | undefined {
  const command = commandOf(payload)
  return command !== undefined && isWrite(command) ? command : undefined
}

/** The command of a payload, if it has one. */
export function commandOf(payload: Uint8Array): Command | undefined {
  try {
    return parseCommand(payload)
  } catch (error) {
    if (error instanceof CommandError) return undefined
    throw error
  }
}
