import { describe, expect, it } from 'vitest'
import type { Change } from '../../../src/server/engine/answer.js'
import type { Entry } from '../../../src/server/engine/entry.js'
import { type Log, LogFailure, type LogListener, type Sharing } from '../../../src/server/log/log.js'
import type { Job } from '../../../src/server/service/batch.js'
import { Sequencer } from '../../../src/server/service/sequencer.js'
import { ManualClock } from '../../support/manual-clock.js'

/** A log that others append to as well, which does what it is told. */
class OthersLog implements Log {
  readonly immediate = false
  readonly pause = 0
  readonly sharing: Sharing = { window: 2, batch: 1_000, waiting: 5_000, reads: 'linearizable' }
  readonly entries: Entry[] = []
  listener: LogListener | undefined

  listen(listener: LogListener): void {
    this.listener = listener
  }

  /** Why it takes nothing, if so. */
  refusal: LogFailure['problem'] | undefined

  append(entry: Entry): void {
    if (this.refusal === undefined) this.entries.push(entry)
    else this.listener?.rejected(entry, new LogFailure(this.refusal, 'for the test'))
  }

  commit(): void {
    const entry = this.entries.shift()
    if (entry) this.listener?.committed(entry)
  }

  refuse(problem: LogFailure['problem']): void {
    const entry = this.entries.shift()
    if (entry) this.listener?.rejected(entry, new LogFailure(problem, 'for the test'))
  }

  async close(): Promise<void> {}
}

const START = { type: 'start' } as const
const changeOf = (name: string): Change => ({
  key: new TextEncoder().encode(name),
  notification: { op: 'delete' },
  version: { wallClock: 1, counter: 0 } as Change['version'],
})

function open() {
  const log = new OthersLog()
  const said: string[] = []
  const clock = new ManualClock()
  const sequencer = new Sequencer(log, {
    now: () => 7,
    schedule: (delay, task) => clock.schedule(delay, task),
    room: () => ({ maxKeys: 1, maxBytes: 2 }),
    apply: (entry, applier) => {
      said.push(`applied ${entry.commands.length}`)
      for (const index of entry.commands.keys())
        applier.answered(index, { reply: { type: 'ok' }, version: undefined, changes: [changeOf(`c${index}`)] })
    },
    expired: changes => void said.push(`told ${changes.length}`),
    settled: () => undefined,
    faulted: error => void said.push(String(error)),
  })
  const job = (name: string): Job => ({
    read: () => void said.push(`read ${name}`),
    answered: () => void said.push(`wrote ${name}`),
    loaded: () => undefined,
    failed: ({ problem }) => void said.push(`${problem} ${name}`),
  })
  const turn = async (): Promise<void> => new Promise(resolve => setImmediate(resolve))
  return { log, said, sequencer, job, turn }
}

describe('What connections ask for, with a log that others append to as well', () => {
  it('sees all that was committed before it came: reads of a turn get one empty entry', async () => {
    const { log, said, sequencer, job, turn } = open()
    for (const name of ['1', '2', '3']) sequencer.read({}, 1, job(name), true)
    await turn()
    expect([log.entries.map(({ commands }) => commands.length), said]).toEqual([[0], []])
    log.commit()
    expect(said.filter(each => each.startsWith('read'))).toEqual(['read 1', 'read 2', 'read 3'])
  })

  it('rides on the next write, in the order of its connection', async () => {
    const { log, said, sequencer, job, turn } = open()
    const owner = {}
    sequencer.write(owner, START, 1, job('a'))
    sequencer.read(owner, 1, job('b'), true)
    sequencer.write(owner, START, 1, job('c'))
    await turn()
    expect(log.entries.map(({ commands }) => commands.length)).toEqual([2])
    log.commit()
    expect(said).toEqual(['applied 2', 'wrote a', 'read b', 'wrote c'])
  })

  it('does not wait for what was on its way when it came: that may have been sent before others committed', async () => {
    const { log, said, sequencer, job, turn } = open()
    sequencer.write({}, START, 1, job('a'))
    await turn()
    sequencer.read({}, 1, job('b'), true)
    await turn()
    log.commit()
    expect(said).toEqual(['applied 1', 'wrote a'])
    log.commit()
    expect(said).toContain('read b')
  })

  it('hears of its own entry when one is refused at once while others are on their way', async () => {
    const { log, said, sequencer, job, turn } = open()
    sequencer.write({}, START, 1, job('a'))
    await turn()
    log.refusal = 'full'
    sequencer.write({}, START, 1, job('b'))
    await turn()
    expect(said).toEqual(['full b'])
    log.commit()
    expect(said).toEqual(['full b', 'applied 1', 'wrote a'])
  })

  it('reads what others have changed, though the write with which it was to go was too large', async () => {
    const { log, said, sequencer, job, turn } = open()
    const owner = {}
    sequencer.write(owner, START, 1, job('a'))
    sequencer.read({}, 1, job('b'), true)
    sequencer.read(owner, 1, job('c'), true)
    const append = log.append.bind(log)
    log.append = entry => {
      log.refusal = entry.commands.length > 0 ? 'full' : undefined
      append(entry)
    }
    await turn()
    expect(said).toEqual(['full a'])
    expect(log.entries.map(({ commands }) => commands.length)).toEqual([0])
    log.commit()
    expect(said.filter(each => each.startsWith('read'))).toEqual(['read b', 'read c'])
  })

  it('is not said to be nowhere when the log ends: what is on its way may be there, what is gathered is not', async () => {
    const { log, said, sequencer, job, turn } = open()
    for (const name of ['a', 'b']) {
      sequencer.write({}, START, 1, job(name))
      await turn()
    }
    sequencer.write({}, START, 1, job('c'))
    log.refusal = 'unavailable'
    log.refuse('unknown')
    log.refuse('unknown')
    expect(said).toEqual(['unknown a', 'unavailable c', 'unknown b'])
  })

  it('goes one entry a turn, until so many are on their way', async () => {
    const { log, sequencer, job, turn } = open()
    for (const name of ['1', '2', '3', '4']) {
      sequencer.write({}, START, 1, job(name))
      await turn()
    }
    expect(log.entries.map(({ commands }) => commands.length)).toEqual([1, 1])
    log.commit()
    await turn()
    expect(log.entries.map(({ commands }) => commands.length)).toEqual([1, 2])
  })

  it('tells watchers of what others have done, in its place', async () => {
    const { log, said, sequencer, job, turn } = open()
    sequencer.write({}, START, 1, job('a'))
    await turn()
    log.listener?.foreign?.({ time: 1, maxKeys: 1, maxBytes: 1, commands: [START, START] })
    log.commit()
    expect(said).toEqual(['applied 2', 'told 1', 'told 1', 'applied 1', 'wrote a'])
  })

  it('is not answered when nobody can tell, and reads are not either', async () => {
    const { log, said, sequencer, job, turn } = open()
    sequencer.write({}, START, 1, job('a'))
    sequencer.read({}, 1, job('b'), true)
    await turn()
    log.refuse('unknown')
    sequencer.write({}, START, 1, job('c'))
    sequencer.read({}, 1, job('d'), true)
    await turn()
    log.refuse('unavailable')
    expect(said).toEqual(['unknown a', 'unknown b', 'unavailable c', 'unavailable d'])
  })

  it('is refused as unavailable when too much waits', async () => {
    const { sequencer, job } = open()
    while (sequencer.full === undefined) sequencer.write({}, START, 500, job('x'))
    expect(sequencer.full).toBe('unavailable')
  })

  it('is applied also when nothing is done any more: others are told what this node has', async () => {
    const { log, said, sequencer, job, turn } = open()
    sequencer.write({}, START, 1, job('a'))
    await turn()
    sequencer.stop()
    log.commit()
    log.listener?.foreign?.({ time: 1, maxKeys: 1, maxBytes: 1, commands: [START] })
    expect(said).toEqual(['applied 1', 'applied 1'])
  })
})
