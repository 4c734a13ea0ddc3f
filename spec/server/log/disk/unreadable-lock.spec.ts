import { link, mkdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { directoryFiles, guardedFiles } from '../../../../src/server/log/disk/files.js'
import { HEARTBEAT_MS, MAX_UNCONFIRMED_MS } from '../../../../src/server/log/disk/held-lock.js'
import { lockDirectory } from '../../../../src/server/log/disk/lock.js'
import { OWNER_TIMEOUT_MS } from '../../../../src/server/log/disk/owner.js'
import { anyEntry } from '../../../support/any-entry.js'
import { eventually } from '../../../support/eventually.js'
import { ManualClock } from '../../../support/manual-clock.js'
import { temporaryFolder } from '../../../support/temporary-folder.js'
import { Run } from './run.js'

/** Makes the lock file unreadable by its name. A directory in its place fails with EISDIR, for root as well. */
async function hideLock(directory: string): Promise<() => Promise<void>> {
  await rename(join(directory, 'lock'), join(directory, 'hidden'))
  await mkdir(join(directory, 'lock'))
  return async () => {
    await rmdir(join(directory, 'lock'))
    await rename(join(directory, 'hidden'), join(directory, 'lock'))
  }
}

describe('a lock file that cannot be read for a while', () => {
  const entries = fc.sample(anyEntry, { numRuns: 4, seed: 3 })

  async function open() {
    const directory = temporaryFolder()
    const clock = new ManualClock()
    const [losses, errors]: [unknown[], unknown[]] = [[], []]
    const options = { onLost: (error: unknown) => losses.push(error), onError: (error: unknown) => errors.push(error) }
    const lock = await lockDirectory(directory, { clock, pidNamespace: 'here', ...options })
    onTestFinished(async () => lock.release())
    const run = await Run.open(guardedFiles(await directoryFiles(directory), lock))
    return { directory, clock, lock, run, losses, errors }
  }

  /** Lets a number of heartbeats pass. */
  async function beat(clock: ManualClock, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      clock.advance(HEARTBEAT_MS)
      await eventually(() => clock.pending === 1)
    }
  }

  it("writes continue during the open file's heartbeat, and the error is reported once", async () => {
    const { directory, clock, run, losses, errors } = await open()
    const show = await hideLock(directory)
    await beat(clock, 6)
    await run.append(entries.slice(0, 1))
    await show()
    await beat(clock, 1)
    await run.append(entries.slice(1, 2))
    expect([run.refusals, losses, errors.length, run.pictures.length]).toEqual([[], [], 1, 3])
    expect(errors[0]).toMatchObject({ code: 'lock-unknown', message: expect.stringMatching(/EISDIR.*permissions/) })
    await run.close()
  })

  it('a write waits after a minute, and is acknowledged when the file can be read again', async () => {
    const { directory, clock, run, lock } = await open()
    const show = await hideLock(directory)
    await beat(clock, MAX_UNCONFIRMED_MS / HEARTBEAT_MS + 1)
    expect(() => lock.check()).toThrow(expect.objectContaining({ code: 'lock-unknown' }))
    const write = run.append(entries.slice(0, 1))
    await eventually(() => clock.pending === 2)
    expect([run.pictures.length, run.refusals]).toEqual([1, []])
    await show()
    clock.advance(1_000)
    await write
    await run.append(entries.slice(1, 2))
    expect([run.pictures.length, run.refusals]).toEqual([3, []])
    await run.close()
  })

  it('the open file proves nothing after it has lost its name or after a suspension', async () => {
    const { directory, clock, lock, losses } = await open()
    await hideLock(directory)
    await beat(clock, 1)
    await link(join(directory, 'hidden'), join(directory, 'copy'))
    const suspendedUntil = clock.monotonic() + OWNER_TIMEOUT_MS
    clock.monotonic = () => suspendedUntil
    expect(() => lock.check()).toThrow(expect.objectContaining({ code: 'lock-unknown' }))
    await Promise.all([rm(join(directory, 'hidden')), rm(join(directory, 'copy'))])
    expect(() => lock.check()).toThrow(expect.objectContaining({ code: 'in-use' }))
    expect(losses).toHaveLength(1)
    await rmdir(join(directory, 'lock'))
  })
})
