import { describe, expect, it } from 'vitest'
import { openCommitLoop } from './open-commit-loop.js'

const PAUSE_MS = 2
const MIB = 1024 * 1024

describe('Writes of one turn', () => {
  it('the commit loop logs nothing before the turn ends', () => {
    const { write, log } = openCommitLoop()
    write({}, 'a')
    expect(log.entries).toEqual([])
  })

  it('the commit loop logs all writes of one turn as one entry', async () => {
    const { write, sizes, endOfTurn } = openCommitLoop()
    for (const name of ['a', 'b', 'c']) write({}, name)
    await endOfTurn()
    expect(sizes()).toEqual([3])
  })

  it('an entry has the time and the limits of its store', async () => {
    const { write, log, clock, endOfTurn } = openCommitLoop()
    write({}, 'a')
    await endOfTurn()
    expect(log.entries).toMatchObject([{ time: clock.now(), maxKeys: 1, maxBytes: 2 }])
  })

  it('a write is answered when its entry is committed', async () => {
    const { write, log, answers, endOfTurn } = openCommitLoop()
    for (const name of ['a', 'b']) write({}, name)
    await endOfTurn()
    expect(answers()).toEqual([])
    log.commit()
    expect(answers()).toEqual(['wrote a', 'wrote b'])
  })

  it('submit returns true for a write when no entry is in flight', () => {
    const { write } = openCommitLoop()
    expect(write({}, 'a')).toBe(true)
  })
})

describe('Writes while an entry is in flight', () => {
  it('submit returns false for a write while an entry is in flight', async () => {
    const { write, endOfTurn } = openCommitLoop()
    write({}, 'a')
    await endOfTurn()
    expect(write({}, 'b')).toBe(false)
  })

  it('writes are collected until the in-flight entry is committed, and then logged as one entry', async () => {
    const { write, log, sizes, endOfTurn } = openCommitLoop()
    write({}, 'a')
    await endOfTurn()
    for (const name of ['b', 'c']) write({}, name)
    await endOfTurn()
    expect(sizes()).toEqual([1])
    log.commit()
    expect(sizes()).toEqual([2])
  })

  it('collected writes are logged before the committed entry is applied', async () => {
    const { write, loop, writeJob, log, sizes, endOfTurn } = openCommitLoop()
    let sizesWhenAnswered: readonly number[] = []
    loop.submit({
      ...writeJob({}, 'a'),
      onApplied: () => {
        sizesWhenAnswered = sizes()
      },
    })
    await endOfTurn()
    for (const name of ['b', 'c']) write({}, name)
    log.commit()
    expect(sizesWhenAnswered).toEqual([2])
  })
})

describe('Writes delayed for a group commit', () => {
  /** Opens a commit loop that answered two writes together and has one pending write. */
  async function openHolding() {
    const opened = openCommitLoop()
    const { log, write, endOfTurn, sizes } = opened
    log.batchDelayMs = PAUSE_MS
    for (const name of ['a', 'b']) write({}, name)
    await endOfTurn()
    write({}, 'c')
    log.commit()
    await endOfTurn()
    expect(sizes()).toEqual([])
    return opened
  }

  it('a delayed write is logged as soon as more writes are pending than were last answered', async () => {
    const { write, sizes, endOfTurn } = await openHolding()
    write({}, 'd')
    await endOfTurn()
    expect(sizes()).toEqual([])
    write({}, 'e')
    await endOfTurn()
    expect(sizes()).toEqual([3])
  })

  it('a delay that ended early leaves no timer', async () => {
    const { write, clock, endOfTurn } = await openHolding()
    for (const name of ['d', 'e']) write({}, name)
    await endOfTurn()
    expect(clock.pending).toBe(0)
  })

  it('a delayed write is logged after the delay that the log requests', async () => {
    const { clock, sizes, endOfTurn } = await openHolding()
    clock.advance(PAUSE_MS - 1)
    await endOfTurn()
    expect(sizes()).toEqual([])
    clock.advance(1)
    await endOfTurn()
    expect(sizes()).toEqual([1])
  })

  it('a write is not delayed when the log requests no delay', async () => {
    const { log, clock, write, sizes, endOfTurn } = await openHolding()
    clock.advance(PAUSE_MS)
    await endOfTurn()
    log.batchDelayMs = 0
    log.commit()
    write({}, 'd')
    await endOfTurn()
    expect(sizes()).toEqual([1])
  })

  it('a write of the only active client is not delayed', async () => {
    const { log, write, sizes, endOfTurn } = openCommitLoop()
    log.batchDelayMs = PAUSE_MS
    for (const name of ['a', 'b', 'c']) {
      write({}, name)
      await endOfTurn()
      expect(sizes()).toEqual([1])
      log.commit()
    }
  })

  it('stopping the commit loop cancels the timer of a delay', async () => {
    const { clock, loop } = await openHolding()
    loop.stop()
    expect(clock.pending).toBe(0)
  })
})

describe('The limit of pending bytes', () => {
  /** Opens a commit loop that is full of writes of 1 MiB. */
  function openFull() {
    const opened = openCommitLoop()
    const { loop, writeJob, answers } = opened
    for (let times = 0; times < 300 && answers().length === 0; times++)
      loop.submit({ ...writeJob({}, 'large'), bytes: MIB })
    return opened
  }

  it('a write fails as full when 256 MiB are pending', () => {
    const { answers, outcomes, write } = openFull()
    expect(answers()).toEqual(['full large'])
    outcomes.length = 0
    write({}, 'small')
    expect(answers()).toEqual(['full small'])
  })

  it('writes are accepted again after the pending writes were committed', async () => {
    const { write, log, outcomes, answers, endOfTurn } = openFull()
    await endOfTurn()
    while (log.entries.length > 0) log.commit()
    outcomes.length = 0
    write({}, 'small')
    await endOfTurn()
    log.commit()
    expect(answers()).toEqual(['wrote small'])
  })

  it('an entry has at most 8 MiB', async () => {
    const { sizes, endOfTurn } = openFull()
    await endOfTurn()
    expect(Math.max(...sizes())).toBeLessThanOrEqual(8)
  })
})
