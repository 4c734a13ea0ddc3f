import { Fifo } from '../base/fifo.js'
import type { Entry } from '../engine/entry.js'
import type { State } from '../engine/state.js'
import { encodeEntry } from '../log/entry-codec.js'
import { type Log, LogFailure, type LogListener } from '../log/log.js'
import type { Files, OpenFile } from './files.js'
import { HEAD_SIZE, head, nameOf } from './format.js'
import { FRAME_HEADER, seal } from './frame.js'
import { markOf } from './mark.js'
import { writeState } from './state-file.js'

/** Where a log goes on. */
export interface LogPlace {
  readonly file: OpenFile
  readonly mark: OpenFile
  readonly at: number
  readonly position: number
  /** Of the state before it, bytes. */
  readonly stateSize: number
}

/** A log that is shorter is not worth being replaced by a state, bytes. */
const WORTH_REPLACING = 16 * 1024 * 1024

/**
 * A log on a disk: an entry is committed when it has been flushed. One is written and flushed at a time, so that what comes
 * meanwhile goes together. When it is longer than the state would be, a new log is begun, and the state at that point is
 * written beside the work.
 */
export class DiskLog implements Log {
  readonly immediate = false
  readonly #files: Files
  readonly #capture: () => State
  readonly #troubled: (trouble: unknown) => void
  readonly #worthReplacing: number
  readonly #queue = new Fifo<Entry>()
  readonly #mark: OpenFile
  #file: OpenFile
  #at: number
  #position: number
  #stateSize: number
  #listener: LogListener | undefined
  #broken: LogFailure | undefined
  #committing = false
  #idle: () => void = () => undefined
  #saving: Promise<void> | undefined
  /** The log has to be so long before a state is written again, after that failed. */
  #patience = 0
  #closed = false

  /**
   * @param capture - the state as it is when all is applied that was committed
   * @param troubled - hears of what does not keep the log from going on
   */
  constructor(
    files: Files,
    place: LogPlace,
    capture: () => State,
    troubled: (trouble: unknown) => void,
    worthReplacing = WORTH_REPLACING,
  ) {
    this.#files = files
    this.#capture = capture
    this.#troubled = troubled
    this.#worthReplacing = worthReplacing
    this.#file = place.file
    this.#mark = place.mark
    this.#at = place.at
    this.#position = place.position
    this.#stateSize = place.stateSize
  }

  get busy(): boolean {
    return this.#committing || this.#queue.length > 0
  }

  listen(listener: LogListener): void {
    this.#listener = listener
  }

  append(entry: Entry): void {
    if (this.#broken !== undefined || this.#closed) {
      this.#listener?.rejected(entry, this.#broken ?? new LogFailure('broken', 'the store is closed'))
      return
    }
    this.#queue.push(entry)
    this.#proceed()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.busy) await new Promise<void>(resolve => (this.#idle = resolve))
    await this.#saving
    await Promise.all([this.#file.close(), this.#mark.close()])
  }

  #proceed(): void {
    if (this.#committing) return
    const entry = this.#queue.shift()
    if (entry === undefined) {
      this.#idle()
      return
    }
    this.#committing = true
    void this.#put(entry).then(() => this.#proceed())
  }

  async #put(entry: Entry): Promise<void> {
    const failure = this.#broken ?? (await this.#commit(entry))
    if (failure?.problem === 'broken') this.#broken = failure
    // A state has to be that of its position: then nothing is written meanwhile.
    const wantsState = failure === undefined && this.#wantsState
    this.#committing = wantsState
    try {
      // What waits is appended first, and is on its way to the disk while this is applied.
      if (failure === undefined) this.#listener?.committed(entry)
      else this.#listener?.rejected(entry, failure)
    } catch (error) {
      this.#broken ??= new LogFailure('broken', 'what is on the disk could not be applied', { cause: error })
      this.#troubled(error)
    }
    if (!wantsState) return
    if (this.#broken === undefined) await this.#begin()
    this.#committing = false
  }

  async #commit(entry: Entry): Promise<LogFailure | undefined> {
    const frame = seal(encodeEntry(entry, FRAME_HEADER), this.#position + 1)
    try {
      await this.#file.write(frame, this.#at)
    } catch (error) {
      return this.#unwritten(error)
    }
    try {
      await this.#file.flush()
      // Not flushed: it is about what a process that dies leaves behind, and may lag behind after a power cut.
      this.#mark.writeNow(markOf(this.#position + 1), 0)
    } catch (cause) {
      // What is on the disk now nobody knows: a flush that failed must not be tried again.
      return new LogFailure('broken', 'a flush to the disk failed', { cause })
    }
    this.#position++
    this.#at += frame.length
    return undefined
  }

  async #unwritten(cause: unknown): Promise<LogFailure> {
    if (!isFull(cause)) return new LogFailure('broken', 'writing to the disk failed', { cause })
    try {
      await this.#file.truncate(this.#at)
    } catch (error) {
      return new LogFailure('broken', 'the disk is full, and what was begun cannot be taken back', { cause: error })
    }
    return new LogFailure('full', 'the disk is full', { cause })
  }

  get #wantsState(): boolean {
    if (this.#saving !== undefined || this.#closed) return false
    return this.#at > Math.max(this.#worthReplacing, this.#stateSize, this.#patience)
  }

  /** Goes on with a new log, and has the state written that it begins with. */
  async #begin(): Promise<void> {
    const [state, position] = [this.#capture(), this.#position]
    const name = nameOf('log', position)
    let file: OpenFile | undefined
    try {
      file = await this.#files.create(name)
      await file.write(head('log', position), 0)
      await file.flush()
      await this.#files.flush()
    } catch (error) {
      await this.#forgo(name, file, error)
      return
    }
    const before = this.#file
    this.#file = file
    this.#at = HEAD_SIZE
    await before.close()
    this.#saving = this.#save(state, position).then(() => {
      this.#saving = undefined
    })
  }

  async #save(state: State, position: number): Promise<void> {
    try {
      this.#stateSize = await writeState(this.#files, state, position)
      this.#patience = 0
    } catch (error) {
      this.#patience = 2 * this.#at + this.#worthReplacing
      this.#troubled(error)
    }
  }

  async #forgo(name: string, file: OpenFile | undefined, trouble: unknown): Promise<void> {
    this.#patience = 2 * this.#at
    this.#troubled(trouble)
    try {
      await file?.close()
      await this.#files.remove(name)
    } catch {
      // It is empty, and recognised as such.
    }
  }
}

const FULL: readonly unknown[] = ['ENOSPC', 'EDQUOT', 'EFBIG']

/** Whether an error means that there is no room. */
const isFull = (error: unknown): boolean => error instanceof Error && 'code' in error && FULL.includes(error.code)
