import { createHash } from 'node:crypto'
import { fstatSync, readFileSync, rmSync } from 'node:fs'
import { type FileHandle, link, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../../core/util/clock.js'
import { StateStoreError } from '../../../core/util/errors.js'
import { hasCode, makeDirectory, type Ownership } from './files.js'
import { draftNameOf, LOCK_FILE, PARTIAL_SUFFIX } from './format.js'
import { claimText, currentPidNamespace, describeOwner, livenessOf, type PidNamespace, parseClaim } from './owner.js'
import { refillReserve, retryWithReserve } from './reserve.js'

/** The options of a directory lock. Except for the callbacks, they exist for specs. */
export interface LockOptions {
  readonly clock?: Clock
  /** The pid namespace of this process. Default: {@link currentPidNamespace}. */
  readonly pidNamespace?: PidNamespace
  readonly claimFiles?: ClaimFiles
  /** Called once when another process has taken the directory, or the lock was removed. */
  readonly onLost?: (error: StateStoreError) => void
  /** Called with system errors that do not affect ownership. */
  readonly onError?: (error: unknown) => void
}

export interface DirectoryLock extends Ownership {
  /**
   * Whether the lock was taken from an owner that may still run, because its heartbeat stopped for {@link
   * OWNER_TIMEOUT_MS}.
   */
  readonly isForced: boolean
  release(): Promise<void>
}

/** The interval at which the owner updates the time of its lock file. */
export const HEARTBEAT_MS = 2_000
/** The time without a heartbeat after which an owner in another pid namespace is presumed dead. */
export const OWNER_TIMEOUT_MS = 10_000
const HEARTBEAT_POLL_MS = 250

const OWN_CLAIMS = new Set<string>()

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
    await new Promise<void>(resolve => void clock.schedule(HEARTBEAT_POLL_MS, resolve))
    const now = await readHeartbeat(directory, text)
    if (now === undefined) return false
    if (now !== first) return true
    if (clock.monotonic() - startedAt >= OWNER_TIMEOUT_MS) return false
  }
}

/** Returns the heartbeat of a claim, or `undefined` if the claim does not exist. */
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

type HeldOptions = LockOptions & { readonly clock: Clock }

class HeldLock implements DirectoryLock {
  readonly isForced: boolean
  readonly #directory: string
  readonly #claimText: string
  readonly #file: FileHandle
  readonly #options: HeldOptions
  /** The time when the lock file of that name was last confirmed to be this owner's, in monotonic ms. */
  #confirmedAt = Number.NEGATIVE_INFINITY
  /** The last modification time given to the lock file, in s. */
  #heartbeatSeconds = 0
  #cancel: () => void = () => undefined
  #pendingHeartbeat: Promise<void> | undefined
  #hasFailed = false
  #state: 'held' | 'lost' | 'released' = 'held'

  constructor(directory: string, own: string, file: FileHandle, isForced: boolean, options: HeldOptions) {
    this.isForced = isForced
    this.#directory = directory
    this.#claimText = own
    this.#file = file
    this.#options = options
    this.#schedule()
  }

  check(): void {
    if (this.#state === 'held' && !this.#isHeld()) this.#markLost()
    if (this.#state === 'lost') throw lostError(this.#directory)
  }

  async release(): Promise<void> {
    if (this.#state === 'released') return
    this.#cancel()
    await this.#pendingHeartbeat
    // The name may already belong to another owner's lock, so the check and the removal run without yielding.
    if (this.#state === 'held' && this.#isLockFileOwn()) rmSync(join(this.#directory, LOCK_FILE), { force: true })
    this.#state = 'released'
    await this.#file.close()
    OWN_CLAIMS.delete(this.#claimText)
  }

  /**
   * Returns whether this process still holds the lock. The next owner renames its claim to the lock file before it
   * reads the directory. A network file system may show the new name late, so the name is read again after a pause in
   * which another owner may have taken over.
   */
  #isHeld(): boolean {
    const now = this.#options.clock.monotonic()
    if (now - this.#confirmedAt < OWNER_TIMEOUT_MS / 2) return fstatSync(this.#file.fd).nlink > 0
    if (!this.#isLockFileOwn()) return false
    this.#confirmedAt = now
    return true
  }

  #isLockFileOwn(): boolean {
    try {
      return readFileSync(join(this.#directory, LOCK_FILE), 'utf8') === this.#claimText
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false
      throw error
    }
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.schedule(HEARTBEAT_MS, () => {
      this.#pendingHeartbeat = this.#writeHeartbeat().then(() => {
        if (this.#state === 'held') this.#schedule()
      })
    })
  }

  async #writeHeartbeat(): Promise<void> {
    const startedAt = this.#options.clock.monotonic()
    try {
      const last = (await readClaims(claimFiles(this.#directory))).at(-1)
      if (last?.text !== this.#claimText) {
        this.#markLost()
        return
      }
      // The time must differ from the previous time, even if the clock was set back or the file system stores times
      // with a resolution of two seconds.
      this.#heartbeatSeconds = Math.max(
        this.#options.clock.now() / 1_000,
        this.#heartbeatSeconds + HEARTBEAT_MS / 1_000,
      )
      await this.#file.utimes(this.#heartbeatSeconds, this.#heartbeatSeconds)
      this.#confirmedAt = startedAt
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) this.#options.onError?.(error)
      this.#hasFailed = true
    }
  }

  #markLost(): void {
    if (this.#state !== 'held') return
    this.#state = 'lost'
    this.#cancel()
    OWN_CLAIMS.delete(this.#claimText)
    this.#options.onLost?.(lostError(this.#directory))
  }
}

const lostError = (directory: string): StateStoreError =>
  new StateStoreError(
    'in-use',
    `another process has taken the directory ${directory}, or its lock was removed: this store must stop`,
  )

const inUseError = (directory: string, text: string, pidNamespace: PidNamespace): StateStoreError =>
  new StateStoreError(
    'in-use',
    `${describeOwner(text, pidNamespace)} holds the directory ${directory}: stop it or use another directory`,
  )

/** The directory operations that claims use. */
export interface ClaimFiles {
  list(): Promise<readonly string[]>
  /** Returns the content of a file, or `undefined` if it does not exist. */
  read(name: string): Promise<string | undefined>
  /** Creates a file together with its content unless the name exists. Returns whether the file was created. */
  create(name: string, text: string): Promise<boolean>
  /** Renames a file, and replaces any file of that name. Returns whether the source existed. */
  rename(from: string, to: string): Promise<boolean>
  /** Removes a file. Does nothing if the file does not exist. */
  remove(name: string): Promise<void>
}

/** A file that names the process that holds a directory. */
export interface Claim {
  readonly name: string
  readonly text: string
}

/**
 * Claims a directory. Returns `undefined` on success, otherwise the claim of the owner.
 *
 * A killed process leaves its claim behind, and no other process removes that claim. If two processes find the claim,
 * neither could know whether it would remove the old claim or a new claim of the other process. Instead, each process
 * claims the claim, under a name derived from the text of the claim, and the file system lets only one process create
 * that name. This forms a chain of claims of which the last one counts, and only the creator of the last claim renames
 * it to the first. A claim that follows no other claim was created too late.
 *
 * A process may be suspended before it renames its claim, and resume after another process has taken the directory. So
 * each owner first removes all other claims, which leaves nothing to rename.
 *
 * @param own - a text that no other claim has
 * @param isAlive - returns whether the process of a claim runs
 */
export async function claimDirectory(
  files: ClaimFiles,
  own: string,
  isAlive: (text: string) => boolean,
): Promise<string | undefined> {
  for (;;) {
    const before = await readClaims(files)
    const last = before.at(-1)
    if (last !== undefined && isAlive(last.text)) return last.text
    const name = last === undefined ? LOCK_FILE : successorName(last.text)
    if (!(await files.create(name, own))) continue
    if ((await readClaims(files)).at(-1)?.text !== own) {
      await files.remove(name)
      continue
    }
    if (name !== LOCK_FILE && !(await files.rename(name, LOCK_FILE))) continue
    if (await removeOtherClaims(files, own)) return undefined
  }
}

/** Removes all other claims if this process made the last claim. Returns whether this process made the last claim. */
async function removeOtherClaims(files: ClaimFiles, own: string): Promise<boolean> {
  const next = successorName(own)
  const others = (await files.list()).filter(name => SUCCESSOR.test(name) && name !== next)
  // The files listed before this check are no longer part of the chain, and no name is used twice.
  if ((await readClaims(files)).at(-1)?.text !== own) return false
  for (const name of others) await files.remove(name)
  return true
}

/** Returns the chain of claims. The last claim counts, whether or not its process runs. */
export async function readClaims({ read }: Pick<ClaimFiles, 'read'>): Promise<Claim[]> {
  const claims: Claim[] = []
  for (let name = LOCK_FILE; ; ) {
    const text = await read(name)
    if (text === undefined) return claims
    claims.push({ name, text })
    name = successorName(text)
  }
}

const SUCCESSOR = new RegExp(`^${LOCK_FILE}\\.[0-9a-f]{32}\\${PARTIAL_SUFFIX}$`)

const successorName = (text: string): string =>
  `${LOCK_FILE}.${createHash('sha256').update(text).digest('hex').slice(0, 32)}${PARTIAL_SUFFIX}`

const FILE_MODE = 0o600

/**
 * Creates the claim operations of a directory.
 *
 * @param linked - function that gives a file a second name unless that name exists
 */
export function claimFiles(directory: string, linked: typeof link = link): ClaimFiles {
  const pathOf = (name: string): string => join(directory, name)
  return {
    list: async () => readdir(directory),
    read: async name => resultOrDefault(async () => readFile(pathOf(name), 'utf8'), undefined, 'ENOENT'),
    create: async (name, text) => {
      const draft = pathOf(draftNameOf(LOCK_FILE))
      try {
        await writeFile(draft, text, { flag: 'wx', mode: FILE_MODE })
        return await resultOrDefault(async () => linked(draft, pathOf(name)).then(() => true), false, 'EEXIST')
      } catch (error) {
        if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error
        // On file systems without hard links, the claim exists briefly without its content.
        return await resultOrDefault(
          async () => writeFile(pathOf(name), text, { flag: 'wx', mode: FILE_MODE }).then(() => true),
          false,
          'EEXIST',
        )
      } finally {
        await rm(draft, { force: true })
      }
    },
    rename: async (from, to) =>
      resultOrDefault(async () => rename(pathOf(from), pathOf(to)).then(() => true), false, 'ENOENT'),
    remove: async name => rm(pathOf(name), { force: true }),
  }
}

async function resultOrDefault<T>(task: () => Promise<T>, fallback: T, code: string): Promise<T> {
  try {
    return await task()
  } catch (error) {
    if (hasCode(error, code)) return fallback
    throw error
  }
}
