import { randomUUID } from 'node:crypto'
import { StateStoreError } from '../../../core/util/errors.js'
import { damaged } from '../errors.js'
import { FRAME_HEADER, headerAt, isIntact, NO_SALT, newSalt, SALT_SIZE, type Salt, seal } from './frame.js'

/** Of what is written; a change that an older version cannot read makes it greater. */
export const FORMAT = 3
/** What is read. Format 1 knew nothing of whose a key is, and format 2 nothing of a salt. */
const OLDEST_FORMAT = 1
const FIRST_SALTED_FORMAT = 3

export const LOCK = 'lock'
export const MARK = 'mark'
/** What a state is called while it is written. */
export const UNFINISHED = '.part'

/** A name that no other file ever has, of one that is to get a name when it is written. */
export const draftOf = (name: string): string => `${name}.${randomUUID()}${UNFINISHED}`

/** The token of the console, if that is kept here. */
export const CONSOLE_TOKEN = 'console-token'

/**
 * Whether a file has nothing of what is stored: which process has the directory (those who are refused make some, and take
 * them away), or the token of the console.
 */
export const isClaim = (name: string): boolean => name === LOCK || name.startsWith(`${LOCK}.`) || name === CONSOLE_TOKEN

export type Kind = 'log' | 'state'

const MAGIC: Record<Kind, string> = { log: 'rx-statestore log', state: 'rx-statestore state' }
const DIGITS = 16
/** Of the first frame of a file, which says what it is, bytes. */
export const HEAD_SIZE = FRAME_HEADER + 32
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The name of the file with the state at a position, or with the entries behind it. */
export const nameOf = (kind: Kind, position: number): string => `${kind}-${String(position).padStart(DIGITS, '0')}`

/** What a file is by its name; `undefined` for one that is not ours. */
export function fileOf(name: string): { readonly kind: Kind; readonly position: number } | undefined {
  const [, kind, digits] = /^(log|state)-([0-9]{16})$/.exec(name) ?? []
  const position = Number(digits)
  if ((kind !== 'log' && kind !== 'state') || !Number.isSafeInteger(position)) return undefined
  return { kind, position }
}

/** The first frame of a new file, and the salt that the others have. */
export function newHead(kind: Kind, position: number): { readonly head: Uint8Array; readonly salt: Salt } {
  const frame = new Uint8Array(HEAD_SIZE)
  const salt = newSalt()
  new DataView(frame.buffer).setUint32(FRAME_HEADER, FORMAT)
  frame.set(encoder.encode(MAGIC[kind]), FRAME_HEADER + 4)
  frame.set(salt, HEAD_SIZE - SALT_SIZE)
  return { head: seal(frame, position, NO_SALT), salt }
}

/** What the head of a file says. */
export interface Head {
  readonly format: number
  readonly salt: Salt
}

/**
 * Reads the head of a file. Raises `format` for a file that is not ours, or newer, and `damaged` for one whose head is not
 * what was written.
 */
export function readHead(name: string, bytes: Uint8Array, kind: Kind, position: number): Head {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const magic = decoder.decode(bytes.subarray(FRAME_HEADER + 4, FRAME_HEADER + 4 + MAGIC[kind].length))
  const header = headerAt(bytes, 0, NO_SALT)
  const intact = bytes.length === HEAD_SIZE && header?.length === HEAD_SIZE - FRAME_HEADER && isIntact(bytes)
  if (!intact) throw damaged(`${name} does not begin as it was written`)
  if (magic !== MAGIC[kind]) throw new StateStoreError('format', `${name} is no ${kind} of a state store`)
  const format = view.getUint32(FRAME_HEADER)
  if (format < OLDEST_FORMAT || format > FORMAT) {
    throw new StateStoreError(
      'format',
      `${name} has format ${format}, and this version knows ${OLDEST_FORMAT} to ${FORMAT}; nothing was changed`,
    )
  }
  if (header.number !== position) throw damaged(`${name} is the file of another position`)
  return { format, salt: format < FIRST_SALTED_FORMAT ? NO_SALT : bytes.slice(HEAD_SIZE - SALT_SIZE) }
}
