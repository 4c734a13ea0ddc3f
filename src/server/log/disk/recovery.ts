import { reason, StateStoreError } from '../../../core/util/errors.js'
import { Engine, type EngineOptions } from '../../engine/engine.js'
import type { StateLoader } from '../../engine/records.js'
import { decodeEntry } from '../entry-codec.js'
import { damagedError } from '../errors.js'
import { StateDecoder } from '../state-codec.js'
import type { Files, OpenFile } from './files.js'
import {
  CURRENT_FORMAT,
  decodeCommitMark,
  FILE_HEAD_BYTES,
  type FileKind,
  fileNameOf,
  isNonDataFile,
  MARK_FILE,
  NO_SALT,
  PARTIAL_SUFFIX,
  parseFileName,
  readFileHead,
  type Salt,
} from './format.js'
import { type FrameLocation, FrameReader, nextLogWithEntries } from './frame-reader.js'

export interface ReadProgress {
  /** The number of bytes read, and the total number of bytes. */
  readonly read: number
  readonly of: number
}

export interface LogTail {
  readonly name: string
  readonly startPosition: number
  /** The offset of the next frame, or 0 if not even the head was flushed. */
  readonly endOffset: number
  /** The last frame, which may be only in the page cache. */
  readonly lastFrame: FrameLocation
  readonly fileBytes: number
  readonly format: number
  readonly salt: Salt
}

export interface Recovered<C> {
  readonly engine: Engine<C>
  /** The position of the last entry. */
  readonly position: number
  /** The snapshot's position. */
  readonly basePosition: number
  /** The position up to which entries were committed, according to the commit mark. */
  readonly markedPosition: number
  /** The number of entries after the snapshot. */
  readonly entries: number
  readonly keys: number
  /** The log to resume, or `undefined` if there is none. */
  readonly tail: LogTail | undefined
  /** The number of bytes that were written but never committed. */
  readonly tornBytes: number
  readonly snapshotBytes: number
  /** The files that the snapshot superseded, or that were abandoned. */
  readonly obsoleteFiles: readonly string[]
  /** The files that do not belong to the store, which are ignored. */
  readonly strays: readonly string[]
}

/** The directory that ext file systems create at their root. A mount point is usable as a data directory despite it. */
const LOST_AND_FOUND = 'lost+found'

/** Returns whether a directory is empty or holds only the files that a store creates first. */
export const isFresh = (names: readonly string[]): boolean =>
  names.every(
    name => isNonDataFile(name) || name === MARK_FILE || name.startsWith(`${MARK_FILE}.`) || name === LOST_AND_FOUND,
  )

/**
 * Recovers a directory without changing it. Rejects with `damaged` if committed entries are missing or corrupt, and
 * with `format` if the directory belongs to another program or version.
 */
export async function recover<C>(
  files: Files,
  options: EngineOptions,
  progress: (progress: ReadProgress) => void = () => undefined,
): Promise<Recovered<C>> {
  try {
    return await readAll(files, options, progress)
  } catch (cause) {
    if (!(cause instanceof StateStoreError) || cause.code !== 'damaged') throw cause
    throw damagedError(
      `${cause.message}; nothing was changed: restore a backup, or save the intact part with \`rx-statestore recover\``,
      { cause },
    )
  }
}

async function readAll<C>(
  files: Files,
  options: EngineOptions,
  progress: (progress: ReadProgress) => void,
): Promise<Recovered<C>> {
  const { names, strays } = await listFiles(files)
  const markedPosition = await readMark(files, names)
  const sizes = await fileSizes(files, names)
  const reader = new DirectoryReader(files, sizes, progress)
  const positions = positionsOf(names, 'state')
  const basePosition = positions.at(-1) ?? 0
  const engine = new Engine<C>(options)
  const keys = positions.length === 0 ? 0 : await reader.readState(basePosition, engine.stateLoader)
  const tail = await reader.readLogs(engine, basePosition, positionsOf(names, 'log'))
  if (tail.position < markedPosition) {
    throw damagedError(
      `entries up to ${markedPosition} were committed, but the log ends at ${tail.position}: the entries between are lost`,
    )
  }
  const isObsolete = (name: string): boolean =>
    name.endsWith(PARTIAL_SUFFIX) || (parseFileName(name)?.position ?? basePosition) < basePosition
  const olderFiles = names.filter(name => !isNonDataFile(name) && isObsolete(name))
  const snapshotBytes = sizes.get(fileNameOf('state', basePosition)) ?? 0
  return {
    engine,
    basePosition,
    markedPosition,
    keys,
    snapshotBytes,
    ...tail,
    obsoleteFiles: [...olderFiles, ...tail.obsoleteFiles],
    strays,
  }
}

/**
 * Separates the files of a store from other files. Rejects with `format` if there are only other files, because the
 * directory is then probably the wrong one.
 */
export async function listFiles(files: Files): Promise<{ names: readonly string[]; strays: readonly string[] }> {
  const all = await files.list()
  const isStoreFile = (name: string): boolean =>
    name === MARK_FILE || name.endsWith(PARTIAL_SUFFIX) || parseFileName(name) !== undefined
  const isKnown = (name: string): boolean => isStoreFile(name) || isNonDataFile(name) || name === LOST_AND_FOUND
  const strays = all.filter(name => !isKnown(name))
  const [stray] = strays
  if (stray !== undefined && !all.some(isStoreFile)) {
    throw new StateStoreError(
      'format',
      `the directory contains ${JSON.stringify(stray)} but no file of a state store; nothing was changed: check the path`,
    )
  }
  return { names: all.filter(isKnown), strays }
}

async function readMark(files: Files, names: readonly string[]): Promise<number> {
  if (!names.includes(MARK_FILE)) {
    if (isFresh(names)) return 0
    throw damagedError('the commit mark (file "mark") is missing')
  }
  const file = await files.open(MARK_FILE, false)
  try {
    const markedPosition = decodeCommitMark(await file.read(0, 64))
    if (markedPosition === undefined && !isFresh(names)) throw damagedError('the commit mark (file "mark") is damaged')
    return markedPosition ?? 0
  } finally {
    await file.close()
  }
}

const positionsOf = (names: readonly string[], kind: FileKind): number[] =>
  names.flatMap(name => {
    const file = parseFileName(name)
    return file?.kind === kind ? [file.position] : []
  })

async function fileSizes(files: Files, names: readonly string[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  for (const name of names) {
    if (parseFileName(name) === undefined) continue
    const file = await files.open(name, false)
    sizes.set(name, await file.size())
    await file.close()
  }
  return sizes
}

type Tail = Pick<Recovered<never>, 'position' | 'entries' | 'tail' | 'tornBytes' | 'obsoleteFiles'>

interface LogRange {
  readonly name: string
  readonly startPosition: number
  /**
   * The position at which the next log starts. A former owner may have written further entries, but never acknowledged
   * them.
   */
  readonly endPosition: number
  /** The position of the last entry applied so far. */
  readonly appliedPosition: number
}

class DirectoryReader {
  readonly #files: Files
  readonly #progress: (progress: ReadProgress) => void
  readonly #totalBytes: number
  #readBytes = 0

  constructor(files: Files, sizes: ReadonlyMap<string, number>, progress: (progress: ReadProgress) => void) {
    this.#files = files
    this.#progress = progress
    this.#totalBytes = Array.from(sizes.values()).reduce((sum, size) => sum + size, 0)
  }

  /** Restores the snapshot at a position. Returns the number of keys in the snapshot. */
  async readState(position: number, loader: StateLoader): Promise<number> {
    const name = fileNameOf('state', position)
    return this.#withFile(name, async file => {
      const { salt } = readFileHead(name, await file.read(0, FILE_HEAD_BYTES), 'state', position)
      const frames = await FrameReader.open(file, FILE_HEAD_BYTES, salt)
      const decoder = new StateDecoder(loader)
      for (let number = 0; !decoder.isComplete; number++) {
        const block = await frames.readFrame(number)
        if (block === undefined) throw damagedError(`${name} is damaged at byte ${frames.offset}`)
        decoder.addBlock(block)
        this.#reportProgress(block.length)
      }
      if (frames.offset !== frames.size) throw damagedError(`${name} has bytes after its last block`)
      return decoder.keyCount
    })
  }

  /** Applies the entries after the snapshot. */
  async readLogs<C>(engine: Engine<C>, basePosition: number, positions: readonly number[]): Promise<Tail> {
    const obsoleteFiles: string[] = []
    let [position, entries, tornBytes] = [basePosition, 0, 0]
    let tail: Tail['tail']
    const logsAfterBase = positions.filter(startPosition => startPosition >= basePosition)
    for (const [index, startPosition] of logsAfterBase.entries()) {
      const name = fileNameOf('log', startPosition)
      const endPosition = await nextLogWithEntries(this.#files, logsAfterBase.slice(index + 1))
      const end = await this.#withFile(name, async file =>
        this.#readLog(engine, { name, startPosition, endPosition, appliedPosition: position }, file),
      )
      // The previous log continues past the start of this log, so this log was created but never used.
      if (startPosition > basePosition && startPosition < position && end.position === startPosition) {
        obsoleteFiles.push(name)
        continue
      }
      if (startPosition !== position)
        throw damagedError(`the entries between ${position} and ${startPosition} are missing`)
      entries += end.position - startPosition
      tornBytes = end.tornBytes
      position = end.position
      tail = { name, startPosition, ...end }
    }
    // A log is always created before the snapshot that it follows.
    if (tail === undefined && basePosition > 0) throw damagedError(`${fileNameOf('log', basePosition)} is missing`)
    return { position, entries, tail, tornBytes, obsoleteFiles }
  }

  async #readLog<C>(
    engine: Engine<C>,
    { name, startPosition, endPosition, appliedPosition }: LogRange,
    file: OpenFile,
  ) {
    const head = await file.read(0, FILE_HEAD_BYTES)
    const headReader = await FrameReader.open(file, 0, NO_SALT)
    // The log was still being created. After a power cut, the file may have its length but not its content.
    if (head.length < FILE_HEAD_BYTES || (await headReader.findWrittenEnd()) === 0)
      return {
        position: startPosition,
        endOffset: 0,
        lastFrame: headReader.lastFrame,
        tornBytes: 0,
        fileBytes: headReader.size,
        format: CURRENT_FORMAT,
        salt: NO_SALT,
      }
    const { format, salt } = readFileHead(name, head, 'log', startPosition)
    const frames = await FrameReader.open(file, FILE_HEAD_BYTES, salt)
    let position = startPosition
    while (position < endPosition) {
      const entry = await frames.readFrame(position + 1)
      if (entry === undefined) break
      position++
      // Entries of a log that overlaps a previous log are not applied, and the caller rejects the log.
      if (startPosition === appliedPosition) engine.replay(decodeLogEntry(name, entry))
      this.#reportProgress(entry.length)
    }
    const { offset: endOffset, lastFrame, size: fileBytes } = frames
    if (position === endPosition) return { position, endOffset, lastFrame, tornBytes: 0, fileBytes, format, salt }
    const writtenEnd = await frames.findWrittenEnd()
    // Frames are written one at a time, so an intact later frame proves that this frame was complete.
    if (endOffset < writtenEnd && (await frames.seekFrame(position + 1, writtenEnd)) !== undefined)
      throw damagedError(`${name} is damaged at byte ${endOffset}`)
    return { position, endOffset, lastFrame, tornBytes: writtenEnd - endOffset, fileBytes, format, salt }
  }

  async #withFile<T>(name: string, use: (file: OpenFile) => Promise<T>): Promise<T> {
    const file = await this.#files.open(name, false)
    try {
      return await use(file)
    } finally {
      await file.close()
    }
  }

  #reportProgress(bytes: number): void {
    this.#readBytes += bytes
    this.#progress({ read: this.#readBytes, of: this.#totalBytes })
  }
}

function decodeLogEntry(name: string, bytes: Uint8Array): ReturnType<typeof decodeEntry> {
  try {
    return decodeEntry(bytes)
  } catch (cause) {
    throw damagedError(`${name} contains an unreadable entry: ${reason(cause)}`, { cause })
  }
}
