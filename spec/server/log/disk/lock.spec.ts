import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ClaimFiles, claimFiles } from '../../../../src/server/log/disk/claims.js'
import { directoryFiles, type Files, guardedFiles, type OpenFile } from '../../../../src/server/log/disk/files.js'
import { type DirectoryLock, HEARTBEAT_MS } from '../../../../src/server/log/disk/held-lock.js'
import { lockDirectory } from '../../../../src/server/log/disk/lock.js'
import { livenessOf, OWNER_TIMEOUT_MS } from '../../../../src/server/log/disk/owner.js'
import { recover } from '../../../../src/server/log/disk/recovery.js'
import { anyEntry } from '../../../support/any-entry.js'
import { effort, SEED } from '../../../support/effort.js'
import { eventually } from '../../../support/eventually.js'
import { ManualClock } from '../../../support/manual-clock.js'
import { temporaryFolder } from '../../../support/temporary-folder.js'
import { pictureOf, Run, slowly } from './run.js'

/** Advances the clock in small steps until a promise settles. After each step, pending work can finish. */
async function passTime<T>(
  clock: ManualClock,
  timers: number,
  pending: Promise<T>,
  step = 250,
  eachStep: () => void = () => undefined,
): Promise<T> {
  let isSettled = false
  const settled = pending.finally(() => {
    isSettled = true
  })
  settled.catch(() => undefined)
  while (!isSettled) {
    await eventually(() => isSettled || clock.pending >= timers)
    if (isSettled) break
    clock.advance(step)
    eachStep()
  }
  return settled
}

/** Locks a directory as a process of another pid namespace or machine. */
async function takeOver(directory: string, pidNamespace = 'there'): Promise<DirectoryLock> {
  const clock = new ManualClock()
  return held(passTime(clock, 1, lockDirectory(directory, { clock, pidNamespace: pidNamespace }), 2_500))
}

/** Releases a lock when the test finishes. */
async function held(locking: Promise<DirectoryLock>): Promise<DirectoryLock> {
  const lock = await locking
  onTestFinished(async () => lock.release())
  return lock
}

describe('a directory whose lock a process of another pid namespace holds', () => {
  it("a directory is refused during the owner's heartbeat, whatever the owner's clock", async () => {
    const directory = temporaryFolder()
    const clock = new ManualClock()
    const lock = await lockDirectory(directory, { clock, pidNamespace: 'here' })
    for (const jump of [0, -3_600_000, 7_200_000]) {
      clock.jump(jump)
      const second = lockDirectory(directory, { clock, pidNamespace: 'there' })
      await expect(passTime(clock, 2, second)).rejects.toMatchObject({
        code: 'in-use',
        message: expect.stringMatching(/^the process \d+ of another machine or container \(.+\) holds the directory /),
      })
    }
    expect(() => lock.check()).not.toThrow()
    await lock.release()
    expect(await readdir(directory)).toEqual(['lock.reserve'])
  })

  it('the directory is taken from an owner without a heartbeat, and the lock is marked as forced', async () => {
    const directory = temporaryFolder()
    const here = new ManualClock()
    const losses: unknown[] = []
    const first = await lockDirectory(directory, {
      clock: here,
      pidNamespace: 'here',
      onLost: error => losses.push(error),
    })
    const second = await takeOver(directory)
    expect(second.isForced).toBe(true)
    expect(() => first.check()).toThrow(expect.objectContaining({ code: 'in-use' }))
    expect(losses).toMatchObject([{ code: 'in-use' }])
    await first.release()
    expect(() => second.check()).not.toThrow()
    await second.release()
    expect(await readdir(directory)).toEqual(['lock.reserve'])
  })

  it("a former owner with an open lock file does not release the next owner's lock", async () => {
    const directory = temporaryFolder()
    const first = await lockDirectory(directory, { clock: new ManualClock(), pidNamespace: 'here' })
    expect(() => first.check()).not.toThrow()
    await rename(join(directory, 'lock'), join(directory, 'moved'))
    await writeFile(join(directory, 'lock'), 'of another owner')
    await first.release()
    expect(await readFile(join(directory, 'lock'), 'utf8')).toBe('of another owner')
  })

  it('only one of several processes takes the directory of an owner without a heartbeat', async () => {
    const directory = temporaryFolder()
    await held(lockDirectory(directory, { clock: new ManualClock(), pidNamespace: 'here' }))
    const clock = new ManualClock()
    const pidNamespaces = ['a', 'b', 'c']
    const all = pidNamespaces.map(async pidNamespace =>
      held(lockDirectory(directory, { clock, pidNamespace: pidNamespace })),
    )
    const results = await passTime(clock, 1, Promise.allSettled(all))
    const reasons = results.flatMap(result => (result.status === 'rejected' ? [result.reason.code] : []))
    expect(reasons).toEqual(['in-use', 'in-use'])
  })

  it('an owner that resumes after its heartbeat stopped loses the directory at the next one', async () => {
    const directory = temporaryFolder()
    const here = new ManualClock()
    const losses: unknown[] = []
    await held(lockDirectory(directory, { clock: here, pidNamespace: 'here', onLost: error => losses.push(error) }))
    await takeOver(directory)
    here.advance(HEARTBEAT_MS)
    await expect.poll(() => losses).toHaveLength(1)
  })

  it('an owner loses the directory even if the file system hides the replaced lock file', async () => {
    const directory = temporaryFolder()
    const clock = new ManualClock()
    const lock = await held(lockDirectory(directory, { clock, pidNamespace: 'here' }))
    lock.check()
    // The open handle refers to the old file, and the name refers to another one.
    await writeFile(join(directory, 'lock'), 'another')
    expect(() => lock.check()).not.toThrow()
    stop(clock, OWNER_TIMEOUT_MS / 2)
    expect(() => lock.check()).toThrow(expect.objectContaining({ code: 'in-use' }))
  })
})

/** Simulates a suspended process: time passes, but the process's timers do not run. */
function stop(clock: ManualClock, ms: number): void {
  const { monotonic } = clock
  const at = monotonic.call(clock)
  clock.monotonic = () => at + ms
}

describe('the owner of a claim', () => {
  const claim = (pid: number, startId: string, pidNamespace: string): string =>
    `${pid} ${startId} uuid ${pidNamespace} host\n`

  it.each([
    ['an owner in another pid namespace has unknown liveness', claim(process.pid, '-', 'there'), 'unknown'],
    ['an owner in an unknown pid namespace has unknown liveness', claim(process.pid, '-', '-'), 'unknown'],
    ['an owner whose process does not exist has ended', claim(999_999_999, '-', 'here'), 'ended'],
    ['an owner whose pid now belongs to another process has ended', claim(process.ppid, 'boot:1', 'here'), 'ended'],
    ['an owner whose pid may belong to another process counts as running', claim(process.ppid, '-', 'here'), 'running'],
    ['an owner in a claim of an earlier version has ended if its process does not exist', '999999999 -\n', 'ended'],
  ])('%s', (_, text, liveness) => {
    expect(livenessOf(text, 'here', new Set())).toBe(liveness)
  })
})

/** The files of a process that is suspended before a call, after it has checked its ownership. */
class SuspendableFiles {
  calls = 0
  suspendAt = Number.POSITIVE_INFINITY
  readonly suspended: Promise<void>
  resume: () => void = () => undefined
  readonly #gate: Promise<void>
  #suspend: () => void = () => undefined

  constructor() {
    this.suspended = new Promise(resolve => {
      this.#suspend = resolve
    })
    this.#gate = new Promise(resolve => {
      this.resume = resolve
    })
  }

  of(files: Files): Files {
    const { list, flush } = files
    return {
      list,
      create: async (name, confirm) => this.#before(async () => this.#file(await files.create(name, confirm))),
      open: async (name, writable) => this.#before(async () => this.#file(await files.open(name, writable))),
      rename: async (from, to) => this.#before(async () => files.rename(from, to)),
      remove: async name => this.#before(async () => files.remove(name)),
      flush: async () => this.#before(flush),
    }
  }

  ofClaims({ list, read, create: make, rename, remove }: ClaimFiles): ClaimFiles {
    return {
      list: async () => this.#before(list),
      read: async name => this.#before(async () => read(name)),
      create: async (name, text) => this.#before(async () => make(name, text)),
      rename: async (from, to) => this.#before(async () => rename(from, to)),
      remove: async name => this.#before(async () => remove(name)),
    }
  }

  #file(file: OpenFile): OpenFile {
    // Synchronous writes are also delayed until the process resumes.
    const held: (() => void)[] = []
    const catchUp = (): void => {
      for (const write of held.splice(0)) write()
    }
    return {
      write: async (bytes, at) => this.#before(async () => file.write(bytes, at)),
      writeSync: (bytes, at) => void held.push(() => file.writeSync(bytes, at)),
      flush: async () =>
        this.#before(async () => {
          catchUp()
          await file.flush()
        }),
      flushSync: () => expect.fail('the disk is slow'),
      truncate: async length => this.#before(async () => file.truncate(length)),
      read: async (at, length) => file.read(at, length),
      size: async () => file.size(),
      close: async () => {
        catchUp()
        await file.close()
      },
    }
  }

  async #before<T>(task: () => Promise<T>): Promise<T> {
    if (++this.calls >= this.suspendAt) {
      this.#suspend()
      await this.#gate
    }
    return task()
  }
}

describe('a process suspended for longer than its heartbeat timeout', () => {
  const entries = fc.sample(anyEntry, { numRuns: 12, seed: 4 })

  it('a process suspended at any call acknowledges and damages nothing when it resumes', async () => {
    const step = effort(1, 24)
    for (let at = 1 + (SEED % step); ; at += step) {
      const directory = temporaryFolder()
      const first = await lockDirectory(directory, { clock: new ManualClock(), pidNamespace: 'here' })
      const stoppable = new SuspendableFiles()
      const owner = await Run.open(guardedFiles(stoppable.of(await directoryFiles(directory)), first), 400, slowly())
      stoppable.suspendAt = stoppable.calls + at
      const work = (async () => {
        for (const entry of entries) await owner.append([entry])
      })()
      const isStopped = await Promise.race([stoppable.suspended.then(() => true), work.then(() => false)])

      const second = await takeOver(directory)
      const acknowledged = owner.pictures.length
      const files = guardedFiles(await directoryFiles(directory), second)
      const found = await recover<never>(files, {})
      // The position includes the start entry and the acknowledged entries.
      expect(found.position, `call ${at}`).toBeGreaterThanOrEqual(acknowledged)
      if (found.position === acknowledged) expect(pictureOf(found.engine)).toBe(owner.pictures.at(-1))
      const next = await Run.open(files, 400, slowly(), second.isForced)
      await next.append(entries.slice(0, 3))

      stoppable.resume()
      await work
      await owner.close().catch(() => undefined)
      expect(owner.pictures, `call ${at}`).toHaveLength(acknowledged)
      await next.append(entries.slice(3, 6))
      await next.close()
      expect(next.refusals).toEqual([])
      expect(pictureOf((await recover<never>(files, {})).engine), `call ${at}`).toBe(next.pictures.at(-1))
      await Promise.all([first.release(), second.release()])
      if (!isStopped) break
    }
  }, 120_000)
})

describe('a process suspended while it takes a directory by force', () => {
  const entries = fc.sample(anyEntry, { numRuns: 9, seed: 6 })

  it('a process that was suspended at any call destroys nothing that the next owner acknowledged', async () => {
    const step = effort(3, 1)
    let stops = 0
    for (let at = 1 + (SEED % step); ; at += step) {
      const directory = temporaryFolder()
      const first = await lockDirectory(directory, { clock: new ManualClock(), pidNamespace: 'here' })
      const owner = await Run.open(guardedFiles(await directoryFiles(directory), first), 400, slowly())
      await owner.append(entries.slice(0, 3))

      const stoppable = new SuspendableFiles()
      stoppable.suspendAt = at
      const clock = new ManualClock()
      const stopped = async (): Promise<Run> => {
        const claims = stoppable.ofClaims(claimFiles(directory))
        const lock = await lockDirectory(directory, { clock, pidNamespace: 'there', claimFiles: claims })
        onTestFinished(async () => lock.release())
        const run = await Run.open(
          guardedFiles(stoppable.of(await directoryFiles(directory)), lock),
          400,
          slowly(),
          true,
        )
        await run.append(entries.slice(3, 6))
        return run
      }
      const taking = stopped()
      const isStopped = await passTime(
        clock,
        1,
        Promise.race([
          stoppable.suspended.then(() => true),
          taking.then(
            () => false,
            () => false,
          ),
        ]),
      )

      if (isStopped) stops++
      const elsewhere = new ManualClock()
      const take = async (): Promise<DirectoryLock> =>
        passTime(elsewhere, 1, lockDirectory(directory, { clock: elsewhere, pidNamespace: 'elsewhere' }), 2_500)
      // The first attempt fails if a heartbeat that began before the suspension is written late.
      const next = await held(take().catch(take))
      const files = guardedFiles(await directoryFiles(directory), next)
      const run = await Run.open(files, 400, slowly(), next.isForced)
      await run.append(entries.slice(0, 2))
      stoppable.resume()
      // The process may be waiting for a heartbeat, so give it a heartbeat of the next owner.
      const shows = (): void => elsewhere.advance(HEARTBEAT_MS)
      const late = await passTime(clock, 1, taking, 250, shows).catch((error: unknown) => error)
      const acknowledged = late instanceof Run ? late.pictures.length - 1 : 0
      await run.append(entries.slice(2, 5))
      expect(run.refusals, `call ${at}`).toEqual([])
      expect(() => next.check(), `call ${at}`).not.toThrow()
      await run.close()
      if (late instanceof Run) await late.close().catch(() => undefined)
      if (isStopped) expect(acknowledged, `call ${at}`).toBeLessThanOrEqual(3)
      expect(pictureOf((await recover<never>(await directoryFiles(directory), {})).engine), `call ${at}`).toBe(
        run.pictures.at(-1),
      )
      await Promise.all([first.release(), next.release()])
      await owner.close()
      if (!isStopped) break
    }
    expect(stops).toBeGreaterThan(effort(8, 25))
  }, 120_000)
})
