import { readdir } from 'node:fs/promises'
import { systemClock } from '../../core/util/clock.js'
import { Engine } from '../engine/engine.js'
import { hasCode } from '../log/disk/files.js'
import { isFresh } from '../log/disk/recovery.js'
import { StoreService } from '../service/store-service.js'
import { openDirectory } from '../storage/storage.js'
import { checkDirectoryPath } from '../storage/storage-options.js'
import { checkTokens, isReplacing, parseDump, restore } from './dump-and-load.js'
import type { LoadOptions, LoadResult } from './store-server.js'

/** No limits apply, because this process does not know the quotas of the next `serve`. */
const LIMITS = { maxKeys: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER }

/**
 * Loads a dump into the directory of a stopped store in one atomic step, as {@link StoreServer.load} does for a running
 * store. Creates the directory if it is missing, but not for an invalid dump. Rejects with `in-use` if a store is using the directory, with
 * `damaged`, `format` or a system error, and as {@link StoreServer.load} does.
 *
 * @param onError - receives errors that do not affect the result
 */
export async function loadDirectory(
  directory: string,
  lines: AsyncIterable<string>,
  onError: (error: unknown) => void,
  options: LoadOptions = {},
): Promise<LoadResult> {
  const replace = isReplacing(options)
  // All checks that need no store come first, because opening the directory creates one.
  checkDirectoryPath(directory)
  const dump = await parseDump(lines)
  if (await hasNoStore(directory)) checkTokens(dump, token => new Engine(LIMITS).isAccepted(token, systemClock.now()))
  const settings = { data: directory, clock: systemClock, onProgress: ignore }
  // If the lock is lost, the write fails and this function rejects.
  const storage = await openDirectory(settings, LIMITS, { onFailed: ignore, onError })
  try {
    const { engine, log } = await storage.open()
    const service = new StoreService({
      engine,
      log,
      clock: systemClock,
      dialect: 'field',
      notifications: 'registered',
      publish: ignore,
      onDrift: ignore,
      onLogHealth: ignore,
      onError,
    })
    try {
      checkTokens(dump, token => engine.isAccepted(token, systemClock.now()))
      const { loaded, versionsKept, expired, deleted } = await restore(service, dump.records, replace, LIMITS)
      return { loaded, versionsKept, expired, deleted }
    } finally {
      service.stop()
      await log.close()
    }
  } finally {
    await storage.release()
  }
}

async function hasNoStore(directory: string): Promise<boolean> {
  try {
    return isFresh(await readdir(directory))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return true
    throw error
  }
}

const ignore = (): void => undefined
