import { resolve } from 'node:path'
import { filesOf } from '../disk/files.js'
import { lockDirectory } from '../disk/lock.js'
import { emptyLog, openLog } from '../disk/open.js'
import { Engine, type EngineOptions, type WatchQuotas } from '../engine/engine.js'
import type { KeyRights } from '../engine/rights.js'
import { MemoryLog } from '../log/memory-log.js'
import type { Client } from '../peer/client.js'
import { watchQuotas } from './broker-quotas.js'
import { inCluster } from './cluster-storage.js'
import type { NodeHost, Opened, Storage, StorageOptions } from './opened.js'
import type { ServeOptions } from './options.js'

export type { NodeHost, Opened, Storage, StorageOptions } from './opened.js'

/** Memory, or the directory that the options name. Raises `in-use`, `damaged`, `format`, or the system's error. */
export async function storageFor(
  options: StorageOptions,
  watches: WatchQuotas<Client>,
  rights: KeyRights<Client> | undefined,
  troubled: (trouble: unknown) => void,
): Promise<Storage> {
  const { maxKeys, maxBytes } = options
  const bounds = { maxKeys, maxBytes, rights, watches }
  return options.data === '' ? inMemory(bounds) : onDisk(options, bounds, troubled)
}

/** The same, of a store with a broker of its own, or one of several nodes. Raises `connection-lost` and `not-installed` as well. */
export function storageOf(
  options: Required<ServeOptions>,
  rights: KeyRights<Client> | undefined,
  host: NodeHost,
): Promise<Storage> {
  const { log, maxKeys, maxBytes } = options
  const watches = watchQuotas(options)
  if (log === undefined) return storageFor(options, watches, rights, error => host.events.troubled(error))
  return inCluster(log, options, { maxKeys, maxBytes, rights, watches }, host)
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
  options: StorageOptions,
  bounds: EngineOptions<Client>,
  troubled: (trouble: unknown) => void,
): Promise<Storage> {
  const directory = resolve(options.data)
  const release = await lockDirectory(directory)
  const files = await filesOf(directory)
  const { clock, opening: progress } = options
  const open = async (): Promise<Opened> =>
    openLog<Client>(files, {
      ...bounds,
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      progress,
      troubled,
    })
  return {
    open,
    openEmpty: async () => {
      await emptyLog(files)
      return open()
    },
    release,
  }
}
