import { Engine, type EngineOptions } from '../../engine/engine.js'
import type { LogEntry } from '../../engine/entry.js'
import type { State } from '../../engine/records.js'
import type { LogFailure } from '../log.js'
import { DiskLog, type LogSizes, type ResumeState } from './disk-log.js'
import type { Files, OpenFile } from './files.js'
import {
  CURRENT_FORMAT,
  createFileHead,
  draftNameOf,
  encodeCommitMark,
  FILE_HEAD_BYTES,
  fileNameOf,
  MARK_FILE,
} from './format.js'
import { type LogTail, type ReadProgress, type Recovered, recover } from './recovery.js'
import { writeSnapshot } from './snapshots.js'

export interface OpenedLog<C> {
  readonly engine: Engine<C>
  readonly log: DiskLog
  /** The files in the directory that do not belong to the store, which are ignored. */
  readonly strays: readonly string[]
  /**
   * Set if the disk was full at the start. The store then serves reads, and keys that should have been deleted at the
   * start remain until there is space.
   */
  readonly failure: LogFailure | undefined
}

export interface OpenOptions extends EngineOptions, TakeoverOptions {
  /** Returns the store's wall time in ms. */
  readonly now: () => number
  readonly progress?: (progress: ReadProgress) => void
  /** Called with errors that do not stop the log. */
  readonly onError: (trouble: unknown) => void
  /** Returns the monotonic time in ms. The duration of a flush decides how the next flush is done. */
  readonly monotonic: () => number
  readonly sizes?: Partial<LogSizes>
}

/** The way in which a directory was taken over. */
export interface TakeoverOptions {
  /**
   * Whether the directory was taken from a process that may still run. See {@link DirectoryLock.isForced}. Default:
   * `false`.
   */
  readonly isForced?: boolean
  /** Runs a task that needs little space, with a reserve if necessary. */
  readonly withReserve?: <T>(task: () => Promise<T>) => Promise<T>
}

/**
 * Opens a store directory. Recovers its state, deletes keys that have expired or do not outlive their process, and
 * resumes the log. Rejects with `damaged`, `format`, or a system error.
 */
export async function openLog<C>(files: Files, options: OpenOptions): Promise<OpenedLog<C>> {
  const recovered = await recover<C>(files, options, options.progress)
  const { engine, strays } = recovered
  const resumed = await resumeFrom(files, recovered, options)
  const { monotonic, onError, sizes } = options
  const host = {
    capture: () => engine.capture(),
    estimateStateBytes: () => engine.stateSize,
    monotonic,
    reportError: onError,
  }
  const log = new DiskLog(files, resumed, host, sizes)
  const failure = await closeOnError(log, async () => appendStart(engine, log, options.now()))
  return { engine, log, strays, failure }
}

/** Deletes a directory's content in one atomic step. */
export async function eraseLog(files: Files, takeover: TakeoverOptions = {}): Promise<void> {
  const recovered = await recover(files, {})
  if (recovered.position === 0) return
  const { file, mark, position } = await resumeFrom(files, recovered, takeover)
  await file.close()
  await mark.close()
  const log = await createLogFile(files, position)
  await log.file.close()
  await writeSnapshot(files, new Engine().capture(), position)
}

/**
 * Creates a log that starts with a state in an empty directory. The mark is written last, so an incomplete directory is
 * rejected when it is opened.
 */
export async function createLog(files: Files, state: State, position: number): Promise<void> {
  await writeSnapshot(files, state, position)
  const { file } = await createLogFile(files, position)
  await file.close()
  const mark = await openMarkFile(files, position)
  await mark.close()
}

async function resumeFrom<C>(
  files: Files,
  recovered: Recovered<C>,
  { isForced = false, withReserve = async task => task() }: TakeoverOptions,
): Promise<ResumeState> {
  // The obsolete files are removed first, because a former owner may be about to rename one of them. The flush ensures
  // that the recovered data is durable without these files.
  if (recovered.obsoleteFiles.length > 0) await files.flush()
  for (const name of recovered.obsoleteFiles) await files.remove(name)
  return isForced ? withReserve(async () => resumeFenced(files, recovered)) : resumeInPlace(files, recovered)
}

/**
 * Resumes in files that no former owner has open: a new log that starts where the last one ends, and a new mark. Data
 * that a former owner still writes lies after that end, in a log that is read only up to that position.
 */
async function resumeFenced<C>(
  files: Files,
  { position, markedPosition, tail, snapshotBytes }: Recovered<C>,
): Promise<ResumeState> {
  if (tail !== undefined && tail.endOffset > 0) {
    const file = await files.open(tail.name, true)
    await rewriteLastFrame(file, tail).finally(async () => file.close())
  }
  // A new mark is created, because the former owner may still write the old mark. The new mark must not be ahead of the
  // logs.
  const mark = await replaceFile(files, MARK_FILE, encodeCommitMark(Math.max(position, markedPosition)))
  const { head, salt } = createFileHead('log', position)
  const file = await closeOnError(mark, async () => replaceFile(files, fileNameOf('log', position), head))
  return {
    mark,
    position,
    snapshotBytes,
    isSnapshotOwed: true,
    file,
    salt,
    endOffset: FILE_HEAD_BYTES,
    preallocatedEnd: FILE_HEAD_BYTES,
  }
}

/** Runs a task, and closes the file if it fails. */
async function closeOnError<T>(file: Pick<OpenFile, 'close'>, task: () => Promise<T>): Promise<T> {
  try {
    return await task()
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Replaces a file atomically. After a failure, the next start cleans up. */
async function replaceFile(files: Files, name: string, bytes: Uint8Array): Promise<OpenFile> {
  const draft = draftNameOf(name)
  const file = await files.create(draft)
  return closeOnError(file, async () => {
    await file.write(bytes, 0)
    await file.flush()
    await files.rename(draft, name)
    await files.flush()
    return file
  })
}

/**
 * Resumes in the existing log. The data just read may be only in the page cache, if the previous process was killed
 * before its flush or the flush failed. So all data is flushed before the store relies on it, the log before the mark.
 */
async function resumeInPlace<C>(files: Files, recovered: Recovered<C>): Promise<ResumeState> {
  const { position, basePosition, tail, tornBytes, markedPosition, snapshotBytes } = recovered
  const hasLog = tail !== undefined && tail.endOffset > 0
  const file = hasLog ? await flushTail(files, tail, tornBytes) : undefined
  const openMark = async (): Promise<OpenFile> => openMarkFile(files, Math.max(position, markedPosition))
  const mark = await (file === undefined ? openMark() : closeOnError(file, openMark))
  const createNext = async (): Promise<LogFile> => closeOnError(mark, async () => createLogFile(files, position))
  const resumed = {
    mark,
    position,
    snapshotBytes,
    isSnapshotOwed: tail !== undefined && tail.startPosition > basePosition,
  }
  if (file === undefined || !hasLog) return { ...resumed, ...(await createNext()) }
  const { endOffset, fileBytes, salt, format } = tail
  if (format === CURRENT_FORMAT)
    return { ...resumed, file, salt, endOffset, preallocatedEnd: tornBytes === 0 ? fileBytes : endOffset }
  // The store starts a new log in the new format, so that an older version does not misread entries of this format.
  await file.close()
  return { ...resumed, ...(await createNext()), isSnapshotOwed: true }
}

/** Flushes the last frame by rewriting it, and truncates uncommitted bytes. */
async function flushTail(files: Files, tail: LogTail, tornBytes: number): Promise<OpenFile> {
  const file = await files.open(tail.name, true)
  return closeOnError(file, async () => {
    if (tornBytes > 0) await file.truncate(tail.endOffset)
    await rewriteLastFrame(file, tail)
    return file
  })
}

async function rewriteLastFrame(file: OpenFile, { lastFrame }: LogTail): Promise<void> {
  await file.write(await file.read(lastFrame.offset, lastFrame.length), lastFrame.offset)
  await file.flush()
}

type LogFile = Pick<ResumeState, 'file' | 'salt' | 'endOffset' | 'preallocatedEnd'>

async function createLogFile(files: Files, position: number): Promise<LogFile> {
  const file = await files.create(fileNameOf('log', position))
  return closeOnError(file, async () => {
    const { head, salt } = createFileHead('log', position)
    await file.write(head, 0)
    await file.flush()
    await files.flush()
    return { file, salt, endOffset: FILE_HEAD_BYTES, preallocatedEnd: FILE_HEAD_BYTES }
  })
}

async function openMarkFile(files: Files, position: number): Promise<OpenFile> {
  const names = await files.list()
  const file = names.includes(MARK_FILE) ? await files.open(MARK_FILE, true) : await files.create(MARK_FILE)
  return closeOnError(file, async () => {
    await file.write(encodeCommitMark(position), 0)
    await file.flush()
    await files.flush()
    return file
  })
}

/**
 * Appends and applies the start entry. Resolves with the failure if the disk is full, and rejects with any other
 * failure.
 */
function appendStart<C>(engine: Engine<C>, log: DiskLog, now: number): Promise<LogFailure | undefined> {
  const entry: LogEntry = { time: now, ...engine.limits, commands: [{ type: 'start' }] }
  return new Promise((resolve, reject) => {
    log.listen({
      onCommitted: () => {
        engine.replay(entry)
        resolve(undefined)
      },
      onRejected: (_, failure) => {
        if (failure.problem !== 'full') {
          reject(failure)
          return
        }
        log.deferStart(entry)
        resolve(failure)
      },
    })
    log.append(entry, true)
  })
}
