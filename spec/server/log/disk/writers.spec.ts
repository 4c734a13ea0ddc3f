import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../../src/core/util/clock.js'
import { parseWriteCommand } from '../../../../src/server/engine/entry.js'
import { openLog } from '../../../../src/server/log/disk/open.js'
import { CommitLoop } from '../../../../src/server/service/commit-loop.js'
import { START } from '../../../support/manual-clock.js'
import { resp3 } from '../../../support/words.js'
import { MemoryDisk } from './memory-disk.js'
import { slowly } from './run.js'

const WRITES = 60

describe.each([
  ['quick', () => () => 0],
  ['slow', slowly],
])('writers that await each response, on a %s disk whose log is constantly replaced', (_, clock) => {
  it.each([1, 2, 7])('all %i writes are answered', async writers => {
    const troubled = (trouble: unknown): never => {
      throw trouble
    }
    const sizes = { minLogBytes: 300, preallocateBytes: 100, steadyFlushes: 0 }
    const disk = new MemoryDisk()
    const { engine, log } = await openLog<never>(disk, {
      now: () => START,
      monotonic: clock(),
      onError: troubled,
      sizes,
    })
    const loop = new CommitLoop({
      log,
      engine,
      clock: { ...systemClock, now: () => START },
      host: { onChanges: () => undefined, onDrift: () => undefined, onLogHealth: () => undefined, onError: troubled },
    })
    const set = async (owner: object, key: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const payload = new Uint8Array(resp3(['SET', key, 'v']))
        const command = parseWriteCommand(payload) ?? expect.fail('no write')
        loop.submit({
          owner,
          bytes: 100,
          command: { type: 'write', payload, command, timestamp: `${START}:0:w`, origin: undefined },
          read: reject,
          onFailed: reject,
          onApplied: () => resolve(),
        })
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
