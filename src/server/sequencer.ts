import { afterIo } from '../base/clock.js'
import { Fifo } from '../base/fifo.js'
import type { Answer, Applier, Change, Restoration } from '../engine/answer.js'
import type { Entry, EntryCommand, Room } from '../engine/entry.js'
import type { Log, LogFailure, LogListener } from '../log/log.js'
import type { CommandError } from '../protocol/parse-command.js'
import { Batch, type Job } from './batch.js'
import { Hold } from './hold.js'

/** Where entries are applied, and what goes with that. */
export interface SequencerHost {
  readonly now: () => number
  /** Runs a task after so many ms; the returned function cancels it. */
  schedule(delay: number, task: () => void): () => void
  readonly room: () => Room
  apply(entry: Entry, applier: Applier): void
  expired(changes: readonly Change[]): void
  /** An entry is applied, or will never be. */
  settled(failure: LogFailure | undefined): void
  /** An error of ours in a job that had to wait; all others are done nevertheless. */
  faulted(error: unknown): void
}

/** What waits for the log may have so many bytes; more is refused. */
const MOST_BYTES = 256 * 1024 * 1024
/** One entry has no more of them, unless a command alone has. */
const LARGEST_ENTRY = 8 * 1024 * 1024

/**
 * Sees to the order of what connections ask for. What changes records is gathered and goes through the log, and is done
 * when it is there; what only reads is done at once, unless something that came before it on its connection waits.
 */
export class Sequencer implements LogListener, Applier {
  readonly #log: Log
  readonly #host: SequencerHost
  #gathering: Batch | undefined
  readonly #onItsWay = new Fifo<Batch>()
  /** The last batch that a connection waits for. */
  readonly #last = new WeakMap<object, Batch>()
  readonly #hold: Hold
  #scheduled = false
  #stopped = false
  #bytes = 0
  /** The batch that is being applied. */
  #current: Batch | undefined
  /** The job of the one command that is applied, where none has to wait. */
  #only: Job | undefined

  constructor(log: Log, host: SequencerHost) {
    this.#log = log
    this.#host = host
    this.#hold = new Hold(host, () => this.#flush())
    log.listen(this)
  }

  /** Whether what waits for the log takes all the room there is. */
  get full(): boolean {
    return this.#bytes >= MOST_BYTES
  }

  /** Does a job that changes nothing, in its place among those of its owner. @param bytes - what it takes while it waits */
  read(owner: object, bytes: number, job: Job): void {
    const last = this.#bytes === 0 ? undefined : this.#last.get(owner)
    if (last === undefined || last.done) {
      job.read()
      return
    }
    this.#bytes += last.add(job, undefined, bytes)
  }

  /**
   * Has a command logged and applied; returns whether it is on its way as soon as what the event loop has read is worked off.
   *
   * @param bytes - what the command takes while it waits
   */
  write(owner: object, command: EntryCommand, bytes: number, job: Job): boolean {
    if (this.#log.immediate) {
      this.#alone(command, job)
      return false
    }
    if (this.#gathering !== undefined && this.#gathering.bytes + bytes > LARGEST_ENTRY) this.#flush()
    this.#gathering ??= new Batch()
    const batch = this.#gathering
    this.#bytes += batch.add(job, command, bytes)
    if (batch.passesTo(owner)) this.#last.set(owner, batch)
    this.#schedule()
    return this.#scheduled
  }

  /** Has the time logged, so that what is due expires; what its owner asks for from now on waits for that. */
  tick(owner?: object): void {
    if (this.#log.immediate) {
      this.#append([])
      return
    }
    if (this.#gathering === undefined) {
      this.#gathering = new Batch()
      this.#bytes += this.#gathering.hold(0)
    }
    if (owner !== undefined) this.#last.set(owner, this.#gathering)
    this.#schedule()
  }

  /** Nothing is done any more. */
  stop(): void {
    this.#stopped = true
    this.#hold.end()
  }

  committed(entry: Entry): void {
    if (this.#log.immediate) {
      if (this.#stopped) return
      this.#host.apply(entry, this)
      this.#host.settled(undefined)
      return
    }
    const batch = this.#onItsWay.shift()
    if (batch === undefined) return
    this.#flushOrHold(batch)
    try {
      if (!this.#stopped) this.#apply(batch, entry)
    } finally {
      this.#finish(batch, undefined)
    }
  }

  rejected(_: Entry, failure: LogFailure): void {
    const batch = this.#onItsWay.shift()
    if (batch === undefined) return
    batch.done = true
    if (!this.#stopped) {
      for (const end of batch.failing(failure)) this.#guard(end)
    }
    this.#finish(batch, failure)
    this.#flush()
  }

  expired(changes: readonly Change[]): void {
    this.#host.expired(changes)
  }

  answered(_: number, answer: Answer): void {
    if (this.#only !== undefined) {
      this.#only.answered(answer)
      return
    }
    const job = this.#current?.next()
    this.#guard(() => job?.answered(answer))
    this.#reads()
  }

  loaded(_: number, outcome: Restoration | CommandError): void {
    if (this.#only !== undefined) {
      this.#only.loaded(outcome)
      return
    }
    const job = this.#current?.next()
    this.#guard(() => job?.loaded(outcome))
    this.#reads()
  }

  /** A command that does not wait: an error in its job is for its caller. */
  #alone(command: EntryCommand, job: Job): void {
    const outer = this.#only
    this.#only = job
    try {
      this.#append([command])
    } finally {
      this.#only = outer
    }
  }

  #append(commands: readonly EntryCommand[]): void {
    const { maxKeys, maxBytes } = this.#host.room()
    this.#log.append({ time: this.#host.now(), maxKeys, maxBytes, commands })
  }

  #guard(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.#host.faulted(error)
    }
  }

  /** Those that came behind the command that was done. */
  #reads(): void {
    const batch = this.#current
    for (let job = batch?.nextRead(); job !== undefined; job = batch?.nextRead()) {
      const read = job
      this.#guard(() => read.read())
    }
  }

  #apply(batch: Batch, entry: Entry): void {
    const outer = this.#current
    this.#current = batch
    try {
      this.#readFirst(batch, entry)
      this.#host.apply(entry, this)
      batch.done = true
      this.#reads()
    } finally {
      this.#current = outer
    }
  }

  /** Reads that wait for the time alone come before all commands, and what is due is gone for them. */
  #readFirst(batch: Batch, entry: Entry): void {
    if (!batch.readsFirst) return
    this.#host.apply({ ...entry, commands: [] }, this)
    this.#reads()
  }

  #finish(batch: Batch, failure: LogFailure | undefined): void {
    batch.done = true
    this.#bytes -= batch.bytes
    this.#host.settled(failure)
  }

  /** The log shall not wait while this is applied, unless more will come with the answers. */
  #flushOrHold(batch: Batch): void {
    const { pause } = this.#log
    if (pause === 0 || batch.commands.length === 0) this.#flush()
    else this.#hold.begin(pause, batch.commands.length + this.#gathered)
  }

  get #gathered(): number {
    return this.#gathering?.commands.length ?? 0
  }

  #schedule(): void {
    // What is on its way takes along what was gathered when it is there.
    if (this.#scheduled || this.#onItsWay.length > 0 || this.#hold.keeps(this.#gathered)) return
    this.#scheduled = true
    afterIo(() => {
      this.#scheduled = false
      if (this.#onItsWay.length === 0) this.#flush()
    })
  }

  #flush(): void {
    const batch = this.#gathering
    if (batch === undefined) return
    this.#gathering = undefined
    this.#onItsWay.push(batch)
    this.#append(batch.commands)
  }
}
