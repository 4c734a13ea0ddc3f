import { createHash } from 'node:crypto'
import { fstatSync, readFileSync, rmSync } from 'node:fs'
import { type FileHandle, link, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../../core/util/clock.js'
import { StateStoreError } from '../../../core/util/errors.js'
import { hasCode, makeDirectory, type Ownership } from './files.js'
import { draftOf, LOCK, UNFINISHED } from './format.js'
import { claimText, currentPlace, livenessOf, ownerOf, ownerWords, type Place } from './owner.js'
import { fromReserve, keepReserve } from './reserve.js'

/** How a directory is locked; all of it for specs, but for the callbacks. */
export interface LockOptions {
  /** Default the machine's. */
  readonly clock?: Clock
  /** Where this process runs; default {@link currentPlace}. */
  readonly place?: Place
  /** Default those of the directory. */
  readonly claims?: ClaimFiles
  /** Called once when another process has taken the directory, or the lock was removed. */
  readonly lost?: (error: StateStoreError) => void
  /** Receives errors of the system that do not cost the directory. */
  readonly troubled?: (error: unknown) => void
}

/** A directory that this process has. */
export interface DirectoryLock extends Ownership {
  /** Whether it was taken from an owner that may still run: it did not show itself for {@link SILENCE_MS}. */
  readonly isForced: boolean
  /** Gives it back. */
  release(): Promise<void>
}

/** The owner changes the time of its lock so often, ms. */
export const HEARTBEAT_MS = 2_000
/** An owner in another place whose lock has not changed for so long is taken to have ended, ms. */
export const SILENCE_MS = 10_000
const POLL_MS = 250

/** Claims of this process. */
const OURS = new Set<string>()

/**
 * Takes a directory for this process. Raises `in-use` when another process has it. A process that was killed leaves its
 * lock behind: in the same pid namespace it is known to have ended, elsewhere when its heartbeat has stopped.
 */
export async function lockDirectory(directory: string, options: LockOptions = {}): Promise<DirectoryLock> {
  const { clock = systemClock } = options
  const place = 'place' in options ? options.place : currentPlace()
  await makeDirectory(directory)
  const files = options.claims ?? claimFiles(directory)
  const before = await claimsOn(files)
  const ended = new Set<string>()
  for (const { text } of before) {
    if (await isOwned(directory, text, place, clock)) throw inUse(directory, text, place)
    ended.add(text)
  }
  // An owner before those that are known to have ended may be one of them that was only silent.
  const isForced = before.some(({ text }) => ownerOf(text).isForced || livenessOf(text, place, OURS) !== 'ended')
  const own = claimText(place, isForced)
  OURS.add(own)
  const take = async (): Promise<HeldLock> => {
    const other = await claimDirectory(files, own, text => !ended.has(text))
    if (other !== undefined) throw inUse(directory, other, place)
    return new HeldLock(directory, own, await openOwn(directory, own, place), isForced, { ...options, clock })
  }
  const lock = await fromReserve(directory, take).catch((error: unknown) => {
    OURS.delete(own)
    throw error
  })
  try {
    await keepReserve(directory)
    return lock
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Opens our claim. The process may have been stopped since it was made: the name may be that of another one. */
async function openOwn(directory: string, own: string, place: Place): Promise<FileHandle> {
  const file = await open(join(directory, LOCK), 'r+').catch((error: unknown) => {
    throw hasCode(error, 'ENOENT') ? lostTo(directory) : error
  })
  const text = await file.readFile('utf8')
  if (text === own) return file
  await file.close()
  throw inUse(directory, text, place)
}

/** The process that has a directory, in words; `undefined` when none has. */
export async function lockOwner(directory: string, clock: Clock = systemClock): Promise<string | undefined> {
  const place = currentPlace()
  const last = (await claimsOn(claimFiles(directory))).at(-1)
  if (last === undefined || !(await isOwned(directory, last.text, place, clock))) return undefined
  return ownerWords(last.text, place)
}

/** Whether the owner of a claim runs, as far as can be seen from here. */
async function isOwned(directory: string, text: string, place: Place, clock: Clock): Promise<boolean> {
  const liveness = livenessOf(text, place, OURS)
  return liveness === 'unknown' ? hasHeartbeat(directory, text, clock) : liveness === 'running'
}

/** Waits until a lock changes, or has not for too long. What its time is does not matter: clocks differ, and are set. */
async function hasHeartbeat(directory: string, text: string, clock: Clock): Promise<boolean> {
  const begun = clock.monotonic()
  const first = await heartbeatOf(directory, text)
  for (;;) {
    await new Promise<void>(resolve => void clock.schedule(POLL_MS, resolve))
    const now = await heartbeatOf(directory, text)
    if (now === undefined) return false
    if (now !== first) return true
    if (clock.monotonic() - begun >= SILENCE_MS) return false
  }
}

/** `undefined` when there is no such claim. */
async function heartbeatOf(directory: string, text: string): Promise<bigint | undefined> {
  const claims = await claimsOn(claimFiles(directory))
  const found = claims.find(each => each.text === text)
  if (found === undefined) return undefined
  try {
    // Opened, as a file system of the network may say of a file that is not what it knew a while ago.
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
  readonly #own: string
  readonly #file: FileHandle
  readonly #options: HeldOptions
  /** When it was last seen to be ours by its name, monotonic ms. */
  #confirmedAt = Number.NEGATIVE_INFINITY
  /** The time that the lock was given last, s. */
  #beatAt = 0
  #cancel: () => void = () => undefined
  #beating: Promise<void> | undefined
  #hasFailed = false
  #state: 'held' | 'lost' | 'released' = 'held'

  constructor(directory: string, own: string, file: FileHandle, isForced: boolean, options: HeldOptions) {
    this.isForced = isForced
    this.#directory = directory
    this.#own = own
    this.#file = file
    this.#options = options
    this.#schedule()
  }

  check(): void {
    if (this.#state === 'held' && !this.#isHeld()) this.#lose()
    if (this.#state === 'lost') throw lostTo(this.#directory)
  }

  async release(): Promise<void> {
    if (this.#state === 'released') return
    this.#cancel()
    await this.#beating
    // By now another owner's lock may have the name; nothing is waited for between this look and the removal.
    if (this.#state === 'held' && this.#hasName()) rmSync(join(this.#directory, LOCK), { force: true })
    this.#state = 'released'
    await this.#file.close()
    OURS.delete(this.#own)
  }

  /**
   * The next owner gives its lock the name of ours, and only then reads the directory. A file system of the network may
   * show that late, so that after a pause, in which another may have come, the name is looked up.
   */
  #isHeld(): boolean {
    const now = this.#options.clock.monotonic()
    if (now - this.#confirmedAt < SILENCE_MS / 2) return fstatSync(this.#file.fd).nlink > 0
    if (!this.#hasName()) return false
    this.#confirmedAt = now
    return true
  }

  /** Whether the file with the name of the lock is ours. */
  #hasName(): boolean {
    try {
      return readFileSync(join(this.#directory, LOCK), 'utf8') === this.#own
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false
      throw error
    }
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.schedule(HEARTBEAT_MS, () => {
      this.#beating = this.#beat().then(() => {
        if (this.#state === 'held') this.#schedule()
      })
    })
  }

  async #beat(): Promise<void> {
    const begun = this.#options.clock.monotonic()
    try {
      const last = (await claimsOn(claimFiles(this.#directory))).at(-1)
      if (last?.text !== this.#own) {
        this.#lose()
        return
      }
      // It has to be another time, also where the clock was set back, or times are kept to two seconds.
      this.#beatAt = Math.max(this.#options.clock.now() / 1_000, this.#beatAt + HEARTBEAT_MS / 1_000)
      await this.#file.utimes(this.#beatAt, this.#beatAt)
      this.#confirmedAt = begun
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) this.#options.troubled?.(error)
      this.#hasFailed = true
    }
  }

  #lose(): void {
    if (this.#state !== 'held') return
    this.#state = 'lost'
    this.#cancel()
    OURS.delete(this.#own)
    this.#options.lost?.(lostTo(this.#directory))
  }
}

const lostTo = (directory: string): StateStoreError =>
  new StateStoreError(
    'in-use',
    `another process has taken the directory ${directory}, or its lock was removed: this store must not go on`,
  )

const inUse = (directory: string, text: string, place: Place): StateStoreError =>
  new StateStoreError('in-use', `${ownerWords(text, place)} has the directory ${directory}`)

/** What claims on a directory need of it. */
export interface ClaimFiles {
  list(): Promise<readonly string[]>
  /** The text of a file, `undefined` when there is none. */
  read(name: string): Promise<string | undefined>
  /** Makes a file with a text, both at once, unless there is one of that name; returns whether it did. */
  make(name: string, text: string): Promise<boolean>
  /** Gives a file another name, and takes that from the file that has it; returns whether there was such a file. */
  rename(from: string, to: string): Promise<boolean>
  /** Harmless when there is no such file. */
  remove(name: string): Promise<void>
}

/** A file that says which process has a directory. */
export interface Claim {
  readonly name: string
  readonly text: string
}

/**
 * Claims a directory; returns `undefined` when it is ours, else the claim of its owner.
 *
 * A process that is killed leaves its claim behind. Nobody takes that away: two who find it could not know whether what
 * they take is still that one, or the claim of the other already. They make a claim on it, by a name that only those have
 * who know its text, and the file system lets one of them. So there is a chain of claims, the last one counts, and only
 * whoever made that replaces the first one by it. A claim that follows no other was made too late.
 *
 * A process may be stopped before it renames its claim, and go on when another one has the directory. So each owner first
 * removes all claims besides its own: there is nothing left to rename.
 *
 * @param own - a text that no other claim has
 * @param counts - whether a claim is of somebody who lives
 */
export async function claimDirectory(
  files: ClaimFiles,
  own: string,
  counts: (text: string) => boolean,
): Promise<string | undefined> {
  for (;;) {
    const before = await claimsOn(files)
    const last = before.at(-1)
    if (last !== undefined && counts(last.text)) return last.text
    const name = last === undefined ? LOCK : successorOf(last.text)
    if (!(await files.make(name, own))) continue
    if ((await claimsOn(files)).at(-1)?.text !== own) {
      await files.remove(name)
      continue
    }
    if (name !== LOCK && !(await files.rename(name, LOCK))) continue
    if (await removeOthers(files, own)) return undefined
  }
}

/** Removes all claims but the last one, if that is ours; returns whether it is. */
async function removeOthers(files: ClaimFiles, own: string): Promise<boolean> {
  const next = successorOf(own)
  const others = (await files.list()).filter(name => SUCCESSOR.test(name) && name !== next)
  // What was there before this look follows no claim any more. No name comes twice.
  if ((await claimsOn(files)).at(-1)?.text !== own) return false
  for (const name of others) await files.remove(name)
  return true
}

/** All claims, each on the one before; the last one counts, whether or not its process runs. */
export async function claimsOn({ read }: Pick<ClaimFiles, 'read'>): Promise<Claim[]> {
  const claims: Claim[] = []
  for (let name = LOCK; ; ) {
    const text = await read(name)
    if (text === undefined) return claims
    claims.push({ name, text })
    name = successorOf(text)
  }
}

const SUCCESSOR = new RegExp(`^${LOCK}\\.[0-9a-f]{32}\\${UNFINISHED}$`)

const successorOf = (text: string): string =>
  `${LOCK}.${createHash('sha256').update(text).digest('hex').slice(0, 32)}${UNFINISHED}`

const MODE = 0o600

/**
 * The claims in a directory.
 *
 * @param linked - gives a file a second name, unless there is a file of that
 */
export function claimFiles(directory: string, linked: typeof link = link): ClaimFiles {
  const at = (name: string): string => join(directory, name)
  return {
    list: async () => readdir(directory),
    read: async name => unless(async () => readFile(at(name), 'utf8'), undefined, 'ENOENT'),
    make: async (name, text) => {
      const draft = at(draftOf(LOCK))
      try {
        await writeFile(draft, text, { flag: 'wx', mode: MODE })
        return await unless(async () => linked(draft, at(name)).then(() => true), false, 'EEXIST')
      } catch (error) {
        if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error
        // Where files have one name only, a claim is there for a moment before its text is.
        return await unless(
          async () => writeFile(at(name), text, { flag: 'wx', mode: MODE }).then(() => true),
          false,
          'EEXIST',
        )
      } finally {
        await rm(draft, { force: true })
      }
    },
    rename: async (from, to) => unless(async () => rename(at(from), at(to)).then(() => true), false, 'ENOENT'),
    remove: async name => rm(at(name), { force: true }),
  }
}

async function unless<T>(task: () => Promise<T>, otherwise: T, code: string): Promise<T> {
  try {
    return await task()
  } catch (error) {
    if (hasCode(error, code)) return otherwise
    throw error
  }
}
