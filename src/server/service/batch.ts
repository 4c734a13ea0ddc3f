import type { CommandError } from '../../core/protocol/parse-command.js'
import type { Answer, Restoration } from '../engine/answer.js'
import type { EntryCommand } from '../engine/entry.js'
import type { LogFailure } from '../log/log.js'

/** What is done for a job when its turn has come; one of them is called, once. */
export interface Job {
  /** It changes nothing, and is done with the state as it is. */
  read(): void
  answered(answer: Answer): void
  loaded(outcome: Restoration | CommandError): void
  /** Its command is not in the log, and never will be, or nobody can tell; or it cannot be read what others have changed. */
  failed(failure: LogFailure): void
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
  #jobs: { readonly job: Job; readonly isRead: boolean }[] = []
  #bytes = 0
  /** How far it is applied. */
  #at = 0
  #owner: object | undefined

  /** What its jobs take, bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Takes a job that has a command, or one that only reads; returns what it takes, bytes. */
  add(job: Job, command: EntryCommand | undefined, bytes: number): number {
    if (command !== undefined) this.commands.push(command)
    this.#jobs.push({ job, isRead: command === undefined })
    return this.hold(bytes)
  }

  /** Whether the next command is of another owner than the one before. */
  passesTo(owner: object): boolean {
    if (owner === this.#owner) return false
    this.#owner = owner
    return true
  }

  /** Counts what takes so many bytes while it waits; returns how many that are with all that goes with it. */
  hold(bytes: number): number {
    this.#bytes += bytes + OVERHEAD
    return bytes + OVERHEAD
  }

  /** The job of the command that is applied next. */
  next(): Job | undefined {
    return this.#jobs[this.#at++]?.job
  }

  /** The next job, if it came behind the command that was applied and only reads. */
  nextRead(): Job | undefined {
    return this.#jobs[this.#at]?.isRead ? this.next() : undefined
  }

  /** Whether its first job has no command: it waits for the time of the entry alone. */
  get readsFirst(): boolean {
    return this.#jobs[0]?.isRead === true
  }

  /**
   * How every job ends when the entry is not in the log: what only reads is done, unless it was to see what others have
   * changed.
   *
   * @param reads - whether jobs that only read end, too
   */
  failing(failure: LogFailure, reads = true): (() => void)[] {
    const { problem } = failure
    const isDone = problem === 'full' || problem === 'broken' || problem === 'closed'
    return this.#jobs
      .filter(({ isRead }) => reads || !isRead)
      .map(
        ({ job, isRead }) =>
          () =>
            isRead && isDone ? job.read() : job.failed(failure),
      )
  }

  /**
   * Leaves only commands that free room, and what came behind the first of them and only reads. Returns how each other job
   * ends.
   */
  keepFreeing(failure: LogFailure, frees: (command: EntryCommand) => boolean): (() => void)[] {
    this.frees = true
    const kept: EntryCommand[] = []
    const ends: (() => void)[] = []
    let command = 0
    this.#jobs = this.#jobs.filter(({ job, isRead }) => {
      const own = isRead ? undefined : this.commands[command++]
      const isKept = own === undefined ? this.expires || kept.length > 0 : frees(own)
      if (isKept && own !== undefined) kept.push(own)
      if (!isKept) ends.push(() => (isRead ? job.read() : job.failed(failure)))
      return isKept
    })
    this.commands.splice(0, this.commands.length, ...kept)
    return ends
  }

  /** Its jobs that only read. */
  get reads(): Job[] {
    return this.#jobs.filter(({ isRead }) => isRead).map(({ job }) => job)
  }
}
