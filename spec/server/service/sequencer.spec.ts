import { describe, expect, it } from 'vitest'
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

const FULL = new LogFailure('full', 'the disk is full')
const PAUSE_MS = 2
const KIB = 1024

const command = (name: string): EntryCommand => ({
  type: 'write',
  payload: utf8(name),
  command: { verb: 'DEL', key: utf8(name) },
  origin: undefined,
})

/** A sequencer of a log that commits when a spec says so; a write whose name begins with `free` frees room. */
function open() {
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

describe('writes of one turn', () => {
  it('the sequencer logs nothing before the turn ends', () => {
    const { write, log } = open()
    write({}, 'a')
    expect(log.entries).toEqual([])
  })

  it('the sequencer logs all writes of one turn as one entry', async () => {
    const { write, sizes, endOfTurn } = open()
    for (const name of ['a', 'b', 'c']) write({}, name)
    await endOfTurn()
    expect(sizes()).toEqual([3])
  })

  it('an entry carries the time and the limits of its store', async () => {
    const { write, log, endOfTurn } = open()
    write({}, 'a')
    await endOfTurn()
    expect(log.entries).toMatchObject([{ time: 7, maxKeys: 1, maxBytes: 2 }])
  })

  it('a write is answered when its entry is committed', async () => {
    const { write, log, answers, endOfTurn } = open()
    for (const name of ['a', 'b']) write({}, name)
    await endOfTurn()
    expect(answers()).toEqual([])
    log.commit()
    expect(answers()).toEqual(['wrote a', 'wrote b'])
  })

  it('a write reports that it is logged at the end of the turn when no entry is on its way', () => {
    const { write } = open()
    expect(write({}, 'a')).toBe(true)
  })
})

describe('writes while an entry is on its way', () => {
  it('a write reports that it waits for the entry on its way', async () => {
    const { write, endOfTurn } = open()
    write({}, 'a')
    await endOfTurn()
    expect(write({}, 'b')).toBe(false)
  })

  it('writes are gathered until the entry on its way is committed, and then logged as one entry', async () => {
    const { write, log, sizes, endOfTurn } = open()
    write({}, 'a')
    await endOfTurn()
    for (const name of ['b', 'c']) write({}, name)
    await endOfTurn()
    expect(sizes()).toEqual([1])
    log.commit()
    expect(sizes()).toEqual([2])
  })

  it('gathered writes are logged before the committed entry is applied', async () => {
    const { write, sequencer, job, log, sizes, endOfTurn } = open()
    let sizesWhenAnswered: readonly number[] = []
    const watching: Job = {
      ...job('a'),
      answered: () => {
        sizesWhenAnswered = sizes()
      },
    }
    sequencer.write({}, command('a'), 1, watching)
    await endOfTurn()
    for (const name of ['b', 'c']) write({}, name)
    log.commit()
    expect(sizesWhenAnswered).toEqual([2])
  })
})

describe('writes that the log holds back for a group commit', () => {
  /** Two writes were answered together, and one waits for more. */
  async function openHolding() {
    const opened = open()
    const { log, write, endOfTurn, sizes } = opened
    log.pause = PAUSE_MS
    for (const name of ['a', 'b']) write({}, name)
    await endOfTurn()
    write({}, 'c')
    log.commit()
    await endOfTurn()
    expect(sizes()).toEqual([])
    return opened
  }

  it('a held write is logged when more writes came than were answered last', async () => {
    const { write, sizes, endOfTurn } = await openHolding()
    write({}, 'd')
    await endOfTurn()
    expect(sizes()).toEqual([])
    write({}, 'e')
    await endOfTurn()
    expect(sizes()).toEqual([3])
  })

  it('a hold that ended early leaves no timer', async () => {
    const { write, clock, endOfTurn } = await openHolding()
    for (const name of ['d', 'e']) write({}, name)
    await endOfTurn()
    expect(clock.pending).toBe(0)
  })

  it('a held write is logged when the pause of the log is over', async () => {
    const { clock, sizes, endOfTurn } = await openHolding()
    clock.advance(PAUSE_MS - 1)
    await endOfTurn()
    expect(sizes()).toEqual([])
    clock.advance(1)
    await endOfTurn()
    expect(sizes()).toEqual([1])
  })

  it('a write is not held once the log asks for no pause', async () => {
    const { log, clock, write, sizes, endOfTurn } = await openHolding()
    clock.advance(PAUSE_MS)
    await endOfTurn()
    log.pause = 0
    log.commit()
    write({}, 'd')
    await endOfTurn()
    expect(sizes()).toEqual([1])
  })

  it('a write of the only active client is never held', async () => {
    const { log, write, sizes, endOfTurn } = open()
    log.pause = PAUSE_MS
    for (const name of ['a', 'b', 'c']) {
      write({}, name)
      await endOfTurn()
      expect(sizes()).toEqual([1])
      log.commit()
    }
  })

  it('stopping the sequencer cancels the timer of a hold', async () => {
    const { clock, sequencer } = await openHolding()
    sequencer.stop()
    expect(clock.pending).toBe(0)
  })
})

describe('the order of requests', () => {
  it('a read is answered at once when no write of its connection waits', () => {
    const { read, answers } = open()
    read({}, '1')
    expect(answers()).toEqual(['read 1'])
  })

  it('a read does not wait for the writes of other connections', async () => {
    const { read, write, answers, endOfTurn } = open()
    write({}, '1')
    await endOfTurn()
    read({}, '2')
    expect(answers()).toEqual(['read 2'])
  })

  it('requests of one connection are answered in their order within an entry', async () => {
    const { read, write, log, answers, endOfTurn } = open()
    const alice = {}
    write(alice, '1')
    read(alice, '2')
    write(alice, '3')
    read(alice, '4')
    await endOfTurn()
    log.commit()
    expect(answers()).toEqual(['wrote 1', 'read 2', 'wrote 3', 'read 4'])
  })

  it('requests of one connection are answered in their order across entries', async () => {
    const { read, write, log, answers, endOfTurn } = open()
    const alice = {}
    write(alice, '1')
    await endOfTurn()
    read(alice, '2')
    write(alice, '3')
    read(alice, '4')
    log.commit()
    expect(answers()).toEqual(['wrote 1', 'read 2'])
    log.commit()
    expect(answers().slice(2)).toEqual(['wrote 3', 'read 4'])
  })

  it('a read is answered at once again when all writes of its connection were answered', async () => {
    const { read, write, log, answers, endOfTurn } = open()
    const alice = {}
    write(alice, '1')
    await endOfTurn()
    log.commit()
    read(alice, '2')
    expect(answers()).toEqual(['wrote 1', 'read 2'])
  })
})

describe('entries that the log rejects', () => {
  it('a write fails with the problem of the log that rejects it', async () => {
    const { write, log, answers, endOfTurn } = open()
    write({}, '1')
    await endOfTurn()
    log.refuse(FULL)
    expect(answers()).toEqual(['full 1'])
  })

  it('a read behind a rejected write is answered', async () => {
    const { read, write, log, answers, endOfTurn } = open()
    const alice = {}
    write(alice, '1')
    read(alice, '2')
    await endOfTurn()
    log.refuse(FULL)
    expect(answers()).toEqual(['full 1', 'read 2'])
  })

  it('writes that came after a rejected entry are logged', async () => {
    const { write, log, answers, endOfTurn } = open()
    write({}, '1')
    await endOfTurn()
    write({}, '2')
    log.refuse(FULL)
    log.commit()
    expect(answers()).toEqual(['full 1', 'wrote 2'])
  })

  it('a full log is asked once more for the writes that free room, without the others', async () => {
    const { write, log, answers, endOfTurn } = open()
    for (const name of ['a', 'free b', 'c']) write({}, name)
    await endOfTurn()
    log.refuse(FULL)
    expect(answers()).toEqual(['full a', 'full c'])
    expect(log.entries.map(({ commands }) => commands)).toEqual([[command('free b')]])
  })

  it('reads behind a write that frees room wait for its second attempt', async () => {
    const { read, write, log, answers, endOfTurn } = open()
    const bob = {}
    write({}, 'a')
    write(bob, 'free b')
    read(bob, 'after b')
    await endOfTurn()
    log.refuse(FULL)
    read(bob, 'later')
    expect(answers()).toEqual(['full a'])
    log.commit()
    expect(answers().slice(1)).toEqual(['wrote free b', 'read after b', 'read later'])
  })

  it('a write that frees room fails when its second attempt is rejected', async () => {
    const { write, log, answers, endOfTurn } = open()
    write({}, 'free a')
    await endOfTurn()
    for (let attempt = 1; attempt <= 2; attempt++) log.refuse(FULL)
    expect(answers()).toEqual(['full free a'])
    expect(log.entries).toEqual([])
  })
})

describe('an error raised by a job', () => {
  const FAULT = new Error('ours')

  async function openWithFault() {
    const opened = open()
    const { sequencer, job, write, log, endOfTurn } = opened
    const failing: Job = {
      ...job('1'),
      answered: () => {
        throw FAULT
      },
    }
    sequencer.write({}, command('1'), 1, failing)
    write({}, '2')
    await endOfTurn()
    log.commit()
    return opened
  }

  it('an error raised by one job does not affect the other jobs of its entry', async () => {
    const { answers } = await openWithFault()
    expect(answers()).toEqual(['wrote 2'])
  })

  it('an error raised by a job is reported to the host', async () => {
    const { faults } = await openWithFault()
    expect(faults).toEqual([FAULT])
  })
})

describe('a tick, which logs the time', () => {
  it('ticks of one turn are logged as one entry without commands', async () => {
    const { sequencer, sizes, endOfTurn } = open()
    for (let times = 0; times < 2; times++) sequencer.tick({})
    await endOfTurn()
    expect(sizes()).toEqual([0])
  })

  it('a read waits for the tick of its connection', async () => {
    const { sequencer, read, log, answers, endOfTurn } = open()
    const alice = {}
    sequencer.tick(alice)
    read(alice, '1')
    await endOfTurn()
    expect(answers()).toEqual([])
    log.commit()
    expect(answers()).toEqual(['read 1'])
  })

  it('keys expire before the reads and writes that came with a tick', async () => {
    const { sequencer, read, write, log, outcomes, endOfTurn } = open()
    const alice = {}
    sequencer.tick(alice)
    read(alice, '1')
    write(alice, '2')
    await endOfTurn()
    log.commit()
    expect(outcomes).toEqual(['applied 0', 'read 1', 'applied 1', 'wrote 2'])
  })

  it('each request in the entry of a tick gets its own reply, in its order', async () => {
    const { sequencer, read, write, log, answers, endOfTurn } = open()
    const alice = {}
    sequencer.tick(alice)
    read(alice, '1')
    write(alice, '2')
    write({}, '3')
    read(alice, '4')
    await endOfTurn()
    log.commit()
    expect(answers()).toEqual(['read 1', 'wrote 2', 'wrote 3', 'read 4'])
  })
})

it('a stopped sequencer applies and answers nothing', async () => {
  const { sequencer, write, log, outcomes, endOfTurn } = open()
  write({}, '1')
  await endOfTurn()
  sequencer.stop()
  log.commit()
  expect(outcomes).toEqual([])
})

describe('the limit of bytes that wait for the log', () => {
  /** A sequencer with as many writes of 1 MiB as it takes. */
  function openFull() {
    const opened = open()
    const { sequencer, job } = opened
    for (let times = 0; times < 256 && sequencer.full === undefined; times++)
      sequencer.write({}, command('large'), KIB * KIB, job('large'))
    return opened
  }

  it('the sequencer is full when 256 MiB wait for the log', () => {
    const { sequencer } = openFull()
    expect(sequencer.full).toBe('full')
  })

  it('the sequencer is no longer full when what waited was committed', async () => {
    const { sequencer, log, endOfTurn } = openFull()
    await endOfTurn()
    while (log.entries.length > 0) log.commit()
    expect(sequencer.full).toBeUndefined()
  })

  it('an entry has at most 8 MiB', async () => {
    const { sizes, endOfTurn } = openFull()
    await endOfTurn()
    expect(Math.max(...sizes())).toBeLessThanOrEqual(8)
  })
})
