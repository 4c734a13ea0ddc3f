import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Engine } from '../../../src/server/engine/engine.js'
import type { LogEntry } from '../../../src/server/engine/entry.js'
import type { Log, LogFailure } from '../../../src/server/log/log.js'
import { effort, nightly } from '../../support/effort.js'
import { anyEntry } from './any-entry.js'
import { pictureOf } from './disk/run.js'

/** A log that was opened, and the state that all entries before have made. */
export interface OpenedTarget {
  readonly engine: Engine<never>
  readonly log: Log
}

/** Where a log lives: one place, opened once at a time. */
export interface LogTarget {
  open(): Promise<OpenedTarget>
  /** Whether what was committed is there when it is opened again. */
  readonly lasting: boolean
  /** Nobody opens it any more. */
  remove?(): Promise<void>
}

const RUNS = effort(nightly(60, 20), 5)

/** Hears what a log says, applies it, and lets others wait for it. */
class Hearer {
  readonly committed: LogEntry[] = []
  readonly rejected: { readonly entry: LogEntry; readonly failure: LogFailure }[] = []
  /** What is done next when an entry is there. */
  next: () => void = () => undefined
  readonly #log: Log
  #wake: () => void = () => undefined
  #depth = 0
  /** The most entries it was told of at a time, one within the other. */
  deepest = 0

  constructor({ engine, log }: OpenedTarget) {
    this.#log = log
    log.listen({
      onCommitted: entry => {
        this.deepest = Math.max(this.deepest, ++this.#depth)
        engine.replay(entry)
        this.committed.push(entry)
        this.next()
        this.#depth--
        this.#wake()
      },
      onRejected: (entry, failure) => {
        this.rejected.push({ entry, failure })
        this.#wake()
      },
    })
  }

  /** Settles when the log has said so much. */
  async told(count: number): Promise<void> {
    while (this.committed.length + this.rejected.length < count) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  async append(entries: readonly LogEntry[]): Promise<void> {
    const before = this.committed.length + this.rejected.length
    for (const entry of entries) this.#log.append(entry)
    await this.told(before + entries.length)
  }
}

/** What every log has to do, whatever it is made of. @param make - a new place */
export function logSuite(title: string, make: () => Promise<LogTarget>): void {
  const use = async <T>(test: (target: LogTarget) => Promise<T>): Promise<T> => {
    const target = await make()
    try {
      return await test(target)
    } finally {
      await target.remove?.()
    }
  }
  const some = (count: number): LogEntry[] => fc.sample(anyEntry, count)

  describe(`A log: ${title}`, () => {
    it('commits what is appended, in order, each once, and tells of the very commands', async () =>
      use(async target => {
        const opened = await target.open()
        const hearer = new Hearer(opened)
        const entries = some(30)
        await hearer.append(entries)
        expect(hearer.rejected).toEqual([])
        expect(hearer.committed).toHaveLength(30)
        for (const [at, entry] of entries.entries()) expect(hearer.committed[at]?.commands).toBe(entry.commands)
        await opened.log.close()
      }))

    it('says whether it commits within the call, and for how long it pays to wait', async () =>
      use(async target => {
        const opened = await target.open()
        const { log } = opened
        const hearer = new Hearer(opened)
        for (const entry of some(5)) {
          const before = hearer.committed.length
          log.append(entry)
          if (log.isSynchronous) expect(hearer.committed).toHaveLength(before + 1)
          await hearer.told(before + 1)
          expect(log.batchDelayMs).toBeGreaterThanOrEqual(0)
        }
        await log.close()
      }))

    it('takes what is appended while it tells, and tells of that when it has told, unless it commits within the call', async () =>
      use(async target => {
        const opened = await target.open()
        const hearer = new Hearer(opened)
        const [first, ...more] = some(20)
        const waiting = [...more]
        hearer.next = () => {
          const entry = waiting.shift()
          if (entry) opened.log.append(entry)
        }
        if (first) opened.log.append(first)
        await hearer.told(20)
        if (!opened.log.isSynchronous) {
          expect(hearer.deepest).toBe(1)
          expect(hearer.committed.map(({ commands }) => commands)).toEqual([first, ...more].map(each => each?.commands))
        }
        await opened.log.close()
      }))

    it('tells the last one who listens, and nobody else', async () =>
      use(async target => {
        const opened = await target.open()
        const [before, after] = [new Hearer(opened), new Hearer(opened)]
        await after.append(some(3))
        expect([before.committed.length, after.committed.length]).toEqual([0, 3])
        await opened.log.close()
      }))

    it('has said what became of everything when it is closed, and commits nothing after that', async () =>
      use(async target => {
        const opened = await target.open()
        const hearer = new Hearer(opened)
        for (const entry of some(10)) opened.log.append(entry)
        await opened.log.close()
        expect(hearer.committed.length + hearer.rejected.length).toBe(10)
        const { length } = hearer.committed
        for (const entry of some(3)) opened.log.append(entry)
        await opened.log.close()
        expect(hearer.committed).toHaveLength(length)
      }))

    it('makes the same state as its entries do without it, wherever it was closed and opened again', async () => {
      const life = fc.array(fc.array(anyEntry, { maxLength: 5 }), { maxLength: 4 })
      await fc.assert(
        fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: 3 }), async lives =>
          use(async target => {
            for (const bursts of lives) {
              const opened = await target.open()
              const { engine, log } = opened
              const plain = new Engine<never>({}, engine.capture())
              const hearer = new Hearer(opened)
              for (const entries of bursts) {
                await hearer.append(entries)
                const { length } = hearer.committed
                // Some logs have a time of their own.
                for (const entry of hearer.committed.slice(length - entries.length)) plain.replay(entry)
              }
              expect(pictureOf(engine)).toBe(pictureOf(plain))
              await log.close()
            }
          }),
        ),
        { numRuns: RUNS },
      )
    })

    it('has what was committed when it is opened again, or begins anew', async () =>
      use(async target => {
        const before = await target.open()
        const hearer = new Hearer(before)
        await hearer.append(some(20))
        await before.log.close()
        const after = await target.open()
        // Each start is an entry of its own, and takes what was not to outlive it.
        const kept = Array.from(before.engine.records()).filter(([, { volatile }]) => volatile !== true)
        const found = new Map(
          Array.from(after.engine.records(), ([key, record]) => [Buffer.from(key).toString('hex'), record]),
        )
        for (const [key, record] of target.lasting ? kept : []) {
          const { value, version, fencingToken, expiresAt } = record
          if (expiresAt !== undefined) continue
          expect(found.get(Buffer.from(key).toString('hex'))).toMatchObject({ value, version, fencingToken })
        }
        if (!target.lasting) expect(after.engine.size).toBe(0)
        await after.log.close()
      }))
  })
}
