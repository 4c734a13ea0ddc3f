import { randomFillSync, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { StateStoreError } from '../../../core/util/errors.js'
import { damagedError } from '../errors.js'

/**
 * The size of each frame's header, which holds the frame's length, its number, and a checksum of both and of the
 * payload.
 */
export const FRAME_HEADER_BYTES = 16

/**
 * Eight random bytes per file that mask the frame numbers (XOR). A client cannot know these bytes, so no stored value
 * can imitate a frame.
 */
export type Salt = Uint8Array

const SALT_BYTES = 8
const NUMBER_OFFSET = 4
const CHECKSUM_OFFSET = 12

/** The salt of files whose frame numbers are not masked. */
export const NO_SALT: Salt = new Uint8Array(SALT_BYTES)

const newSalt = (): Salt => randomFillSync(new Uint8Array(SALT_BYTES))

/** Fills in a frame's header, whose first bytes are reserved for the header. */
export function sealFrame(frame: Uint8Array, number: number, salt: Salt): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  view.setUint32(0, frame.length - FRAME_HEADER_BYTES)
  view.setFloat64(NUMBER_OFFSET, number)
  maskNumber(frame, salt)
  view.setUint32(CHECKSUM_OFFSET, checksum(frame))
  return frame
}

interface FrameHeader {
  /** The length of the payload in bytes. */
  readonly length: number
  readonly number: number
}

/** Reads the frame header at an offset. Returns `undefined` if there are too few bytes. */
export function readFrameHeader(bytes: Uint8Array, offset: number, salt: Salt): FrameHeader | undefined {
  if (bytes.length - offset < FRAME_HEADER_BYTES) return undefined
  const header = bytes.slice(offset, offset + FRAME_HEADER_BYTES)
  maskNumber(header, salt)
  const view = new DataView(header.buffer)
  return { length: view.getUint32(0), number: view.getFloat64(NUMBER_OFFSET) }
}

export function deriveSalt(header: Uint8Array, number: number): Salt {
  const plain = new Uint8Array(FRAME_HEADER_BYTES)
  new DataView(plain.buffer).setFloat64(NUMBER_OFFSET, number)
  maskNumber(plain, header.subarray(NUMBER_OFFSET, NUMBER_OFFSET + SALT_BYTES))
  return plain.slice(NUMBER_OFFSET, NUMBER_OFFSET + SALT_BYTES)
}

/** Returns whether the checksum of a whole frame is correct. */
export function isIntact(frame: Uint8Array): boolean {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  return view.getUint32(CHECKSUM_OFFSET) === checksum(frame)
}

function maskNumber(header: Uint8Array, salt: Salt): void {
  for (let i = 0; i < SALT_BYTES; i++) header[NUMBER_OFFSET + i] = (header[NUMBER_OFFSET + i] ?? 0) ^ (salt[i] ?? 0)
}

const checksum = (frame: Uint8Array): number =>
  crc32(frame.subarray(FRAME_HEADER_BYTES), crc32(frame.subarray(0, CHECKSUM_OFFSET)))

/** The format that this version writes. It increases with each change that older versions cannot read. */
export const CURRENT_FORMAT = 3
/** The oldest format that this version can read. Format 1 has no key owners, and format 2 has no salt. */
const OLDEST_FORMAT = 1
const FIRST_SALTED_FORMAT = 3

export const LOCK_FILE = 'lock'
export const MARK_FILE = 'mark'
/** The suffix of a file that is still being written. */
export const PARTIAL_SUFFIX = '.part'

/** Returns a unique temporary name for a file that will be renamed after it is written. */
export const draftNameOf = (name: string): string => `${name}.${randomUUID()}${PARTIAL_SUFFIX}`

export const CONSOLE_TOKEN_FILE = 'console-token'
/** Exists while another service was active, whose keys the directory may not have. */
export const STANDBY_FILE = 'standby'

/**
 * Returns whether a file holds no store data. Such files are lock files, including temporary files of processes that
 * failed to lock the directory, the console token, and a standby's mark.
 */
export const isNonDataFile = (name: string): boolean =>
  [LOCK_FILE, CONSOLE_TOKEN_FILE, STANDBY_FILE].includes(name) || name.startsWith(`${LOCK_FILE}.`)

export type FileKind = 'log' | 'state'

const MAGIC: Record<FileKind, string> = { log: 'rx-statestore log', state: 'rx-statestore state' }
const DIGITS = 16
/** The size in bytes of the first frame of a file, which identifies the file. */
export const FILE_HEAD_BYTES = FRAME_HEADER_BYTES + 32
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Returns the name of the file with the snapshot at a position, or with the log entries after it. */
export const fileNameOf = (kind: FileKind, position: number): string =>
  `${kind}-${String(position).padStart(DIGITS, '0')}`

/** Parses a file name. Returns `undefined` for a file that is not part of the store. */
export function parseFileName(name: string): { readonly kind: FileKind; readonly position: number } | undefined {
  const [, kind, digits] = /^(log|state)-([0-9]{16})$/.exec(name) ?? []
  const position = Number(digits)
  if ((kind !== 'log' && kind !== 'state') || !Number.isSafeInteger(position)) return undefined
  return { kind, position }
}

/** Creates the first frame of a new file, and the salt for the other frames. */
export function createFileHead(kind: FileKind, position: number): { readonly head: Uint8Array; readonly salt: Salt } {
  const frame = new Uint8Array(FILE_HEAD_BYTES)
  const salt = newSalt()
  new DataView(frame.buffer).setUint32(FRAME_HEADER_BYTES, CURRENT_FORMAT)
  frame.set(encoder.encode(MAGIC[kind]), FRAME_HEADER_BYTES + 4)
  frame.set(salt, FILE_HEAD_BYTES - SALT_BYTES)
  return { head: sealFrame(frame, position, NO_SALT), salt }
}

interface FileHead {
  readonly format: number
  readonly salt: Salt
}

/**
 * Reads the head of a file. Throws `format` for a file of another program or a newer version, and `damaged` if the head
 * is corrupt.
 */
export function readFileHead(name: string, bytes: Uint8Array, kind: FileKind, position: number): FileHead {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const magic = decoder.decode(bytes.subarray(FRAME_HEADER_BYTES + 4, FRAME_HEADER_BYTES + 4 + MAGIC[kind].length))
  const header = readFrameHeader(bytes, 0, NO_SALT)
  const isWhole =
    bytes.length === FILE_HEAD_BYTES && header?.length === FILE_HEAD_BYTES - FRAME_HEADER_BYTES && isIntact(bytes)
  if (!isWhole) throw damagedError(`the head of ${name} is corrupt`)
  if (magic !== MAGIC[kind]) throw new StateStoreError('format', `${name} is not a ${kind} file of a state store`)
  const format = view.getUint32(FRAME_HEADER_BYTES)
  if (format < OLDEST_FORMAT || format > CURRENT_FORMAT) {
    throw new StateStoreError(
      'format',
      `${name} has format ${format}, but this version supports ${OLDEST_FORMAT} to ${CURRENT_FORMAT}; nothing was changed`,
    )
  }
  if (header.number !== position) throw damagedError(`the head of ${name} names another position`)
  return { format, salt: format < FIRST_SALTED_FORMAT ? NO_SALT : bytes.slice(FILE_HEAD_BYTES - SALT_BYTES) }
}

export const encodeCommitMark = (position: number): Uint8Array =>
  sealFrame(new Uint8Array(FRAME_HEADER_BYTES), position, NO_SALT)

/** Decodes a commit mark. Returns `undefined` if the mark is damaged. */
export function decodeCommitMark(bytes: Uint8Array): number | undefined {
  if (bytes.length !== FRAME_HEADER_BYTES || !isIntact(bytes)) return undefined
  const header = readFrameHeader(bytes, 0, NO_SALT)
  return header?.length === 0 ? header.number : undefined
}
