import { afterIo, type Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'
import type { Change } from '../engine/command-result.js'
import type { Engine } from '../engine/engine.js'
import type { Entry, EntryCommand } from '../engine/entry.js'
import { type Log, LogFailure, type LogListener } from '../log/log.js'
import { Batch, type Job } from './batch.js'
import { ExpiryTimer } from './expiry-timer.js'

/** Who hears what the loop does. */
export interface CommitLoopHost {
  /** Keys changed that no job here asked for: their time was over, or clients of other nodes changed them. */
  changed(changes: readonly Change[]): void
  /** Versions have begun to run ahead of the wall clock, by so many ms, or (0) do so no more. */
  drifted(drift: number): void
  /** The log takes entries no more, or takes them again. */
  stored(failure: LogFailure | undefined): void
  /** An error of ours in a job that had to wait; all others are done nevertheless. */
  faulted(error: unknown): void
}

/** What the loop works with. */
export interface CommitLoopParts {
  readonly log: Log
  readonly engine: Pick<Engine<never>, 'apply' | 'replay' | 'room' | 'frees' | 'drift' | 'nextDeadline'>
  readonly clock: Clock
  /** Runs a task when what the event loop has read is worked off; default {@link afterIo}. */
  readonly afterIo?: ((task: () => void) => void) | undefined
  /** How much later than due keys expire by themselves, ms; default not at all. */
  readonly reluctance?: (() => number) | undefined
  readonly host: CommitLoopHost
}

/** Jobs that wait for a log of this store alone may take so many bytes; more are rejected. */
const MOST_BYTES = 256 * 1024 * 1024
/** One entry has no more bytes, unless a command alone has. */
const LARGEST_ENTRY = 8 * 1024 * 1024

/**
 * The way of all requests, from top to bottom: {@link CommitLoop.take} takes one; a read is answered in its turn; writes of
 * one turn of the event loop are gathered in a batch and appended to the log as one entry; {@link CommitLoop.committed}
 * applies the entry, hands each job its result in its place and says what changed; meanwhile the next batch is appended or, where
 * the log gains by it, held until more has come.
 */
export class CommitLoop implements LogListener {
  /** When keys expire by themselves. */
  readonly expiry: ExpiryTimer
  readonly #log: Log
  readonly #engine: CommitLoopParts['engine']
  readonly #clock: Clock
  readonly #afterIo: (task: () => void) => void
  readonly #host: CommitLoopHost
  /** Waits to be appended. */
  #gathered: Batch | undefined
  /** Are appended, and neither committed nor rejected. */
  readonly #inFlight = new Fifo<Batch>()
  /** The last batch that has something of an owner. */
  readonly #lastOf = new WeakMap<object, Batch>()
  /** The one job of an entry that commits within its append. */
  #immediate: Job | undefined
  /** Of all jobs that wait. */
  #bytes = 0
  #isFlushDue = false
  #isAdrift = false
  /** What is gathered is held back until so many commands have come that no more are to be expected, or its time is over. */
  #delay: { readonly enough: number; readonly cancel: () => void } | undefined
  #problem: LogFailure['problem'] | undefined
  #stopped = false

  constructor({ log, engine, clock, afterIo: soon = afterIo, reluctance, host }: CommitLoopParts) {
    this.#log = log
    this.#engine = engine
    this.#clock = clock
    this.#afterIo = soon
    this.#host = host
    this.expiry = new ExpiryTimer({ clock, earliest: () => engine.nextDeadline, expire: () => this.tick(), reluctance })
    log.listen(this)
  }

  /** Takes a job. Returns whether it is on its way as soon as what the event loop has read is worked off. */
  take(job: Job): boolean {
    if (this.#stopped) {
      job.stopped?.(CLOSED)
      return false
    }
    if (this.#bytes >= (this.#log.sharing?.waiting ?? MOST_BYTES)) {
      job.failed(this.#log.sharing ? NODE_BUSY : STORE_BUSY)
      return false
    }
    if (job.command !== undefined) return this.#write(job, job.command)
    if (this.expiry.due) this.tick(job.owner)
    this.#read(job)
    return false
  }

  /** Logs the time, so that what is due expires; what its owner asks for from now on waits for that. */
  tick(owner?: object): void {
    if (this.#log.immediate) {
      this.#append([])
      return
    }
    this.#gathered ??= new Batch()
    const batch = this.#gathered
    if (!batch.expires) this.#bytes += batch.hold(0)
    batch.expires = true
    if (owner !== undefined) this.#lastOf.set(owner, batch)
    this.#flushSoon()
  }

  /** Nothing is done any more, and what is not appended yet never will be. Each job that waits is told. */
  stop(): void {
    if (this.#stopped) return
    this.#stopped = true
    this.expiry.pause()
    this.#endDelay()
    const gathered = this.#gathered
    this.#gathered = undefined
    for (const batch of Array.from(this.#inFlight)) this.#endJobs(batch, UNKNOWN)
    if (gathered !== undefined) this.#endJobs(gathered, CLOSED)
  }

  #endJobs(batch: Batch, failure: LogFailure): void {
    for (const job of batch.jobs.splice(0)) this.#guard(job, () => job.stopped?.(failure))
  }

  /** A read is done at once, unless something of its owner waits; one that is to be confirmed waits for the next entry. */
  #read(job: Job): void {
    const last = this.#bytes === 0 ? undefined : this.#lastOf.get(job.owner)
    if (job.isConfirmed) this.#add(job)
    else if (last === undefined || last.done) job.read()
    else this.#bytes += last.add(job)
  }

  /** A write is gathered; a log that commits at once has it done by now, and an error is for the caller. */
  #write(job: Job, command: EntryCommand): boolean {
    if (!this.#log.immediate) {
      const largest = this.#log.sharing?.batch ?? LARGEST_ENTRY
      if (this.#gathered !== undefined && this.#gathered.bytes + job.bytes > largest) this.#flush()
      this.#add(job)
      return this.#isFlushDue && this.#log.sharing === undefined
    }
    const outer = this.#immediate
    this.#immediate = job
    try {
      this.#append([command])
    } finally {
      this.#immediate = outer
    }
    return false
  }

  #add(job: Job): void {
    this.#gathered ??= new Batch()
    const batch = this.#gathered
    this.#bytes += batch.add(job)
    if (batch.lastOwner !== job.owner) this.#lastOf.set(job.owner, batch)
    batch.lastOwner = job.owner
    this.#flushSoon()
  }

  /** What this turn of the event loop brings goes together; what is on its way takes along the rest when it is there. */
  #flushSoon(): void {
    if (this.#isFlushDue || this.#isWindowFull) return
    const gathered = this.#gathered?.commands.length ?? 0
    if (this.#delay !== undefined && gathered < this.#delay.enough) return
    this.#endDelay()
    this.#isFlushDue = true
    this.#afterIo(() => {
      this.#isFlushDue = false
      if (!this.#isWindowFull) this.#flush()
    })
  }

  #flush(): void {
    const batch = this.#gathered
    if (batch === undefined) return
    this.#gathered = undefined
    this.#inFlight.push(batch)
    this.#append(batch.commands)
  }

  #append(commands: readonly EntryCommand[], frees = false): void {
    const { maxKeys, maxBytes } = this.#engine.room
    this.#log.append({ time: this.#clock.now(), maxKeys, maxBytes, commands }, frees)
  }

  /** Whether what is gathered has to wait for what is on its way. */
  get #isWindowFull(): boolean {
    return this.#inFlight.length >= (this.#log.sharing?.window ?? 1)
  }

  committed(entry: Entry): void {
    if (this.#log.immediate) {
      if (this.#stopped) return
      for (const result of this.#engine.apply(entry)) {
        if (result.type === 'expired') this.#host.changed(result.changes)
        else this.#immediate?.applied(result)
      }
      this.#settled(entry.time)
      return
    }
    const batch = this.#inFlight.shift()
    if (batch === undefined) return
    if (!this.#stopped) this.#flushOrDelay(batch)
    try {
      if (!this.#stopped) this.#perform(batch, entry)
      // What this node sends to others says what it has applied.
      else if (this.#log.sharing) this.#engine.replay(entry)
    } finally {
      batch.done = true
      this.#bytes -= batch.bytes
      this.#settled(entry.time)
    }
  }

  foreign(entry: Entry): void {
    for (const { changes } of this.#engine.apply(entry))
      if (changes.length > 0 && !this.#stopped) this.#host.changed(changes)
    if (!this.#stopped) this.#settled(entry.time)
  }

  /** Applies an entry of ours, and does the jobs of its batch in their places. */
  #perform(batch: Batch, entry: Entry): void {
    // Reads that wait for the time alone come before all commands, and what is due is gone for them.
    if (batch.isReadNext) {
      for (const { changes } of this.#engine.apply({ ...entry, commands: [] })) this.#host.changed(changes)
      this.#performReads(batch)
    }
    for (const result of this.#engine.apply(entry)) {
      if (result.type === 'expired') this.#host.changed(result.changes)
      else this.#guard(batch.next(), job => job.applied(result))
      this.#performReads(batch)
    }
    batch.done = true
    this.#performReads(batch)
  }

  /** Those that came behind the command that was done. */
  #performReads(batch: Batch): void {
    while (batch.isReadNext) this.#guard(batch.next(), job => job.read())
  }

  /** Does something of a job: an error of ours in it is reported, and keeps nothing else from being done. */
  #guard(job: Job | undefined, task: (job: Job) => void): void {
    try {
      if (job !== undefined) task(job)
    } catch (error) {
      this.#host.faulted(error)
    }
  }

  #settled(time: number): void {
    const drift = this.#engine.drift(time)
    if (drift > 0 !== this.#isAdrift) this.#host.drifted(drift)
    this.#isAdrift = drift > 0
    this.report(undefined)
  }

  /** Hears whether the log takes entries: keys expire later where it does not. */
  report(outcome: LogFailure | undefined): void {
    // Of a log that nodes share they hear by itself.
    const failure = this.#log.sharing === undefined ? outcome : undefined
    // A store that is being stopped says nothing of its disk.
    if (failure?.problem === 'closed') return
    const hasChanged = failure?.problem !== this.#problem
    this.#problem = failure?.problem
    if (hasChanged) this.#host.stored(failure)
    this.expiry.changed(this.#problem)
  }

  rejected(entry: Entry, failure: LogFailure): void {
    const batch = this.#takeBack(entry)
    if (batch === undefined) return
    const { sharing } = this.#log
    const isFull = failure.problem === 'full' && !this.#stopped
    // A full disk has a reserve for what frees room: the rest of the batch fails, and that is appended once more.
    if (isFull && !sharing && !batch.frees) {
      for (const job of batch.keepFreeing(command => this.#engine.frees(command))) this.#fail(job, failure)
      if (!this.#stopped && (batch.commands.length > 0 || batch.expires)) {
        this.#inFlight.push(batch)
        this.#append(batch.commands, true)
        return
      }
    }
    batch.done = true
    // A write that was too large says nothing of what others have changed: the reads that came with it go with the next.
    const readsStay = isFull && sharing !== undefined && batch.commands.length > 0
    for (const job of batch.jobs) {
      if (this.#stopped) this.#guard(job, () => job.stopped?.(failure))
      else if (readsStay && job.command === undefined) this.#add(job)
      else this.#fail(job, failure)
    }
    this.#bytes -= batch.bytes
    this.report(failure)
    this.#flush()
  }

  /** Ends a job whose entry is not in the log: what only reads is done, unless it was to see what others have changed. */
  #fail(job: Job, failure: LogFailure): void {
    const { problem } = failure
    const isDone = job.command === undefined && problem !== 'unavailable' && problem !== 'unknown'
    this.#guard(job, () => (isDone ? job.read() : job.failed(failure)))
  }

  /** The batch of an entry: not the oldest one when the log rejects a new entry while others are on their way. */
  #takeBack({ commands }: Entry): Batch | undefined {
    const batches = Array.from(this.#inFlight)
    const batch = batches.find(each => each.commands === commands) ?? batches[0]
    this.#inFlight.clear()
    for (const each of batches) if (each !== batch) this.#inFlight.push(each)
    return batch
  }

  /** The log shall not wait while a batch is applied, unless more will come with the answers: so many commands are enough. */
  #flushOrDelay({ commands }: Batch): void {
    const { pause, sharing } = this.#log
    // What comes in this turn goes together, as others are on their way.
    if (sharing) this.#flushSoon()
    else if (pause === 0 || commands.length === 0) this.#flush()
    else {
      this.#endDelay()
      const cancel = this.#clock.schedule(pause, () => {
        this.#delay = undefined
        this.#flush()
      })
      this.#delay = { enough: commands.length + (this.#gathered?.commands.length ?? 0), cancel }
    }
  }

  #endDelay(): void {
    this.#delay?.cancel()
    this.#delay = undefined
  }
}

const STORE_BUSY = new LogFailure('full', 'too much waits for the log of the store; try again later')
const NODE_BUSY = new LogFailure('unavailable', 'too much waits for the log that the nodes share; try again later')

const CLOSED = new LogFailure('closed', 'the store was stopped first; try again when it serves')
const UNKNOWN = new LogFailure('unknown', 'the store was stopped before its log answered')
