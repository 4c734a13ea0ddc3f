import { describe, expect, it } from 'vitest'
import type { Entry } from '../../../../src/server/engine/entry.js'
import { writeCommandOf } from '../../../../src/server/engine/entry.js'
import { openLog } from '../../../../src/server/log/disk/open.js'
import type { Job } from '../../../../src/server/service/batch.js'
import { Sequencer } from '../../../../src/server/service/sequencer.js'
import { START } from '../../../support/manual-clock.js'
import { resp3 } from '../../../support/words.js'
import { MemoryDisk } from './memory-disk.js'
import { slowly } from './run.js'

const WRITES = 60

describe.each([
  ['quick', () => () => 0],
  ['slow', slowly],
])('Writers who wait for each answer, on a %s disk whose log is replaced all the time', (_, clock) => {
  it.each([1, 2, 7])('are all answered (%i of them)', async writers => {
    const troubled = (trouble: unknown): never => {
      throw trouble
    }
    const sizes = { worthReplacing: 300, ahead: 100 }
    const disk = new MemoryDisk()
    const { engine, log } = await openLog<never>(disk, { now: () => START, monotonic: clock(), troubled, sizes })
    const sequencer = new Sequencer(log, {
      now: () => START,
      schedule: (delay, task) => {
        const timer = setTimeout(task, delay)
        return () => clearTimeout(timer)
      },
      room: () => engine.room,
      apply: (entry: Entry, applier) => engine.apply(entry, applier),
      expired: () => undefined,
      settled: () => undefined,
      faulted: troubled,
    })
    const set = async (owner: object, key: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const payload = new Uint8Array(resp3(['SET', key, 'v']))
        const command = writeCommandOf(payload) ?? expect.fail('no write')
        const job: Job = { read: reject, loaded: reject, failed: reject, answered: () => resolve() }
        sequencer.write(
          owner,
          { type: 'write', payload, command, timestamp: `${START}:0:w`, origin: undefined },
          100,
          job,
        )
      })
    const lane = async (name: string): Promise<void> => {
      const owner = {}
      for (let i = 0; i < WRITES; i++) await set(owner, `${name}-${i}`)
    }
    await Promise.all(Array.from({ length: writers }, async (_, i) => lane(`w${i}`)))
    expect(engine.size).toBe(writers * WRITES)
    await log.close()
  })
})
