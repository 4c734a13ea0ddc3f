import { type link, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ClaimFiles, claimDirectory, claimFiles, readClaims } from '../../../../src/server/log/disk/claims.js'
import { lockDirectory, lockOwner } from '../../../../src/server/log/disk/lock.js'
import { effort } from '../../../support/effort.js'
import { temporaryFolder } from '../../../support/temporary-folder.js'
import { failure } from './memory-disk.js'

const RUNS = effort(3_000, 500)
class Killed extends Error {}

/** A directory that many processes use, with calls in any order. */
class SharedDirectory {
  readonly files = new Map<string, string>()
  readonly living = new Set<string>()
  readonly owners = new Set<string>()
  readonly #scheduler: fc.Scheduler

  constructor(scheduler: fc.Scheduler, stale: string | undefined) {
    this.#scheduler = scheduler
    if (stale !== undefined) this.files.set('lock', stale)
  }

  /**
   * Runs a process that claims the directory. The process is either killed after the given number of calls, or holds
   * the directory for some time and releases it.
   */
  async start(claim: string, calls: number): Promise<string | undefined> {
    this.living.add(claim)
    try {
      const files = this.#filesOf(claim, calls)
      const other = await claimDirectory(files, claim, text => this.living.has(text))
      if (other !== undefined) return other
      this.owners.add(claim)
      expect([...this.owners], 'one at a time').toEqual([claim])
      await files.read('anything')
      this.owners.delete(claim)
      await files.remove('lock')
    } catch (error) {
      this.owners.delete(claim)
      if (!(error instanceof Killed)) throw error
    } finally {
      this.living.delete(claim)
    }
    return undefined
  }

  #filesOf(claim: string, calls: number): ClaimFiles {
    let left = calls
    const step = async <T>(name: string, task: () => T): Promise<T> => {
      await this.#scheduler.schedule(Promise.resolve(), `${claim} ${name}`)
      if (left-- > 0) return task()
      // No process can take the directory while its owner is alive.
      this.owners.delete(claim)
      this.living.delete(claim)
      throw new Killed()
    }
    const { files } = this
    return {
      list: async () => step('lists', () => [...files.keys()]),
      read: async name => step(`reads ${name}`, () => files.get(name)),
      create: async (name, text) =>
        step(`makes ${name}`, () => {
          if (files.has(name)) return false
          files.set(name, text)
          return true
        }),
      rename: async (from, to) =>
        step(`renames ${from}`, () => {
          files.set(to, files.get(from) ?? expect.fail(`${claim} renames ${from}, which is not there`))
          return files.delete(from)
        }),
      remove: async name => step(`removes ${name}`, () => void files.delete(name)),
    }
  }
}

describe('several processes that claim a directory at the same time', () => {
  it('at most one process holds a directory, even if others are killed at any call', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.constantFrom(undefined, 'killed before'),
        fc.array(fc.oneof(fc.nat(12), fc.constant(1_000)), { minLength: 2, maxLength: 5 }),
        async (scheduler, stale, callCounts) => {
          const directory = new SharedDirectory(scheduler, stale)
          const all = Promise.all(callCounts.map(async (calls, i) => directory.start(`process ${i}`, calls)))
          await scheduler.waitFor(all)
          // Regardless of what the other processes left behind, the next process gets the directory and leaves nothing
          // behind.
          const next = directory.start('next', 1_000)
          await scheduler.waitFor(next)
          expect([await next, directory.files.has('lock')]).toEqual([undefined, false])
        },
      ),
      { numRuns: RUNS },
    )
  })

  it('a process that fails to claim a directory receives the claim of the owner', async () => {
    const files = claimFiles(temporaryFolder())
    expect(await claimDirectory(files, 'alice', () => true)).toBeUndefined()
    expect(await claimDirectory(files, 'bob', text => text === 'alice')).toBe('alice')
    expect(await claimDirectory(files, 'carol', () => false)).toBeUndefined()
    expect((await readClaims(files)).at(-1)?.text).toBe('carol')
  })
})

describe('a claim in a directory', () => {
  it('a claim replaces all earlier claims with a single file', async () => {
    const directory = temporaryFolder()
    const files = claimFiles(directory)
    for (const name of ['a', 'b', 'c']) await claimDirectory(files, name, () => false)
    expect(await readdir(directory)).toEqual(['lock'])
  })

  it.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])(
    'a directory can be claimed on file systems without hard links (%s)',
    async code => {
      const directory = temporaryFolder()
      const files = claimFiles(directory, async () => {
        throw failure(code)
      })
      expect(await claimDirectory(files, 'alice', () => true)).toBeUndefined()
      expect(await claimDirectory(files, 'bob', () => true)).toBe('alice')
      expect(await readdir(directory)).toEqual(['lock'])
    },
  )

  it('a claim rejects with any other system error', async () => {
    const failing: typeof link = async () => {
      throw failure('EIO')
    }
    await expect(claimDirectory(claimFiles(temporaryFolder(), failing), 'alice', () => true)).rejects.toMatchObject({
      code: 'EIO',
    })
    await expect(claimFiles(join(temporaryFolder(), 'nowhere')).create('lock', 'alice')).rejects.toMatchObject({
      code: 'ENOENT',
    })
  })
})

describe('a directory', () => {
  it('of a killed process is taken over even if its lock has the format of an earlier version', async () => {
    const directory = temporaryFolder()
    await writeFile(join(directory, 'lock'), '999999999 -\n')
    expect(await lockOwner(directory)).toBeUndefined()
    const lock = await lockDirectory(directory)
    expect(await lockOwner(directory)).toBe(`the process ${process.pid}`)
    await expect(lockDirectory(directory)).rejects.toMatchObject({ code: 'in-use' })
    await lock.release()
    expect(await readdir(directory)).toEqual(['lock.reserve'])
  })
})
