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

export interface DirectoryReport {
  /** The number of keys, expired keys included. */
  readonly keys: number
  /** The position of the last entry. */
  readonly position: number
  /** The number of entries after the last snapshot, and the number of keys in that snapshot. */
  readonly entries: number
  readonly stateKeys: number
  /** The number of bytes that were being written when the process ended and were never acknowledged. */
  readonly torn: number
  /** The names of files that no store created. A store ignores them. */
  readonly strays: readonly string[]
}

/**
 * Reads every record in the directory of a stopped store without changing the directory. Rejects with `damaged` if
 * acknowledged data is missing or corrupt, `format` if the directory belongs to another program or version, and
 * `in-use` if a store is using the directory.
 */
export async function checkDirectory(
  directory: string,
  progress?: (progress: ReadProgress) => void,
): Promise<DirectoryReport> {
  const { engine, position, entries, keys, tornBytes: torn, strays } = await recoverStopped(directory, progress)
  return { keys: engine.size, position, entries, stateKeys: keys, torn, strays }
}

/**
 * Returns the keys in the directory of a stopped store, one dump line for each key. Rejects as {@link checkDirectory}
 * does.
 */
export async function readDirectory(directory: string): Promise<Iterable<DumpLine>> {
  const { engine } = await recoverStopped(directory)
  return dumpLines(engine)
}

export type { Omission } from '../log/disk/salvage.js'

export type RecoveryReport = Omit<Salvaged, 'capture'>

/**
 * Writes the provable content of a stopped store's directory to another directory, which must be empty or missing. Does
 * not change the source directory. Rejects with `format` if the source belongs to another program or version, `in-use`
 * if a store is using one of the directories, and {@link ArgumentError} if the target has files or lies inside the
 * source.
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
  if (names.length > 0) throw new ArgumentError(`Expected an empty or missing directory, got ${target}`)
}

async function checkUnused(directory: string): Promise<void> {
  await access(directory)
  const holder = await lockOwner(directory)
  if (holder !== undefined)
    throw new StateStoreError(
      'in-use',
      `${holder} holds the directory ${directory}: stop it first, or delete the file \`lock\` if this is a copy`,
    )
}

async function recoverStopped(
  directory: string,
  progress?: (progress: ReadProgress) => void,
): Promise<Recovered<never>> {
  await checkUnused(directory)
  return recover<never>(await directoryFiles(directory), {}, progress)
}

function* dumpLines(engine: Recovered<never>['engine']): Generator<DumpLine, void> {
  for (const [key, record] of engine.records()) yield toDumpLine({ key, ...record })
}
