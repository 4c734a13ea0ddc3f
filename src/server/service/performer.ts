import type { CommandError } from '../../core/protocol/parse-command.js'
import type { Answer, Applier, Change, Restoration } from '../engine/answer.js'
import type { Entry } from '../engine/entry.js'
import type { Batch, Job } from './batch.js'

/** Where entries are applied, and who hears what comes of it. */
export interface PerformerHost {
  apply(entry: Entry, applier: Applier): void
  expired(changes: readonly Change[]): void
  faulted(error: unknown): void
}

/** Does the jobs of an entry while it is applied. */
export class Performer implements Applier {
  readonly #host: PerformerHost
  /** The batch that is being applied. */
  #current: Batch | undefined
  /** The job of the one command that is applied, where none has to wait. */
  #only: Job | undefined

  constructor(host: PerformerHost) {
    this.#host = host
  }

  /** Has a command applied at once: an error in its job is for its caller. */
  alone(job: Job, task: () => void): void {
    const outer = this.#only
    this.#only = job
    try {
      task()
    } finally {
      this.#only = outer
    }
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
    this.guard(() => job?.answered(answer))
    this.#reads()
  }

  loaded(_: number, outcome: Restoration | CommandError): void {
    if (this.#only !== undefined) {
      this.#only.loaded(outcome)
      return
    }
    const job = this.#current?.next()
    this.guard(() => job?.loaded(outcome))
    this.#reads()
  }

  /** Does something of a job: an error of ours in it is told, and keeps nothing else from being done. */
  guard(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.#host.faulted(error)
    }
  }

  /** Applies the entry of a batch, and does its jobs in their places. */
  perform(batch: Batch, entry: Entry): void {
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

  /** Those that came behind the command that was done. */
  #reads(): void {
    const batch = this.#current
    for (let job = batch?.nextRead(); job !== undefined; job = batch?.nextRead()) {
      const read = job
      this.guard(() => read.read())
    }
  }
}
