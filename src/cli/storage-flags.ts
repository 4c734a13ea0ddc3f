import { type Command, Option } from 'commander'
import { reason, StateStoreError } from '../core/util/errors.js'
import type { ServeOptions, StorageStatus } from '../server/index.js'

/** Flags about what is kept on the disk. */
export interface StorageFlags {
  readonly data?: string
  readonly persist?: 'all' | 'none' | 'keys'
  readonly persistKey?: readonly string[]
}

/** Adds them. */
export function addStorageFlags(command: Command): void {
  command.option('--data <dir>', 'directory to keep everything in; made if need be')
  command.addOption(
    new Option('--persist <which>', 'with --data: keys that are there after a restart (all)').choices([
      'all',
      'none',
      'keys',
    ]),
  )
  command.addOption(
    new Option(
      '--persist-key <glob>',
      'with --persist keys: such keys, and those set with aio-persistence; repeatable',
    ).argParser((glob: string, globs: readonly string[] = []) => [...globs, glob]),
  )
}

/** What flags say of it. */
export const storageOf = ({
  data,
  persist,
  persistKey,
}: StorageFlags): Pick<ServeOptions, 'data' | 'persist' | 'persistKeys'> => ({
  ...(data !== undefined && { data }),
  ...(persist !== undefined && { persist }),
  ...(persistKey !== undefined && { persistKeys: persistKey }),
})

/** Whether what is written is kept, for people. */
export function storageWords({ state, error }: StorageStatus, isNode: boolean): string {
  if (state === 'kept') return isNode ? 'the log of the store goes on' : 'writes are kept on the disk again'
  if (state === 'degraded') return `all goes on, but the log of the store is not kept as it should be: ${reason(error)}`
  if (state === 'waiting')
    return `nothing is answered until the log of the store goes on${error === undefined ? '' : `: ${reason(error)}`}`
  if (isNode) return `this node has stopped: ${reason(error)}`
  if (error instanceof StateStoreError && error.code === 'in-use') return error.message
  if (state === 'full') return `writes are refused, nothing that was answered is lost: ${reason(error)}`
  return `writes are refused until the store is started anew, as it is not known what the disk has: ${reason(error)}`
}
