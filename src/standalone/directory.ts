import { access } from 'node:fs/promises'
import { StateStoreError } from '../base/errors.js'
import { filesOf } from '../disk/files.js'
import { holderOf } from '../disk/lock.js'
import { type Progress, type Recovered, recover } from '../disk/recovery.js'
import { toDumpLine } from '../dump/codec.js'
import type { DumpLine } from '../dump/dump-line.js'

export { CONSOLE_TOKEN } from '../disk/format.js'

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
  progress?: (progress: Progress) => void,
): Promise<DirectoryReport> {
  const { engine, position, entries, keys, torn, strays } = await read(directory, progress)
  return { keys: engine.size, position, entries, stateKeys: keys, torn, strays }
}

/** The keys in the directory of a store that does not run, one line for each; rejects as {@link checkDirectory}. */
export async function readDirectory(directory: string): Promise<Iterable<DumpLine>> {
  const { engine } = await read(directory)
  return linesOf(engine)
}

async function read(directory: string, progress?: (progress: Progress) => void): Promise<Recovered<never>> {
  await access(directory)
  const holder = await holderOf(directory)
  if (holder !== undefined) throw new StateStoreError('in-use', `${holder} has the directory ${directory}`)
  return recover<never>(await filesOf(directory), {}, progress)
}

function* linesOf(engine: Recovered<never>['engine']): Generator<DumpLine, void> {
  for (const [key, record] of engine.records()) yield toDumpLine({ key, ...record })
}
