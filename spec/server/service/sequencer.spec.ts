import { describe, expect, it, vi } from 'vitest'
import { displayText } from '../../../src/core/util/bytes.js'
import type { Entry, EntryCommand } from '../../../src/server/engine/entry.js'
import { type Log, LogFailure, type LogListener, type Sharing } from '../../../src/server/log/log.js'
import type { Job } from '../../../src/server/service/batch.js'
import { Sequencer } from '../../../src/server/service/sequencer.js'
import { ManualClock } from '../../support/manual-clock.js'

/** A log that commits, or refuses, when it is told to. */
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

  bring(entry: Entry): void {
    this.#listener?.foreign?.(entry)
  }

  refuse(failure: LogFailure): void {
    const entry = this.entries.shift()
    if (entry) this.#listener?.rejected(entry, failure)
  }

  async close(): Promise<void> {}
}

const START: EntryCommand = { type: 'start' }
const write = (name: string): EntryCommand => ({
  type: 'write',
  payload: new TextEncoder().encode(name),
  command: { verb: 'DEL', key: new TextEncoder().encode(name) },
  origin: undefined,
})

function open() {
  const log = new SlowLog()
  const said: string[] = []
  const faults: unknown[] = []
  const clock = new ManualClock()
  const host = {
    now: () => 7,
    schedule: (delay: number, task: () => void) => clock.schedule(delay, task),
    room: () => ({ maxKeys: 1, maxBytes: 2 }),
    frees: (command: EntryCommand) => command.type === 'write' && displayText(command.payload).startsWith('free'),
    apply: vi.fn<ConstructorParameters<typeof Sequencer>[1]['apply']>((entry, applier) => {
      for (const index of entry.commands.keys())
        applier.answered(index, { reply: { type: 'ok' }, version: undefined, changes: [] })
    }),
    expired: () => undefined,
    settled: () => undefined,
    faulted: (error: unknown) => void faults.push(error),
  }
  const sequencer = new Sequencer(log, host)
  const job = (name: string): Job => ({
    read: () => void said.push(`read ${name}`),
    answered: () => void said.push(`wrote ${name}`),
    loaded: () => undefined,
    failed: ({ problem }) => void said.push(`${problem} ${name}`),
  })
  const turn = async (): Promise<void> => new Promise(resolve => setImmediate(resolve))
  return { log, clock, said, faults, host, sequencer, job, turn }
}

describe('What connections ask for', () => {
  it('is logged together when it comes in one turn', async () => {
    const { log, sequencer, job, turn, said } = open()
    const soon = ['a', 'b', 'c'].map(name => sequencer.write({}, write(name), 1, job(name)))
    expect([soon, log.entries]).toEqual([[true, true, true], []])
    await turn()
    expect(log.entries.map(({ commands, ...rest }) => [commands.length, rest])).toEqual([
      [3, { time: 7, maxKeys: 1, maxBytes: 2 }],
    ])
    log.commit()
    expect(said).toEqual(['wrote a', 'wrote b', 'wrote c'])
  })

  it('is gathered while an entry is on its way, and goes when that is there, before it is applied', async () => {
    const { log, sequencer, job, turn, said, host } = open()
    sequencer.write({}, write('a'), 1, job('a'))
    await turn()
    const soon = ['b', 'c'].map(name => sequencer.write({}, write(name), 1, job(name)))
    expect(soon).toEqual([false, false])
    await turn()
    expect(log.entries).toHaveLength(1)
    host.apply.mockImplementationOnce(() => void said.push(`${log.entries.length} on its way`))
    log.commit()
    expect(said).toEqual(['1 on its way'])
    expect(log.entries[0]?.commands).toHaveLength(2)
  })

  it('is refused on a full disk, but for what frees room: that is appended once more, with the reads behind it', async () => {
    const { log, sequencer, job, turn, said } = open()
    const [alice, bob] = [{}, {}]
    sequencer.write(alice, write('a'), 1, job('a'))
    sequencer.read(alice, 1, job('after a'))
    sequencer.write(bob, write('free b'), 1, job('free b'))
    sequencer.read(bob, 1, job('after b'))
    sequencer.write(alice, write('c'), 1, job('c'))
    await turn()
    log.refuse(new LogFailure('full', 'the disk is full'))
    expect(said).toEqual(['full a', 'read after a', 'full c'])
    expect(log.entries.map(({ commands }) => commands)).toEqual([[write('free b')]])
    sequencer.read(bob, 1, job('later'))
    log.commit()
    expect(said.slice(3)).toEqual(['wrote free b', 'read after b', 'read later'])
    sequencer.write(bob, write('free d'), 1, job('free d'))
    await turn()
    for (let i = 0; i < 2; i++) log.refuse(new LogFailure('full', 'the disk is full'))
    expect([said.slice(6), log.entries]).toEqual([['full free d'], []])
  })

  describe('is held back when the log says that it pays', () => {
    const held = async () => {
      const opened = open()
      const { log, sequencer, job, turn } = opened
      log.pause = 2
      for (const name of ['a', 'b']) sequencer.write({}, write(name), 1, job(name))
      await turn()
      sequencer.write({}, write('c'), 1, job('c'))
      log.commit()
      await turn()
      expect(log.entries).toEqual([])
      return opened
    }
    const sizes = (entries: readonly Entry[]): number[] => entries.map(({ commands }) => commands.length)

    it('until as many have come as were answered last', async () => {
      const { log, clock, sequencer, job, turn } = await held()
      sequencer.write({}, write('d'), 1, job('d'))
      await turn()
      expect(log.entries).toEqual([])
      sequencer.write({}, write('e'), 1, job('e'))
      await turn()
      expect([sizes(log.entries), clock.pending]).toEqual([[3], 0])
    })

    it('or its time is over', async () => {
      const { log, clock, turn } = await held()
      clock.advance(1)
      await turn()
      expect(log.entries).toEqual([])
      clock.advance(1)
      await turn()
      expect(sizes(log.entries)).toEqual([1])
    })

    it('and then no more: the next one that comes goes with its turn', async () => {
      const { log, clock, sequencer, job, turn } = await held()
      clock.advance(2)
      await turn()
      log.pause = 0
      log.commit()
      sequencer.write({}, write('d'), 1, job('d'))
      await turn()
      expect(sizes(log.entries)).toEqual([1])
    })

    it('but not for a client that is alone', async () => {
      const { log, sequencer, job, turn } = open()
      log.pause = 2
      for (const name of ['a', 'b', 'c']) {
        sequencer.write({}, write(name), 1, job(name))
        await turn()
        expect(sizes(log.entries)).toEqual([1])
        log.commit()
      }
    })

    it('and nothing is left of that when it is stopped', async () => {
      const { clock, sequencer } = await held()
      sequencer.stop()
      expect(clock.pending).toBe(0)
    })
  })

  it('is done in the order of its connection, and a read of another waits for nobody', async () => {
    const { log, sequencer, job, turn, said } = open()
    const [alice, bob] = [{}, {}]
    sequencer.read(alice, 1, job('1'))
    sequencer.write(alice, write('2'), 1, job('2'))
    sequencer.read(alice, 1, job('3'))
    sequencer.write(alice, write('4'), 1, job('4'))
    await turn()
    sequencer.read(alice, 1, job('5'))
    sequencer.read(bob, 1, job("bob's"))
    sequencer.write(alice, write('6'), 1, job('6'))
    sequencer.read(alice, 1, job('7'))
    expect(said).toEqual(['read 1', "read bob's"])
    log.commit()
    expect(said.slice(2)).toEqual(['wrote 2', 'read 3', 'wrote 4', 'read 5'])
    log.commit()
    expect(said.slice(6)).toEqual(['wrote 6', 'read 7'])
    sequencer.read(alice, 1, job('8'))
    expect(said.at(-1)).toBe('read 8')
  })

  it('fails when the log refuses it, and is read nevertheless', async () => {
    const { log, sequencer, job, turn, said } = open()
    const alice = {}
    sequencer.write(alice, write('1'), 1, job('1'))
    sequencer.read(alice, 1, job('2'))
    await turn()
    sequencer.write(alice, write('3'), 1, job('3'))
    log.refuse(new LogFailure('full', 'no room'))
    expect(said).toEqual(['full 1', 'read 2'])
    log.commit()
    expect(said.at(-1)).toBe('wrote 3')
  })

  it('is done for all others when one of them raises an error', async () => {
    const { log, sequencer, job, turn, said, faults } = open()
    const bad: Job = {
      ...job('bad'),
      answered: () => {
        throw new Error('ours')
      },
    }
    sequencer.write({}, write('1'), 1, bad)
    sequencer.write({}, write('2'), 1, job('2'))
    await turn()
    log.commit()
    expect([said, faults]).toEqual([['wrote 2'], [new Error('ours')]])
  })

  it('waits for the time to be logged when that was asked for', async () => {
    const { log, sequencer, job, turn, said } = open()
    const alice = {}
    sequencer.tick(alice)
    sequencer.tick(alice)
    sequencer.read(alice, 1, job('1'))
    await turn()
    expect([log.entries.map(({ commands }) => commands), said]).toEqual([[[]], []])
    log.commit()
    expect(said).toEqual(['read 1'])
  })

  it('is read before what is written in the same entry when it waits for the time, and each gets its own answer', async () => {
    const { log, sequencer, job, turn, said, host } = open()
    const alice = {}
    sequencer.tick(alice)
    sequencer.read(alice, 1, job('1'))
    sequencer.write(alice, write('2'), 1, job('2'))
    sequencer.write({}, write('3'), 1, job('3'))
    sequencer.read(alice, 1, job('4'))
    await turn()
    log.commit()
    expect(said).toEqual(['read 1', 'wrote 2', 'wrote 3', 'read 4'])
    // What is due goes first.
    expect(host.apply.mock.calls.map(([{ commands }]) => commands.length)).toEqual([0, 2])
  })

  it('is not done any more once it is stopped', async () => {
    const { log, sequencer, job, turn, said, host } = open()
    sequencer.write({}, START, 1, job('1'))
    await turn()
    sequencer.stop()
    log.commit()
    expect([said, host.apply.mock.calls.length]).toEqual([[], 0])
  })

  it('is bounded: what waits has so many bytes, and then no more', async () => {
    const { log, sequencer, job, turn } = open()
    const owner = {}
    for (let times = 0; times < 256 && !sequencer.full; times++)
      sequencer.write(owner, write('large'), 1024 * 1024, job('large'))
    expect(sequencer.full).toBe('full')
    await turn()
    expect(log.entries.every(({ commands }) => commands.length <= 8)).toBe(true)
    while (log.entries.length > 0) log.commit()
    expect(sequencer.full).toBe(undefined)
  })
})
