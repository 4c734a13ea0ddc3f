import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type EntryCommand, type LogEntry, parseWriteCommand } from '../../../../src/server/engine/entry.js'
import { directoryFiles } from '../../../../src/server/log/disk/files.js'
import { type OpenedLog, openLog, type TakeoverOptions } from '../../../../src/server/log/disk/open.js'
import { recover } from '../../../../src/server/log/disk/recovery.js'
import type { LogFailure } from '../../../../src/server/log/log.js'
import { eventually } from '../../../support/eventually.js'
import { START } from '../../../support/manual-clock.js'
import { temporaryFolder } from '../../../support/temporary-folder.js'
import { resp3 } from '../../../support/words.js'
import { MemoryDisk } from './memory-disk.js'
import { pictureOf, slowly } from './run.js'
import { TightDisk } from './tight-disk.js'

const VALUE = 'v'.repeat(100)

function write(words: string[], volatile?: true): EntryCommand {
  const payload = new Uint8Array(resp3(words))
  const command = parseWriteCommand(payload) ?? expect.fail('no write')
  return { type: 'write', payload, command, timestamp: `${START}:0:w`, origin: undefined, volatile }
}

const entryOf = (...commands: EntryCommand[]): LogEntry => ({ time: START, maxKeys: 1e6, maxBytes: 1e9, commands })
const set = (key: string, value = VALUE): LogEntry => entryOf(write(['SET', key, value]))
const del = (key: string): LogEntry => entryOf(write(['DEL', key]))

/** A log with an engine, and the outcomes of its entries. */
class Opened {
  readonly foreign: LogEntry[] = []
  readonly troubles: unknown[] = []
  readonly #opened: OpenedLog<never>
  #settle: (failure: LogFailure | undefined) => void = () => undefined

  private constructor(opened: OpenedLog<never>, troubles: unknown[]) {
    this.#opened = opened
    this.troubles = troubles
    opened.log.listen({
      onCommitted: entry => {
        opened.engine.replay(entry)
        this.#settle(undefined)
      },
      onRejected: (_, failure) => this.#settle(failure),
      onForeign: entry => {
        opened.engine.replay(entry)
        this.foreign.push(entry)
      },
    })
  }

  /** @param preallocateBytes - the preallocated bytes, a quarter of which is the reserve */
  static async on(disk: TightDisk, preallocateBytes = 1_000, takeover: TakeoverOptions = {}): Promise<Opened> {
    const troubles: unknown[] = []
    const sizes = { preallocateBytes, minLogBytes: 1e9 }
    const onError = (error: unknown): void => void troubles.push(error)
    const options = { now: () => START, monotonic: slowly(), onError, sizes, ...takeover }
    return new Opened(await openLog<never>(disk, options), troubles)
  }

  get failure(): LogFailure | undefined {
    return this.#opened.failure
  }

  get engine() {
    return this.#opened.engine
  }

  /** Returns the problem if the entry is rejected. */
  async append(entry: LogEntry, frees = false): Promise<string | undefined> {
    const settled = new Promise<LogFailure | undefined>(resolve => {
      this.#settle = resolve
    })
    this.#opened.log.append(entry, frees)
    return (await settled)?.problem
  }

  /** Creates keys until the disk is full. Returns the number of keys. */
  async fill(value = VALUE): Promise<number> {
    for (let count = 0; ; count++) {
      const problem = await this.append(set(`k${count}`, value))
      if (problem === undefined) continue
      expect(problem).toBe('full')
      return count
    }
  }

  async close(): Promise<void> {
    await this.#opened.log.close()
  }
}

describe('a full disk', () => {
  it('deletions use a reserve, garbage is compacted into a new log, and the store recovers', async () => {
    const disk = new TightDisk(new MemoryDisk(), 100_000)
    const opened = await Opened.on(disk, 40_000)
    const large = 'v'.repeat(1_000)
    const count = await opened.fill(large)
    expect(count).toBeGreaterThan(50)
    let deleted = 0
    while (deleted < count && (await opened.append(del(`k${deleted}`), true)) === undefined) deleted++
    expect(deleted).toBe(count)
    // The snapshot is written in the background.
    await expect.poll(async () => opened.append(set('new')), { interval: 1 }).toBeUndefined()
    expect(await opened.fill(large)).toBeGreaterThan(50)
    await opened.close()
    expect(pictureOf((await recover<never>(disk, {})).engine)).toBe(pictureOf(opened.engine))
  })

  it('snapshots must free enough space, and are retried only when they would be smaller', async () => {
    const disk = new TightDisk(new MemoryDisk(), 20_000)
    const opened = await Opened.on(disk)
    await opened.fill()
    for (let i = 0; i < 20; i++) expect(await opened.append(set(`more${i}`))).toBe('full')
    expect(opened.troubles).toEqual([])
    expect(await disk.list()).toHaveLength(2)
  })

  it.each(['with the reserve', 'without a reserve'])(
    'a store restarts, serves reads and rejects writes (%s)',
    async how => {
      const disk = new TightDisk(new MemoryDisk(), 20_000)
      const first = await Opened.on(disk)
      expect(await first.append(entryOf(write(['SET', 'volatile', 'v'], true)))).toBeUndefined()
      const count = await first.fill()
      // Deletes missing keys, which uses up the reserve without freeing space.
      if (how === 'without a reserve') while ((await first.append(del('none'), true)) === undefined);
      await first.close()
      const two = await Opened.on(disk)
      expect(two.failure?.problem).toBe(how === 'without a reserve' ? 'full' : undefined)
      expect(two.engine.size).toBe(how === 'without a reserve' ? count + 1 : count)
      expect(await two.append(set('new'))).toBe('full')
      disk.capacity += 10_000
      expect(await two.append(set('new'))).toBeUndefined()
      // The start entry comes first: it deletes volatile keys, of which watchers are notified.
      expect(two.foreign).toHaveLength(how === 'without a reserve' ? 1 : 0)
      expect(two.engine.size).toBe(count + 1)
      await two.close()
      expect(pictureOf((await recover<never>(disk, {})).engine)).toBe(pictureOf(two.engine))
    },
  )
})

it("taking over a full disk by force needs a few hundred bytes, whatever the log's size", async () => {
  const disk = new TightDisk(new MemoryDisk(), 40_000)
  const first = await Opened.on(disk)
  const count = await first.fill()
  while ((await first.append(del('none'), true)) === undefined);
  await first.close()
  disk.capacity = disk.used
  const withReserve: TakeoverOptions['withReserve'] = async task =>
    task().catch(async () => {
      disk.capacity += 300
      return task()
    })
  const two = await Opened.on(disk, 1_000, { isForced: true, withReserve })
  expect(two.engine.size).toBe(count)
  expect(await two.append(set('new'))).toBe('full')
  await two.close()
  expect((await recover<never>(disk, {})).engine.size).toBe(count)
})

describe('a key that is overwritten repeatedly', () => {
  it('overwriting a key repeatedly uses only a few MiB of the disk', { tags: 'slow' }, async () => {
    const folder = temporaryFolder()
    const options = { now: () => START, monotonic: slowly(), onError: (error: unknown) => expect.fail(String(error)) }
    const { engine, log } = await openLog<never>(await directoryFiles(folder), options)
    const commands = Array.from({ length: 100 }, () => write(['SET', 'key', 'v'.repeat(1_000)]))
    let largest = 0
    for (let i = 0; i < 200; i++) {
      await new Promise<void>((resolve, reject) => {
        const committed = (entry: LogEntry): void => {
          engine.replay(entry)
          resolve()
        }
        log.listen({ onCommitted: committed, onRejected: (_, failure) => reject(failure) })
        log.append(entryOf(...commands))
      })
      const sizes = readdirSync(folder).map(name => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
      largest = Math.max(
        largest,
        sizes.reduce((sum, size) => sum + size, 0),
      )
      // While a snapshot is written, the new log grows as fast as commands arrive.
      await eventually(() => readdirSync(folder).filter(name => name.startsWith('log-')).length === 1)
    }
    await log.close()
    expect(largest).toBeLessThan(7 * 1024 * 1024)
  })
})
