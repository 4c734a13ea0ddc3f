import { fromBinaryString, toBinaryString } from '../../../core/util/bytes.js'
import { StateStoreError } from '../../../core/util/errors.js'
import type { LogEntry } from '../../engine/entry.js'
import type { State } from '../../engine/records.js'
import { decodeEntry, keysInEntry } from '../entry-codec.js'
import { decodeBlock } from '../state-codec.js'
import type { Files, OpenFile } from './files.js'
import {
  decodeCommitMark,
  FRAME_HEADER,
  fileOf,
  HEAD_SIZE,
  headerAt,
  isIntact,
  type Kind,
  MARK,
  NO_SALT,
  nameOf,
  readHead,
  type Salt,
  saltOf,
} from './format.js'
import { FrameReader, nextWritten, plainly, searchSalt } from './frame-reader.js'
import { namesIn, type Progress } from './recovery.js'
import { type DependentWrite, Replay, SalvagedState } from './replay.js'

/** Some bytes of a file. */
export interface Extent {
  readonly file: string
  readonly at: number
  readonly bytes: number
}

/** What is left out of a recovered directory. */
export type Omission =
  /** Entries whose frames are damaged, or not there at all. */
  | {
      readonly type: 'entries'
      readonly first: number
      readonly last: number
      readonly extent: Extent | undefined
      /** As far as damaged bytes can be read: perhaps not all, and perhaps not as they were. */
      readonly keys: readonly Uint8Array[]
    }
  /** Records of a snapshot; `extent` is `undefined` when the whole file is missing. */
  | {
      readonly type: 'records'
      readonly file: string
      readonly extent: Extent | undefined
      readonly keys: readonly Uint8Array[]
    }
  /** Replies to the last writes, by which a repeated request is recognised. */
  | { readonly type: 'replies'; readonly file: string }
  /** A write that is intact, but depends on what is missing. */
  | ({ readonly type: 'write'; readonly position: number } & DependentWrite)

/** What can be proven of a directory. */
export interface Salvaged {
  /** @param now - wall time of versions that are given anew, ms */
  readonly capture: (now: number) => State
  readonly keys: number
  /** Of the last entry that was ever committed, as far as the directory knows. */
  readonly position: number
  /** Entries that were applied. */
  readonly entries: number
  readonly omissions: readonly Omission[]
  /** Keys of the snapshot that are lost; `undefined` when it does not say how many it had. */
  readonly lostKeys: number | undefined
  /** What was being written when the process ended, and was never acknowledged, bytes. */
  readonly torn: number
  /** Whether it is known up to where entries were committed: without that, the end of the log may be missing. */
  readonly isEndKnown: boolean
  readonly strays: readonly string[]
}

/** Longer damage is not searched for keys, bytes. */
const MAX_NAMED = 16 * 1024 * 1024

/**
 * Reads all that is intact in a directory, without changing it. Raises `format` when it is none of a store or of another
 * version.
 */
export async function salvage(
  files: Files,
  progress: (progress: Progress) => void = () => undefined,
): Promise<Salvaged> {
  const { names, strays } = await namesIn(files)
  const marked = names.includes(MARK)
    ? await withFile(files, MARK, async file => decodeCommitMark(await file.read(0, 64)))
    : undefined
  const [states, logs] = [positionsOf(names, 'state'), positionsOf(names, 'log')]
  let best: Omit<Salvaged, 'strays'> | undefined
  // An older snapshot may still be there, with all entries since.
  for (const base of new Set([...[...states].reverse(), logs[0] ?? 0])) {
    const attempt = new Attempt(files, { states, logs, marked: marked ?? 0 }, progress)
    const found = { ...(await attempt.from(base)), isEndKnown: marked !== undefined }
    if (best === undefined || found.omissions.length < best.omissions.length) best = found
    if (best.omissions.length === 0) break
  }
  if (best === undefined) throw new StateStoreError('format', 'there is neither a log nor a snapshot of a state store')
  return { ...best, strays }
}

const positionsOf = (names: readonly string[], kind: Kind): number[] =>
  names.flatMap(name => {
    const file = fileOf(name)
    return file?.kind === kind ? [file.position] : []
  })

interface Found {
  readonly states: readonly number[]
  readonly logs: readonly number[]
  readonly marked: number
}

/** One reading of a directory, from one of its snapshots on. */
class Attempt {
  readonly #files: Files
  readonly #found: Found
  readonly #progress: (progress: Progress) => void
  readonly #replay = new Replay()
  readonly #omissions: Omission[] = []
  #position = 0
  #entries = 0
  #lostKeys: number | undefined = 0
  /** Behind the last intact frame of the log before. */
  #tail: { readonly extent: Extent; readonly keys: readonly Uint8Array[] } | undefined
  #read = 0
  #of = 0

  constructor(files: Files, found: Found, progress: (progress: Progress) => void) {
    this.#files = files
    this.#found = found
    this.#progress = progress
  }

  async from(base: number): Promise<Omit<Salvaged, 'strays' | 'isEndKnown'>> {
    const { states, logs, marked } = this.#found
    const behind = logs.filter(from => from >= base)
    const read = [...behind.map(from => nameOf('log', from)), ...(states.includes(base) ? [nameOf('state', base)] : [])]
    for (const name of read) this.#of += await withFile(this.#files, name, async file => file.size())
    this.#position = base
    if (states.includes(base)) await this.#snapshot(base)
    else if (base > 0) this.#noSnapshot(base)
    for (const [index, from] of behind.entries()) {
      // It was begun, and given up again.
      if (from < this.#position) continue
      this.#skipTo(from)
      const limit = await nextWritten(this.#files, behind.slice(index + 1))
      await withFile(this.#files, nameOf('log', from), async file => this.#log(from, limit, file))
    }
    const torn = this.#position < marked ? 0 : (this.#tail?.extent.bytes ?? 0)
    this.#skipTo(marked)
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

  #noSnapshot(base: number): void {
    this.#omissions.push({ type: 'records', file: nameOf('state', base), extent: undefined, keys: [] })
    this.#lostKeys = undefined
    this.#replay.gap()
  }

  async #snapshot(position: number): Promise<void> {
    const name = nameOf('state', position)
    await withFile(this.#files, name, async file => {
      const salt = await saltIn(file, name, 'state', position)
      const state = new SalvagedState(this.#replay.engine.stateLoader)
      const source = await FrameReader.of(file, HEAD_SIZE, salt ?? NO_SALT)
      let number = 0
      while (salt !== undefined && !state.isEnded) {
        const block = await source.next(number)
        if (block !== undefined) {
          state.take(block)
          this.#tell(block.length)
          number++
          continue
        }
        const { at, size } = source
        const found = await source.seek(number - 1, size)
        const to = typeof found === 'number' ? source.at : size
        await this.#lostBlocks(file, { name, at, to, first: number, salt }, state)
        if (typeof found !== 'number') break
        number = found
      }
      if (salt === undefined) {
        this.#omissions.push({
          type: 'records',
          file: name,
          extent: { file: name, at: 0, bytes: source.size },
          keys: [],
        })
      }
      const { hasReplies, lostKeys } = state.resume()
      this.#lostKeys = lostKeys
      if (!hasReplies) this.#omissions.push({ type: 'replies', file: name })
      if (lostKeys !== 0) this.#replay.gap(state.ids)
      else if (!hasReplies) this.#replay.gap('all')
    })
  }

  async #lostBlocks(
    file: OpenFile,
    { name, at, to, first, salt }: { name: string; at: number; to: number; first: number; salt: Salt },
    state: SalvagedState,
  ): Promise<void> {
    if (state.isComplete) return
    const keys = await keysIn(file, { at, to, first, salt }, recordKeys)
    this.#omissions.push({ type: 'records', file: name, extent: { file: name, at, bytes: to - at }, keys })
  }

  /** @param limit - where another log goes on */
  async #log(from: number, limit: number, file: OpenFile): Promise<void> {
    const name = nameOf('log', from)
    this.#tail = undefined
    const written = await (await FrameReader.of(file, 0, NO_SALT)).end()
    const salt = (await saltIn(file, name, 'log', from)) ?? (await this.#searchedSalt(file, from, written))
    if (salt === undefined) {
      if (written > 0) this.#tail = { extent: { file: name, at: 0, bytes: written }, keys: [] }
      return
    }
    const source = await FrameReader.of(file, HEAD_SIZE, salt)
    while (this.#position < limit) {
      const bytes = await source.next(this.#position + 1)
      if (bytes !== undefined) {
        this.#entry(name, source.last.at, bytes)
        continue
      }
      const { at } = source
      if (at >= written) return
      const first = this.#position + 1
      const found = await source.seek(this.#position, written)
      const to = typeof found === 'number' ? source.at : written
      const keys = await keysIn(file, { at, to, first, salt }, keysInEntry)
      this.#tail = { extent: { file: name, at, bytes: to - at }, keys }
      if (typeof found !== 'number' || found > limit) return
      this.#skipTo(found - 1)
      this.#tail = undefined
    }
  }

  /** The mark is about the last log alone. */
  async #searchedSalt(file: OpenFile, from: number, written: number): Promise<Salt | undefined> {
    const { logs, marked } = this.#found
    return from === logs.at(-1) && marked > from ? searchSalt(file, written, marked) : undefined
  }

  #entry(file: string, at: number, bytes: Uint8Array): void {
    this.#tell(bytes.length)
    const entry = entryOf(bytes)
    if (entry === undefined) {
      this.#tail = { extent: { file, at, bytes: FRAME_HEADER + bytes.length }, keys: [] }
      this.#skipTo(this.#position + 1)
      this.#tail = undefined
      return
    }
    this.#position++
    this.#entries++
    for (const write of this.#replay.apply(entry)) {
      this.#omissions.push({ type: 'write', position: this.#position, ...write })
    }
  }

  /** Entries up to a position are missing, unless they were read. */
  #skipTo(position: number): void {
    if (position <= this.#position) return
    this.#omissions.push({
      type: 'entries',
      first: this.#position + 1,
      last: position,
      extent: this.#tail?.extent,
      keys: this.#tail?.keys ?? [],
    })
    this.#replay.gap()
    this.#position = position
  }

  #tell(bytes: number): void {
    this.#read += bytes
    this.#progress({ read: this.#read, of: this.#of })
  }
}

/** The salt of a file, also when its head is damaged: the number of its first frame is known. */
async function saltIn(file: OpenFile, name: string, kind: Kind, position: number): Promise<Salt | undefined> {
  try {
    return readHead(name, await file.read(0, HEAD_SIZE), kind, position).salt
  } catch (error) {
    if (!(error instanceof StateStoreError) || error.code !== 'damaged') throw error
  }
  const header = await file.read(HEAD_SIZE, FRAME_HEADER)
  const plain = headerAt(header, 0, NO_SALT)
  if (plain === undefined || plain.length > (await file.size())) return undefined
  const frame = await file.read(HEAD_SIZE, FRAME_HEADER + plain.length)
  if (frame.length !== FRAME_HEADER + plain.length || !isIntact(frame)) return undefined
  return plainly(saltOf(header, kind === 'log' ? position + 1 : 0))
}

function entryOf(bytes: Uint8Array): LogEntry | undefined {
  try {
    return decodeEntry(bytes)
  } catch {
    return undefined
  }
}

interface Damage {
  readonly at: number
  readonly to: number
  /** Number of the first frame. */
  readonly first: number
  readonly salt: Salt
}

/** The keys in damaged frames, as far as they can be read. */
async function keysIn(
  file: OpenFile,
  { at, to, first, salt }: Damage,
  keysOf: (payload: Uint8Array) => Iterable<Uint8Array>,
): Promise<readonly Uint8Array[]> {
  const bytes = await file.read(at, Math.min(to - at, MAX_NAMED))
  const keys = new Map<string, Uint8Array>()
  let place = 0
  for (let number = first; ; number++) {
    const header = headerAt(bytes, place, salt)
    const end = place + FRAME_HEADER + (header?.length ?? 0)
    if (header?.number !== number || end > bytes.length) break
    try {
      for (const key of keysOf(bytes.subarray(place + FRAME_HEADER, end))) keys.set(toBinaryString(key), key)
    } catch {
      // What follows is damaged.
    }
    place = end
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
