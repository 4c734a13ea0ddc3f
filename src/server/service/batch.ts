import type { EntryResult } from '../engine/command-result.js'
import type { EntryCommand } from '../engine/entry.js'
import type { LogFailure } from '../log/log.js'

/** A unit of work for the commit loop, which calls exactly one of its methods, once. */
export interface Job {
  /** The owner of the job. Jobs of one owner run in order. */
  readonly owner: object
  readonly bytes: number
  /** The command to log and apply. Without a command, the job only reads. */
  readonly command?: EntryCommand | undefined
  /** Whether the job must see all entries committed before it arrived, by other nodes included. */
  readonly isLinearizable?: boolean | undefined
  read(): void
  onApplied(result: EntryResult): void
  /**
   * Called when the command was not logged, when its outcome is unknown, or when a linearizable read cannot be served.
   */
  onFailed(failure: LogFailure): void
  /**
   * Called when the loop stopped before the job was done. The command may be in the log (`unknown`) or is not
   * (`closed`). Requests do not need this method, because nothing is answered after a stop.
   */
  onStopped?(failure: LogFailure): void
}

const JOB_OVERHEAD_BYTES = 200

/** The jobs that wait for a log entry: the jobs of its commands, and reads that follow them on the same connection. */
export class Batch {
  readonly commands: EntryCommand[] = []
  isDone = false
  /** Whether the entry also logs the time, so that keys expire. */
  includesExpiry = false
  /** Whether the batch was reduced to commands that free space. */
  isFreeingOnly = false
  lastOwner: object | undefined
  bytes = 0
  readonly jobs: Job[] = []
  /** The time when the batch was appended to the log, in monotonic ms. It is set only while the log is observed. */
  appendedAt: number | undefined
  #position = 0

  /** Adds a job. Returns the number of bytes charged. */
  add(job: Job): number {
    if (job.command !== undefined) this.commands.push(job.command)
    this.jobs.push(job)
    return this.charge(job.bytes)
  }

  /** Charges bytes and the overhead of a job. Returns their sum. */
  charge(bytes: number): number {
    this.bytes += bytes + JOB_OVERHEAD_BYTES
    return bytes + JOB_OVERHEAD_BYTES
  }

  next(): Job | undefined {
    return this.jobs[this.#position++]
  }

  get isReadNext(): boolean {
    const job = this.jobs[this.#position]
    return job !== undefined && job.command === undefined
  }

  /**
   * Keeps only commands that free space, and the reads that follow the first of these commands. Returns the other jobs.
   */
  keepOnlyFreeing(frees: (command: EntryCommand) => boolean): readonly Job[] {
    const removed: Job[] = []
    const jobs = this.jobs.splice(0)
    this.commands.length = 0
    this.isFreeingOnly = true
    for (const job of jobs) {
      const { command } = job
      const isKept = command === undefined ? this.includesExpiry || this.commands.length > 0 : frees(command)
      if (isKept && command !== undefined) this.commands.push(command)
      if (isKept) this.jobs.push(job)
      else removed.push(job)
    }
    return removed
  }
}
