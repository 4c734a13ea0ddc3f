import { describe, expect, it } from 'vitest'
import type { Sharing } from '../../../src/server/log/log.js'
import { command, openCommitLoop } from './open-commit-loop.js'

const SHARING: Sharing = { maxInFlight: 2, maxBatchBytes: 1_000, maxQueuedBytes: 5_000, reads: 'linearizable' }

/** A commit loop whose log other nodes append to as well. */
function open() {
  const opened = openCommitLoop()
  opened.log.sharing = SHARING
  return opened
}

const foreign = (commands: number) => ({
  time: 1,
  maxKeys: 1,
  maxBytes: 1,
  commands: Array.from({ length: commands }, () => command('foreign')),
})

describe('reads that see what other nodes committed', () => {
  it('confirmed reads of one turn wait for one empty entry', async () => {
    const { log, confirm, answers, sizes, endOfTurn } = open()
    for (const name of ['1', '2', '3']) confirm({}, name)
    await endOfTurn()
    expect(answers()).toEqual([])
    expect(sizes()).toEqual([0])
    log.commit()
    expect(answers()).toEqual(['read 1', 'read 2', 'read 3'])
  })

  it('a confirmed read goes with the next write, in the order of its connection', async () => {
    const { log, write, confirm, outcomes, sizes, endOfTurn } = open()
    const owner = {}
    write(owner, 'a')
    confirm(owner, 'b')
    write(owner, 'c')
    await endOfTurn()
    expect(sizes()).toEqual([2])
    log.commit()
    expect(outcomes).toEqual(['applied 2', 'wrote a', 'read b', 'wrote c'])
  })

  it('a confirmed read does not go with an entry that was sent before it came', async () => {
    const { log, write, confirm, outcomes, answers, endOfTurn } = open()
    write({}, 'a')
    await endOfTurn()
    confirm({}, 'b')
    await endOfTurn()
    log.commit()
    expect(outcomes).toEqual(['applied 1', 'wrote a'])
    log.commit()
    expect(answers()).toContain('read b')
  })

  it('confirmed reads go with the next entry when the write they came with was too large', async () => {
    const { log, write, confirm, answers, sizes, endOfTurn } = open()
    const owner = {}
    write(owner, 'a')
    confirm({}, 'b')
    confirm(owner, 'c')
    const append = log.append.bind(log)
    log.append = entry => {
      log.rejectsNew = entry.commands.length > 0 ? 'full' : undefined
      append(entry)
    }
    await endOfTurn()
    expect(answers()).toEqual(['full a'])
    expect(sizes()).toEqual([0])
    log.commit()
    expect(answers().slice(1)).toEqual(['read b', 'read c'])
  })
})

describe('entries on their way to a shared log', () => {
  it('one entry is sent each turn until the window is full', async () => {
    const { log, write, sizes, endOfTurn } = open()
    for (const name of ['1', '2', '3', '4']) {
      write({}, name)
      await endOfTurn()
    }
    expect(sizes()).toEqual([1, 1])
    log.commit()
    await endOfTurn()
    expect(sizes()).toEqual([1, 2])
  })

  it('a new entry that is rejected at once fails its own writes, not those on their way', async () => {
    const { log, write, answers, endOfTurn } = open()
    write({}, 'a')
    await endOfTurn()
    log.rejectsNew = 'full'
    write({}, 'b')
    await endOfTurn()
    expect(answers()).toEqual(['full b'])
    log.commit()
    expect(answers()).toEqual(['full b', 'wrote a'])
  })

  it('when the log ends, what is on its way is unknown and what is gathered is unavailable', async () => {
    const { log, write, answers, endOfTurn } = open()
    for (const name of ['a', 'b']) {
      write({}, name)
      await endOfTurn()
    }
    write({}, 'c')
    log.rejectsNew = 'unavailable'
    log.reject('unknown')
    log.reject('unknown')
    expect(answers()).toEqual(['unknown a', 'unavailable c', 'unknown b'])
  })

  it('confirmed reads fail with the entry they wait for', async () => {
    const { log, write, confirm, answers, endOfTurn } = open()
    for (const problem of ['unknown', 'unavailable'] as const) {
      write({}, 'a')
      confirm({}, 'b')
      await endOfTurn()
      log.reject(problem)
    }
    expect(answers()).toEqual(['unknown a', 'unknown b', 'unavailable a', 'unavailable b'])
  })

  it('a write is unavailable when too much waits for the shared log', () => {
    const { loop, writeJob, answers } = open()
    for (let times = 0; times < 20 && answers().length === 0; times++) loop.submit({ ...writeJob({}, 'x'), bytes: 500 })
    expect(answers()).toEqual(['unavailable x'])
  })
})

describe('entries of other nodes', () => {
  it('each change of an entry of another node is reported before the next entry is applied', async () => {
    const { log, write, outcomes, endOfTurn } = open()
    write({}, 'a')
    await endOfTurn()
    log.listener?.onForeign?.(foreign(2))
    log.commit()
    expect(outcomes).toEqual(['applied 2', 'changed 1', 'changed 1', 'applied 1', 'wrote a'])
  })

  it('a stopped node applies what is committed and reports nothing, as others are told what it has', async () => {
    const { log, loop, write, outcomes, endOfTurn } = open()
    write({}, 'a')
    await endOfTurn()
    loop.stop()
    log.commit()
    log.listener?.onForeign?.(foreign(1))
    expect(outcomes).toEqual(['applied 1', 'applied 1'])
  })
})
