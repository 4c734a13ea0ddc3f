import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { compileGlob } from '../../core/protocol/parse-command.js'
import { utf8 } from '../../core/util/bytes.js'
import { ArgumentError, shown } from '../../core/util/errors.js'
import type { SharedLog } from '../log/cluster/settings.js'
import { asksToPersist, type VolatileRule } from '../service/service.js'

/** What a store keeps, and where; the same for `serve` and `attach`. */
export interface StorageOptions {
  /**
   * Directory in which all is kept, for this store alone; it is made if need be. A write is answered when it has been
   * flushed to the disk, and a start reads back what was answered. Default: none, all is lost with the process.
   */
  readonly data?: string
  /**
   * With `data`, which keys are there after a restart: `all` (default), `none`, or `keys`: those of {@link persistKeys}, and
   * those that were set with the user property `aio-persistence: true`.
   */
  readonly persist?: 'all' | 'none' | 'keys'
  /** Globs of keys as for a scan, with `persist: 'keys'`. Default none. */
  readonly persistKeys?: readonly string[]
  /**
   * A log that several nodes of one store share, in place of `data`: `jetStreamLog` of `rx-statestore/jetstream` makes one.
   * Then this store is a node: it has the keys of all, and answers a write when a quorum has it. Default: none.
   */
  readonly log?: SharedLog | undefined
  /** Hears how far the reading of `data` has come, in bytes, or of `log`, in entries, over and over while it opens. */
  readonly opening?: (progress: OpeningProgress) => void
}

/** How far the reading of a directory has come, bytes, or that of a log, entries. */
export interface OpeningProgress {
  readonly read: number
  readonly of: number
}

/** Throws {@link ArgumentError} unless a log is one, and the only place for what is kept. */
export function checkLog(
  log: SharedLog | undefined,
  options: Pick<StorageOptions, 'data' | 'persist' | 'persistKeys'>,
): void {
  if (log === undefined) return
  if (typeof log !== 'object' || log === null || typeof log.connect !== 'function')
    throw new ArgumentError(`Expected \`log\` to be a log such as that of \`jetStreamLog\`, got \`${shown(log)}\``)
  const other = (['data', 'persist', 'persistKeys'] as const).find(name => options[name] !== undefined)
  if (other !== undefined) throw new ArgumentError(`Expected \`log\` or \`${other}\`, got both`)
}

/** Throws {@link ArgumentError} unless there is a directory where options need one. */
export function checkData(data: string, options: Pick<StorageOptions, 'data' | 'persist' | 'persistKeys'>): void {
  if (typeof data !== 'string' || (options.data !== undefined && data === '')) {
    throw new ArgumentError(`Expected \`data\` to be the name of a directory, got \`${shown(data)}\``)
  }
  const idle = (['persist', 'persistKeys'] as const).find(name => options[name] !== undefined)
  if (data === '' && idle !== undefined) throw new ArgumentError(`Expected \`data\` beside \`${idle}\`, got none`)
}

/** Throws {@link ArgumentError} unless patterns go with what is kept. */
export function checkPatterns(patterns: readonly string[], persist: string): void {
  if (!Array.isArray(patterns) || !patterns.every(pattern => typeof pattern === 'string')) {
    throw new ArgumentError(`Expected \`persistKeys\` to be a list of globs, got \`${shown(patterns)}\``)
  }
  if (patterns.length > 0 && persist !== 'keys') {
    throw new ArgumentError(`Expected \`persist\` to be \`keys\` beside \`persistKeys\`, got \`${persist}\``)
  }
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

/** Which keys are not to outlive the store. */
export function volatileRule({
  persist,
  persistKeys,
}: Pick<Required<StorageOptions>, 'persist' | 'persistKeys'>): VolatileRule {
  if (persist === 'all') return () => false
  if (persist === 'none') return () => true
  const patterns = persistKeys.map(pattern => compileGlob(utf8(pattern)))
  return (key, userProperties) => !asksToPersist(userProperties) && !patterns.some(({ matches }) => matches(key))
}
