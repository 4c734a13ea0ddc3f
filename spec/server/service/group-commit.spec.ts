import { describe, expect, it } from 'vitest'
import type { Job } from '../../../src/server/service/batch.js'
import { command, openSequencer } from './open-sequencer.js'

const PAUSE_MS = 2
const MIB = 1024 * 1024

describe('writes of one turn', () => {
  it('the sequencer logs nothing before the turn ends', () => {
    const { write, log } = openSequencer()
    write({}, 'a')
    expect(log.entries).toEqual([])
  })

  it('the sequencer logs all writes of one turn as one entry', async () => {
    const { write, sizes, endOfTurn } = openSequencer()
    for (const name of ['a', 'b', 'c']) write({}, name)
    await endOfTurn()
    expect(sizes()).toEqual([3])
  })

  it('an entry carries the time and the limits of its store', async () => {
    const { write, log, endOfTurn } = openSequencer()
    write({}, 'a')
    await endOfTurn()
    expect(log.entries).toMatchObject([{ time: 7, maxKeys: 1, maxBytes: 2 }])
  })

  it('a write is answered when its entry is committed', async () => {
    const { write, log, answers, endOfTurn } = openSequencer()
    for (const name of ['a', 'b']) write({}, name)
    await endOfTurn()
    expect(answers()).toEqual([])
    log.commit()
    expect(answers()).toEqual(['wrote a', 'wrote b'])
  })

  it('a write reports that it is logged at the end of the turn when no entry is on its way', () => {
    const { write } = openSequencer()
    expect(write({}, 'a')).toBe(true)
  })
})

describe('writes while an entry is on its way', () => {
  it('a write reports that it waits for the entry on its way', async () => {
    const { write, endOfTurn } = openSequencer()
    write({}, 'a')
    await endOfTurn()
    expect(write({}, 'b')).toBe(false)
  })

  it('writes are gathered until the entry on its way is committed, and then logged as one entry', async () => {
    const { write, log, sizes, endOfTurn } = openSequencer()
    write({}, 'a')
    await endOfTurn()
    for (const name of ['b', 'c']) write({}, name)
    await endOfTurn()
    expect(sizes()).toEqual([1])
    log.commit()
    expect(sizes()).toEqual([2])
  })

  it('gathered writes are logged before the committed entry is applied', async () => {
    const { write, sequencer, job, log, sizes, endOfTurn } = openSequencer()
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
    const opened = openSequencer()
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
    const { log, write, sizes, endOfTurn } = openSequencer()
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

describe('the limit of bytes that wait for the log', () => {
  /** A sequencer with as many writes of 1 MiB as it takes. */
  function openFull() {
    const opened = openSequencer()
    const { sequencer, job } = opened
    for (let times = 0; times < 256 && sequencer.full === undefined; times++)
      sequencer.write({}, command('large'), MIB, job('large'))
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
