import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { compileRequestGlob } from '../../core/protocol/parse-command.js'
import { utf8 } from '../../core/util/bytes.js'
import { checkArgument } from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'
import { type Checked, checkValues, choice, type OptionEntry, text, texts } from '../../core/util/options.js'
import type { SharedLog } from '../log/cluster/settings.js'
import { requestsPersistence, type VolatileRule } from '../service/request-processor.js'

/** The storage options that `serve` and `attach` share. */
export interface StorageOptions {
  /**
   * The directory for the data of this store only, created if necessary. A write is acknowledged after it is flushed to
   * disk, and a restart recovers all acknowledged writes. Without a directory, which is the default, all data is lost
   * when the process ends.
   */
  readonly data?: string | undefined
  /**
   * The keys that survive a restart of a store with `data`: `all` (default), `none`, or `keys`. `keys` means the keys
   * that match {@link persistKeys} or were set with the user property `aio-persistence: true`.
   */
  readonly persist?: 'all' | 'none' | 'keys' | undefined
  /** The globs of keys for `persist: 'keys'`, with the syntax of a scan. Default: none. */
  readonly persistKeys?: readonly string[] | undefined
  /**
   * A log shared by several nodes of one store, to use instead of `data`. Create the log with `jetStreamLog` of
   * `rx-statestore/jetstream`. This store is then a node, which has all keys and acknowledges a write as soon as a
   * quorum has the write. Default: none.
   */
  readonly log?: SharedLog | undefined
  /** Called repeatedly while the storage opens, with the bytes read of `data` or the entries read of `log`. */
  readonly onProgress?: ((progress: RecoveryProgress) => void) | undefined
}

/** The kinds, defaults and help texts of the options with plain values. */
export const STORAGE_OPTIONS = {
  data: { kind: text('<dir>'), help: 'directory for all data; created if necessary', isCommon: true },
  persist: {
    kind: choice('<which>', ['all', 'none', 'keys']),
    default: 'all',
    help: 'with --data: which keys survive a restart',
  },
  persistKeys: {
    kind: texts('<glob>', 'a list of globs'),
    flag: '--persist-key',
    help: 'with --persist keys: keys that survive, besides those set with aio-persistence; repeatable',
  },
} satisfies Partial<Record<keyof StorageOptions, OptionEntry<unknown>>>

/** The opening progress, in directory bytes or log entries. */
export interface RecoveryProgress {
  readonly read: number
  readonly of: number
}

export type CheckedStorage = Checked<StorageOptions, 'log'>

/** Validates the options and applies the defaults. Throws {@link ArgumentError} for an invalid option. */
export function checkStorage(options: StorageOptions): CheckedStorage {
  checkValues(STORAGE_OPTIONS, options)
  const { data = '', persist = 'all', persistKeys = [], onProgress = () => undefined, log } = options
  checkLog(log, options)
  if (options.data !== undefined) checkDirectoryPath(options.data)
  const unused = (['persist', 'persistKeys'] as const).find(name => options[name] !== undefined)
  if (data === '' && unused !== undefined)
    throw new ArgumentError(`Expected \`data\` together with \`${unused}\`, got none`)
  checkArgument(
    persistKeys.length === 0 || persist === 'keys',
    '`persist` to be `keys` together with `persistKeys`',
    persist,
  )
  return { data, persist, persistKeys, log, onProgress }
}

/** Throws {@link ArgumentError} for an empty path, which would resolve to the working directory. */
export function checkDirectoryPath(path: string): void {
  if (path === '') throw new ArgumentError('Expected `data` to be the path of a directory, got ``')
}

/** Throws {@link ArgumentError} if a log is invalid or combined with another storage option. */
function checkLog(log: SharedLog | undefined, options: Pick<StorageOptions, 'data' | 'persist' | 'persistKeys'>): void {
  if (log === undefined) return
  checkArgument(
    typeof log === 'object' && log !== null && typeof log.connect === 'function',
    '`log` to be created by `jetStreamLog`',
    log,
  )
  const other = (['data', 'persist', 'persistKeys'] as const).find(name => options[name] !== undefined)
  if (other !== undefined) throw new ArgumentError(`Expected \`log\` or \`${other}\`, got both`)
}

const MAX_DEFAULT_BYTES = 1024 ** 3

/**
 * Returns the default limit on the stored data in bytes, which is the least of 1 GiB, half of Node's heap limit
 * (`--max-old-space-size`), and a quarter of the machine's or container's memory. The remaining memory is for other
 * data and for the garbage collector.
 */
export function defaultMaxBytes(): number {
  // Without a limit on memory, Node returns 0 or a very large number.
  const memoryBytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  return Math.floor(Math.min(MAX_DEFAULT_BYTES, getHeapStatistics().heap_size_limit / 2, memoryBytes / 4))
}

/** Returns a rule for the keys that do not survive a restart, or `undefined` if all keys survive. */
export function volatileRule({
  persist,
  persistKeys,
}: Pick<CheckedStorage, 'persist' | 'persistKeys'>): VolatileRule | undefined {
  if (persist === 'all') return undefined
  if (persist === 'none') return () => true
  const patterns = persistKeys.map(pattern => compileRequestGlob(utf8(pattern)))
  return (key, userProperties) => !requestsPersistence(userProperties) && !patterns.some(({ matches }) => matches(key))
}
