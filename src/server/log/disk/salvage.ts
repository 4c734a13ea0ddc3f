import { fromBinaryString, toBinaryString } from '../../../core/util/bytes.js'
import { StateStoreError } from '../../../core/util/errors.js'
import type { LogEntry } from '../../engine/entry.js'
import type { State } from '../../engine/records.js'
import { decodeEntry, keysInEntry } from '../entry-codec.js'
import { decodeBlock } from '../state-codec.js'
import type { Files, OpenFile } from './files.js'
import {
  decodeCommitMark,
  deriveSalt,
  FILE_HEAD_BYTES,
  type FileKind,
  FRAME_HEADER_BYTES,
  fileNameOf,
  isIntact,
  MARK_FILE,
  NO_SALT,
  parseFileName,
  readFileHead,
  readFrameHeader,
  type Salt,
} from './format.js'
import { FrameReader, nextLogWithEntries, normalizeSalt, searchSalt } from './frame-reader.js'
import { listFiles, type ReadProgress } from './recovery.js'
import { type DependentWrite, Replay, SalvagedState } from './replay.js'

export interface Extent {
  readonly file: string
  readonly at: number
  readonly bytes: number
}

/** Data missing from a recovered directory. */
export type Omission =
  /** Entries whose frames are damaged or missing. */
  | {
      readonly type: 'entries'
      readonly first: number
      readonly last: number
      readonly extent: Extent | undefined
      /** The keys that are readable in damaged bytes, and which may be incomplete or wrong. */
      readonly keys: readonly Uint8Array[]
    }
  /** Records of a snapshot. `extent` is `undefined` if the whole file is missing. */
  | {
      readonly type: 'records'
      readonly file: string
      readonly extent: Extent | undefined
      readonly keys: readonly Uint8Array[]
    }
  /** The replies to the last writes, which identify repeated requests. */
  | { readonly type: 'replies'; readonly file: string }
  /** An intact write that depends on missing entries. */
  | ({ readonly type: 'write'; readonly position: number } & DependentWrite)

/** The provable content of a directory. */
export interface Salvaged {
  /**
   * Captures the state.
   *
   * @param now - wall time of new versions, ms
   */
  readonly capture: (now: number) => State
  readonly keys: number
  /** The position of the last entry that was ever committed, as far as the directory shows. */
  readonly position: number
  readonly entries: number
  readonly omissions: readonly Omission[]
  /** The number of keys lost from the snapshot, or `undefined` if its key count is lost as well. */
  readonly lostKeys: number | undefined
  /** The number of bytes that were being written when the process ended and were never acknowledged. */
  readonly torn: number
  /** Whether the commit mark is intact. Without the mark, entries may be missing unnoticed at the end of the log. */
  readonly isEndKnown: boolean
  readonly strays: readonly string[]
}

/** The number of bytes of a damaged range that are searched for keys. */
const MAX_KEY_SEARCH_BYTES = 16 * 1024 * 1024

/**
 * Reads all intact data in a directory without changing the directory. Rejects with `format` if the directory belongs
 * to another program or version.
 */
export async function salvage(
  files: Files,
  progress: (progress: ReadProgress) => void = () => undefined,
): Promise<Salvaged> {
  const { names, strays } = await listFiles(files)
  const markedPosition = names.includes(MARK_FILE)
    ? await withFile(files, MARK_FILE, async file => decodeCommitMark(await file.read(0, 64)))
    : undefined
  const [states, logs] = [positionsOf(names, 'state'), positionsOf(names, 'log')]
  let best: Omit<Salvaged, 'strays'> | undefined
  // An older snapshot may still exist together with all entries after it.
  for (const basePosition of new Set([...[...states].reverse(), logs[0] ?? 0])) {
    const attempt = new SalvageAttempt(files, { states, logs, markedPosition: markedPosition ?? 0 }, progress)
    const found = { ...(await attempt.run(basePosition)), isEndKnown: markedPosition !== undefined }
    if (best === undefined || found.omissions.length < best.omissions.length) best = found
    if (best.omissions.length === 0) break
  }
  if (best === undefined)
    throw new StateStoreError(
      'format',
      'the directory contains neither a log nor a snapshot of a state store: check the path',
    )
  return { ...best, strays }
}

const positionsOf = (names: readonly string[], kind: FileKind): number[] =>
  names.flatMap(name => {
    const file = parseFileName(name)
    return file?.kind === kind ? [file.position] : []
  })

interface FoundFiles {
  readonly states: readonly number[]
  readonly logs: readonly number[]
  readonly markedPosition: number
}

/** One pass over a directory that starts at one of its snapshots. */
class SalvageAttempt {
  readonly #files: Files
  readonly #found: FoundFiles
  readonly #progress: (progress: ReadProgress) => void
  readonly #replay = new Replay()
  readonly #omissions: Omission[] = []
  #position = 0
  #entries = 0
  #lostKeys: number | undefined = 0
  /** The damaged range after the last intact frame of the previous log. */
  #damage: { readonly extent: Extent; readonly keys: readonly Uint8Array[] } | undefined
  #readBytes = 0
  #totalBytes = 0

  constructor(files: Files, found: FoundFiles, progress: (progress: ReadProgress) => void) {
    this.#files = files
    this.#found = found
    this.#progress = progress
  }

  async run(basePosition: number): Promise<Omit<Salvaged, 'strays' | 'isEndKnown'>> {
    const { states, logs, markedPosition } = this.#found
    const logsAfterBase = logs.filter(from => from >= basePosition)
    const fileNames = [
      ...logsAfterBase.map(from => fileNameOf('log', from)),
      ...(states.includes(basePosition) ? [fileNameOf('state', basePosition)] : []),
    ]
    for (const name of fileNames) this.#totalBytes += await withFile(this.#files, name, async file => file.size())
    this.#position = basePosition
    if (states.includes(basePosition)) await this.#readSnapshot(basePosition)
    else if (basePosition > 0) this.#omitSnapshot(basePosition)
    for (const [index, from] of logsAfterBase.entries()) {
      // The previous log continues past the start of this log, so this log was created but never used.
      if (from < this.#position) continue
      this.#omitEntriesTo(from)
      const limit = await nextLogWithEntries(this.#files, logsAfterBase.slice(index + 1))
      await withFile(this.#files, fileNameOf('log', from), async file => this.#readLog(from, limit, file))
    }
    const torn = this.#position < markedPosition ? 0 : (this.#damage?.extent.bytes ?? 0)
    this.#omitEntriesTo(markedPosition)
    return {
      capture: now => this.#replay.capture(now),
      keys: this.#replay.engine.size,
      position: this.#position,
      entries: this.#entries,
      omissions: this.#omissions,
      lostKeys: this.#lostKeys,
      torn,
    }
  }

  #omitSnapshot(basePosition: number): void {
    this.#omissions.push({ type: 'records', file: fileNameOf('state', basePosition), extent: undefined, keys: [] })
    this.#lostKeys = undefined
    this.#replay.addGap()
  }

  async #readSnapshot(position: number): Promise<void> {
    const name = fileNameOf('state', position)
    await withFile(this.#files, name, async file => {
      const salt = await findSalt(file, name, 'state', position)
      const state = new SalvagedState(this.#replay.engine.stateLoader)
      const frames = await FrameReader.open(file, FILE_HEAD_BYTES, salt ?? NO_SALT)
      let number = 0
      while (salt !== undefined && !state.isEnded) {
        const block = await frames.readFrame(number)
        if (block !== undefined) {
          state.addBlock(block)
          this.#reportProgress(block.length)
          number++
          continue
        }
        const { offset: at, size } = frames
        const found = await frames.seekFrame(number - 1, size)
        const to = typeof found === 'number' ? frames.offset : size
        await this.#omitBlocks(file, { name, at, to, first: number, salt }, state)
        if (typeof found !== 'number') break
        number = found
      }
      if (salt === undefined) {
        this.#omissions.push({
          type: 'records',
          file: name,
          extent: { file: name, at: 0, bytes: frames.size },
          keys: [],
        })
      }
      const { hasReplies, lostKeys } = state.resume()
      this.#lostKeys = lostKeys
      if (!hasReplies) this.#omissions.push({ type: 'replies', file: name })
      if (lostKeys !== 0) this.#replay.addGap(state.ids)
      else if (!hasReplies) this.#replay.addGap('all')
    })
  }

  async #omitBlocks(
    file: OpenFile,
    { name, at, to, first, salt }: { name: string; at: number; to: number; first: number; salt: Salt },
    state: SalvagedState,
  ): Promise<void> {
    if (state.isComplete) return
    const keys = await findKeys(file, { at, to, first, salt }, recordKeys)
    this.#omissions.push({ type: 'records', file: name, extent: { file: name, at, bytes: to - at }, keys })
  }

  /** @param limit - position at which the next log starts */
  async #readLog(from: number, limit: number, file: OpenFile): Promise<void> {
    const name = fileNameOf('log', from)
    this.#damage = undefined
    const writtenEnd = await (await FrameReader.open(file, 0, NO_SALT)).findWrittenEnd()
    const salt = (await findSalt(file, name, 'log', from)) ?? (await this.#searchSalt(file, from, writtenEnd))
    if (salt === undefined) {
      if (writtenEnd > 0) this.#damage = { extent: { file: name, at: 0, bytes: writtenEnd }, keys: [] }
      return
    }
    const frames = await FrameReader.open(file, FILE_HEAD_BYTES, salt)
    while (this.#position < limit) {
      const bytes = await frames.readFrame(this.#position + 1)
      if (bytes !== undefined) {
        this.#applyEntry(name, frames.lastFrame.offset, bytes)
        continue
      }
      const { offset: at } = frames
      if (at >= writtenEnd) return
      const first = this.#position + 1
      const found = await frames.seekFrame(this.#position, writtenEnd)
      const to = typeof found === 'number' ? frames.offset : writtenEnd
      const keys = await findKeys(file, { at, to, first, salt }, keysInEntry)
      this.#damage = { extent: { file: name, at, bytes: to - at }, keys }
      if (typeof found !== 'number' || found > limit) return
      this.#omitEntriesTo(found - 1)
      this.#damage = undefined
    }
  }

  /** Searches the salt of the last log. The commit mark belongs only to that log. */
  async #searchSalt(file: OpenFile, from: number, writtenEnd: number): Promise<Salt | undefined> {
    const { logs, markedPosition } = this.#found
    return from === logs.at(-1) && markedPosition > from ? searchSalt(file, writtenEnd, markedPosition) : undefined
  }

  #applyEntry(file: string, at: number, bytes: Uint8Array): void {
    this.#reportProgress(bytes.length)
    const entry = tryDecodeEntry(bytes)
    if (entry === undefined) {
      this.#damage = { extent: { file, at, bytes: FRAME_HEADER_BYTES + bytes.length }, keys: [] }
      this.#omitEntriesTo(this.#position + 1)
      this.#damage = undefined
      return
    }
    this.#position++
    this.#entries++
    for (const write of this.#replay.apply(entry)) {
      this.#omissions.push({ type: 'write', position: this.#position, ...write })
    }
  }

  /** Records the entries up to a position as missing unless they were read. */
  #omitEntriesTo(position: number): void {
    if (position <= this.#position) return
    this.#omissions.push({
      type: 'entries',
      first: this.#position + 1,
      last: position,
      extent: this.#damage?.extent,
      keys: this.#damage?.keys ?? [],
    })
    this.#replay.addGap()
    this.#position = position
  }

  #reportProgress(bytes: number): void {
    this.#readBytes += bytes
    this.#progress({ read: this.#readBytes, of: this.#totalBytes })
  }
}

/** Finds the salt of a file even if its head is damaged, by means of the known number of the first frame. */
async function findSalt(file: OpenFile, name: string, kind: FileKind, position: number): Promise<Salt | undefined> {
  try {
    return readFileHead(name, await file.read(0, FILE_HEAD_BYTES), kind, position).salt
  } catch (error) {
    if (!(error instanceof StateStoreError) || error.code !== 'damaged') throw error
  }
  const header = await file.read(FILE_HEAD_BYTES, FRAME_HEADER_BYTES)
  const plain = readFrameHeader(header, 0, NO_SALT)
  if (plain === undefined || plain.length > (await file.size())) return undefined
  const frame = await file.read(FILE_HEAD_BYTES, FRAME_HEADER_BYTES + plain.length)
  if (frame.length !== FRAME_HEADER_BYTES + plain.length || !isIntact(frame)) return undefined
  return normalizeSalt(deriveSalt(header, kind === 'log' ? position + 1 : 0))
}

function tryDecodeEntry(bytes: Uint8Array): LogEntry | undefined {
  try {
    return decodeEntry(bytes)
  } catch {
    return undefined
  }
}

interface Damage {
  readonly at: number
  readonly to: number
  readonly first: number
  readonly salt: Salt
}

async function findKeys(
  file: OpenFile,
  { at, to, first, salt }: Damage,
  keysOf: (payload: Uint8Array) => Iterable<Uint8Array>,
): Promise<readonly Uint8Array[]> {
  const bytes = await file.read(at, Math.min(to - at, MAX_KEY_SEARCH_BYTES))
  const keys = new Map<string, Uint8Array>()
  let offset = 0
  for (let number = first; ; number++) {
    const header = readFrameHeader(bytes, offset, salt)
    const end = offset + FRAME_HEADER_BYTES + (header?.length ?? 0)
    if (header?.number !== number || end > bytes.length) break
    try {
      for (const key of keysOf(bytes.subarray(offset + FRAME_HEADER_BYTES, end))) keys.set(toBinaryString(key), key)
    } catch {
      // The remaining bytes of this frame are damaged.
    }
    offset = end
  }
  return [...keys.values()]
}

function* recordKeys(payload: Uint8Array): Generator<Uint8Array, void> {
  const block = decodeBlock(payload)
  if (block.kind === 'records') for (const { id } of block.records) yield fromBinaryString(id)
}

async function withFile<T>(files: Files, name: string, use: (file: OpenFile) => Promise<T>): Promise<T> {
  const file = await files.open(name, false)
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}
