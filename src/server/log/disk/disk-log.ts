import { logChannel } from '../../../core/diagnostics/server-channels.js'
import { Fifo } from '../../../core/util/collections.js'
import { reason, StateStoreError } from '../../../core/util/errors.js'
import type { LogEntry } from '../../engine/entry.js'
import type { State } from '../../engine/records.js'
import { encodeEntry } from '../entry-codec.js'
import { type Log, LogFailure, type LogListener } from '../log.js'
import type { Files, OpenFile } from './files.js'
import {
  createFileHead,
  encodeCommitMark,
  FILE_HEAD_BYTES,
  FRAME_HEADER_BYTES,
  fileNameOf,
  sealFrame,
} from './format.js'
import { type AppendTarget, type FlushResult, LogWriter, uncertainFailure } from './log-writer.js'
import { SnapshotSchedule, type SnapshotState, writeSnapshot } from './snapshots.js'

export interface ResumeState extends AppendTarget, SnapshotState {
  readonly mark: OpenFile
  readonly position: number
}

export interface LogHost {
  /** Captures the state after all committed entries are applied. */
  readonly capture: () => State
  /** Returns the estimated size of a snapshot in bytes. */
  readonly estimateStateBytes: () => number
  readonly monotonic: () => number
  /** Called with errors that do not stop the log. */
  readonly reportError: (error: unknown) => void
}

export interface LogSizes {
  /** The size in bytes below which a log is not replaced by a snapshot unless the disk is full. Default: 4 MiB. */
  readonly minLogBytes: number
  /** The number of bytes by which the log file is preallocated at a time. Default: 1 MiB. */
  readonly preallocateBytes: number
  /**
   * The number of flushes without a stall after the start before flushes may block the event loop. Default: 1,000.
   */
  readonly steadyFlushes: number
}

/** The duration in ms of a flush above which further flushes run on another thread, off the event loop. */
const MAX_INLINE_FLUSH_MS = 1
/**
 * The duration in ms above which a flush on another thread counts as a stall of the disk. A shorter flush may have
 * waited only for the event loop.
 */
const STALL_MS = 10
/** The number of flushes without a stall after which flushes may block the event loop. */
const MIN_STEADY_FLUSHES = 1_000
/** The number of flushes without a stall for each ms of a stall, so that stalls that recur rarely block the event loop. */
const STEADY_FLUSHES_PER_MS = 32
const DEFAULT_SIZES: LogSizes = {
  minLogBytes: 4 * 1024 * 1024,
  preallocateBytes: 1024 * 1024,
  steadyFlushes: MIN_STEADY_FLUSHES,
}
/** The size above which frames are always written on another thread. */
const MAX_INLINE_BYTES = 256 * 1024
const MAX_PAUSE_MS = 5

interface QueuedEntry {
  readonly entry: LogEntry
  /** Whether the entry may use the reserve. */
  readonly freesSpace: boolean
}

/** The state that decides whether the log accepts entries. Rejected entries carry the failure. */
type LogState =
  | { readonly state: 'open' }
  /** The content of the disk is unknown, so nothing more is written. */
  | { readonly state: 'broken'; readonly failure: LogFailure }
  /** Entries appended before the close are still written, unless the log is broken. */
  | { readonly state: 'closed'; readonly failure: LogFailure | undefined }

/**
 * A log on disk. An entry is committed when it is flushed. Frames are written and flushed one at a time, so commands
 * that arrive during a flush share the next entry. When the log outgrows a snapshot, the store starts a new log and
 * writes the snapshot of that position in the background.
 */
export class DiskLog implements Log {
  readonly isSynchronous = false
  readonly #files: Files
  readonly #host: LogHost
  readonly #snapshots: SnapshotSchedule
  readonly #zeros: Uint8Array
  readonly #queue = new Fifo<QueuedEntry>()
  readonly #mark: OpenFile
  #writer: LogWriter
  #position: number
  #listener: LogListener | undefined
  #state: LogState = { state: 'open' }
  /** Whether an entry is being written or a new log is being started. */
  #isCommitting = false
  /** Whether the listener is running. While it runs, the next commit must not notify it reentrantly. */
  #isNotifying = false
  #flushMs = 0
  /** The number of flushes without a stall that must precede the first flush on the event loop. */
  #steadyFlushesLeft: number
  #onIdle: () => void = () => undefined
  #snapshotWrite: Promise<void> | undefined
  /** The start entry, if the disk was full at startup. It precedes all other entries. */
  #deferredStart: LogEntry | undefined

  constructor(files: Files, resumed: ResumeState, host: LogHost, sizes: Partial<LogSizes> = {}) {
    const { minLogBytes, preallocateBytes, steadyFlushes } = { ...DEFAULT_SIZES, ...sizes }
    this.#files = files
    this.#host = host
    this.#snapshots = new SnapshotSchedule(resumed, minLogBytes, host.estimateStateBytes)
    this.#zeros = new Uint8Array(preallocateBytes)
    this.#writer = new LogWriter(resumed, this.#zeros)
    this.#mark = resumed.mark
    this.#position = resumed.position
    this.#steadyFlushesLeft = steadyFlushes
  }

  /**
   * Half the duration of a flush, so that a request that arrives during a flush does not wait for another full flush.
   */
  get batchDelayMs(): number {
    return this.#flushMs < 2 * MAX_INLINE_FLUSH_MS ? 0 : Math.min(this.#flushMs / 2, MAX_PAUSE_MS)
  }

  listen(listener: LogListener): void {
    this.#listener = listener
  }

  /**
   * Schedules a start entry, to be written before the next appended entry with the time of that entry. The listener
   * receives it through `onForeign`.
   */
  deferStart(entry: LogEntry): void {
    this.#deferredStart = entry
  }

  append(entry: LogEntry, freesSpace = false): void {
    if (this.#state.state !== 'open') {
      this.#listener?.onRejected(entry, this.#state.failure ?? new LogFailure('closed', 'the store is closed'))
      return
    }
    this.#queue.push({ entry, freesSpace })
    this.#processQueue()
  }

  async close(): Promise<void> {
    if (this.#state.state === 'closed') return
    this.#state = { state: 'closed', failure: this.#failure }
    if (this.#isCommitting || this.#queue.length > 0) await new Promise<void>(resolve => (this.#onIdle = resolve))
    await this.#snapshotWrite
    await Promise.all([this.#writer.close(), this.#mark.close()])
  }

  #processQueue(): void {
    while (!this.#isCommitting) {
      const next = this.#queue.shift()
      if (next === undefined) {
        this.#onIdle()
        return
      }
      this.#isCommitting = true
      const result =
        this.#failure ?? (this.#deferredStart ? this.#commitAfterStart(this.#deferredStart, next) : this.#commit(next))
      if (!(result instanceof Promise)) this.#finishEntry(next, result)
      else
        void result.then(failure => {
          this.#finishEntry(next, failure)
          this.#processQueue()
        })
    }
  }

  async #commitAfterStart(start: LogEntry, next: QueuedEntry): Promise<FlushResult> {
    const entry = { ...start, time: next.entry.time }
    const failure = await this.#commit({ entry, freesSpace: true })
    if (failure !== undefined) return certain(failure)
    this.#deferredStart = undefined
    this.#notify(() => this.#listener?.onForeign?.(entry))
    return this.#failure ?? this.#commit(next)
  }

  #commit({ entry, freesSpace }: QueuedEntry): FlushResult | Promise<FlushResult> {
    const frame = sealFrame(encodeEntry(entry, FRAME_HEADER_BYTES), this.#position + 1, this.#writer.salt)
    const startedAt = this.#host.monotonic()
    // Appending on the event loop avoids a round trip to a worker thread, which may take longer than a flush. A slow
    // disk must not block the event loop.
    const isInline =
      frame.length <= MAX_INLINE_BYTES &&
      this.#steadyFlushesLeft === 0 &&
      !this.#isNotifying &&
      this.#writer.hasRoom(frame, freesSpace)
    const result = isInline ? this.#writer.appendSync(frame) : this.#writer.append(frame, freesSpace)
    return result instanceof Promise
      ? result.then(failure => this.#finishWrite(startedAt, frame.length, failure, STALL_MS))
      : this.#finishWrite(startedAt, frame.length, result, MAX_INLINE_FLUSH_MS)
  }

  /** @param maxSteadyMs - duration above which the disk has stalled */
  #finishWrite(startedAt: number, bytes: number, failure: FlushResult, maxSteadyMs: number): FlushResult {
    this.#flushMs = this.#host.monotonic() - startedAt
    const isSteady = this.#flushMs < maxSteadyMs
    this.#steadyFlushesLeft = isSteady
      ? Math.max(0, this.#steadyFlushesLeft - 1)
      : Math.max(MIN_STEADY_FLUSHES, this.#steadyFlushesLeft, Math.ceil(STEADY_FLUSHES_PER_MS * this.#flushMs))
    if (failure !== undefined) return failure
    try {
      // The mark is not flushed. It detects data lost when a process dies, and may lag behind after a power cut.
      this.#mark.writeSync(encodeCommitMark(this.#position + 1), 0)
    } catch (cause) {
      return uncertainFailure('writing to the disk failed', cause)
    }
    this.#position++
    if (logChannel.hasSubscribers)
      logChannel.publish({ type: 'flushed', duration: this.#flushMs, bytes, position: this.#position })
    return undefined
  }

  #finishEntry({ entry, freesSpace }: QueuedEntry, failure: FlushResult): void {
    if (failure?.problem === 'broken') this.#markBroken(failure)
    if (failure?.problem === 'full') this.#snapshots.setDiskFull(true)
    if (failure === undefined && !freesSpace) this.#snapshots.setDiskFull(false)
    // A snapshot must match its position, so nothing is written until the new log is started.
    const isSnapshotDue = this.#isSnapshotDue
    this.#isCommitting = isSnapshotDue
    this.#notify(() => {
      // The listener appends queued commands first, so that their flush overlaps with applying this entry.
      if (failure === undefined) this.#listener?.onCommitted(entry)
      else this.#listener?.onRejected(entry, failure)
    })
    if (isSnapshotDue)
      void this.#startNewLog().then(() => {
        this.#isCommitting = false
        this.#processQueue()
      })
  }

  #notify(report: () => void): void {
    const wasNotifying = this.#isNotifying
    this.#isNotifying = true
    try {
      report()
    } catch (error) {
      this.#markBroken(new LogFailure('broken', 'a committed entry could not be applied', { cause: error }))
      this.#host.reportError(error)
    }
    this.#isNotifying = wasNotifying
  }

  /** Marks the log as broken. Keeps the first failure. */
  #markBroken(failure: LogFailure): void {
    if (this.#failure !== undefined) return
    this.#state = { state: this.#state.state === 'closed' ? 'closed' : 'broken', failure: certain(failure) }
  }

  get #failure(): LogFailure | undefined {
    return this.#state.state === 'open' ? undefined : this.#state.failure
  }

  get #isSnapshotDue(): boolean {
    return (
      this.#snapshotWrite === undefined && this.#state.state === 'open' && this.#snapshots.isDue(this.#writer.length)
    )
  }

  /** Starts a new log and writes the snapshot that precedes it. */
  async #startNewLog(): Promise<void> {
    if (this.#failure !== undefined) return
    const [state, position] = [this.#host.capture(), this.#position]
    const name = fileNameOf('log', position)
    const { head, salt } = createFileHead('log', position)
    let file: OpenFile | undefined
    try {
      if (this.#snapshots.isDiskFull) await this.#writer.trim()
      file = await this.#files.create(name)
      await file.write(head, 0)
      await file.flush()
      await this.#files.flush()
    } catch (error) {
      await this.#abandonNewLog(file, error)
      return
    }
    const previousWriter = this.#writer
    this.#snapshots.recordNewLog(previousWriter.length)
    this.#writer = new LogWriter(
      { file, salt, endOffset: FILE_HEAD_BYTES, preallocatedEnd: FILE_HEAD_BYTES },
      this.#zeros,
    )
    await previousWriter.close()
    this.#snapshotWrite = this.#writeSnapshot(state, position).then(() => {
      this.#snapshotWrite = undefined
    })
  }

  async #writeSnapshot(state: State, position: number): Promise<void> {
    const startedAt = this.#host.monotonic()
    try {
      this.#snapshots.recordSnapshot(await writeSnapshot(this.#files, state, position))
      if (logChannel.hasSubscribers)
        logChannel.publish({ type: 'snapshot', position, duration: this.#host.monotonic() - startedAt })
    } catch (error) {
      this.#snapshots.recordSnapshotFailure(error, this.#writer.length)
      this.#reportSnapshotFailure(error)
    }
  }

  #reportSnapshotFailure(error: unknown): void {
    if (logChannel.hasSubscribers) logChannel.publish({ type: 'snapshot-failed', error })
    this.#host.reportError(snapshotFailed(error))
  }

  async #abandonNewLog(file: OpenFile | undefined, error: unknown): Promise<void> {
    this.#snapshots.recordNewLogFailure(error, this.#writer.length)
    this.#reportSnapshotFailure(error)
    try {
      // The file is truncated instead of removed, because the name may already belong to the next owner's log. The next
      // snapshot removes the file.
      await file?.truncate(0)
      await file?.close()
    } catch {
      // When the directory is opened, an incomplete empty log is recognised and ignored.
    }
    await this.#writer.restoreReserve()
  }
}

/** Returns the failure for an entry that was never written. */
const certain = ({ problem, message, cause }: LogFailure): LogFailure => new LogFailure(problem, message, { cause })

const snapshotFailed = (cause: unknown): StateStoreError =>
  new StateStoreError(
    'snapshot-failed',
    `the snapshot of the store could not be written: ${reason(cause)}; no data is lost, but the log grows until a snapshot succeeds: ` +
      'check the disk and its free space',
    { cause },
  )
