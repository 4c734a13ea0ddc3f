import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../../core/util/clock.js'
import { StateStoreError } from '../../../core/util/errors.js'
import { wait } from '../../../core/util/wait.js'
import { claimDirectory, claimFiles, readClaims } from './claims.js'
import { hasCode, makeDirectory } from './files.js'
import { LOCK_FILE } from './format.js'
import { type DirectoryLock, HeldLock, type LockOptions } from './held-lock.js'

import {
  claimText,
  currentPidNamespace,
  describeOwner,
  livenessOf,
  lostError,
  OWN_CLAIMS,
  OWNER_TIMEOUT_MS,
  type PidNamespace,
  parseClaim,
} from './owner.js'
import { refillReserve, retryWithReserve } from './reserve.js'

const HEARTBEAT_POLL_MS = 250

/**
 * Locks a directory for this process. Rejects with `in-use` when another process holds the directory. A killed process
 * leaves its lock behind. In the same pid namespace, the end of the owner is detected directly. In another pid
 * namespace, it is detected by the missing heartbeat.
 */
export async function lockDirectory(directory: string, options: LockOptions = {}): Promise<DirectoryLock> {
  const { clock = systemClock } = options
  const pidNamespace = 'pidNamespace' in options ? options.pidNamespace : currentPidNamespace()
  await makeDirectory(directory)
  const files = options.claimFiles ?? claimFiles(directory)
  const earlierClaims = await readClaims(files)
  const ended = new Set<string>()
  for (const { text } of earlierClaims) {
    if (await isOwnerAlive(directory, text, pidNamespace, clock)) throw inUseError(directory, text, pidNamespace)
    ended.add(text)
  }
  // A dead owner may have taken the directory from an owner that was only silent and may still run.
  const isForced = earlierClaims.some(
    ({ text }) => parseClaim(text).isForced || livenessOf(text, pidNamespace, OWN_CLAIMS) !== 'ended',
  )
  const own = claimText(pidNamespace, isForced)
  OWN_CLAIMS.add(own)
  const takeLock = async (): Promise<HeldLock> => {
    const other = await claimDirectory(files, own, text => !ended.has(text))
    if (other !== undefined) throw inUseError(directory, other, pidNamespace)
    return new HeldLock(directory, own, await openOwnClaim(directory, own, pidNamespace), isForced, {
      ...options,
      clock,
    })
  }
  const lock = await retryWithReserve(directory, takeLock).catch((error: unknown) => {
    OWN_CLAIMS.delete(own)
    throw error
  })
  try {
    await refillReserve(directory)
    return lock
  } catch (error) {
    await lock.release()
    throw error
  }
}

/**
 * Opens this process's claim. If the process was suspended after it created the claim, the name may now belong to
 * another claim.
 */
async function openOwnClaim(directory: string, own: string, pidNamespace: PidNamespace): Promise<FileHandle> {
  const file = await open(join(directory, LOCK_FILE), 'r+').catch((error: unknown) => {
    throw hasCode(error, 'ENOENT') ? lostError(directory) : error
  })
  const text = await file.readFile('utf8')
  if (text === own) return file
  await file.close()
  throw inUseError(directory, text, pidNamespace)
}

/** Describes the process that holds a directory. Returns `undefined` if no process does. */
export async function lockOwner(directory: string, clock: Clock = systemClock): Promise<string | undefined> {
  const pidNamespace = currentPidNamespace()
  const last = (await readClaims(claimFiles(directory))).at(-1)
  if (last === undefined || !(await isOwnerAlive(directory, last.text, pidNamespace, clock))) return undefined
  return describeOwner(last.text, pidNamespace)
}

async function isOwnerAlive(
  directory: string,
  text: string,
  pidNamespace: PidNamespace,
  clock: Clock,
): Promise<boolean> {
  const liveness = livenessOf(text, pidNamespace, OWN_CLAIMS)
  return liveness === 'unknown' ? hasHeartbeat(directory, text, clock) : liveness === 'running'
}

/**
 * Waits until the lock file changes or the owner times out. Only changes of the file's time count, not the time itself,
 * because clocks differ between machines and can be set.
 */
async function hasHeartbeat(directory: string, text: string, clock: Clock): Promise<boolean> {
  const startedAt = clock.monotonic()
  const first = await readHeartbeat(directory, text)
  for (;;) {
    await wait(HEARTBEAT_POLL_MS, clock)
    const now = await readHeartbeat(directory, text)
    if (now === undefined) return false
    if (now !== first) return true
    if (clock.monotonic() - startedAt >= OWNER_TIMEOUT_MS) return false
  }
}

/** Returns a claim's heartbeat, or `undefined` if the claim does not exist. */
async function readHeartbeat(directory: string, text: string): Promise<bigint | undefined> {
  const claims = await readClaims(claimFiles(directory))
  const found = claims.find(each => each.text === text)
  if (found === undefined) return undefined
  try {
    // The file is opened, because a network file system may return stale attributes for a file that is not open.
    const file = await open(join(directory, found.name), 'r')
    try {
      return (await file.stat({ bigint: true })).mtimeNs
    } finally {
      await file.close()
    }
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

const inUseError = (directory: string, text: string, pidNamespace: PidNamespace): StateStoreError =>
  new StateStoreError(
    'in-use',
    `${describeOwner(text, pidNamespace)} holds the directory ${directory}: stop it or use another directory`,
  )
