import { Fifo } from '../../../core/util/collections.js'
import { reason, StateStoreError } from '../../../core/util/errors.js'
import type { LogEntry } from '../../engine/entry.js'
import type { State } from '../../engine/records.js'
import { encodeEntry } from '../entry-codec.js'
import { type Log, LogFailure, type LogListener } from '../log.js'
import type { Files, OpenFile } from './files.js'
import { encodeCommitMark, FRAME_HEADER, HEAD_SIZE, nameOf, newHead, seal } from './format.js'
import { type EndPlace, LogWriter, type Outcome } from './log-writer.js'
import { SnapshotSchedule, type SnapshotState, writeSnapshot } from './snapshots.js'

/** Where a log goes on. */
export interface LogPlace extends EndPlace, SnapshotState {
  readonly mark: OpenFile
  readonly position: number
}

/** What a log needs besides its files. */
export interface LogHost {
  /** The state as it is when all is applied that was committed. */
  readonly capture: () => State
  /** What the state would take on the disk, bytes, roughly. */
  readonly stateSize: () => number
  /** Milliseconds that never go backwards. */
  readonly monotonic: () => number
  /** Hears of what does not keep the log from going on. */
  readonly troubled: (trouble: unknown) => void
}

/** When a log does what, bytes. */
export interface LogSizes {
  /** A log that is shorter is not replaced by a snapshot, unless the disk is full. Default 4 MiB. */
  readonly worthReplacing: number
  /** The file of a log is made longer by so much at a time. Default 1 MiB. */
  readonly ahead: number
}

const SIZES: LogSizes = { worthReplacing: 4 * 1024 * 1024, ahead: 1024 * 1024 }
/** A disk whose last flush took longer is not waited for in the loop, ms. */
const MAX_INLINE_FLUSH_MS = 1
/** Nor is it for a larger frame, bytes. */
const MAX_INLINE_BYTES = 256 * 1024
/** Entries are not held back for longer, ms. */
const MAX_PAUSE_MS = 5

interface Appended {
  readonly entry: LogEntry
  /** It may use the reserve. */
  readonly frees: boolean
}

/** Whether a log takes entries; why not goes with each entry that is rejected. */
type LogState =
  | { readonly state: 'open' }
  /** It is not known what is on the disk: nothing is written any more. */
  | { readonly state: 'broken'; readonly failure: LogFailure }
  /** What was appended before is still written, unless the log is broken. */
  | { readonly state: 'closed'; readonly failure: LogFailure | undefined }

/**
 * A log on a disk: an entry is committed when it has been flushed. One is written and flushed at a time, so that entries
 * that come meanwhile go together. When it is longer than a snapshot would be, a new log is begun, and the snapshot of that
 * point is written beside the work.
 */
export class DiskLog implements Log {
  readonly immediate = false
  readonly #files: Files
  readonly #host: LogHost
  readonly #snapshots: SnapshotSchedule
  readonly #zeros: Uint8Array
  readonly #queue = new Fifo<Appended>()
  readonly #mark: OpenFile
  #writer: LogWriter
  #position: number
  #listener: LogListener | undefined
  #state: LogState = { state: 'open' }
  /** An entry is being written, or a new log begun. */
  #isCommitting = false
  /** The listener is being notified of an entry, and must not be notified of the next one within that. */
  #isNotifying = false
  /** How long the last flush took, ms. */
  #flushMs = 0
  #onIdle: () => void = () => undefined
  /** The snapshot that is being written. */
  #saving: Promise<void> | undefined
  /** Of the start, for which there was no room: it comes before all else. */
  #start: LogEntry | undefined

  constructor(files: Files, place: LogPlace, host: LogHost, sizes: Partial<LogSizes> = {}) {
    const { worthReplacing, ahead } = { ...SIZES, ...sizes }
    this.#files = files
    this.#host = host
    this.#snapshots = new SnapshotSchedule(place, worthReplacing, host.stateSize)
    this.#zeros = new Uint8Array(ahead)
    this.#writer = new LogWriter(place, this.#zeros)
    this.#mark = place.mark
    this.#position = place.position
  }

  /** Half of a flush: what comes meanwhile is spared to wait for a whole one. */
  get pause(): number {
    return this.#flushMs < 2 * MAX_INLINE_FLUSH_MS ? 0 : Math.min(this.#flushMs / 2, MAX_PAUSE_MS)
  }

  listen(listener: LogListener): void {
    this.#listener = listener
  }

  /** Puts an entry before the next one that is appended, at the time of that; its listener hears of it as `foreign`. */
  precede(entry: LogEntry): void {
    this.#start = entry
  }

  append(entry: LogEntry, frees = false): void {
    if (this.#state.state !== 'open') {
      this.#listener?.rejected(entry, this.#state.failure ?? new LogFailure('closed', 'the store is closed'))
      return
    }
    this.#queue.push({ entry, frees })
    this.#proceed()
  }

  async close(): Promise<void> {
    if (this.#state.state === 'closed') return
    this.#state = { state: 'closed', failure: this.#failure }
    if (this.#isCommitting || this.#queue.length > 0) await new Promise<void>(resolve => (this.#onIdle = resolve))
    await this.#saving
    await Promise.all([this.#writer.close(), this.#mark.close()])
  }

  #proceed(): void {
    while (!this.#isCommitting) {
      const next = this.#queue.shift()
      if (next === undefined) {
        this.#onIdle()
        return
      }
      this.#isCommitting = true
      const outcome = this.#failure ?? (this.#start ? this.#commitBehind(this.#start, next) : this.#commit(next))
      if (!(outcome instanceof Promise)) this.#settle(next, outcome)
      else
        void outcome.then(failure => {
          this.#settle(next, failure)
          this.#proceed()
        })
    }
  }

  async #commitBehind(start: LogEntry, next: Appended): Promise<Outcome> {
    const entry = { ...start, time: next.entry.time }
    const failure = await this.#commit({ entry, frees: true })
    if (failure !== undefined) return failure
    this.#start = undefined
    this.#notify(() => this.#listener?.foreign?.(entry))
    return this.#failure ?? this.#commit(next)
  }

  #commit({ entry, frees }: Appended): Outcome | Promise<Outcome> {
    const frame = seal(encodeEntry(entry, FRAME_HEADER), this.#position + 1, this.#writer.salt)
    const startedAt = this.#host.monotonic()
    // The way to another thread and back may take longer than a flush; but the loop does not wait for a slow disk.
    const isInline =
      frame.length <= MAX_INLINE_BYTES &&
      this.#flushMs < MAX_INLINE_FLUSH_MS &&
      !this.#isNotifying &&
      this.#writer.hasRoom(frame, frees)
    const outcome = isInline ? this.#writer.putNow(frame) : this.#writer.put(frame, frees)
    return outcome instanceof Promise
      ? outcome.then(failure => this.#written(startedAt, failure))
      : this.#written(startedAt, outcome)
  }

  /** A frame is on the disk, or not. */
  #written(startedAt: number, failure: Outcome): Outcome {
    this.#flushMs = this.#host.monotonic() - startedAt
    if (failure !== undefined) return failure
    try {
      // Not flushed: it is about what a process that dies leaves behind, and may lag behind after a power cut.
      this.#mark.writeNow(encodeCommitMark(this.#position + 1), 0)
    } catch (cause) {
      return new LogFailure('broken', 'writing to the disk failed', { cause })
    }
    this.#position++
    return undefined
  }

  #settle({ entry, frees }: Appended, failure: Outcome): void {
    if (failure?.problem === 'broken') this.#break(failure)
    if (failure?.problem === 'full') this.#snapshots.setDiskFull(true)
    if (failure === undefined && !frees) this.#snapshots.setDiskFull(false)
    // A snapshot has to be that of its position: nothing is written until the new log is begun.
    const isDue = this.#isSnapshotDue
    this.#isCommitting = isDue
    this.#notify(() => {
      // What waits is appended first, and is on its way to the disk while this is applied.
      if (failure === undefined) this.#listener?.committed(entry)
      else this.#listener?.rejected(entry, failure)
    })
    if (isDue)
      void this.#replace().then(() => {
        this.#isCommitting = false
        this.#proceed()
      })
  }

  #notify(report: () => void): void {
    const wasNotifying = this.#isNotifying
    this.#isNotifying = true
    try {
      report()
    } catch (error) {
      this.#break(new LogFailure('broken', 'what is on the disk could not be applied', { cause: error }))
      this.#host.troubled(error)
    }
    this.#isNotifying = wasNotifying
  }

  /** The first failure counts. */
  #break(failure: LogFailure): void {
    if (this.#failure !== undefined) return
    this.#state = { state: this.#state.state === 'closed' ? 'closed' : 'broken', failure }
  }

  /** Why nothing is written any more. */
  get #failure(): LogFailure | undefined {
    return this.#state.state === 'open' ? undefined : this.#state.failure
  }

  get #isSnapshotDue(): boolean {
    return this.#saving === undefined && this.#state.state === 'open' && this.#snapshots.isDue(this.#writer.length)
  }

  /** Goes on with a new log, and has the snapshot written that it begins with. */
  async #replace(): Promise<void> {
    if (this.#failure !== undefined) return
    const [state, position] = [this.#host.capture(), this.#position]
    const name = nameOf('log', position)
    const { head, salt } = newHead('log', position)
    let file: OpenFile | undefined
    try {
      if (this.#snapshots.isDiskFull) await this.#writer.trim()
      file = await this.#files.create(name)
      await file.write(head, 0)
      await file.flush()
      await this.#files.flush()
    } catch (error) {
      await this.#keepLog(file, error)
      return
    }
    const before = this.#writer
    this.#snapshots.replacedLog(before.length)
    this.#writer = new LogWriter({ file, salt, at: HEAD_SIZE, reserved: HEAD_SIZE }, this.#zeros)
    await before.close()
    this.#saving = this.#save(state, position).then(() => {
      this.#saving = undefined
    })
  }

  async #save(state: State, position: number): Promise<void> {
    try {
      this.#snapshots.written(await writeSnapshot(this.#files, state, position))
    } catch (error) {
      this.#snapshots.notWritten(error, this.#writer.length)
      this.#host.troubled(snapshotFailed(error))
    }
  }

  /** No new log could be begun. */
  async #keepLog(file: OpenFile | undefined, trouble: unknown): Promise<void> {
    this.#snapshots.notBegun(trouble, this.#writer.length)
    this.#host.troubled(snapshotFailed(trouble))
    try {
      // Not removed by its name, which may be that of the next owner's log by now. The next snapshot removes it.
      await file?.truncate(0)
      await file?.close()
    } catch {
      // It is empty, and recognised as such.
    }
    await this.#writer.keepReserve()
  }
}

const snapshotFailed = (cause: unknown): StateStoreError =>
  new StateStoreError(
    'snapshot-failed',
    `the snapshot of the store could not be written: ${reason(cause)}; nothing is lost, but the log grows until one can: ` +
      'check the disk and how much of it is free',
    { cause },
  )
