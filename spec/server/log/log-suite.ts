import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Engine } from '../../../src/server/engine/engine.js'
import type { LogEntry } from '../../../src/server/engine/entry.js'
import type { Log, LogFailure } from '../../../src/server/log/log.js'
import { anyEntry } from '../../support/any-entry.js'
import { effort, nightly } from '../../support/effort.js'
import { pictureOf } from './disk/run.js'

/** An opened log, with the state that all earlier entries produced. */
export interface OpenedTarget {
  readonly engine: Engine<never>
  readonly log: Log
}

/** A place for a log that one process at a time can open. */
export interface LogTarget {
  open(): Promise<OpenedTarget>
  /** Whether committed entries survive reopening. */
  readonly isDurable: boolean
  /** Removes everything that the target created. */
  dispose?(): Promise<void>
}

const RUNS = effort(nightly(60, 20), 5)

/** A listener that applies the entries that a log reports, and waits for them. */
class RecordingListener {
  readonly committed: LogEntry[] = []
  readonly rejected: { readonly entry: LogEntry; readonly failure: LogFailure }[] = []
  /** Called when the next entry is committed. */
  onNext: () => void = () => undefined
  readonly #log: Log
  #wake: () => void = () => undefined
  #depth = 0
  maxDepth = 0

  constructor({ engine, log }: OpenedTarget) {
    this.#log = log
    log.listen({
      onCommitted: entry => {
        this.maxDepth = Math.max(this.maxDepth, ++this.#depth)
        engine.replay(entry)
        this.committed.push(entry)
        this.onNext()
        this.#depth--
        this.#wake()
      },
      onRejected: (entry, failure) => {
        this.rejected.push({ entry, failure })
        this.#wake()
      },
    })
  }

  async waitForOutcomes(count: number): Promise<void> {
    while (this.committed.length + this.rejected.length < count) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  async append(entries: readonly LogEntry[]): Promise<void> {
    const before = this.committed.length + this.rejected.length
    for (const entry of entries) this.#log.append(entry)
    await this.waitForOutcomes(before + entries.length)
  }
}

/**
 * Declares the specs that every log must pass.
 *
 * @param createTarget - creates a new place for a log
 */
export function logSuite(title: string, createTarget: () => Promise<LogTarget>): void {
  const use = async <T>(test: (target: LogTarget) => Promise<T>): Promise<T> => {
    const target = await createTarget()
    try {
      return await test(target)
    } finally {
      await target.dispose?.()
    }
  }
  const sampleEntries = (count: number): LogEntry[] => fc.sample(anyEntry, count)

  describe(`A log: ${title}`, () => {
    it('the log commits appended entries in order and exactly once, and reports the same commands', async () =>
      use(async target => {
        const opened = await target.open()
        const listener = new RecordingListener(opened)
        const entries = sampleEntries(30)
        await listener.append(entries)
        expect(listener.rejected).toEqual([])
        expect(listener.committed).toHaveLength(30)
        for (const [at, entry] of entries.entries()) expect(listener.committed[at]?.commands).toBe(entry.commands)
        await opened.log.close()
      }))

    it('the log states whether it commits synchronously and how long to wait for a batch', async () =>
      use(async target => {
        const opened = await target.open()
        const { log } = opened
        const listener = new RecordingListener(opened)
        for (const entry of sampleEntries(5)) {
          const before = listener.committed.length
          log.append(entry)
          if (log.isSynchronous) expect(listener.committed).toHaveLength(before + 1)
          await listener.waitForOutcomes(before + 1)
          expect(log.batchDelayMs).toBeGreaterThanOrEqual(0)
        }
        await log.close()
      }))

    it('entries that a listener appends are reported after the current one, unless synchronous', async () =>
      use(async target => {
        const opened = await target.open()
        const listener = new RecordingListener(opened)
        const [first, ...more] = sampleEntries(20)
        const waiting = [...more]
        listener.onNext = () => {
          const entry = waiting.shift()
          if (entry) opened.log.append(entry)
        }
        if (first) opened.log.append(first)
        await listener.waitForOutcomes(20)
        if (!opened.log.isSynchronous) {
          expect(listener.maxDepth).toBe(1)
          expect(listener.committed.map(({ commands }) => commands)).toEqual(
            [first, ...more].map(each => each?.commands),
          )
        }
        await opened.log.close()
      }))

    it('the log notifies only the last listener', async () =>
      use(async target => {
        const opened = await target.open()
        const [before, after] = [new RecordingListener(opened), new RecordingListener(opened)]
        await after.append(sampleEntries(3))
        expect([before.committed.length, after.committed.length]).toEqual([0, 3])
        await opened.log.close()
      }))

    it('every outcome is reported before the log is closed, and nothing is committed later', async () =>
      use(async target => {
        const opened = await target.open()
        const listener = new RecordingListener(opened)
        for (const entry of sampleEntries(10)) opened.log.append(entry)
        await opened.log.close()
        expect(listener.committed.length + listener.rejected.length).toBe(10)
        const { length } = listener.committed
        for (const entry of sampleEntries(3)) opened.log.append(entry)
        await opened.log.close()
        expect(listener.committed).toHaveLength(length)
      }))

    it('the log has the state of its entries even if closed and reopened at any point', async () => {
      const processRun = fc.array(fc.array(anyEntry, { maxLength: 5 }), { maxLength: 4 })
      await fc.assert(
        fc.asyncProperty(fc.array(processRun, { minLength: 1, maxLength: 3 }), async processRuns =>
          use(async target => {
            for (const bursts of processRuns) {
              const opened = await target.open()
              const { engine, log } = opened
              const plain = new Engine<never>({}, engine.capture())
              const listener = new RecordingListener(opened)
              for (const entries of bursts) {
                await listener.append(entries)
                const { length } = listener.committed
                // Some logs determine the time of entries themselves.
                for (const entry of listener.committed.slice(length - entries.length)) plain.replay(entry)
              }
              expect(pictureOf(engine)).toBe(pictureOf(plain))
              await log.close()
            }
          }),
        ),
        { numRuns: RUNS },
      )
    })

    it('the reopened log has the committed entries, or starts empty', async () =>
      use(async target => {
        const before = await target.open()
        const listener = new RecordingListener(before)
        await listener.append(sampleEntries(20))
        await before.log.close()
        const after = await target.open()
        // Each start appends an entry, which deletes keys that do not outlive a process.
        const kept = Array.from(before.engine.records()).filter(([, { volatile }]) => volatile !== true)
        const found = new Map(
          Array.from(after.engine.records(), ([key, record]) => [Buffer.from(key).toString('hex'), record]),
        )
        for (const [key, record] of target.isDurable ? kept : []) {
          const { value, version, fencingToken, expiresAt } = record
          if (expiresAt !== undefined) continue
          expect(found.get(Buffer.from(key).toString('hex'))).toMatchObject({ value, version, fencingToken })
        }
        if (!target.isDurable) expect(after.engine.size).toBe(0)
        await after.log.close()
      }))
  })
}
