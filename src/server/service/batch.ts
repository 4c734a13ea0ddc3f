import type { Applied } from '../engine/command-result.js'
import type { EntryCommand } from '../engine/entry.js'
import type { LogFailure } from '../log/log.js'

/** What waits for its turn. One of its methods is called, once. */
export interface Job {
  /** Jobs of one owner are done in their order. */
  readonly owner: object
  /** What it takes while it waits, bytes. */
  readonly bytes: number
  /** What is to be logged and applied; without one the job changes nothing. */
  readonly command?: EntryCommand | undefined
  /** Whether it has to see all that was committed before it came, also by other nodes. */
  readonly isConfirmed?: boolean | undefined
  /** Its turn has come, and it has no command. */
  read(): void
  /** Its command was applied. */
  applied(result: Applied): void
  /** Its command is not in the log and never will be, or nobody can tell; or what others have changed cannot be read. */
  failed(failure: LogFailure): void
  /**
   * The loop was stopped first: its command may be in the log (`unknown`), or never will be (`closed`). A request has no use
   * for it, as nothing is answered after a stop.
   */
  stopped?(failure: LogFailure): void
}

/** What a job takes besides its bytes while it waits. */
const OVERHEAD = 200

/** Jobs that wait for an entry: those of its commands, and those that came after one of them on the same connection. */
export class Batch {
  readonly commands: EntryCommand[] = []
  /** Whether it is applied, or never will be. */
  done = false
  /** Whether it is there for the time as well: what is due expires. */
  expires = false
  /** Whether only what frees room is left in it. */
  frees = false
  /** Of the last job that was added at its end. */
  lastOwner: object | undefined
  /** What its jobs take. */
  bytes = 0
  readonly jobs: Job[] = []
  /** How far it is applied. */
  #at = 0

  /** Adds a job; returns what it takes, bytes. */
  add(job: Job): number {
    if (job.command !== undefined) this.commands.push(job.command)
    this.jobs.push(job)
    return this.hold(job.bytes)
  }

  /** Counts what takes so many bytes while it waits; returns how many that are with all that goes with it. */
  hold(bytes: number): number {
    this.bytes += bytes + OVERHEAD
    return bytes + OVERHEAD
  }

  /** The job that is done next. */
  next(): Job | undefined {
    return this.jobs[this.#at++]
  }

  get isReadNext(): boolean {
    const job = this.jobs[this.#at]
    return job !== undefined && job.command === undefined
  }

  /** Leaves only commands that free room, and what came behind the first of them and only reads. Returns the other jobs. */
  keepFreeing(frees: (command: EntryCommand) => boolean): readonly Job[] {
    const others: Job[] = []
    const jobs = this.jobs.splice(0)
    this.commands.length = 0
    this.frees = true
    for (const job of jobs) {
      const { command } = job
      const isKept = command === undefined ? this.expires || this.commands.length > 0 : frees(command)
      if (isKept && command !== undefined) this.commands.push(command)
      if (isKept) this.jobs.push(job)
      else others.push(job)
    }
    return others
  }
}
