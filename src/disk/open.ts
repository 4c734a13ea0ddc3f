import { Engine, type EngineOptions } from '../engine/engine.js'
import type { Entry } from '../engine/entry.js'
import { DiskLog, type LogPlace, type LogSizes } from './disk-log.js'
import type { Files, OpenFile } from './files.js'
import { FORMAT, HEAD_SIZE, head, MARK, nameOf } from './format.js'
import { markOf } from './mark.js'
import { type LogTail, type Progress, type Recovered, recover } from './recovery.js'
import { writeState } from './state-file.js'

/** An engine as it was left, and the log that goes on. */
export interface OpenedLog<C> {
  readonly engine: Engine<C>
  readonly log: DiskLog
}

export interface OpenOptions extends EngineOptions {
  /** Store wall time, ms. */
  readonly now: () => number
  readonly progress?: (progress: Progress) => void
  /** Hears of what does not keep the log from going on. */
  readonly troubled: (trouble: unknown) => void
  /** Milliseconds that never go backwards: how long a flush takes decides how the next one is done. */
  readonly monotonic: () => number
  readonly sizes?: Partial<LogSizes>
  /** The directory was taken from a process that may still run; see {@link DirectoryLock.isForced}. Default not. */
  readonly isForced?: boolean
}

/**
 * Opens the directory of a store: reads it back, deletes what expired meanwhile and what was not to outlive the process,
 * and goes on. Raises `damaged`, `format`, or the system's error.
 */
export async function openLog<C>(files: Files, options: OpenOptions): Promise<OpenedLog<C>> {
  const recovered = await recover<C>(files, options, options.progress)
  const { engine } = recovered
  const place = await continueLog(files, recovered)
  const { isForced = false, monotonic, troubled, sizes } = options
  const log = new DiskLog(
    files,
    { ...place, owed: place.owed || isForced },
    { capture: () => engine.capture(), monotonic, troubled },
    sizes,
  )
  // Before anything can write a state, which removes them as well.
  for (const name of recovered.leftovers) await files.remove(name)
  await begin(engine, log, options.now())
  return { engine, log }
}

/** Forgets all that a directory holds, in one step. */
export async function emptyLog(files: Files): Promise<void> {
  const { position, marked } = await recover(files, {})
  if (position === 0) return
  const log = await newLog(files, nameOf('log', position), position)
  await log.close()
  const mark = await markFile(files, Math.max(position, marked))
  await mark.close()
  await writeState(files, new Engine().capture(), position)
}

async function continueLog<C>(
  files: Files,
  { position, base, tail, torn, marked, stateSize }: Recovered<C>,
): Promise<LogPlace> {
  const mark = await markFile(files, Math.max(position, marked))
  if (tail === undefined || tail.at === 0) {
    const file = await newLog(files, nameOf('log', position), position)
    return { file, mark, at: HEAD_SIZE, reserved: HEAD_SIZE, position, stateSize, owed: false }
  }
  const { name, at, size } = tail
  const known = { mark, position, stateSize, owed: tail.from > base }
  const file = await files.open(name, true)
  await renew(file, tail)
  if (torn === 0) return { ...known, file, at, reserved: size }
  await file.truncate(at)
  await file.flush()
  return { ...known, file, at, reserved: at }
}

/** An older version must not take what comes for what it knows: it is told to keep its hands off. */
async function renew(file: OpenFile, { from, format }: LogTail): Promise<void> {
  if (format === FORMAT) return
  await file.write(head('log', from), 0)
  await file.flush()
}

async function newLog(files: Files, name: string, position: number): Promise<OpenFile> {
  const file = await files.create(name)
  await file.write(head('log', position), 0)
  await file.flush()
  await files.flush()
  return file
}

async function markFile(files: Files, position: number): Promise<OpenFile> {
  const names = await files.list()
  const file = names.includes(MARK) ? await files.open(MARK, true) : await files.create(MARK)
  await file.write(markOf(position), 0)
  await file.flush()
  await files.flush()
  return file
}

function begin<C>(engine: Engine<C>, log: DiskLog, now: number): Promise<void> {
  const silent = { expired: () => undefined, answered: () => undefined, loaded: () => undefined }
  const entry: Entry = { time: now, ...engine.room, commands: [{ type: 'start' }] }
  return new Promise((resolve, reject) => {
    log.listen({
      committed: () => {
        engine.apply(entry, silent)
        resolve()
      },
      rejected: (_, failure) => reject(failure),
    })
    log.append(entry)
  })
}
