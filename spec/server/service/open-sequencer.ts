import { displayText, utf8 } from '../../../src/core/util/bytes.js'
import type { Entry, EntryCommand } from '../../../src/server/engine/entry.js'
import { type Log, LogFailure, type LogListener, type Sharing } from '../../../src/server/log/log.js'
import type { Job } from '../../../src/server/service/batch.js'
import { Sequencer } from '../../../src/server/service/sequencer.js'
import { ManualClock } from '../../support/manual-clock.js'

/** A log that commits or rejects its oldest entry when a spec says so. */
class SlowLog implements Log {
  readonly immediate = false
  readonly entries: Entry[] = []
  pause = 0
  sharing: Sharing | undefined
  #listener: LogListener | undefined

  listen(listener: LogListener): void {
    this.#listener = listener
  }

  append(entry: Entry): void {
    this.entries.push(entry)
  }

  commit(): void {
    const entry = this.entries.shift()
    if (entry) this.#listener?.committed(entry)
  }

  refuse(failure: LogFailure): void {
    const entry = this.entries.shift()
    if (entry) this.#listener?.rejected(entry, failure)
  }

  async close(): Promise<void> {}
}

export const FULL = new LogFailure('full', 'the disk is full')

export const command = (name: string): EntryCommand => ({
  type: 'write',
  payload: utf8(name),
  command: { verb: 'DEL', key: utf8(name) },
  origin: undefined,
})

/** A sequencer of a log that commits when a spec says so; a write whose name begins with `free` frees room. */
export function openSequencer() {
  const log = new SlowLog()
  const clock = new ManualClock()
  const outcomes: string[] = []
  const faults: unknown[] = []
  const sequencer = new Sequencer(log, {
    now: () => 7,
    schedule: (delay, task) => clock.schedule(delay, task),
    room: () => ({ maxKeys: 1, maxBytes: 2 }),
    frees: command => command.type === 'write' && displayText(command.payload).startsWith('free'),
    apply: ({ commands }, applier) => {
      outcomes.push(`applied ${commands.length}`)
      for (const index of commands.keys())
        applier.answered(index, { reply: { type: 'ok' }, version: undefined, changes: [] })
    },
    expired: () => undefined,
    settled: () => undefined,
    faulted: error => void faults.push(error),
  })
  const job = (name: string): Job => ({
    read: () => void outcomes.push(`read ${name}`),
    answered: () => void outcomes.push(`wrote ${name}`),
    loaded: () => undefined,
    failed: ({ problem }) => void outcomes.push(`${problem} ${name}`),
  })
  return {
    log,
    clock,
    faults,
    sequencer,
    job,
    write: (owner: object, name: string): boolean => sequencer.write(owner, command(name), 1, job(name)),
    read: (owner: object, name: string): void => sequencer.read(owner, 1, job(name)),
    /** Everything that happened to jobs, in its order. */
    outcomes,
    /** What happened to jobs, without that an entry was applied. */
    answers: (): readonly string[] => outcomes.filter(outcome => !outcome.startsWith('applied')),
    /** How many commands each entry has that is on its way. */
    sizes: (): readonly number[] => log.entries.map(({ commands }) => commands.length),
    endOfTurn: async (): Promise<void> => new Promise(resolve => setImmediate(resolve)),
  }
}
