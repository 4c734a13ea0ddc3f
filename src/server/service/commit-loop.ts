import { logChannel } from '../../core/diagnostics/server-channels.js'
import { afterIo } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'
import type { KeyChange } from '../engine/command-result.js'
import type { Engine } from '../engine/engine.js'
import type { EntryCommand, LogEntry } from '../engine/entry.js'
import { type Log, LogFailure, type LogListener } from '../log/log.js'
import { Batch, type Job } from './batch.js'
import { ExpiryTimer } from './expiry-timer.js'
import { driftOf, type StoreTime } from './store-clock.js'

export interface CommitLoopHost {
  /**
   * Called when keys changed without a job of this node, because they expired or clients of other nodes changed them.
   */
  onChanges(changes: readonly KeyChange[]): void
  /**
   * Called with the drift in ms when versions start to run ahead of the wall clock, and with 0 when they no longer run
   * ahead.
   */
  onDrift(drift: number): void
  /**
   * Called with the failure when the log starts to reject entries, and with `undefined` when the log accepts entries
   * again.
   */
  onLogHealth(failure: LogFailure | undefined): void
  /** Called with an exception of a queued job. Other jobs still run. */
  onError(error: unknown): void
}

export interface CommitLoopOptions {
  readonly log: Log
  readonly engine: Pick<
    Engine<never>,
    'apply' | 'replay' | 'limits' | 'maxExpired' | 'expiredUntil' | 'freesSpace' | 'drift' | 'nextDeadline'
  >
  readonly clock: StoreTime
  /** Runs a task after the pending I/O events. Default: {@link afterIo}. */
  readonly afterIo?: ((task: () => void) => void) | undefined
  /** Returns the delay in ms of the expiry of keys that are not accessed. Default: 0. */
  readonly expiryDelayMs?: (() => number) | undefined
  readonly host: CommitLoopHost
}

/** The limit on pending bytes for a log that is not shared. Beyond the limit, jobs are rejected. */
const MAX_PENDING_BYTES = 256 * 1024 * 1024
/** The maximum size of an entry. Only an entry with a single command may be larger. */
const MAX_ENTRY_BYTES = 8 * 1024 * 1024

/**
 * Orders all requests. {@link CommitLoop.submit} accepts a job. Reads run in the order of their owner, and the writes
 * of one event loop iteration form a batch that is appended to the log as one entry. {@link CommitLoop.onCommitted}
 * appends the next batch, or delays it if a group commit gains from it, then applies the entry, passes each job its
 * result in order, and reports the changes.
 */
export class CommitLoop implements LogListener {
  readonly expiry: ExpiryTimer
  readonly #log: Log
  readonly #engine: CommitLoopOptions['engine']
  readonly #clock: StoreTime
  readonly #afterIo: (task: () => void) => void
  readonly #host: CommitLoopHost
  #pending: Batch | undefined
  /** The batches that are appended but neither committed nor rejected. */
  readonly #inFlight = new Fifo<Batch>()
  readonly #lastBatchOf = new WeakMap<object, Batch>()
  /** The job of an entry that a synchronous log is appending. */
  #synchronousJob: Job | undefined
  #pendingBytes = 0
  #isFlushScheduled = false
  #isDrifting = false
  /**
   * A group commit. The pending batch is delayed until the expected number of commands has arrived, or until a timeout.
   */
  #delay: { readonly expectedCommands: number; readonly cancel: () => void } | undefined
  #problem: LogFailure['problem'] | undefined
  #isStopped = false

  constructor({ log, engine, clock, afterIo: runAfterIo = afterIo, expiryDelayMs, host }: CommitLoopOptions) {
    this.#log = log
    this.#engine = engine
    this.#clock = clock
    this.#afterIo = runAfterIo
    this.#host = host
    this.expiry = new ExpiryTimer({
      clock,
      nextDeadline: () => engine.nextDeadline,
      expiredUntil: () => engine.expiredUntil,
      expire: () => this.tick(),
      delayMs: expiryDelayMs,
    })
    log.listen(this)
  }

  /** Submits a job. Returns whether the loop appends its entry directly after the pending I/O events. */
  submit(job: Job): boolean {
    if (this.#isStopped) {
      job.onStopped?.(CLOSED)
      return false
    }
    if (this.#pendingBytes >= (this.#log.sharing?.maxQueuedBytes ?? MAX_PENDING_BYTES)) {
      job.onFailed(this.#log.sharing ? NODE_BUSY : STORE_BUSY)
      return false
    }
    if (job.command !== undefined) return this.#write(job, job.command)
    if (this.expiry.isDue) this.tick(job.owner)
    this.#read(job)
    return false
  }

  /** Appends an entry with the current time, so that due keys expire. Later jobs of `owner` wait for the entry. */
  tick(owner?: object): void {
    if (this.#log.isSynchronous) {
      this.#append([])
      return
    }
    this.#pending ??= new Batch()
    const batch = this.#pending
    if (!batch.includesExpiry) this.#pendingBytes += batch.charge(0)
    batch.includesExpiry = true
    if (owner !== undefined) this.#lastBatchOf.set(owner, batch)
    this.#scheduleFlush()
  }

  /** Stops the loop and calls `onStopped` of each waiting job. The pending batch is not appended. */
  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.expiry.pause()
    this.#cancelDelay()
    const pending = this.#pending
    this.#pending = undefined
    for (const batch of Array.from(this.#inFlight)) this.#stopJobs(batch, UNKNOWN)
    if (pending !== undefined) this.#stopJobs(pending, CLOSED)
  }

  #stopJobs(batch: Batch, failure: LogFailure): void {
    for (const job of batch.jobs.splice(0)) this.#runGuarded(job, () => job.onStopped?.(failure))
  }

  /** Runs a read if no jobs of its owner are waiting. A linearizable read waits for the next entry. */
  #read(job: Job): void {
    const last = this.#pendingBytes === 0 ? undefined : this.#lastBatchOf.get(job.owner)
    if (job.isLinearizable) this.#add(job)
    else if (last === undefined || last.isDone) job.read()
    else this.#pendingBytes += last.add(job)
  }

  /** Adds a write to the pending batch. A synchronous log commits within the call, and its errors reach the caller. */
  #write(job: Job, command: EntryCommand): boolean {
    if (!this.#log.isSynchronous) {
      const maxBytes = this.#log.sharing?.maxBatchBytes ?? MAX_ENTRY_BYTES
      if (this.#pending !== undefined && this.#pending.bytes + job.bytes > maxBytes) this.#flush()
      this.#add(job)
      return this.#isFlushScheduled && this.#log.sharing === undefined
    }
    const previousJob = this.#synchronousJob
    this.#synchronousJob = job
    try {
      this.#append([command])
    } finally {
      this.#synchronousJob = previousJob
    }
    return false
  }

  #add(job: Job): void {
    this.#pending ??= new Batch()
    const batch = this.#pending
    this.#pendingBytes += batch.add(job)
    if (batch.lastOwner !== job.owner) this.#lastBatchOf.set(job.owner, batch)
    batch.lastOwner = job.owner
    this.#scheduleFlush()
  }

  /**
   * Appends the jobs of this event loop iteration together. If the in-flight window is full, they wait for a commit.
   */
  #scheduleFlush(): void {
    if (this.#isFlushScheduled || this.#isWindowFull) return
    const pendingCommands = this.#pending?.commands.length ?? 0
    if (this.#delay !== undefined && pendingCommands < this.#delay.expectedCommands) return
    this.#cancelDelay()
    this.#isFlushScheduled = true
    this.#afterIo(() => {
      this.#isFlushScheduled = false
      if (!this.#isWindowFull) this.#flush()
    })
  }

  #flush(): void {
    const batch = this.#pending
    if (batch === undefined) return
    this.#pending = undefined
    this.#inFlight.push(batch)
    if (logChannel.hasSubscribers) batch.appendedAt = this.#clock.monotonic()
    this.#append(batch.commands)
  }

  #append(commands: readonly EntryCommand[], frees = false): void {
    const { maxKeys, maxBytes } = this.#engine.limits
    const time = this.#clock.now()
    const maxExpired = this.#engine.maxExpired(time)
    this.#log.append({ time, maxKeys, maxBytes, maxExpired, commands }, frees)
  }

  get #isWindowFull(): boolean {
    return this.#inFlight.length >= (this.#log.sharing?.maxInFlight ?? 1)
  }

  onCommitted(entry: LogEntry): void {
    if (this.#log.isSynchronous) {
      if (this.#isStopped) return
      for (const result of this.#engine.apply(entry)) {
        if (result.type === 'expired') this.#host.onChanges(result.changes)
        else this.#synchronousJob?.onApplied(result)
      }
      this.#afterApply(entry.time)
      return
    }
    const batch = this.#inFlight.shift()
    if (batch === undefined) return
    const isDiskStillFull = this.#problem === 'full' && !this.#needsSpace(entry)
    this.#publishCommitted(batch)
    if (!this.#isStopped) this.#flushOrDelay(batch)
    try {
      if (!this.#isStopped) this.#applyBatch(batch, entry)
      // A stopped node still applies the entry, because its messages to other nodes report the entries it has applied.
      else if (this.#log.sharing) this.#engine.replay(entry)
    } finally {
      batch.isDone = true
      this.#pendingBytes -= batch.bytes
      this.#afterApply(entry.time, isDiskStillFull)
    }
  }

  /**
   * Returns whether a committed entry, which is not applied yet, shows that a full disk has space again. Deletes and
   * expiry do not, because they fit into the space that was reserved before.
   */
  #needsSpace({ commands }: LogEntry): boolean {
    return commands.some(
      each =>
        each.type === 'load' ||
        (each.type === 'write' && each.command.verb === 'SET' && !this.#engine.freesSpace(each)),
    )
  }

  #publishCommitted({ appendedAt, commands, bytes }: Batch): void {
    if (appendedAt === undefined) return
    const duration = this.#clock.monotonic() - appendedAt
    logChannel.publish({ type: 'committed', commands: commands.length, bytes, duration })
  }

  onForeign(entry: LogEntry): void {
    if (logChannel.hasSubscribers) logChannel.publish({ type: 'foreign', commands: entry.commands.length })
    for (const { changes } of this.#engine.apply(entry))
      if (changes.length > 0 && !this.#isStopped) this.#host.onChanges(changes)
    if (!this.#isStopped) this.#afterApply(entry.time)
  }

  #applyBatch(batch: Batch, entry: LogEntry): void {
    let rest = entry
    // Reads that wait for a tick come before all commands, and must not see expired keys.
    if (batch.isReadNext) {
      for (const { changes } of this.#engine.apply({ ...entry, commands: [] })) this.#host.onChanges(changes)
      this.#runReads(batch)
      rest = { ...entry, maxExpired: 0 }
    }
    for (const result of this.#engine.apply(rest)) {
      if (result.type === 'expired') this.#host.onChanges(result.changes)
      else this.#runGuarded(batch.next(), job => job.onApplied(result))
      this.#runReads(batch)
    }
    batch.isDone = true
    this.#runReads(batch)
  }

  #runReads(batch: Batch): void {
    while (batch.isReadNext) this.#runGuarded(batch.next(), job => job.read())
  }

  /** Runs part of a job. Reports an exception, which does not affect other jobs. */
  #runGuarded(job: Job | undefined, task: (job: Job) => void): void {
    try {
      if (job !== undefined) task(job)
    } catch (error) {
      this.#host.onError(error)
    }
  }

  #afterApply(time: number, isDiskStillFull = false): void {
    const drift = driftOf(this.#engine, this.#clock, time)
    if (drift > 0 !== this.#isDrifting) this.#host.onDrift(drift)
    this.#isDrifting = drift > 0
    // Expiry needs no space, so it continues at its usual rate.
    if (isDiskStillFull) this.expiry.update(undefined)
    else this.report(undefined)
  }

  /** Updates the log's state. While the log rejects entries, expiry is retried at a lower rate. */
  report(outcome: LogFailure | undefined): void {
    // A shared log reports its own state.
    const failure = this.#log.sharing === undefined ? outcome : undefined
    // A stopping store does not report its disk.
    if (failure?.problem === 'closed') return
    const hasChanged = failure?.problem !== this.#problem
    this.#problem = failure?.problem
    if (hasChanged) this.#host.onLogHealth(failure)
    this.expiry.update(this.#problem)
  }

  onRejected(entry: LogEntry, failure: LogFailure): void {
    const batch = this.#removeBatch(entry)
    if (batch === undefined) return
    if (logChannel.hasSubscribers)
      logChannel.publish({ type: 'rejected', commands: batch.commands.length, problem: failure.problem })
    const { sharing } = this.#log
    const isFull = failure.problem === 'full' && !this.#isStopped
    // A full disk has a reserve for commands that free space, so the other jobs fail and the batch is appended again.
    if (isFull && !sharing && !batch.isFreeingOnly) {
      for (const job of batch.keepOnlyFreeing(command => this.#engine.freesSpace(command))) this.#fail(job, failure)
      if (!this.#isStopped && (batch.commands.length > 0 || batch.includesExpiry)) {
        this.#inFlight.push(batch)
        this.#append(batch.commands, true)
        return
      }
    }
    batch.isDone = true
    // Only a write was too large, so the reads of its batch move to the next batch.
    const keepsReads = isFull && sharing !== undefined && batch.commands.length > 0
    for (const job of batch.jobs) {
      if (this.#isStopped) this.#runGuarded(job, () => job.onStopped?.(failure))
      else if (keepsReads && job.command === undefined) this.#add(job)
      else this.#fail(job, failure)
    }
    this.#pendingBytes -= batch.bytes
    this.report(failure)
    this.#flush()
  }

  /** Ends a job whose entry was not logged. Reads still run unless they had to see other nodes' changes. */
  #fail(job: Job, failure: LogFailure): void {
    const { problem } = failure
    const canRead = job.command === undefined && problem !== 'unavailable' && problem !== 'unknown'
    this.#runGuarded(job, () => (canRead ? job.read() : job.onFailed(failure)))
  }

  /**
   * Removes an entry's batch. The batch is not the oldest one if the log rejects a new entry while other entries
   * are in flight.
   */
  #removeBatch({ commands }: LogEntry): Batch | undefined {
    const batches = Array.from(this.#inFlight)
    const batch = batches.find(each => each.commands === commands) ?? batches[0]
    this.#inFlight.clear()
    for (const each of batches) if (each !== batch) this.#inFlight.push(each)
    return batch
  }

  /**
   * Appends the next batch before the committed batch is applied, or delays the next batch while more commands are
   * expected.
   */
  #flushOrDelay({ commands }: Batch): void {
    const { batchDelayMs, sharing } = this.#log
    // Other entries are in flight, so the loop can wait for the jobs of this event loop iteration.
    if (sharing) this.#scheduleFlush()
    else if (batchDelayMs === 0 || commands.length === 0) this.#flush()
    else {
      this.#cancelDelay()
      const cancel = this.#clock.schedule(batchDelayMs, () => {
        this.#delay = undefined
        this.#flush()
      })
      this.#delay = { expectedCommands: commands.length + (this.#pending?.commands.length ?? 0), cancel }
    }
  }

  #cancelDelay(): void {
    this.#delay?.cancel()
    this.#delay = undefined
  }
}

const STORE_BUSY = new LogFailure('full', 'too many bytes are waiting for the log of the store; retry later')
const NODE_BUSY = new LogFailure('unavailable', 'too many bytes are waiting for the shared log; retry later')

const CLOSED = new LogFailure('closed', 'the store stopped before logging the request; retry when it serves again')
const UNKNOWN = new LogFailure('unknown', 'the store stopped before its log confirmed the entry')
