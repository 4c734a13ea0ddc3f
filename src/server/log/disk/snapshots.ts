import type { State } from '../../engine/records.js'
import { encodeState } from '../state-codec.js'
import { type Files, isFull } from './files.js'
import {
  createFileHead,
  FILE_HEAD_BYTES,
  FRAME_HEADER_BYTES,
  fileNameOf,
  PARTIAL_SUFFIX,
  parseFileName,
  sealFrame,
} from './format.js'

/** Writes a snapshot and removes the files that it supersedes. Returns the snapshot's size in bytes. */
export async function writeSnapshot(files: Files, state: State, position: number): Promise<number> {
  const name = fileNameOf('state', position)
  const file = await files.create(name + PARTIAL_SUFFIX)
  const { head, salt } = createFileHead('state', position)
  let at = FILE_HEAD_BYTES
  try {
    await file.write(head, 0)
    let number = 0
    for (const block of encodeState(state, FRAME_HEADER_BYTES)) {
      await file.write(sealFrame(block, number++, salt), at)
      at += block.length
    }
    await file.flush()
  } catch (error) {
    await file.close()
    await files.remove(name + PARTIAL_SUFFIX)
    throw error
  }
  await file.close()
  await files.rename(name + PARTIAL_SUFFIX, name)
  await files.flush()
  await removeOlder(files, position)
  return at
}

async function removeOlder(files: Files, position: number): Promise<void> {
  for (const name of await files.list()) {
    const file = parseFileName(name)
    if (file !== undefined && file.position < position) await files.remove(name)
  }
}

/** The factor by which the existing files must be larger than a snapshot for it to be written on a full disk. */
const MIN_GARBAGE_RATIO = 2
/** The fraction to which the estimate must have shrunk before a snapshot that failed for lack of space is retried. */
const MAX_RETRY_SIZE_RATIO = 0.75

export interface SnapshotState {
  readonly snapshotBytes: number
  /**
   * Whether a snapshot is overdue, because the previous process ended while it wrote the snapshot for this log, or
   * still runs and may remove the older logs.
   */
  readonly isSnapshotOwed: boolean
}

/** Decides when a snapshot replaces a log. */
export class SnapshotSchedule {
  readonly #minLogBytes: number
  readonly #estimateBytes: () => number
  #snapshotBytes: number
  /** The size of the previous logs that no snapshot has replaced yet. */
  #olderLogBytes = 0
  #isOwed: boolean
  /** The log size at which a failed snapshot is retried. */
  #retryBytes = 0
  #isDiskFull = false
  /** The estimated size of the last snapshot that did not fit on the disk. */
  #tooLargeBytes = Number.POSITIVE_INFINITY

  /**
   * @param minLogBytes - minimum size of a log that is worth replacing
   * @param estimateBytes - returns the approximate size of a snapshot
   */
  constructor({ snapshotBytes, isSnapshotOwed }: SnapshotState, minLogBytes: number, estimateBytes: () => number) {
    this.#snapshotBytes = snapshotBytes
    this.#isOwed = isSnapshotOwed
    this.#minLogBytes = minLogBytes
    this.#estimateBytes = estimateBytes
  }

  /** Returns whether the disk accepts only entries that free space. */
  get isDiskFull(): boolean {
    return this.#isDiskFull
  }

  setDiskFull(isDiskFull: boolean): void {
    this.#isDiskFull = isDiskFull
    if (!isDiskFull) this.#tooLargeBytes = Number.POSITIVE_INFINITY
  }

  isDue(logBytes: number): boolean {
    if (this.#isDiskFull && this.#wouldFreeEnough(logBytes)) return true
    const minBytes = this.#isOwed ? 0 : Math.max(this.#minLogBytes, this.#snapshotBytes)
    return logBytes > Math.max(minBytes, this.#retryBytes)
  }

  recordNewLog(logBytes: number): void {
    this.#olderLogBytes += logBytes
  }

  recordSnapshot(snapshotBytes: number): void {
    this.#snapshotBytes = snapshotBytes
    this.#isOwed = false
    this.#olderLogBytes = 0
    this.#retryBytes = 0
    this.#tooLargeBytes = Number.POSITIVE_INFINITY
  }

  recordSnapshotFailure(cause: unknown, logBytes: number): void {
    this.#delayRetry(cause, 2 * logBytes + this.#minLogBytes)
  }

  recordNewLogFailure(cause: unknown, logBytes: number): void {
    this.#delayRetry(cause, 2 * logBytes)
  }

  #delayRetry(cause: unknown, atBytes: number): void {
    this.#retryBytes = atBytes
    if (isFull(cause)) this.#tooLargeBytes = this.#estimateBytes()
  }

  #wouldFreeEnough(logBytes: number): boolean {
    const bytes = this.#estimateBytes()
    return (
      bytes < MAX_RETRY_SIZE_RATIO * this.#tooLargeBytes &&
      MIN_GARBAGE_RATIO * bytes < logBytes + this.#olderLogBytes + this.#snapshotBytes
    )
  }
}
