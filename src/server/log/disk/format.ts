import { randomFillSync, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { StateStoreError } from '../../../core/util/errors.js'
import { damaged } from '../errors.js'

/** Before each frame: its length, its number, and a checksum of both and of what it holds. */
export const FRAME_HEADER = 16

/**
 * Eight random bytes of a file, with which the numbers in its frames are masked (XOR). A client cannot know them, so that
 * nothing it stores in a value can pass for a frame.
 */
export type Salt = Uint8Array

const SALT_SIZE = 8
const NUMBER_AT = 4
const SUM_AT = 12

/** Of files whose numbers are not masked. */
export const NO_SALT: Salt = new Uint8Array(SALT_SIZE)

/** The salt of a new file. */
const newSalt = (): Salt => randomFillSync(new Uint8Array(SALT_SIZE))

/** Fills in the header of a frame whose first bytes were left for it. */
export function seal(frame: Uint8Array, number: number, salt: Salt): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  view.setUint32(0, frame.length - FRAME_HEADER)
  view.setFloat64(NUMBER_AT, number)
  mask(frame, salt)
  view.setUint32(SUM_AT, checksum(frame))
  return frame
}

/** What a frame that begins at a place says, as far as its header goes. */
interface FrameHeader {
  /** Of what it holds, bytes. */
  readonly length: number
  readonly number: number
}

/** The header at a place, `undefined` where there are too few bytes. */
export function headerAt(bytes: Uint8Array, at: number, salt: Salt): FrameHeader | undefined {
  if (bytes.length - at < FRAME_HEADER) return undefined
  const header = bytes.slice(at, at + FRAME_HEADER)
  mask(header, salt)
  const view = new DataView(header.buffer)
  return { length: view.getUint32(0), number: view.getFloat64(NUMBER_AT) }
}

/** The salt with which a header would have this number. */
export function saltOf(header: Uint8Array, number: number): Salt {
  const plain = new Uint8Array(FRAME_HEADER)
  new DataView(plain.buffer).setFloat64(NUMBER_AT, number)
  mask(plain, header.subarray(NUMBER_AT, NUMBER_AT + SALT_SIZE))
  return plain.slice(NUMBER_AT, NUMBER_AT + SALT_SIZE)
}

/** Whether a whole frame is what was written. */
export function isIntact(frame: Uint8Array): boolean {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  return view.getUint32(SUM_AT) === checksum(frame)
}

function mask(header: Uint8Array, salt: Salt): void {
  for (let i = 0; i < SALT_SIZE; i++) header[NUMBER_AT + i] = (header[NUMBER_AT + i] ?? 0) ^ (salt[i] ?? 0)
}

const checksum = (frame: Uint8Array): number => crc32(frame.subarray(FRAME_HEADER), crc32(frame.subarray(0, SUM_AT)))

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
interface Head {
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

/** Says up to which position entries were committed. */
export const encodeCommitMark = (position: number): Uint8Array => seal(new Uint8Array(FRAME_HEADER), position, NO_SALT)

/** The position of a mark, `undefined` when it is not what was written. */
export function decodeCommitMark(bytes: Uint8Array): number | undefined {
  if (bytes.length !== FRAME_HEADER || !isIntact(bytes)) return undefined
  const header = headerAt(bytes, 0, NO_SALT)
  return header?.length === 0 ? header.number : undefined
}
