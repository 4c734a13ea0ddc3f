import { access, readdir } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { ArgumentError, StateStoreError } from '../../core/util/errors.js'
import { type DumpLine, toDumpLine } from '../../node/dump/codec.js'
import { directoryFiles, guardedFiles, hasCode } from '../log/disk/files.js'
import { lockDirectory, lockOwner } from '../log/disk/lock.js'
import { createLog } from '../log/disk/open.js'
import { type ReadProgress, type Recovered, recover } from '../log/disk/recovery.js'
import { type Salvaged, salvage } from '../log/disk/salvage.js'

export { CONSOLE_TOKEN_FILE as CONSOLE_TOKEN } from '../log/disk/format.js'

/** What is found in the directory of a store. */
export interface DirectoryReport {
  /** Keys, with those whose time is over by now. */
  readonly keys: number
  /** Of the last entry. */
  readonly position: number
  /** Entries behind the last state that was written, and the keys of that. */
  readonly entries: number
  readonly stateKeys: number
  /** What was being written when the process ended, and was never answered, bytes. */
  readonly torn: number
  /** Names of files that no store made. A store ignores them. */
  readonly strays: readonly string[]
}

/**
 * Reads every record in the directory of a store that does not run, and changes nothing. Rejects with `damaged` when it is
 * not all that was answered, `format` when it is none of a store or of another version, `in-use` when a store runs there.
 */
export async function checkDirectory(
  directory: string,
  progress?: (progress: ReadProgress) => void,
): Promise<DirectoryReport> {
  const { engine, position, entries, keys, tornBytes: torn, strays } = await read(directory, progress)
  return { keys: engine.size, position, entries, stateKeys: keys, torn, strays }
}

/** The keys in the directory of a store that does not run, one line for each; rejects as {@link checkDirectory}. */
export async function readDirectory(directory: string): Promise<Iterable<DumpLine>> {
  const { engine } = await read(directory)
  return linesOf(engine)
}

export type { Omission } from '../log/disk/salvage.js'

/** A directory that was recovered. */
export type RecoveryReport = Omit<Salvaged, 'capture'>

/**
 * Writes all that can be proven of the directory of a store that does not run into another one, which must be empty or not
 * be there. Changes nothing in the first. Rejects with `format` when it is none of a store or of another version, `in-use`
 * when a store runs in one of them, and {@link ArgumentError} when the second has files or lies in the first.
 *
 * @param now - wall time, ms
 */
export async function recoverDirectory(
  from: string,
  to: string,
  now: number,
  progress?: (progress: ReadProgress) => void,
): Promise<RecoveryReport> {
  const [source, target] = [resolve(from), resolve(to)]
  await checkTarget(source, target)
  await checkUnused(source)
  const { capture, ...report } = await salvage(await directoryFiles(source), progress)
  const lock = await lockDirectory(target)
  try {
    await createLog(guardedFiles(await directoryFiles(target), lock), capture(now), report.position)
  } finally {
    await lock.release()
  }
  return report
}

async function checkTarget(source: string, target: string): Promise<void> {
  if (`${target}${sep}`.startsWith(`${source}${sep}`))
    throw new ArgumentError(`Expected a new directory outside of ${source}, got ${target}`)
  const names = await readdir(target).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  })
  if (names.length > 0) throw new ArgumentError(`Expected a directory that is empty or not there, got ${target}`)
}

async function checkUnused(directory: string): Promise<void> {
  await access(directory)
  const holder = await lockOwner(directory)
  if (holder !== undefined)
    throw new StateStoreError('in-use', `${holder} holds the directory ${directory}: stop it or use another directory`)
}

async function read(directory: string, progress?: (progress: ReadProgress) => void): Promise<Recovered<never>> {
  await checkUnused(directory)
  return recover<never>(await directoryFiles(directory), {}, progress)
}

function* linesOf(engine: Recovered<never>['engine']): Generator<DumpLine, void> {
  for (const [key, record] of engine.records()) yield toDumpLine({ key, ...record })
}
