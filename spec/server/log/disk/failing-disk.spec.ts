import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { recover } from '../../../../src/server/log/disk/recovery.js'
import { anyEntry } from '../../../support/any-entry.js'
import { listen } from '../../../support/diagnostics.js'
import { effort } from '../../../support/effort.js'
import { failure, MemoryDisk } from './memory-disk.js'
import { pictureOf, Run, slowly } from './run.js'

const entries = fc.sample(anyEntry, { numRuns: effort(14, 6), seed: 9 })

/** The quick run tests a failure of every third call. */
const step = effort(1, 3)

const quickly = (): (() => number) => () => 0
const failures = ['EIO', 'ENOSPC', 'EDQUOT'].flatMap(code => [
  { code, speed: 'quick', clock: quickly },
  { code, speed: 'slow', clock: slowly },
])

describe.each(failures)('a $speed disk that fails with $code', ({ code, clock }) => {
  it.each(['once', 'from then on'] as const)(
    'after any call fails, committed entries are recovered and all others were rejected: %s',
    async how => {
      for (let at = 1; ; at += step) {
        const disk = new MemoryDisk()
        const run = await Run.open(disk, 400, clock())
        const first = disk.calls + at
        let failed = false
        disk.fail = call => {
          if (how === 'once' ? call !== first : call < first) return undefined
          failed = true
          return failure(code)
        }
        for (const entry of entries) await run.append([entry])
        await run.close().catch(() => undefined)
        expect(run.pictures.length - 1 + run.refusals.length).toBe(entries.length)
        const { engine } = await recover<never>(disk.killed(), {})
        const last = run.pictures.at(-1)
        const [uncertain, ...others] = run.refusals.filter(({ mayBeLogged }) => mayBeLogged)
        expect(others, `call ${at}`).toEqual([])
        if (uncertain === undefined) expect(pictureOf(engine), `call ${at}`).toBe(last)
        if (!failed) break
      }
    },
  )
})

describe.each([false, true])('opening a log (forced: %s)', isForced => {
  it('opening a log closes every file when any call fails', async () => {
    let hasFailed = true
    for (let at = 1; hasFailed; at++) {
      const before = new MemoryDisk()
      const run = await Run.open(before)
      await run.append(entries.slice(0, 2))
      const disk = before.killed()
      hasFailed = false
      const first = disk.calls + at
      disk.fail = call => {
        if (call !== first) return undefined
        hasFailed = true
        return failure('EIO')
      }
      const opened = await Run.open(disk, undefined, undefined, isForced).catch(() => undefined)
      await opened?.close()
      expect(Array.from(disk.openFiles), `call ${at}`).toEqual([])
    }
  })
})

describe('a full disk', () => {
  it('entries that do not fit are rejected, and later ones accepted once there is space', async () => {
    const disk = new MemoryDisk()
    const run = await Run.open(disk)
    let full = true
    disk.fail = (_, operation) => (full && operation === 'write' ? failure('ENOSPC') : undefined)
    await run.append(entries.slice(0, 3))
    expect(run.refusals.map(({ problem }) => problem)).toEqual(['full', 'full', 'full'])
    full = false
    await run.append(entries.slice(3, 6))
    await run.close()
    expect(run.pictures).toHaveLength(4)
    expect(pictureOf((await recover<never>(disk.killed(), {})).engine)).toBe(run.pictures.at(-1))
  })

  it('a log becomes broken if it cannot undo a partial write', async () => {
    const disk = new MemoryDisk()
    const run = await Run.open(disk)
    disk.fail = (_, operation) => (operation === 'write' || operation === 'truncate' ? failure('ENOSPC') : undefined)
    await run.append(entries.slice(0, 2))
    expect(run.refusals.map(({ problem, mayBeLogged }) => [problem, mayBeLogged])).toEqual([
      ['broken', true],
      ['broken', false],
    ])
  })
})

describe('a failed flush', () => {
  it('is not retried, and no entry is accepted afterwards, even if the disk works again', async () => {
    const disk = new MemoryDisk()
    const run = await Run.open(disk)
    disk.fail = (_, operation) => (operation === 'flush' ? failure('EIO') : undefined)
    await run.append(entries.slice(0, 1))
    disk.fail = () => undefined
    const { calls } = disk
    await run.append(entries.slice(1, 5))
    expect([run.refusals.map(({ problem }) => problem), disk.calls]).toEqual([Array(5).fill('broken'), calls])
  })
})

describe('the outcome of an entry that was being written when the disk failed', () => {
  it.each(['writeSync', 'flush', 'mark'])('only that entry may be logged after a failed %s', async step => {
    const disk = new MemoryDisk()
    const run = await Run.open(disk)
    let writes = 0
    disk.fail = (_, operation) => {
      if (operation === 'write') writes++
      const isFailing = { writeSync: writes === 1, flush: operation === 'flush', mark: writes === 2 }[step]
      return isFailing ? failure('EIO') : undefined
    }
    await run.append(entries.slice(0, 3))
    expect(run.refusals.map(({ mayBeLogged }) => mayBeLogged)).toEqual([true, false, false])
  })
})

describe('a failed snapshot', () => {
  it.each([
    ['its log cannot be created', 'create'],
    ['it cannot be renamed', 'rename'],
  ])('is reported with its cause and a remedy, and no entry is rejected: %s', async (_, call) => {
    const disk = new MemoryDisk()
    const run = await Run.open(disk, 400)
    disk.fail = (_, operation) => (operation === call ? failure('EIO') : undefined)
    const events = listen('rx-statestore:log')
    await run.append(entries)
    await run.close()
    expect([run.refusals, run.troubles.length > 0]).toEqual([[], true])
    const failures = events.flatMap(event => (event.type === 'snapshot-failed' ? [event.error] : []))
    expect(failures).toEqual(run.troubles.map(trouble => Object(trouble).cause))
    for (const trouble of run.troubles) {
      expect(trouble).toMatchObject({
        code: 'snapshot-failed',
        message: expect.stringMatching(/^the snapshot of the store could not be written: EIO; no data is lost/),
      })
    }
  })
})

describe('a closing log', () => {
  it('rejects entries as closed and not as a disk failure', async () => {
    const run = await Run.open(new MemoryDisk(), undefined, slowly())
    void run.append(entries.slice(0, 1))
    const closing = run.close()
    await run.append(entries.slice(1, 2))
    await closing
    expect([run.pictures.length, run.refusals.map(({ problem }) => problem)]).toEqual([2, ['closed']])
  })
})
