import type { Entry } from '../engine/entry.js'

/** Hears what a log has committed, in order. */
export interface LogListener {
  /** From now on the entry is there, whatever happens; an entry of our own is the object that was appended. */
  committed(entry: Entry): void
  /** An entry of our own will never be there. */
  rejected(entry: Entry, failure: LogFailure): void
}

/** Why an entry was not taken: there is no room for it, or the log cannot tell any more what is there. */
export class LogFailure extends Error {
  override readonly name = 'LogFailure'
  readonly problem: 'full' | 'broken'

  constructor(problem: 'full' | 'broken', message: string, options?: ErrorOptions) {
    super(message, options)
    this.problem = problem
  }
}

/**
 * Puts entries in an order that holds, and says when each is there to stay. What was appended before a failure and was not
 * committed is rejected, in order; later entries may be taken again.
 */
export interface Log {
  /** Whether it commits within the call, so that nothing is gained by gathering. */
  readonly immediate: boolean
  /** For so long it pays to hold back what comes after an entry was committed, ms: it may go together with more. */
  readonly pause: number
  /** Takes the place of the listener before it. */
  listen(listener: LogListener): void
  append(entry: Entry): void
  /** Takes nothing any more; settles when nothing is on its way. */
  close(): Promise<void>
}
