import { resolve } from 'node:path'
import type { Client } from '../../core/mqtt5/peer.js'
import { Engine, type EngineOptions, type KeyRights, type WatchQuotas } from '../engine/engine.js'
import type { SharedLog } from '../log/cluster/settings.js'
import { filesOf, guardedFiles } from '../log/disk/files.js'
import { lockDirectory } from '../log/disk/lock.js'
import { emptyLog, openLog, type Takeover } from '../log/disk/open.js'
import { withReserve } from '../log/disk/reserve.js'
import { MemoryLog } from '../log/log.js'
import { inCluster } from './cluster-storage.js'
import type { NodeHost, Opened, Storage, StorageSettings } from './opened.js'

export type { NodeHost, Opened, Storage, StorageSettings } from './opened.js'

/**
 * Memory, the directory that the options name, or the log that nodes share. Raises `in-use`, `damaged`, `format`, the
 * system's error, or, of a log, `connection-lost`, `not-installed` and `closed`.
 */
export async function storageOf(
  options: StorageSettings & { readonly log: SharedLog | undefined },
  watches: WatchQuotas<Client>,
  rights: KeyRights<Client> | undefined,
  host: NodeHost,
): Promise<Storage> {
  const { log, data, maxKeys, maxBytes } = options
  const bounds = { maxKeys, maxBytes, rights, watches }
  if (log !== undefined) return inCluster(log, options, bounds, host)
  return data === '' ? inMemory(bounds) : onDisk(options, bounds, host.events)
}

function inMemory(bounds: EngineOptions<Client>): Storage {
  let kept: Engine<Client> | undefined
  const open = async (engine: Engine<Client>): Promise<Opened> => {
    kept = engine
    return { engine, log: new MemoryLog() }
  }
  return {
    open: async () => open(kept ?? new Engine(bounds)),
    openEmpty: async () => open(new Engine(bounds)),
    release: async () => undefined,
  }
}

async function onDisk(
  options: StorageSettings,
  bounds: EngineOptions<Client>,
  { failed, troubled }: NodeHost['events'],
): Promise<Storage> {
  const directory = resolve(options.data)
  const lock = await lockDirectory(directory, { lost: failed, troubled })
  const files = guardedFiles(await filesOf(directory), lock)
  const takeover: Takeover = { isForced: lock.isForced, withReserve: async task => withReserve(directory, task) }
  const { clock, opening: progress } = options
  const open = async (): Promise<Opened> => {
    const { strays, ...opened } = await openLog<Client>(files, {
      ...bounds,
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      progress,
      troubled,
      ...takeover,
    })
    warnOfStrays(directory, strays)
    return opened
  }
  return {
    open,
    openEmpty: async () => {
      await emptyLog(files, takeover)
      return open()
    },
    release: async () => lock.release(),
  }
}

function warnOfStrays(directory: string, strays: readonly string[]): void {
  if (strays.length === 0) return
  const names = strays.map(name => JSON.stringify(name)).join(', ')
  process.emitWarning(`${directory} holds ${names}, which no state store made: ignored; move it elsewhere`, {
    code: 'RX_STATESTORE_STRAY_FILE',
  })
}
