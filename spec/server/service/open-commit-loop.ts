import { displayText, utf8 } from '../../../src/core/util/bytes.js'
import type { EntryResult, KeyChange } from '../../../src/server/engine/command-result.js'
import type { EntryCommand, LogEntry } from '../../../src/server/engine/entry.js'
import { type Log, LogFailure, type LogListener, type Sharing } from '../../../src/server/log/log.js'
import type { Job } from '../../../src/server/service/batch.js'
import { CommitLoop } from '../../../src/server/service/commit-loop.js'
import { ManualClock } from '../../support/manual-clock.js'

/** A log that commits or rejects its oldest entry on demand. */
class SlowLog implements Log {
  readonly isSynchronous = false
  readonly entries: LogEntry[] = []
  batchDelayMs = 0
  sharing: Sharing | undefined
  /** If set, new entries are rejected with this problem when they are appended. */
  rejectsNew: LogFailure['problem'] | undefined
  listener: LogListener | undefined

  listen(listener: LogListener): void {
    this.listener = listener
  }

  append(entry: LogEntry): void {
    if (this.rejectsNew === undefined) this.entries.push(entry)
    else this.listener?.onRejected(entry, new LogFailure(this.rejectsNew, 'for the test'))
  }

  commit(): void {
    const entry = this.entries.shift()
    if (entry) this.listener?.onCommitted(entry)
  }

  reject(problem: LogFailure['problem']): void {
    const entry = this.entries.shift()
    if (entry) this.listener?.onRejected(entry, new LogFailure(problem, 'for the test'))
  }

  async close(): Promise<void> {}
}

export const command = (name: string): EntryCommand => ({
  type: 'write',
  payload: utf8(name),
  command: { verb: 'DEL', key: utf8(name) },
  origin: undefined,
})

const changeOf = (name: string): KeyChange => ({
  key: utf8(name),
  notification: { op: 'delete' },
  version: { wallClock: 1, counter: 0 } as KeyChange['version'],
})

/** Opens a commit loop with a controlled log. A write frees space if its name begins with `free`. */
export function openCommitLoop() {
  const log = new SlowLog()
  const clock = new ManualClock()
  const outcomes: string[] = []
  const faults: unknown[] = []
  const health: (LogFailure['problem'] | undefined)[] = []
  function* apply({ commands }: LogEntry): Generator<EntryResult, void> {
    outcomes.push(`applied ${commands.length}`)
    for (const index of commands.keys()) {
      const changes = [changeOf(String(index))]
      yield { type: 'answered', changes, answer: { reply: { type: 'ok' }, version: undefined, changes } }
    }
  }
  const loop = new CommitLoop({
    log,
    clock,
    engine: {
      apply,
      replay: ({ commands }) => void outcomes.push(`applied ${commands.length}`),
      limits: { maxKeys: 1, maxBytes: 2 },
      freesSpace: each => each.type === 'write' && displayText(each.payload).startsWith('free'),
      drift: () => 0,
      nextDeadline: undefined,
      maxExpired: () => undefined,
      expiredUntil: Number.NEGATIVE_INFINITY,
    },
    host: {
      onChanges: changes => void outcomes.push(`changed ${changes.length}`),
      onDrift: () => undefined,
      onLogHealth: failure => void health.push(failure?.problem),
      onError: error => void faults.push(error),
    },
  })
  const job = (owner: object, name: string): Job => ({
    owner,
    bytes: 1,
    read: () => void outcomes.push(`read ${name}`),
    onApplied: () => void outcomes.push(`wrote ${name}`),
    onFailed: ({ problem }) => void outcomes.push(`${problem} ${name}`),
  })
  const writeJob = (owner: object, name: string): Job => ({ ...job(owner, name), command: command(name) })
  return {
    log,
    clock,
    faults,
    /** The reported problems of the log, and `undefined` when each ended. */
    health,
    loop,
    writeJob,
    /** Submits a write that implements `onStopped`, like a load. */
    load: (owner: object, name: string): boolean =>
      loop.submit({
        ...writeJob(owner, name),
        onStopped: ({ problem }) => void outcomes.push(`stopped ${problem} ${name}`),
      }),
    write: (owner: object, name: string): boolean => loop.submit(writeJob(owner, name)),
    /** Submits a SET. All other writes are deletes. */
    set: (owner: object, name: string): boolean => {
      const set = { verb: 'SET', key: utf8(name), value: utf8(name), condition: undefined, px: undefined } as const
      return loop.submit({
        ...job(owner, name),
        command: { type: 'write', payload: utf8(name), command: set, origin: undefined },
      })
    },
    read: (owner: object, name: string): void => void loop.submit(job(owner, name)),
    /** Submits a linearizable read. */
    confirm: (owner: object, name: string): void => void loop.submit({ ...job(owner, name), isLinearizable: true }),
    /** The events of jobs in order. */
    outcomes,
    /** The events of jobs, except those of applied entries. */
    answers: (): readonly string[] => outcomes.filter(outcome => !/^(applied|changed)/.test(outcome)),
    /** The number of commands in each in-flight entry. */
    sizes: (): readonly number[] => log.entries.map(({ commands }) => commands.length),
    endOfTurn: async (): Promise<void> => new Promise(resolve => setImmediate(resolve)),
  }
}
