import { reason, StateStoreError } from '../../../core/util/errors.js'
import { Fifo } from '../../../core/util/fifo.js'
import type { Entry } from '../../engine/entry.js'
import type { State } from '../../engine/state.js'
import { encodeEntry } from '../entry-codec.js'
import { type Log, LogFailure, type LogListener } from '../log.js'
import type { Files, OpenFile } from './files.js'
import { HEAD_SIZE, nameOf, newHead } from './format.js'
import { FRAME_HEADER, seal } from './frame.js'
import { type EndPlace, LogEnd, type Outcome } from './log-end.js'
import { markOf } from './mark.js'
import { writeState } from './state-file.js'
import { isFull } from './system-error.js'

/** Where a log goes on. */
export interface LogPlace extends EndPlace {
  readonly mark: OpenFile
  readonly position: number
  /** Of the state before it, bytes. */
  readonly stateSize: number
  /**
   * A state is to be written soon: the process before ended while it wrote the one with which this log begins, or still
   * runs, and may remove the older logs.
   */
  readonly owed: boolean
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
  /** A log that is shorter is not replaced by a state, unless the disk is full. Default 4 MiB. */
  readonly worthReplacing: number
  /** The file of a log is made longer by so much at a time. Default 1 MiB. */
  readonly ahead: number
}

const SIZES: LogSizes = { worthReplacing: 4 * 1024 * 1024, ahead: 1024 * 1024 }
/** On a full disk, the files have to be so many times larger than a state would be to be replaced by one. */
const GARBAGE = 2
/** A state that found no room is tried again when it would be so much smaller. */
const SMALLER = 0.75
/** A disk that took longer for the last flush is not waited for in the loop, ms. */
const PROMPT = 1
/** Nor is it for more than this, bytes. */
const MOST_AT_ONCE = 256 * 1024
/** Nothing is held back for longer, ms. */
const LONGEST_PAUSE = 5

interface Appended {
  readonly entry: Entry
  /** It may use the reserve. */
  readonly frees: boolean
}

/**
 * A log on a disk: an entry is committed when it has been flushed. One is written and flushed at a time, so that what comes
 * meanwhile goes together. When it is longer than the state would be, a new log is begun, and the state at that point is
 * written beside the work.
 */
export class DiskLog implements Log {
  readonly immediate = false
  readonly #files: Files
  readonly #host: LogHost
  readonly #worthReplacing: number
  readonly #zeros: Uint8Array
  readonly #queue = new Fifo<Appended>()
  readonly #mark: OpenFile
  #end: LogEnd
  #position: number
  #stateSize: number
  /** Of logs before this one, as long as no state has replaced them, bytes. */
  #olderSize = 0
  /** Every start would read the older logs again. */
  #owed: boolean
  #listener: LogListener | undefined
  #broken: LogFailure | undefined
  #committing = false
  /** Its listener is told of an entry, and must not be told of the next one meanwhile. */
  #telling = false
  /** How long the last flush took, ms. */
  #took = 0
  #idle: () => void = () => undefined
  #saving: Promise<void> | undefined
  /** The log has to be so long before a state is written again, after that failed. */
  #patience = 0
  #closed = false
  /** The disk has no room for what does not free any. */
  #isTight = false
  /** How large the state would have been that found no room, bytes. */
  #tooLarge = Number.POSITIVE_INFINITY
  /** Of the start, for which there was no room: it comes before all else. */
  #start: Entry | undefined

  constructor(files: Files, place: LogPlace, host: LogHost, sizes: Partial<LogSizes> = {}) {
    const { worthReplacing, ahead } = { ...SIZES, ...sizes }
    this.#files = files
    this.#host = host
    this.#worthReplacing = worthReplacing
    this.#zeros = new Uint8Array(ahead)
    this.#end = new LogEnd(place, this.#zeros)
    this.#mark = place.mark
    this.#position = place.position
    this.#stateSize = place.stateSize
    this.#owed = place.owed
  }

  /** Half of a flush: what comes meanwhile is spared to wait for a whole one. */
  get pause(): number {
    return this.#took < 2 * PROMPT ? 0 : Math.min(this.#took / 2, LONGEST_PAUSE)
  }

  listen(listener: LogListener): void {
    this.#listener = listener
  }

  /** Puts an entry before the next one that is appended, at the time of that; its listener hears of it as `foreign`. */
  precede(entry: Entry): void {
    this.#start = entry
  }

  append(entry: Entry, frees = false): void {
    if (this.#broken !== undefined || this.#closed) {
      this.#listener?.rejected(entry, this.#broken ?? new LogFailure('closed', 'the store is closed'))
      return
    }
    this.#queue.push({ entry, frees })
    this.#proceed()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#committing || this.#queue.length > 0) await new Promise<void>(resolve => (this.#idle = resolve))
    await this.#saving
    await Promise.all([this.#end.close(), this.#mark.close()])
  }

  #proceed(): void {
    while (!this.#committing) {
      const next = this.#queue.shift()
      if (next === undefined) {
        this.#idle()
        return
      }
      this.#committing = true
      const { entry, frees } = next
      const outcome = this.#broken ?? (this.#start ? this.#commitSecond(this.#start, next) : this.#commit(entry, frees))
      if (!(outcome instanceof Promise)) this.#settle(next, outcome)
      else void outcome.then(failure => this.#settleLater(next, failure))
    }
  }

  #settleLater(appended: Appended, failure: Outcome): void {
    this.#settle(appended, failure)
    this.#proceed()
  }

  async #commitSecond(start: Entry, { entry, frees }: Appended): Promise<Outcome> {
    const failure = await this.#commit({ ...start, time: entry.time }, true)
    if (failure !== undefined) return failure
    this.#start = undefined
    this.#tell(() => this.#listener?.foreign?.({ ...start, time: entry.time }))
    return this.#broken ?? this.#commit(entry, frees)
  }

  #commit(entry: Entry, frees: boolean): Outcome | Promise<Outcome> {
    const frame = seal(encodeEntry(entry, FRAME_HEADER), this.#position + 1, this.#end.salt)
    const begun = this.#host.monotonic()
    // The way to another thread and back may take longer than a flush; but nobody shall wait for a disk that is slow.
    const now = frame.length <= MOST_AT_ONCE && this.#took < PROMPT && !this.#telling && this.#end.hasRoom(frame, frees)
    const outcome = now ? this.#end.putNow(frame) : this.#end.put(frame, frees)
    return outcome instanceof Promise ? outcome.then(failure => this.#put(begun, failure)) : this.#put(begun, outcome)
  }

  /** A frame is on the disk, or not. */
  #put(begun: number, failure: Outcome): Outcome {
    this.#took = this.#host.monotonic() - begun
    if (failure !== undefined) return failure
    try {
      // Not flushed: it is about what a process that dies leaves behind, and may lag behind after a power cut.
      this.#mark.writeNow(markOf(this.#position + 1), 0)
    } catch (cause) {
      return new LogFailure('broken', 'writing to the disk failed', { cause })
    }
    this.#position++
    return undefined
  }

  #settle({ entry, frees }: Appended, failure: Outcome): void {
    if (failure?.problem === 'broken') this.#broken ??= failure
    if (failure?.problem === 'full' || (failure === undefined && !frees)) this.#setTight(failure !== undefined)
    // A state has to be that of its position: then nothing is written meanwhile.
    const wantsState = this.#wantsState
    this.#committing = wantsState
    this.#tell(() => {
      // What waits is appended first, and is on its way to the disk while this is applied.
      if (failure === undefined) this.#listener?.committed(entry)
      else this.#listener?.rejected(entry, failure)
    })
    if (wantsState) void this.#replace().then(() => this.#proceed())
  }

  #tell(report: () => void): void {
    const outer = this.#telling
    this.#telling = true
    try {
      report()
    } catch (error) {
      this.#broken ??= new LogFailure('broken', 'what is on the disk could not be applied', { cause: error })
      this.#host.troubled(error)
    }
    this.#telling = outer
  }

  #setTight(isTight: boolean): void {
    this.#isTight = isTight
    if (!isTight) this.#tooLarge = Number.POSITIVE_INFINITY
  }

  get #wantsState(): boolean {
    if (this.#saving !== undefined || this.#closed || this.#broken !== undefined) return false
    if (this.#isTight && this.#hasGarbage) return true
    const enough = this.#owed ? 0 : Math.max(this.#worthReplacing, this.#stateSize)
    return this.#end.length > Math.max(enough, this.#patience)
  }

  /** Whether a state would free much of a full disk. */
  get #hasGarbage(): boolean {
    const size = this.#host.stateSize()
    return size < SMALLER * this.#tooLarge && GARBAGE * size < this.#end.length + this.#olderSize + this.#stateSize
  }

  async #replace(): Promise<void> {
    if (this.#broken === undefined) await this.#begin()
    this.#committing = false
  }

  /** Goes on with a new log, and has the state written that it begins with. */
  async #begin(): Promise<void> {
    const [state, position] = [this.#host.capture(), this.#position]
    const name = nameOf('log', position)
    const { head, salt } = newHead('log', position)
    let file: OpenFile | undefined
    try {
      if (this.#isTight) await this.#end.trim()
      file = await this.#files.create(name)
      await file.write(head, 0)
      await file.flush()
      await this.#files.flush()
    } catch (error) {
      await this.#forgo(file, error)
      return
    }
    const before = this.#end
    this.#olderSize += before.length
    this.#end = new LogEnd({ file, salt, at: HEAD_SIZE, reserved: HEAD_SIZE }, this.#zeros)
    await before.close()
    this.#saving = this.#save(state, position).then(() => {
      this.#saving = undefined
    })
  }

  async #save(state: State, position: number): Promise<void> {
    try {
      this.#stateSize = await writeState(this.#files, state, position)
      this.#owed = false
      this.#olderSize = 0
      this.#patience = 0
      this.#tooLarge = Number.POSITIVE_INFINITY
    } catch (error) {
      this.#patience = 2 * this.#end.length + this.#worthReplacing
      if (isFull(error)) this.#tooLarge = this.#host.stateSize()
      this.#host.troubled(snapshotFailed(error))
    }
  }

  async #forgo(file: OpenFile | undefined, trouble: unknown): Promise<void> {
    this.#patience = 2 * this.#end.length
    if (isFull(trouble)) this.#tooLarge = this.#host.stateSize()
    this.#host.troubled(snapshotFailed(trouble))
    try {
      // Not removed by its name, which may be that of the next owner's log by now. The next state removes it.
      await file?.truncate(0)
      await file?.close()
    } catch {
      // It is empty, and recognised as such.
    }
    await this.#end.keepReserve()
  }
}

const snapshotFailed = (cause: unknown): StateStoreError =>
  new StateStoreError(
    'snapshot-failed',
    `the snapshot of the store could not be written: ${reason(cause)}; nothing is lost, but the log grows until one can: ` +
      'check the disk and how much of it is free',
    { cause },
  )
