import type { LogEntry } from '../engine/entry.js'

/** Receives each entry's outcome, in log order. */
export interface LogListener {
  /**
   * Called when an entry appended here is committed. `entry` has the appended commands, and the time of the log if the
   * log keeps time.
   */
  onCommitted(entry: LogEntry): void
  /**
   * Called when an entry appended here will never be committed, or when the log may contain it nevertheless. `entry` is the
   * appended object. An entry rejected synchronously by {@link Log.append} may be reported before earlier entries still
   * in flight.
   */
  onRejected(entry: LogEntry, failure: LogFailure): void
  /**
   * Called when an entry is committed that was not appended here. The entry comes from another node of a shared log, or
   * is the deferred start entry of a disk log that was full.
   */
  onForeign?(entry: LogEntry): void
}

/**
 * The reason why an entry was rejected.
 * - `full`: the disk has no space for the entry.
 * - `broken`: the log's state on disk is unknown. Only the entry that was being written may be in the log.
 * - `closed`: the store is stopping, and the entry will never be in the log.
 * - `unavailable`: the shared log is unreachable, and the entry will never be in the log.
 * - `unknown`: the shared log is unreachable, and the entry may or may not be in the log.
 */
export type LogProblem = 'full' | 'broken' | 'closed' | 'unavailable' | 'unknown'

interface LogFailureOptions extends ErrorOptions {
  readonly mayBeLogged?: boolean
}

/** An entry's rejection. */
export class LogFailure extends Error {
  override readonly name = 'LogFailure'
  readonly problem: LogProblem
  /**
   * Whether the log may contain the entry nevertheless, so that a later start may apply it. Default: whether the problem
   * is `unknown`.
   */
  readonly mayBeLogged: boolean

  constructor(problem: LogProblem, message: string, options: LogFailureOptions = {}) {
    super(message, options)
    this.problem = problem
    this.mayBeLogged = options.mayBeLogged ?? problem === 'unknown'
  }
}

/** The limits and read mode of a log shared with other nodes. */
export interface Sharing {
  /** The maximum number of entries in flight. */
  readonly maxInFlight: number
  /** The maximum size in bytes of the commands of one entry. A single larger command forms an entry by itself. */
  readonly maxBatchBytes: number
  /** The maximum size in bytes of queued requests. Requests that would exceed it are rejected. */
  readonly maxQueuedBytes: number
  /**
   * The consistency of reads. With `linearizable`, a read waits for the next committed entry, and so sees every write
   * that any node committed before the read arrived. With `local`, only watch registrations wait.
   */
  readonly reads: 'linearizable' | 'local'
}

/**
 * Orders entries and reports when each entry is durable. After a failure, all uncommitted entries are rejected in
 * order, and later entries may be accepted again. Entries rejected within `append` are reported first.
 */
export interface Log {
  /** Returns whether entries are committed within `append`, so that batching gains nothing. */
  readonly isSynchronous: boolean
  /** The time in ms by which to delay the next entry after a commit so that more commands join it. */
  readonly batchDelayMs: number
  readonly sharing?: Sharing | undefined
  /** Sets the listener, which replaces the previous listener. */
  listen(listener: LogListener): void
  /** @param freesSpace - whether applying the entry shrinks the store, so that it may use the reserve of a full disk */
  append(entry: LogEntry, freesSpace?: boolean): void
  /** Stops accepting entries. Resolves when no entry is in flight. */
  close(): Promise<void>
}

/** Commits each entry immediately and stores nothing. Intended for a store that lives only as long as its process. */
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
