import { describe, expect, it } from 'vitest'
import { command, openCommitLoop } from './open-commit-loop.js'

describe('Order of requests', () => {
  it('a read is answered immediately when no write of its connection is pending', () => {
    const { read, answers } = openCommitLoop()
    read({}, '1')
    expect(answers()).toEqual(['read 1'])
  })

  it('a read does not wait for the writes of other connections', async () => {
    const { read, write, answers, endOfTurn } = openCommitLoop()
    write({}, '1')
    await endOfTurn()
    read({}, '2')
    expect(answers()).toEqual(['read 2'])
  })

  it('requests of one connection within an entry are answered in order', async () => {
    const { read, write, log, answers, endOfTurn } = openCommitLoop()
    const alice = {}
    write(alice, '1')
    read(alice, '2')
    write(alice, '3')
    read(alice, '4')
    await endOfTurn()
    log.commit()
    expect(answers()).toEqual(['wrote 1', 'read 2', 'wrote 3', 'read 4'])
  })

  it('requests of one connection across entries are answered in order', async () => {
    const { read, write, log, answers, endOfTurn } = openCommitLoop()
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

  it('a read is answered immediately again after all writes of its connection were answered', async () => {
    const { read, write, log, answers, endOfTurn } = openCommitLoop()
    const alice = {}
    write(alice, '1')
    await endOfTurn()
    log.commit()
    read(alice, '2')
    expect(answers()).toEqual(['wrote 1', 'read 2'])
  })
})

describe('Rejected entries', () => {
  it('a rejected write fails with the problem that the log reported', async () => {
    const { write, log, answers, endOfTurn } = openCommitLoop()
    write({}, '1')
    await endOfTurn()
    log.reject('full')
    expect(answers()).toEqual(['full 1'])
  })

  it('a read behind a rejected write is answered', async () => {
    const { read, write, log, answers, endOfTurn } = openCommitLoop()
    const alice = {}
    write(alice, '1')
    read(alice, '2')
    await endOfTurn()
    log.reject('full')
    expect(answers()).toEqual(['full 1', 'read 2'])
  })

  it('writes submitted after a rejected entry are logged', async () => {
    const { write, log, answers, endOfTurn } = openCommitLoop()
    write({}, '1')
    await endOfTurn()
    write({}, '2')
    log.reject('full')
    log.commit()
    expect(answers()).toEqual(['full 1', 'wrote 2'])
  })

  it('only writes that free space are appended again to a full log', async () => {
    const { write, log, answers, endOfTurn } = openCommitLoop()
    for (const name of ['a', 'free b', 'c']) write({}, name)
    await endOfTurn()
    log.reject('full')
    expect(answers()).toEqual(['full a', 'full c'])
    expect(log.entries.map(({ commands }) => commands)).toEqual([[command('free b')]])
  })

  it('reads behind a write that frees space wait for its second attempt', async () => {
    const { read, write, log, answers, endOfTurn } = openCommitLoop()
    const bob = {}
    write({}, 'a')
    write(bob, 'free b')
    read(bob, 'after b')
    await endOfTurn()
    log.reject('full')
    read(bob, 'later')
    expect(answers()).toEqual(['full a'])
    log.commit()
    expect(answers().slice(1)).toEqual(['wrote free b', 'read after b', 'read later'])
  })

  it('a write that frees space fails when its second attempt is rejected', async () => {
    const { write, log, answers, endOfTurn } = openCommitLoop()
    write({}, 'free a')
    await endOfTurn()
    for (let attempt = 1; attempt <= 2; attempt++) log.reject('full')
    expect(answers()).toEqual(['full free a'])
    expect(log.entries).toEqual([])
  })

  it('a full log is usable again after a SET, not after deletes, shorter values or expiries', async () => {
    const { loop, write, set, log, health, endOfTurn } = openCommitLoop()
    set({}, 'a')
    await endOfTurn()
    log.reject('full')
    for (const needsNoSpace of [
      () => write({}, 'absent'),
      () => write({}, 'free b'),
      () => set({}, 'free c'),
      () => loop.tick(),
    ]) {
      needsNoSpace()
      await endOfTurn()
      log.commit()
    }
    expect({ health, entries: log.entries }).toEqual({ health: ['full'], entries: [] })
    set({}, 'd')
    await endOfTurn()
    log.commit()
    expect(health).toEqual(['full', undefined])
  })
})

describe('Exceptions in jobs', () => {
  const FAULT = new Error('ours')

  async function openWithFault() {
    const opened = openCommitLoop()
    const { loop, writeJob, write, log, endOfTurn } = opened
    loop.submit({
      ...writeJob({}, '1'),
      onApplied: () => {
        throw FAULT
      },
    })
    write({}, '2')
    await endOfTurn()
    log.commit()
    return opened
  }

  it('an exception in one job does not affect the other jobs of its entry', async () => {
    const { answers } = await openWithFault()
    expect(answers()).toEqual(['wrote 2'])
  })

  it('an exception in a job is reported to the host', async () => {
    const { faults } = await openWithFault()
    expect(faults).toEqual([FAULT])
  })
})

describe('Ticks of the expiry timer', () => {
  it('ticks of one turn are logged as one entry without commands', async () => {
    const { loop, sizes, endOfTurn } = openCommitLoop()
    for (let times = 0; times < 2; times++) loop.tick({})
    await endOfTurn()
    expect(sizes()).toEqual([0])
  })

  it('a read waits for the tick of its connection', async () => {
    const { loop, read, log, answers, endOfTurn } = openCommitLoop()
    const alice = {}
    loop.tick(alice)
    read(alice, '1')
    await endOfTurn()
    expect(answers()).toEqual([])
    log.commit()
    expect(answers()).toEqual(['read 1'])
  })

  it('keys expire before the reads and writes that arrived with a tick', async () => {
    const { loop, read, write, log, outcomes, endOfTurn } = openCommitLoop()
    const alice = {}
    loop.tick(alice)
    read(alice, '1')
    write(alice, '2')
    await endOfTurn()
    log.commit()
    expect(outcomes).toEqual(['applied 0', 'read 1', 'applied 1', 'wrote 2'])
  })

  it('each request in the entry of a tick gets its reply, in order', async () => {
    const { loop, read, write, log, answers, endOfTurn } = openCommitLoop()
    const alice = {}
    loop.tick(alice)
    read(alice, '1')
    write(alice, '2')
    write({}, '3')
    read(alice, '4')
    await endOfTurn()
    log.commit()
    expect(answers()).toEqual(['read 1', 'wrote 2', 'wrote 3', 'read 4'])
  })
})

it('jobs pending in a stopped commit loop are neither applied nor answered', async () => {
  const { loop, write, log, outcomes, endOfTurn } = openCommitLoop()
  write({}, '1')
  await endOfTurn()
  loop.stop()
  log.commit()
  expect(outcomes).toEqual([])
})

describe('A load in a stopped commit loop', () => {
  it('an in-flight load has an unknown outcome, even if the log commits or rejects it later', async () => {
    for (const end of ['commit', 'reject'] as const) {
      const { loop, load, log, outcomes, endOfTurn } = openCommitLoop()
      load({}, '1')
      await endOfTurn()
      loop.stop()
      expect(outcomes).toEqual(['stopped unknown 1'])
      if (end === 'commit') log.commit()
      else log.reject('closed')
      expect(outcomes).toHaveLength(1)
    }
  })

  it('a load that was not yet appended fails as closed and is never appended', async () => {
    const { loop, load, write, log, outcomes, endOfTurn } = openCommitLoop()
    write({}, '1')
    await endOfTurn()
    load({}, '2')
    loop.stop()
    log.commit()
    await endOfTurn()
    expect([outcomes, log.entries]).toEqual([['stopped closed 2'], []])
  })

  it('a load that is submitted after the stop fails as closed', () => {
    const { loop, load, outcomes } = openCommitLoop()
    loop.stop()
    expect([load({}, '1'), outcomes]).toEqual([false, ['stopped closed 1']])
  })

  it('a rejected load fails with the problem of its log even if an earlier job stops the loop', async () => {
    const { loop, writeJob, load, log, outcomes, endOfTurn } = openCommitLoop()
    loop.submit({ ...writeJob({}, '1'), onFailed: () => loop.stop() })
    load({}, '2')
    await endOfTurn()
    log.reject('broken')
    expect(outcomes).toEqual(['stopped broken 2'])
  })
})
