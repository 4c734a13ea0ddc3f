import { fstatSync, readFileSync, rmSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../core/util/clock.js'
import type { StateStoreError } from '../../../core/util/errors.js'
import { type ClaimFiles, claimFiles, readClaims } from './claims.js'
import { hasCode, type Ownership, OwnershipUnknownError } from './files.js'
import { LOCK_FILE } from './format.js'
import { lostError, OWN_CLAIMS, OWNER_TIMEOUT_MS, type PidNamespace } from './owner.js'
import { SpareDescriptor } from './spare-descriptor.js'

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
/**
 * The time for which the open lock file alone proves the ownership while the lock file cannot be read by its name. See
 * {@link HeldLock.check}.
 */
export const MAX_UNCONFIRMED_MS = 60_000

type HeldOptions = LockOptions & { readonly clock: Clock }

export class HeldLock implements DirectoryLock {
  readonly isForced: boolean
  readonly clock: Clock
  readonly #directory: string
  readonly #claimText: string
  readonly #file: FileHandle
  readonly #options: HeldOptions
  readonly #spare = new SpareDescriptor()
  /** The time when the lock file of that name was last confirmed to be this owner's, in monotonic ms. */
  #confirmedAt = Number.NEGATIVE_INFINITY
  /** The time before the last heartbeat that was written to the open file, in monotonic ms. */
  #heartbeatAt = Number.NEGATIVE_INFINITY
  /** The last modification time given to the lock file, in s. */
  #heartbeatSeconds = 0
  #cancel: () => void = () => undefined
  #pendingHeartbeat: Promise<void> | undefined
  #hasFailed = false
  #state: 'held' | 'lost' | 'released' = 'held'

  constructor(directory: string, own: string, file: FileHandle, isForced: boolean, options: HeldOptions) {
    this.isForced = isForced
    this.clock = options.clock
    this.#directory = directory
    this.#claimText = own
    this.#file = file
    this.#options = options
    this.#schedule()
  }

  /**
   * The next owner renames its claim to the lock file before it reads the directory. A network file system may show the
   * new name late, so the name is read again after a pause in which another owner may have taken over. If the name
   * cannot be read, the open file proves the ownership for a while: it has a name, and its heartbeat continues, so no
   * other process may take the directory. A limit is necessary, because the file may have a second name, as in a copy of
   * the directory that consists of hard links.
   */
  check(): void {
    if (this.#state === 'held' && !this.#isHeld()) this.#markLost()
    if (this.#state === 'lost') throw lostError(this.#directory)
  }

  async release(): Promise<void> {
    if (this.#state === 'released') return
    this.#cancel()
    await this.#pendingHeartbeat
    // The name may already belong to another owner's lock, so the check and the removal run without yielding.
    if (this.#state === 'held' && this.#isOwnLockFileAtRelease()) rmSync(this.#path, { force: true })
    this.#state = 'released'
    this.#spare.close()
    await this.#file.close()
    OWN_CLAIMS.delete(this.#claimText)
  }

  get #path(): string {
    return join(this.#directory, LOCK_FILE)
  }

  #isHeld(): boolean {
    const now = this.#options.clock.monotonic()
    try {
      const hasName = fstatSync(this.#file.fd).nlink > 0
      if (!hasName || now - this.#confirmedAt < OWNER_TIMEOUT_MS / 2) return hasName
      if (!this.#isLockFileOwn()) return false
      this.#confirmedAt = now
      return true
    } catch (cause) {
      const isProven = now - this.#heartbeatAt < OWNER_TIMEOUT_MS / 2 && now - this.#confirmedAt < MAX_UNCONFIRMED_MS
      if (isProven && this.#hasName()) return true
      throw new OwnershipUnknownError(this.#directory, cause)
    }
  }

  #hasName(): boolean {
    try {
      return fstatSync(this.#file.fd).nlink > 0
    } catch {
      return false
    }
  }

  #isLockFileOwn(): boolean {
    try {
      return this.#spare.lend(() => readFileSync(this.#path, 'utf8')) === this.#claimText
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false
      throw error
    }
  }

  /** A lock file that cannot be read is left behind, as by a killed process. */
  #isOwnLockFileAtRelease(): boolean {
    try {
      return this.#isLockFileOwn()
    } catch {
      return false
    }
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.schedule(HEARTBEAT_MS, () => {
      this.#pendingHeartbeat = this.#beat().then(() => {
        if (this.#state === 'held') this.#schedule()
      })
    })
  }

  async #beat(): Promise<void> {
    const startedAt = this.#options.clock.monotonic()
    try {
      const last = await this.#lastClaim().catch(cause => new OwnershipUnknownError(this.#directory, cause))
      if (typeof last !== 'object' && last !== this.#claimText) {
        this.#markLost()
        return
      }
      // The open file can be written when the name cannot be read, and then keeps other processes from taking over.
      await this.#writeHeartbeat()
      this.#heartbeatAt = startedAt
      if (typeof last === 'object') throw last
      this.#confirmedAt = startedAt
      this.#hasFailed = false
    } catch (error) {
      const unknown = error instanceof OwnershipUnknownError ? error : new OwnershipUnknownError(this.#directory, error)
      if (!this.#hasFailed) this.#options.onError?.(unknown)
      this.#hasFailed = true
    }
  }

  async #lastClaim(): Promise<string | undefined> {
    const files = claimFiles(this.#directory)
    const read = async (name: string): Promise<string | undefined> =>
      files.read(name).catch((error: unknown) => {
        if (!SpareDescriptor.isFor(error)) throw error
        return this.#readWithSpare(name)
      })
    return (await readClaims({ read })).at(-1)?.text
  }

  #readWithSpare(name: string): string | undefined {
    try {
      return this.#spare.lend(() => readFileSync(join(this.#directory, name), 'utf8'))
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined
      throw error
    }
  }

  async #writeHeartbeat(): Promise<void> {
    // The time must differ from the previous time, even if the clock was set back or the file system stores times with
    // a resolution of two seconds.
    const seconds = Math.max(this.#options.clock.now() / 1_000, this.#heartbeatSeconds + HEARTBEAT_MS / 1_000)
    this.#heartbeatSeconds = seconds
    await this.#file.utimes(seconds, seconds)
  }

  #markLost(): void {
    if (this.#state !== 'held') return
    this.#state = 'lost'
    this.#cancel()
    OWN_CLAIMS.delete(this.#claimText)
    this.#options.onLost?.(lostError(this.#directory))
  }
}
