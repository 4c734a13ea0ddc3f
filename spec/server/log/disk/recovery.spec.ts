import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Random } from '../../../../harness/random.js'
import type { LogEntry } from '../../../../src/server/engine/entry.js'
import { eraseLog } from '../../../../src/server/log/disk/open.js'
import { recover } from '../../../../src/server/log/disk/recovery.js'
import { encodeEntry } from '../../../../src/server/log/entry-codec.js'
import { anyEntry } from '../../../support/any-entry.js'
import { effort, nightly } from '../../../support/effort.js'
import { failure, MemoryDisk } from './memory-disk.js'
import { pictureOf, Run, slowly } from './run.js'

const RUNS = effort(nightly(300, 100), 10)
/** A size at which a new snapshot is worthwhile after a few entries. */
const MIN_LOG_BYTES = 400

const some = (count: number): LogEntry[] =>
  fc.sample(
    anyEntry.filter(entry => encodeEntry(entry).length < 400),
    { numRuns: count, seed: 7 },
  )
const stateOf = async (disk: MemoryDisk): Promise<string> => pictureOf((await recover<never>(disk, {})).engine)

describe('a reopened directory', () => {
  it('the directory has its last state after any number of snapshots', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(anyEntry), { maxLength: 6 }),
        fc.constantFrom(MIN_LOG_BYTES, 1e6),
        async (all, worth) => {
          const disk = new MemoryDisk()
          for (const entries of all) {
            const run = await Run.open(disk, worth)
            await run.append(entries)
            await run.close()
            expect(run.troubles).toEqual([])
            expect(await stateOf(disk)).toBe(run.pictures.at(-1))
          }
        },
      ),
      { numRuns: RUNS },
    )
  })

  it('few entries leave one log, and many leave one snapshot and one log', async () => {
    const disk = new MemoryDisk()
    const run = await Run.open(disk, MIN_LOG_BYTES)
    for (const entry of some(20)) await run.append([entry])
    await run.close()
    expect([...disk.contents.keys()].map(name => name.split('-')[0])).toEqual(['mark', 'log', 'state'])
  })

  it('a snapshot that the previous process could not finish is written immediately', async () => {
    const disk = new MemoryDisk()
    disk.fail = (_, operation) => (operation === 'rename' ? failure('EIO') : undefined)
    const run = await Run.open(disk, MIN_LOG_BYTES)
    for (const entry of some(20)) await run.append([entry])
    const left = disk.killed()
    const kinds = ({ contents }: MemoryDisk): string[] =>
      [...contents.keys()].map(name => name.replace(/-.*/, '')).sort()
    expect(new Set(kinds(left))).toEqual(new Set(['log', 'mark', 'state']))
    expect(kinds(left).filter(kind => kind === 'log').length).toBeGreaterThan(1)
    const reopened = await Run.open(left, 1e6)
    await reopened.close()
    expect(kinds(left)).toEqual(['log', 'mark', 'state'])
    expect(await stateOf(left)).toBe(reopened.pictures.at(-1))
  })

  it.each(['killed', 'cut'] as const)(
    'all committed entries are recovered if the process is %s at any call',
    { timeout: 60_000 },
    async how => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(anyEntry, { maxLength: 12 }),
          fc.nat(60),
          fc.integer(),
          fc.boolean(),
          async (entries, at, seed, isSlow) => {
            const disk = new MemoryDisk()
            let left: MemoryDisk | undefined
            let committed = 0
            let run: Run | undefined
            disk.fail = call => {
              if (call < at) return undefined
              left ??= how === 'killed' ? disk.killed() : disk.cut(new Random(seed).next)
              committed ||= run?.pictures.length ?? 0
              return failure('EIO')
            }
            run = await Run.open(disk, MIN_LOG_BYTES, isSlow ? slowly() : undefined).catch(() => undefined)
            for (const entry of entries) await run?.append([entry])
            await run?.close()
            if (run === undefined) return
            const state = await stateOf(left ?? disk.killed())
            const least = left === undefined ? run.pictures.length : committed
            // An entry that was written but not acknowledged may be recovered.
            const healthy = await Run.open(new MemoryDisk())
            await healthy.append(entries)
            expect(healthy.pictures.lastIndexOf(state), `${least} committed`).toBeGreaterThanOrEqual(least - 1)
            const after = await Run.open(left ?? disk.killed(), MIN_LOG_BYTES)
            await after.close()
          },
        ),
        { numRuns: RUNS },
      )
    },
  )

  it('an erasure interrupted at any call leaves all keys or none', async () => {
    const disk = new MemoryDisk()
    const run = await Run.open(disk, MIN_LOG_BYTES)
    await run.append(some(5))
    await run.close()
    const before = run.pictures.at(-1)
    for (let at = 1; ; at++) {
      const copy = disk.killed()
      copy.fail = call => (call >= at ? failure('EIO') : undefined)
      const done = await eraseLog(copy).then(
        () => true,
        () => false,
      )
      const { engine } = await recover<never>(copy.killed(), {})
      if (engine.size > 0) expect(pictureOf(engine)).toBe(before)
      if (done) {
        expect(engine.size).toBe(0)
        break
      }
    }
  })
})

describe('a damaged directory', () => {
  const written = async (worth: number) => {
    const disk = new MemoryDisk()
    const run = await Run.open(disk, worth)
    for (const entry of some(8)) await run.append([entry])
    await run.close()
    return { disk, expected: run.pictures.at(-1) ?? '' }
  }
  const opens = async (disk: MemoryDisk): Promise<string> =>
    stateOf(disk).catch(error => {
      expect(error).toMatchObject({ code: expect.stringMatching(/^(damaged|format)$/) })
      return 'refused'
    })

  it.each([MIN_LOG_BYTES, 1e6])(
    'a directory with a flipped bit is rejected or complete (a snapshot every %i bytes)',
    async worth => {
      const { disk, expected } = await written(worth)
      const step = effort(1, 19)
      for (const [name, bytes] of disk.contents) {
        for (let at = 0; at < bytes.length; at += step) {
          const flipped = bytes.slice()
          flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
          const found = await opens(disk.with(name, flipped))
          if (found !== 'refused') expect(found, `${name} byte ${at}`).toBe(expected)
        }
      }
    },
  )

  it.each([MIN_LOG_BYTES, 1e6])(
    'a directory with a cut file is rejected or complete (a snapshot every %i bytes)',
    async worth => {
      const { disk, expected } = await written(worth)
      for (const [name, bytes] of disk.contents) {
        for (let length = 0; length < bytes.length; length += 3) {
          const found = await opens(disk.with(name, bytes.slice(0, length)))
          if (found !== 'refused') expect(found, `${name} of ${length}`).toBe(expected)
        }
      }
    },
  )

  it('a directory with a missing file is rejected', async () => {
    const { disk } = await written(MIN_LOG_BYTES)
    for (const name of disk.contents.keys()) expect(await opens(disk.with(name, undefined)), name).toBe('refused')
  })

  it('opening a damaged directory does not change it', async () => {
    const { disk } = await written(1e6)
    const [name = '', bytes = new Uint8Array()] = [...disk.contents].find(([name]) => name.startsWith('log')) ?? []
    const lastByte = bytes.reduce((last, byte, at) => (byte === 0 ? last : at), 0)
    const damaged = disk.with(name, bytes.slice(0, lastByte))
    const before = damaged.contents
    await expect(Run.open(damaged)).rejects.toMatchObject({ code: 'damaged' })
    expect(damaged.contents).toEqual(before)
  })

  it('a directory with files that no store created can be opened, and these files are reported', async () => {
    const { disk, expected } = await written(1e6)
    const strayed = disk.with('notes.txt', new Uint8Array(9))
    const { strays } = await recover(strayed, {})
    expect([strays, await stateOf(strayed)]).toEqual([['notes.txt'], expected])
    await (await Run.open(strayed)).close()
    expect(strayed.contents.get('notes.txt')).toHaveLength(9)
  })

  it('a directory that contains only other files is rejected', async () => {
    await expect(Run.open(new MemoryDisk().with('notes.txt', new Uint8Array(0)))).rejects.toMatchObject({
      code: 'format',
    })
  })
})
