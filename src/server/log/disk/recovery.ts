import { reason, StateStoreError } from '../../../core/util/errors.js'
import { Engine, type EngineOptions } from '../../engine/engine.js'
import type { StateLoader } from '../../engine/records.js'
import { decodeEntry } from '../entry-codec.js'
import { damaged } from '../errors.js'
import { StateDecoder } from '../state-codec.js'
import type { Files, OpenFile } from './files.js'
import {
  decodeCommitMark,
  FORMAT,
  fileOf,
  HEAD_SIZE,
  isClaim,
  type Kind,
  MARK,
  NO_SALT,
  nameOf,
  readHead,
  type Salt,
  UNFINISHED,
} from './format.js'
import { type FramePlace, FrameReader, nextWritten } from './frame-reader.js'

/** How far the reading of a directory has come. */
export interface Progress {
  /** Bytes that were read, and of how many. */
  readonly read: number
  readonly of: number
}

/** A log that goes on. */
export interface LogTail {
  readonly name: string
  /** Of the state before it. */
  readonly from: number
  /** Where it goes on; 0 when not even its head was flushed. */
  readonly at: number
  /** Its last frame, which may be in the memory of the operating system alone. */
  readonly last: FramePlace
  /** How long its file is, bytes. */
  readonly size: number
  readonly format: number
  readonly salt: Salt
}

/** What a directory holds. */
export interface Recovered<C> {
  readonly engine: Engine<C>
  /** Of the last entry. */
  readonly position: number
  /** Of the state with which its logs begin. */
  readonly base: number
  /** Up to where entries were committed, as far as the directory knows. */
  readonly marked: number
  /** Entries behind the state. */
  readonly entries: number
  /** Keys of the state. */
  readonly keys: number
  /** The log that goes on; `undefined` when there is none yet. */
  readonly tail: LogTail | undefined
  /** What was written but never committed, bytes. */
  readonly torn: number
  /** Of the state, bytes. */
  readonly stateSize: number
  /** Files that nobody needs any more. */
  readonly leftovers: readonly string[]
  /** Files that no store made. They are ignored. */
  readonly strays: readonly string[]
}

/** A disk of its own has this. */
const LOST = 'lost+found'

/** Whether a directory has nothing in it, or nothing but the beginnings of a store. */
export const isFresh = (names: readonly string[]): boolean =>
  names.every(name => isClaim(name) || name === MARK || name.startsWith(`${MARK}.`) || name === LOST)

/**
 * Reads a directory back, without changing it. Raises `damaged` when it is not all that was committed, and `format` when
 * it is none of a store or of another version.
 */
export async function recover<C>(
  files: Files,
  options: EngineOptions,
  progress: (progress: Progress) => void = () => undefined,
): Promise<Recovered<C>> {
  try {
    return await readAll(files, options, progress)
  } catch (cause) {
    if (!(cause instanceof StateStoreError) || cause.code !== 'damaged') throw cause
    throw damaged(
      `${cause.message}; nothing was changed: restore a backup, or save what is intact with \`rx-statestore recover\``,
      { cause },
    )
  }
}

async function readAll<C>(
  files: Files,
  options: EngineOptions,
  progress: (progress: Progress) => void,
): Promise<Recovered<C>> {
  const { names, strays } = await namesIn(files)
  const marked = await readMarkOf(files, names)
  const sizes = await sizesOf(files, names)
  const reading = new Reading(files, sizes, progress)
  const positions = positionsOf(names, 'state')
  const base = positions.at(-1) ?? 0
  const engine = new Engine<C>(options)
  const keys = positions.length === 0 ? 0 : await reading.state(base, engine.stateLoader)
  const tail = await reading.logs(engine, base, positionsOf(names, 'log'))
  if (tail.position < marked) {
    throw damaged(
      `entries up to ${marked} were committed, and the log ends with ${tail.position}: what it held is lost`,
    )
  }
  const isOver = (name: string): boolean => name.endsWith(UNFINISHED) || (fileOf(name)?.position ?? base) < base
  const older = names.filter(name => !isClaim(name) && isOver(name))
  const stateSize = sizes.get(nameOf('state', base)) ?? 0
  return { engine, base, marked, keys, stateSize, ...tail, leftovers: [...older, ...tail.leftovers], strays }
}

/**
 * Lists the files of a store, and those that are none of it. Raises `format` when all are none: then the directory is
 * another one.
 */
export async function namesIn(files: Files): Promise<{ names: readonly string[]; strays: readonly string[] }> {
  const all = await files.list()
  const isOurs = (name: string): boolean => name === MARK || name.endsWith(UNFINISHED) || fileOf(name) !== undefined
  const isKnown = (name: string): boolean => isOurs(name) || isClaim(name) || name === LOST
  const strays = all.filter(name => !isKnown(name))
  const [stray] = strays
  if (stray !== undefined && !all.some(isOurs)) {
    throw new StateStoreError(
      'format',
      `there is a file ${JSON.stringify(stray)}, and none of a state store; nothing was changed`,
    )
  }
  return { names: all.filter(isKnown), strays }
}

async function readMarkOf(files: Files, names: readonly string[]): Promise<number> {
  if (!names.includes(MARK)) {
    if (isFresh(names)) return 0
    throw damaged('the file that says what was committed ("mark") is missing')
  }
  const file = await files.open(MARK, false)
  try {
    const marked = decodeCommitMark(await file.read(0, 64))
    if (marked === undefined && !isFresh(names))
      throw damaged('the file that says what was committed ("mark") is damaged')
    return marked ?? 0
  } finally {
    await file.close()
  }
}

const positionsOf = (names: readonly string[], kind: Kind): number[] =>
  names.flatMap(name => {
    const file = fileOf(name)
    return file?.kind === kind ? [file.position] : []
  })

async function sizesOf(files: Files, names: readonly string[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  for (const name of names) {
    if (fileOf(name) === undefined) continue
    const file = await files.open(name, false)
    sizes.set(name, await file.size())
    await file.close()
  }
  return sizes
}

type Tail = Pick<Recovered<never>, 'position' | 'entries' | 'tail' | 'torn' | 'leftovers'>

/** What of a log counts. */
interface LogExtent {
  readonly name: string
  readonly from: number
  /** Another log goes on there. What a former owner wrote behind that, it did not acknowledge. */
  readonly limit: number
  /** How far entries are applied. */
  readonly applied: number
}

class Reading {
  readonly #files: Files
  readonly #progress: (progress: Progress) => void
  readonly #of: number
  #read = 0

  constructor(files: Files, sizes: ReadonlyMap<string, number>, progress: (progress: Progress) => void) {
    this.#files = files
    this.#progress = progress
    this.#of = Array.from(sizes.values()).reduce((sum, size) => sum + size, 0)
  }

  /** Has the state at a position taken; returns the number of its keys. */
  async state(position: number, taker: StateLoader): Promise<number> {
    const name = nameOf('state', position)
    return this.#with(name, async file => {
      const { salt } = readHead(name, await file.read(0, HEAD_SIZE), 'state', position)
      const source = await FrameReader.of(file, HEAD_SIZE, salt)
      const decoder = new StateDecoder(taker)
      for (let number = 0; !decoder.ended; number++) {
        const block = await source.next(number)
        if (block === undefined) throw damaged(`${name} is damaged at byte ${source.at}`)
        decoder.take(block)
        this.#tell(block.length)
      }
      if (source.at !== source.size) throw damaged(`${name} is longer than what was written`)
      return decoder.keys
    })
  }

  /** Applies the entries behind a position. */
  async logs<C>(engine: Engine<C>, base: number, bases: readonly number[]): Promise<Tail> {
    const leftovers: string[] = []
    let [position, entries, torn] = [base, 0, 0]
    let tail: Tail['tail']
    const behind = bases.filter(from => from >= base)
    for (const [index, from] of behind.entries()) {
      const name = nameOf('log', from)
      const limit = await nextWritten(this.#files, behind.slice(index + 1))
      const end = await this.#with(name, async file =>
        this.#log(engine, { name, from, limit, applied: position }, file),
      )
      // It was begun, and given up again.
      if (from > base && from < position && end.position === from) {
        leftovers.push(name)
        continue
      }
      if (from !== position) throw damaged(`the entries between ${position} and ${from} are missing`)
      entries += end.position - from
      torn = end.torn
      position = end.position
      tail = { name, from, ...end }
    }
    // A log is there before its state is.
    if (tail === undefined && base > 0) throw damaged(`${nameOf('log', base)} is missing`)
    return { position, entries, tail, torn, leftovers }
  }

  async #log<C>(engine: Engine<C>, { name, from, limit, applied }: LogExtent, file: OpenFile) {
    const head = await file.read(0, HEAD_SIZE)
    const unborn = await FrameReader.of(file, 0, NO_SALT)
    // It was about to be made: a power cut may leave its length without what was written.
    if (head.length < HEAD_SIZE || (await unborn.end()) === 0)
      return { position: from, at: 0, last: unborn.last, torn: 0, size: unborn.size, format: FORMAT, salt: NO_SALT }
    const { format, salt } = readHead(name, head, 'log', from)
    const source = await FrameReader.of(file, HEAD_SIZE, salt)
    let position = from
    while (position < limit) {
      const entry = await source.next(position + 1)
      if (entry === undefined) break
      position++
      // One that lies behind another log is not to be there at all.
      if (from === applied) engine.replay(entryOf(name, entry))
      this.#tell(entry.length)
    }
    const { at, last, size } = source
    if (position === limit) return { position, at, last, torn: 0, size, format, salt }
    const written = await source.end()
    // One frame is written at a time: one behind it says that this one was whole.
    if (at < written && (await source.seek(position + 1, written)) !== undefined)
      throw damaged(`${name} is damaged at byte ${at}`)
    return { position, at, last, torn: written - at, size, format, salt }
  }

  async #with<T>(name: string, use: (file: OpenFile) => Promise<T>): Promise<T> {
    const file = await this.#files.open(name, false)
    try {
      return await use(file)
    } finally {
      await file.close()
    }
  }

  #tell(bytes: number): void {
    this.#read += bytes
    this.#progress({ read: this.#read, of: this.#of })
  }
}

function entryOf(name: string, bytes: Uint8Array): ReturnType<typeof decodeEntry> {
  try {
    return decodeEntry(bytes)
  } catch (cause) {
    throw damaged(`${name} has an entry that cannot be read: ${reason(cause)}`, { cause })
  }
}
