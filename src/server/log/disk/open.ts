import { Engine, type EngineOptions } from '../../engine/engine.js'
import type { LogEntry } from '../../engine/entry.js'
import type { State } from '../../engine/records.js'
import type { LogFailure } from '../log.js'
import { DiskLog, type LogPlace, type LogSizes } from './disk-log.js'
import type { Files, OpenFile } from './files.js'
import { draftOf, encodeCommitMark, FORMAT, HEAD_SIZE, MARK, nameOf, newHead } from './format.js'
import { type LogTail, type Progress, type Recovered, recover } from './recovery.js'
import { writeSnapshot } from './snapshots.js'

/** An engine as it was left, and the log that goes on. */
export interface OpenedLog<C> {
  readonly engine: Engine<C>
  readonly log: DiskLog
  /** Files in the directory that no store made. They are ignored. */
  readonly strays: readonly string[]
  /** The disk has no room: reads are served, and what the start deletes stays until there is some. */
  readonly failure: LogFailure | undefined
}

export interface OpenOptions extends EngineOptions, Takeover {
  /** Store wall time, ms. */
  readonly now: () => number
  readonly progress?: (progress: Progress) => void
  /** Hears of what does not keep the log from going on. */
  readonly troubled: (trouble: unknown) => void
  /** Milliseconds that never go backwards: how long a flush takes decides how the next one is done. */
  readonly monotonic: () => number
  readonly sizes?: Partial<LogSizes>
}

/** From whom a directory was taken. */
export interface Takeover {
  /** From a process that may still run; see {@link DirectoryLock.isForced}. Default not. */
  readonly isForced?: boolean
  /** Does what needs little room, out of a reserve if need be. */
  readonly withReserve?: <T>(task: () => Promise<T>) => Promise<T>
}

/**
 * Opens the directory of a store: reads it back, deletes what expired meanwhile and what was not to outlive the process,
 * and goes on. Raises `damaged`, `format`, or the system's error.
 */
export async function openLog<C>(files: Files, options: OpenOptions): Promise<OpenedLog<C>> {
  const recovered = await recover<C>(files, options, options.progress)
  const { engine, strays } = recovered
  const place = await continueIn(files, recovered, options)
  const { monotonic, troubled, sizes } = options
  const host = { capture: () => engine.capture(), stateSize: () => engine.stateSize, monotonic, troubled }
  const log = new DiskLog(files, place, host, sizes)
  const failure = await begin(engine, log, options.now())
  return { engine, log, strays, failure }
}

/** Forgets all that a directory holds, in one step. */
export async function emptyLog(files: Files, takeover: Takeover = {}): Promise<void> {
  const recovered = await recover(files, {})
  if (recovered.position === 0) return
  const { file, mark, position } = await continueIn(files, recovered, takeover)
  await file.close()
  await mark.close()
  const log = await newLog(files, position)
  await log.file.close()
  await writeSnapshot(files, new Engine().capture(), position)
}

/** Makes a log that begins with a state, in a directory that is empty. Until it is whole, it is refused for want of a mark. */
export async function createLog(files: Files, state: State, position: number): Promise<void> {
  await writeSnapshot(files, state, position)
  const { file } = await newLog(files, position)
  await file.close()
  const mark = await markFile(files, position)
  await mark.close()
}

async function continueIn<C>(
  files: Files,
  recovered: Recovered<C>,
  { isForced = false, withReserve = async task => task() }: Takeover,
): Promise<LogPlace> {
  // First of all: among them may be what a former owner is about to give a name. What is read is on the disk without them.
  if (recovered.leftovers.length > 0) await files.flush()
  for (const name of recovered.leftovers) await files.remove(name)
  return isForced ? withReserve(async () => fence(files, recovered)) : continueLog(files, recovered)
}

/**
 * Goes on in files that no former owner has opened: a log that begins where the last one ends, and another mark. What a
 * former owner writes from now on lies behind that end, in a log that is read up to there.
 */
async function fence<C>(files: Files, { position, marked, tail, stateSize }: Recovered<C>): Promise<LogPlace> {
  if (tail !== undefined && tail.at > 0) {
    const file = await files.open(tail.name, true)
    await rewriteLast(file, tail).finally(async () => file.close())
  }
  // It must not be ahead of the logs, and the former owner may go on with the old one.
  const mark = await replace(files, MARK, encodeCommitMark(Math.max(position, marked)))
  const { head, salt } = newHead('log', position)
  try {
    const file = await replace(files, nameOf('log', position), head)
    return { mark, position, stateSize, owed: true, file, salt, at: HEAD_SIZE, reserved: HEAD_SIZE }
  } catch (error) {
    await mark.close()
    throw error
  }
}

/** Puts a new file in the place of another one. What is not done is left to the next start. */
async function replace(files: Files, name: string, bytes: Uint8Array): Promise<OpenFile> {
  const draft = draftOf(name)
  const file = await files.create(draft)
  try {
    await file.write(bytes, 0)
    await file.flush()
    await files.rename(draft, name)
    await files.flush()
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/**
 * What was read may be in the memory of the operating system alone: the process before was killed before its flush, or the
 * flush failed. So it is flushed before anything relies on it, the mark first of all.
 */
async function continueLog<C>(files: Files, recovered: Recovered<C>): Promise<LogPlace> {
  const { position, base, tail, torn, marked, stateSize } = recovered
  const isBegun = tail !== undefined && tail.at > 0
  const file = isBegun ? await settle(files, tail, torn) : undefined
  const mark = await markFile(files, Math.max(position, marked))
  const known = { mark, position, stateSize, owed: tail !== undefined && tail.from > base }
  if (file === undefined || !isBegun) return { ...known, ...(await newLog(files, position)) }
  const { at, size, salt, format } = tail
  if (format === FORMAT) return { ...known, file, salt, at, reserved: torn === 0 ? size : at }
  // An older version must not take what comes for what it knows: it finds a log of another format.
  await file.close()
  return { ...known, ...(await newLog(files, position)), owed: true }
}

/** Flushes the last frame, by writing it anew, and cuts off what was never committed. */
async function settle(files: Files, tail: LogTail, torn: number): Promise<OpenFile> {
  const file = await files.open(tail.name, true)
  if (torn > 0) await file.truncate(tail.at)
  await rewriteLast(file, tail)
  return file
}

async function rewriteLast(file: OpenFile, { last }: LogTail): Promise<void> {
  await file.write(await file.read(last.at, last.length), last.at)
  await file.flush()
}

type LogFile = Pick<LogPlace, 'file' | 'salt' | 'at' | 'reserved'>

async function newLog(files: Files, position: number): Promise<LogFile> {
  const file = await files.create(nameOf('log', position))
  const { head, salt } = newHead('log', position)
  await file.write(head, 0)
  await file.flush()
  await files.flush()
  return { file, salt, at: HEAD_SIZE, reserved: HEAD_SIZE }
}

async function markFile(files: Files, position: number): Promise<OpenFile> {
  const names = await files.list()
  const file = names.includes(MARK) ? await files.open(MARK, true) : await files.create(MARK)
  await file.write(encodeCommitMark(position), 0)
  await file.flush()
  await files.flush()
  return file
}

/** Has the start logged and applied; returns why not when the disk is full. Rejects with any other failure. */
function begin<C>(engine: Engine<C>, log: DiskLog, now: number): Promise<LogFailure | undefined> {
  const entry: LogEntry = { time: now, ...engine.limits, commands: [{ type: 'start' }] }
  return new Promise((resolve, reject) => {
    log.listen({
      committed: () => {
        engine.replay(entry)
        resolve(undefined)
      },
      rejected: (_, failure) => {
        if (failure.problem !== 'full') {
          reject(failure)
          return
        }
        log.precede(entry)
        resolve(failure)
      },
    })
    log.append(entry, true)
  })
}
