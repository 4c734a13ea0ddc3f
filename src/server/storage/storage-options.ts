import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { compileGlob } from '../../core/protocol/parse-command.js'
import { utf8 } from '../../core/util/bytes.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import { type Checked, checkValues, choice, type OptionEntry, text, texts } from '../../core/util/options.js'
import type { SharedLog } from '../log/cluster/settings.js'
import { requestsPersistence, type VolatileRule } from '../service/request-processor.js'

/** What a store keeps, and where; the same for `serve` and `attach`. */
export interface StorageOptions {
  /**
   * Directory in which all is kept, for this store alone; it is made if need be. A write is answered when it has been
   * flushed to the disk, and a start reads back what was answered. Default: none, all is lost with the process.
   */
  readonly data?: string | undefined
  /**
   * With `data`, which keys are there after a restart: `all` (default), `none`, or `keys`: those of {@link persistKeys}, and
   * those that were set with the user property `aio-persistence: true`.
   */
  readonly persist?: 'all' | 'none' | 'keys' | undefined
  /** Globs of keys as for a scan, with `persist: 'keys'`. Default none. */
  readonly persistKeys?: readonly string[] | undefined
  /**
   * A log that several nodes of one store share, in place of `data`: `jetStreamLog` of `rx-statestore/jetstream` makes one.
   * Then this store is a node: it has the keys of all, and answers a write when a quorum has it. Default: none.
   */
  readonly log?: SharedLog | undefined
  /** Hears how far the reading of `data` has come, in bytes, or of `log`, in entries, over and over while it opens. */
  readonly onProgress?: ((progress: RecoveryProgress) => void) | undefined
}

/** Those of them that are plain values: what they may be, are without, and are for. */
export const STORAGE_OPTIONS = {
  data: { kind: text('<dir>'), help: 'directory to keep everything in; made if need be' },
  persist: {
    kind: choice('<which>', ['all', 'none', 'keys']),
    default: 'all',
    help: 'with --data: keys that are there after a restart',
  },
  persistKeys: {
    kind: texts('<glob>', 'a list of globs'),
    flag: '--persist-key',
    help: 'with --persist keys: such keys, and those set with aio-persistence; repeatable',
  },
} satisfies Partial<Record<keyof StorageOptions, OptionEntry<unknown>>>

/** How far the reading of a directory has come, bytes, or that of a log, entries. */
export interface RecoveryProgress {
  readonly read: number
  readonly of: number
}

/** Checked {@link StorageOptions}. */
export type CheckedStorage = Checked<StorageOptions, 'log'>

/** Options with their defaults. Throws {@link ArgumentError}. */
export function checkStorage(options: StorageOptions): CheckedStorage {
  checkValues(STORAGE_OPTIONS, options)
  const { data = '', persist = 'all', persistKeys = [], onProgress = () => undefined, log } = options
  checkLog(log, options)
  if (options.data !== undefined && data === '')
    throw new ArgumentError(`Expected \`data\` to be the name of a directory, got \`${formatValue(data)}\``)
  const idle = (['persist', 'persistKeys'] as const).find(name => options[name] !== undefined)
  if (data === '' && idle !== undefined) throw new ArgumentError(`Expected \`data\` beside \`${idle}\`, got none`)
  if (persistKeys.length > 0 && persist !== 'keys')
    throw new ArgumentError(`Expected \`persist\` to be \`keys\` beside \`persistKeys\`, got \`${persist}\``)
  return { data, persist, persistKeys, log, onProgress }
}

/** Throws {@link ArgumentError} unless a log is one, and the only place for what is kept. */
function checkLog(log: SharedLog | undefined, options: Pick<StorageOptions, 'data' | 'persist' | 'persistKeys'>): void {
  if (log === undefined) return
  if (typeof log !== 'object' || log === null || typeof log.connect !== 'function')
    throw new ArgumentError(
      `Expected \`log\` to be a log such as that of \`jetStreamLog\`, got \`${formatValue(log)}\``,
    )
  const other = (['data', 'persist', 'persistKeys'] as const).find(name => options[name] !== undefined)
  if (other !== undefined) throw new ArgumentError(`Expected \`log\` or \`${other}\`, got both`)
}

const MOST = 1024 ** 3

/**
 * How much a store may keep by default, bytes: 1 GiB, or half of the heap that Node may use (`--max-old-space-size`),
 * or a quarter of the memory of the machine, or of the container, whichever is least. What lies besides the keys, and
 * what the garbage collector needs to work, has to find room as well.
 */
export function defaultMaxBytes(): number {
  // No limit is told as 0 or as a very large number.
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  return Math.floor(Math.min(MOST, getHeapStatistics().heap_size_limit / 2, memory / 4))
}

/** Which keys are not to outlive the store; `undefined` for none. */
export function volatileRule({
  persist,
  persistKeys,
}: Pick<CheckedStorage, 'persist' | 'persistKeys'>): VolatileRule | undefined {
  if (persist === 'all') return undefined
  if (persist === 'none') return () => true
  const patterns = persistKeys.map(pattern => compileGlob(utf8(pattern)))
  return (key, userProperties) => !requestsPersistence(userProperties) && !patterns.some(({ matches }) => matches(key))
}
