import { describe, expect, it } from 'vitest'
import type { Sharing } from '../../../src/server/log/log.js'
import { command, openCommitLoop } from './open-commit-loop.js'

const SHARING: Sharing = { maxInFlight: 2, maxBatchBytes: 1_000, maxQueuedBytes: 5_000, reads: 'linearizable' }

/** Opens a commit loop with a log that several nodes share. */
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

describe('Linearizable reads', () => {
  it('of one turn share one empty entry', async () => {
    const { log, confirm, answers, sizes, endOfTurn } = open()
    for (const name of ['1', '2', '3']) confirm({}, name)
    await endOfTurn()
    expect(answers()).toEqual([])
    expect(sizes()).toEqual([0])
    log.commit()
    expect(answers()).toEqual(['read 1', 'read 2', 'read 3'])
  })

  it('a linearizable read joins the next write and keeps the order of its connection', async () => {
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

  it('a linearizable read does not join an entry that was appended before the read', async () => {
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

  it('move to the next entry when the write that they joined was too large', async () => {
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

describe('In-flight entries of a shared log', () => {
  it('one entry is appended each turn until the window is full', async () => {
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

  it('an entry that is rejected on append fails only its own writes, not the writes in flight', async () => {
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

  it('when the log ends, in-flight jobs have an unknown outcome and pending jobs are unavailable', async () => {
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

  it('linearizable reads fail with the entry that they wait for', async () => {
    const { log, write, confirm, answers, endOfTurn } = open()
    for (const problem of ['unknown', 'unavailable'] as const) {
      write({}, 'a')
      confirm({}, 'b')
      await endOfTurn()
      log.reject(problem)
    }
    expect(answers()).toEqual(['unknown a', 'unknown b', 'unavailable a', 'unavailable b'])
  })

  it('a write is unavailable when too many bytes are pending for the shared log', () => {
    const { loop, writeJob, answers } = open()
    for (let times = 0; times < 20 && answers().length === 0; times++) loop.submit({ ...writeJob({}, 'x'), bytes: 500 })
    expect(answers()).toEqual(['unavailable x'])
  })
})

describe('Entries of other nodes', () => {
  it('each change in an entry of another node is reported before the next entry is applied', async () => {
    const { log, write, outcomes, endOfTurn } = open()
    write({}, 'a')
    await endOfTurn()
    log.listener?.onForeign?.(foreign(2))
    log.commit()
    expect(outcomes).toEqual(['applied 2', 'changed 1', 'changed 1', 'applied 1', 'wrote a'])
  })

  it('a stopped node applies and reports committed entries, but reports no changes', async () => {
    const { log, loop, write, outcomes, endOfTurn } = open()
    write({}, 'a')
    await endOfTurn()
    loop.stop()
    log.commit()
    log.listener?.onForeign?.(foreign(1))
    expect(outcomes).toEqual(['applied 1', 'applied 1'])
  })
})
