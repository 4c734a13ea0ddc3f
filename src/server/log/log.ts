import type { LogEntry } from '../engine/entry.js'

/** Receives the outcome of each entry, in log order. */
export interface LogListener {
  /**
   * An entry appended here is committed. `entry` has the appended commands, and the log's time if the log keeps one.
   */
  onCommitted(entry: LogEntry): void
  /**
   * An entry appended here will never be committed, or its outcome is `unknown`. `entry` is the appended object. An
   * entry rejected synchronously by {@link Log.append} may be reported before earlier entries still in flight.
   */
  onRejected(entry: LogEntry, failure: LogFailure): void
  /**
   * An entry was committed that was not appended here: by another node of a shared log, or the deferred start entry of
   * a disk log that was full.
   */
  onForeign?(entry: LogEntry): void
}

/**
 * Why an entry was rejected.
 * - `full`: the disk has no space for it.
 * - `broken`: the state of the log on disk is unknown.
 * - `closed`: the store is stopping; the entry will never be in the log.
 * - `unavailable`: the shared log is unreachable; the entry will never be in it.
 * - `unknown`: the shared log is unreachable; the entry may or may not be in it.
 */
export type LogProblem = 'full' | 'broken' | 'closed' | 'unavailable' | 'unknown'

/** Rejection of an entry. */
export class LogFailure extends Error {
  override readonly name = 'LogFailure'
  readonly problem: LogProblem

  constructor(problem: LogProblem, message: string, options?: ErrorOptions) {
    super(message, options)
    this.problem = problem
  }
}

/** Limits and read mode of a log shared with other nodes. */
export interface Sharing {
  /** Maximum number of entries in flight. */
  readonly maxInFlight: number
  /** Maximum size of the commands of one entry, bytes. A single larger command forms an entry by itself. */
  readonly maxBatchBytes: number
  /** Maximum size of queued requests, bytes. Requests beyond it are rejected. */
  readonly maxQueuedBytes: number
  /**
   * With `linearizable`, a read waits for the next committed entry, and so sees every write committed anywhere before
   * the read arrived. With `local`, only watch registrations wait.
   */
  readonly reads: 'linearizable' | 'local'
}

/**
 * Orders entries and reports when each is durable. On a failure, all uncommitted entries are rejected in order; later
 * entries may be accepted again. Entries rejected within `append` are reported first.
 */
export interface Log {
  /** Returns whether entries are committed within `append`, so that batching gains nothing. */
  readonly isSynchronous: boolean
  /** How long it pays to delay the next entry after a commit so that more commands join it, ms. */
  readonly batchDelayMs: number
  readonly sharing?: Sharing | undefined
  /** Sets the listener, replacing the previous one. */
  listen(listener: LogListener): void
  /** @param freesSpace - applying the entry shrinks the store, so it may use the reserve of a full disk */
  append(entry: LogEntry, freesSpace?: boolean): void
  /** Stops accepting entries; settles when none is in flight. */
  close(): Promise<void>
}

/** Commits each entry immediately and stores nothing: for a store that lives only as long as its process. */
export class MemoryLog implements Log {
  readonly isSynchronous = true
  readonly batchDelayMs = 0
  #listener: LogListener | undefined

  listen(listener: LogListener): void {
    this.#listener = listener
  }

  append(entry: LogEntry): void {
    this.#listener?.onCommitted(entry)
  }

  async close(): Promise<void> {
    this.#listener = undefined
  }
}
