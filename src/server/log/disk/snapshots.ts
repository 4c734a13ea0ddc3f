import type { State } from '../../engine/records.js'
import { encodeState } from '../state-codec.js'
import { type Files, isFull } from './files.js'
import { FRAME_HEADER, fileOf, HEAD_SIZE, nameOf, newHead, seal, UNFINISHED } from './format.js'

/** Writes the state at a position, and removes what it replaces; returns its size, bytes. */
export async function writeSnapshot(files: Files, state: State, position: number): Promise<number> {
  const name = nameOf('state', position)
  const file = await files.create(name + UNFINISHED)
  const { head, salt } = newHead('state', position)
  let at = HEAD_SIZE
  try {
    await file.write(head, 0)
    let number = 0
    for (const block of encodeState(state, FRAME_HEADER)) {
      await file.write(seal(block, number++, salt), at)
      at += block.length
    }
    await file.flush()
  } catch (error) {
    await file.close()
    await files.remove(name + UNFINISHED)
    throw error
  }
  await file.close()
  await files.rename(name + UNFINISHED, name)
  await files.flush()
  await removeOlder(files, position)
  return at
}

async function removeOlder(files: Files, position: number): Promise<void> {
  for (const name of await files.list()) {
    const file = fileOf(name)
    if (file !== undefined && file.position < position) await files.remove(name)
  }
}

/** On a full disk, the files have to be so many times larger than a snapshot would be to be replaced by one. */
const GARBAGE = 2
/** A snapshot that found no room is tried again when it would be so much smaller. */
const SMALLER = 0.75

/** What there is when a log goes on. */
export interface SnapshotState {
  /** Of the last snapshot, bytes. */
  readonly stateSize: number
  /**
   * A snapshot is to be written soon: the process before ended while it wrote the one with which this log begins, or still
   * runs, and may remove the older logs.
   */
  readonly owed: boolean
}

/** Decides when a log is replaced by a snapshot. All sizes in bytes. */
export class SnapshotSchedule {
  readonly #minLogBytes: number
  readonly #estimate: () => number
  #snapshotBytes: number
  /** Of logs before this one, as long as no snapshot has replaced them. */
  #olderLogBytes = 0
  #isOwed: boolean
  /** How long the log has to be before a snapshot is tried again that failed. */
  #retryBytes = 0
  #isDiskFull = false
  /** How large the snapshot would have been that found no room. */
  #tooLargeBytes = Number.POSITIVE_INFINITY

  /** @param minLogBytes - of a log that is worth it @param estimate - how large a snapshot would be, roughly */
  constructor({ stateSize, owed }: SnapshotState, minLogBytes: number, estimate: () => number) {
    this.#snapshotBytes = stateSize
    this.#isOwed = owed
    this.#minLogBytes = minLogBytes
    this.#estimate = estimate
  }

  /** Whether the disk has no room for what does not free any. */
  get isDiskFull(): boolean {
    return this.#isDiskFull
  }

  setDiskFull(isDiskFull: boolean): void {
    this.#isDiskFull = isDiskFull
    if (!isDiskFull) this.#tooLargeBytes = Number.POSITIVE_INFINITY
  }

  isDue(logBytes: number): boolean {
    if (this.#isDiskFull && this.#freesMuch(logBytes)) return true
    const enough = this.#isOwed ? 0 : Math.max(this.#minLogBytes, this.#snapshotBytes)
    return logBytes > Math.max(enough, this.#retryBytes)
  }

  /** A new log was begun, and its snapshot is being written. */
  replacedLog(logBytes: number): void {
    this.#olderLogBytes += logBytes
  }

  written(snapshotBytes: number): void {
    this.#snapshotBytes = snapshotBytes
    this.#isOwed = false
    this.#olderLogBytes = 0
    this.#retryBytes = 0
    this.#tooLargeBytes = Number.POSITIVE_INFINITY
  }

  /** A new log was begun, and its snapshot could not be written. */
  notWritten(cause: unknown, logBytes: number): void {
    this.#retry(cause, 2 * logBytes + this.#minLogBytes)
  }

  /** No new log could be begun. */
  notBegun(cause: unknown, logBytes: number): void {
    this.#retry(cause, 2 * logBytes)
  }

  #retry(cause: unknown, atBytes: number): void {
    this.#retryBytes = atBytes
    if (isFull(cause)) this.#tooLargeBytes = this.#estimate()
  }

  #freesMuch(logBytes: number): boolean {
    const bytes = this.#estimate()
    return (
      bytes < SMALLER * this.#tooLargeBytes && GARBAGE * bytes < logBytes + this.#olderLogBytes + this.#snapshotBytes
    )
  }
}
