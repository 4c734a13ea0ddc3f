import type { LogEntry } from '../engine/entry.js'

/** Hears what a log has committed, in order. */
export interface LogListener {
  /**
   * From now on an entry of our own is there, whatever happens: the commands are those that were appended, and the time is
   * that of the log if it has one.
   */
  committed(entry: LogEntry): void
  /**
   * An entry of our own will never be there, or (`unknown`) nobody can tell: the object that was appended. One that is refused
   * within {@link Log.append} may come before others that are on their way.
   */
  rejected(entry: LogEntry, failure: LogFailure): void
  /** An entry of somebody else is there: of a log with a {@link Log.sharing}, or of the start, which the disk had no room for. */
  foreign?(entry: LogEntry): void
}

/**
 * Why an entry was not taken. `full`: there is no room for it. `broken`: the log cannot tell any more what is there.
 * `closed`: the store is being stopped, and the entry will never be in the log. `unavailable`: a log of several nodes cannot be reached, and the entry will never be in it. `unknown`: the same, and nobody
 * can tell whether it will.
 */
export type LogProblem = 'full' | 'broken' | 'closed' | 'unavailable' | 'unknown'

/** An entry was not taken, or nobody can tell. */
export class LogFailure extends Error {
  override readonly name = 'LogFailure'
  readonly problem: LogProblem

  constructor(problem: LogProblem, message: string, options?: ErrorOptions) {
    super(message, options)
    this.problem = problem
  }
}

/** How a log is used that others append to as well. */
export interface Sharing {
  /** So many entries on their way are not waited for. */
  readonly window: number
  /** An entry has no more bytes of commands, unless one command alone has. */
  readonly batch: number
  /** What waits may have so many bytes; more is refused. */
  readonly waiting: number
  /**
   * What reads wait for: with `linearizable`, an entry of their own or the next one that there is anyhow, so that they see
   * all that was committed anywhere before they came. With `local`, only registrations of watches do.
   */
  readonly reads: 'linearizable' | 'local'
}

/**
 * Puts entries in an order that holds, and says when each is there to stay. What was appended before a failure and was not
 * committed is rejected, in order; later entries may be taken again. What is refused at once comes before that.
 */
export interface Log {
  /** Whether it commits within the call, so that nothing is gained by gathering. */
  readonly immediate: boolean
  /** For so long it pays to hold back what comes after an entry was committed, ms: it may go together with more. */
  readonly pause: number
  /** Of a log that others append to as well. */
  readonly sharing?: Sharing | undefined
  /** Takes the place of the listener before it. */
  listen(listener: LogListener): void
  /** @param frees - the store holds less when it is applied: it may use what a full disk has left for that */
  append(entry: LogEntry, frees?: boolean): void
  /** Takes nothing any more; settles when nothing is on its way. */
  close(): Promise<void>
}

/** Commits at once and keeps nothing: for a store that lives as long as its process. */
export class MemoryLog implements Log {
  readonly immediate = true
  readonly pause = 0
  #listener: LogListener | undefined

  listen(listener: LogListener): void {
    this.#listener = listener
  }

  append(entry: LogEntry): void {
    this.#listener?.committed(entry)
  }

  async close(): Promise<void> {
    this.#listener = undefined
  }
}
