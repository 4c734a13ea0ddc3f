import { describe, expect, it } from 'vitest'
import { openLog } from '../../../../src/server/log/disk/open.js'
import { START } from '../../../support/manual-clock.js'
import { MemoryDisk } from './memory-disk.js'

/** Returns a function that appends an entry and returns whether the flush blocked the event loop. */
async function openOnStallingDisk() {
  const disk = new MemoryDisk()
  let [now, flushMs] = [0, 0]
  disk.fail = (_, call) => {
    if (call === 'flush') now += flushMs
    return undefined
  }
  const onError = (error: unknown): void => expect(error).toBeUndefined()
  const { log, engine } = await openLog<never>(disk, { now: () => START, monotonic: () => now, onError })
  let onCommitted: () => void = () => undefined
  log.listen({
    onCommitted: entry => {
      engine.replay(entry)
      onCommitted()
    },
    onRejected: (_, failure) => expect(failure).toBeUndefined(),
  })
  return async (durationMs = 0): Promise<boolean> => {
    flushMs = durationMs
    let isCommitted = false
    const committed = new Promise<void>(resolve => {
      onCommitted = () => {
        isCommitted = true
        resolve()
      }
    })
    log.append({ time: START, maxKeys: 1, maxBytes: 1_000, commands: [] })
    const isInline = isCommitted
    await committed
    // The log takes the next entry after it has notified its listener.
    await Promise.resolve()
    return isInline
  }
}

describe('flushes on the event loop', () => {
  it('begin only after many flushes without a stall', async () => {
    const append = await openOnStallingDisk()
    let count = 0
    while (!(await append())) count++
    // The start of the log was the first flush.
    expect(count).toBe(999)
  })

  it('end with a slow flush, and stay off while flushes stall now and then', async () => {
    const append = await openOnStallingDisk()
    while (!(await append()));
    expect(await append(2_000)).toBe(true)
    for (let stalls = 0; stalls < 50; stalls++) {
      for (let count = 0; count < 30; count++) expect(await append()).toBe(false)
      expect(await append(2_000)).toBe(false)
    }
  })

  it('begin again later the longer the stall was', async () => {
    const append = await openOnStallingDisk()
    while (!(await append()));
    await append(40)
    let count = 0
    while (!(await append())) count++
    expect(count).toBe(32 * 40)
  })
})
