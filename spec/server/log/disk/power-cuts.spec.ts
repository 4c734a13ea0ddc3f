import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Random } from '../../../../harness/random.js'
import { Engine } from '../../../../src/server/engine/engine.js'
import type { LogEntry } from '../../../../src/server/engine/entry.js'
import { recover } from '../../../../src/server/log/disk/recovery.js'
import { encodeEntry } from '../../../../src/server/log/entry-codec.js'
import { anyEntry } from '../../../support/any-entry.js'
import { effort, nightly } from '../../../support/effort.js'
import { START } from '../../../support/manual-clock.js'
import { failure, MemoryDisk } from './memory-disk.js'
import { pictureOf, Run, slowly } from './run.js'

/** A size at which a new snapshot is worthwhile after a few entries. */
const MIN_LOG_BYTES = 400

interface ProcessRun {
  readonly entries: readonly LogEntry[]
  /** The call at which the process is killed or the next flush fails. */
  readonly at: number
  readonly end: 'kill' | 'flush'
  readonly isCut: boolean
  readonly isSlow: boolean
  readonly seed: number
}

const processRun: fc.Arbitrary<ProcessRun> = fc.record({
  entries: fc.array(
    anyEntry.filter(entry => encodeEntry(entry).length < 1_000),
    { maxLength: 6 },
  ),
  at: fc.nat(30),
  end: fc.constantFrom('kill', 'flush'),
  isCut: fc.boolean(),
  isSlow: fc.boolean(),
  seed: fc.integer(),
})

const readBack = async (disk: MemoryDisk): Promise<Engine<never>> => (await recover<never>(disk.killed(), {})).engine

/** Returns the state after another entry. */
function withEntry(engine: Engine<never>, entry: LogEntry): string {
  const copy = new Engine<never>({}, engine.capture())
  copy.replay(entry)
  return pictureOf(copy)
}

const startOf = (engine: Engine<never>): LogEntry => ({ time: START, ...engine.limits, commands: [{ type: 'start' }] })

/**
 * Runs one process on a disk. Returns the resulting disk, and the states that the next process may find.
 *
 * @param before - the states that this process may find
 */
async function runProcess(
  disk: MemoryDisk,
  { entries, at, end, isCut, isSlow, seed }: ProcessRun,
  before: ReadonlySet<string>,
) {
  const chance = new Random(seed).next
  const recovered = await readBack(disk)
  expect([...before]).toContain(pictureOf(recovered))
  let left: MemoryDisk | undefined
  let hasFailed = false
  disk.chance = chance
  disk.calls = 0
  disk.fail = (call, what) => {
    if (call < at) return undefined
    if (end === 'kill') left ??= disk.killed()
    else if (hasFailed || !what.startsWith('flush')) return undefined
    hasFailed = true
    return failure('EIO')
  }
  const run = await Run.open(disk, MIN_LOG_BYTES, isSlow ? slowly() : undefined).catch((error: unknown) => {
    if (!hasFailed) throw error
  })
  // Until the process has opened the log, the recovered state may be lost again, because no client has seen it.
  let allowed = new Set([...before, pictureOf(recovered), withEntry(recovered, startOf(recovered))])
  if (run !== undefined && left === undefined) allowed = new Set([pictureOf(run.engine)])
  for (const entry of run === undefined ? [] : entries) {
    if (run === undefined || left !== undefined || run.refusals.length > 0) break
    const either = new Set([pictureOf(run.engine), withEntry(run.engine, entry)])
    await run.append([entry])
    const isCertain = left === undefined && run.refusals.length === 0
    allowed = isCertain ? new Set([pictureOf(run.engine)]) : either
  }
  left ??= disk.killed()
  await run?.close().catch(() => undefined)
  return { left: isCut ? left.cut(chance) : left, allowed }
}

describe('a store with repeated kills of its process, failed flushes and power cuts', () => {
  it('every start recovers all acknowledged entries', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(processRun, { minLength: 1, maxLength: 5 }), async processRuns => {
        let disk = new MemoryDisk()
        let allowed: ReadonlySet<string> = new Set([pictureOf(new Engine<never>())])
        for (const each of processRuns) ({ left: disk, allowed } = await runProcess(disk, each, allowed))
        expect([...allowed]).toContain(pictureOf(await readBack(disk)))
      }),
      { numRuns: effort(nightly(3_000, 1_000), 40) },
    )
  })
})
