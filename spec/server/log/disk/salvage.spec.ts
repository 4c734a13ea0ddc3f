import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes, toBinaryString } from '../../../../src/core/util/bytes.js'
import { Engine } from '../../../../src/server/engine/engine.js'
import { type LogEntry, type LoggedWrite, parseWriteCommand } from '../../../../src/server/engine/entry.js'
import { FRAME_HEADER_BYTES, NO_SALT, parseFileName, sealFrame } from '../../../../src/server/log/disk/format.js'
import { createLog } from '../../../../src/server/log/disk/open.js'
import { recover } from '../../../../src/server/log/disk/recovery.js'
import { type Salvaged, salvage } from '../../../../src/server/log/disk/salvage.js'
import { encodeEntry } from '../../../../src/server/log/entry-codec.js'
import { anyEntry } from '../../../support/any-entry.js'
import { effort, nightly } from '../../../support/effort.js'
import { START } from '../../../support/manual-clock.js'
import { resp3 } from '../../../support/words.js'
import { MemoryDisk } from './memory-disk.js'
import { pictureOf, Run } from './run.js'

const NOW = START + 1_000_000

interface Fault {
  readonly kind: 'bit' | 'end' | 'sector' | 'file'
  /** The file and the offset of the fault, as fractions in [0, 1). */
  readonly file: number
  readonly at: number
}

const fault: fc.Arbitrary<Fault> = fc.record({
  kind: fc.constantFrom('bit', 'bit', 'end', 'sector', 'file'),
  file: fc.double({ min: 0, max: 0.999, noNaN: true }),
  at: fc.double({ min: 0, max: 0.999, noNaN: true }),
})

/** Applies a fault to a disk. Returns the disk with the location of the fault. */
function damage(disk: MemoryDisk, { kind, file, at }: Fault) {
  const files = [...disk.contents].sort(([a], [b]) => (a < b ? -1 : 1))
  const [name, bytes] = files[Math.floor(file * files.length)] ?? expect.fail('no file')
  const offset = Math.floor(at * bytes.length)
  const faulty = bytes.slice()
  if (kind === 'bit') faulty[offset] = (faulty[offset] ?? 0) ^ (1 << (offset % 8))
  if (kind === 'sector') faulty.fill(0, offset, offset + 64)
  if (kind === 'file') return { disk: disk.with(name, undefined), name, from: 0, to: bytes.length }
  if (kind === 'end') return { disk: disk.with(name, bytes.slice(0, offset)), name, from: offset, to: bytes.length }
  return { disk: disk.with(name, faulty), name, from: offset, to: kind === 'bit' ? offset + 1 : offset + 64 }
}

/** Unconditional writes of one key each without a token. They depend on no other write. */
const plainEntry = fc
  .record({ key: fc.nat(5), value: fc.nat(1_000), isDeletion: fc.boolean(), time: fc.nat(50) })
  .map(({ key, value, isDeletion, time }) =>
    entryOf(isDeletion ? ['DEL', `k${key}`] : ['SET', `k${key}`, `v${value}`.repeat(10)], time),
  )

function entryOf(words: readonly string[], time = 0, rest: Partial<LoggedWrite> = {}): LogEntry {
  const payload = new Uint8Array(resp3([...words]))
  const command = parseWriteCommand(payload) ?? expect.fail('no write')
  const timestamp = `${START}:0:client`
  const write: LoggedWrite = { type: 'write', payload, command, timestamp, origin: undefined, ...rest }
  return { time: START + time, maxKeys: 100, maxBytes: 1e9, commands: [write] }
}

/** Creates a directory from salvaged data and opens it. */
async function recovered(salvaged: Salvaged): Promise<Engine<never>> {
  const disk = new MemoryDisk()
  await createLog(disk, salvaged.capture(NOW), salvaged.position)
  const { engine, position } = await recover<never>(disk, {})
  expect(position).toBe(salvaged.position)
  return engine
}

const valuesOf = (engine: Engine<never>): Record<string, string> =>
  Object.fromEntries(Array.from(engine.records(), ([key, { value }]) => [toBinaryString(key), toBinaryString(value)]))

async function written(processRuns: readonly (readonly LogEntry[])[], worth: number) {
  const disk = new MemoryDisk()
  let run: Run | undefined
  for (const entries of processRuns) {
    run = await Run.open(disk, worth)
    for (const entry of entries) await run.append([entry])
    await run.close()
  }
  return { disk, run: run ?? (await Run.open(disk, worth)) }
}

describe('an intact directory', () => {
  it('is recovered unchanged', { timeout: 120_000 }, async () => {
    const small = anyEntry.filter(entry => encodeEntry(entry).length < 1_000)
    const property = fc.asyncProperty(
      fc.array(fc.array(small), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(400, 1e6),
      async (processRuns, worth) => {
        const { disk, run } = await written(processRuns, worth)
        const salvaged = await salvage(disk)
        expect([salvaged.omissions, salvaged.torn, salvaged.isEndKnown]).toEqual([[], 0, true])
        expect(pictureOf(await recovered(salvaged))).toBe(pictureOf(run.engine))
      },
    )
    await fc.assert(property, { numRuns: effort(nightly(200, 60), 10) })
  })
})

describe('a directory with one fault', () => {
  it('all records before the fault are recovered, and all independent records after it', {
    timeout: 120_000,
  }, async () => {
    const property = fc.asyncProperty(
      fc.array(plainEntry, { minLength: 1, maxLength: 12 }),
      fault,
      async (entries, fault) => {
        const { disk } = await written([entries], 1e6)
        const before = disk.contents
        const damaged = damage(disk, fault)
        const salvaged = await salvage(damaged.disk)
        expect(disk.contents).toEqual(before)
        const lost = new Set<number>()
        for (const omission of salvaged.omissions) {
          if (omission.type !== 'entries') expect.fail(`an omission of ${omission.type}`)
          for (let position = omission.first; position <= omission.last; position++) lost.add(position)
        }
        // Position 1 is the start entry, which changes nothing.
        const model = new Map<string, string>()
        entries.forEach((entry, index) => {
          if (lost.has(index + 2)) return
          const [command] = entry.commands
          if (command?.type !== 'write') return
          const key = toBinaryString(command.command.key)
          if (command.command.verb === 'SET') model.set(key, toBinaryString(command.command.value))
          else model.delete(key)
        })
        expect(valuesOf(await recovered(salvaged))).toEqual(Object.fromEntries(model))
        expect(lost.size).toBeLessThanOrEqual(lostAtMost(disk, damaged))
      },
    )
    await fc.assert(property, { numRuns: effort(nightly(3_000, 1_000), 60) })
  })

  it('after any fault, a recovered directory opens without anything that never existed', {
    timeout: 120_000,
  }, async () => {
    const small = anyEntry.filter(entry => encodeEntry(entry).length < 1_000)
    const property = fc.asyncProperty(
      fc.array(fc.array(small, { maxLength: 6 }), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(400, 1e6),
      fault,
      async (processRuns, worth, fault) => {
        const { disk, run } = await written(processRuns, worth)
        const damaged = damage(disk, fault)
        const salvaged = await salvage(damaged.disk)
        const engine = await recovered(salvaged)
        if (salvaged.omissions.length === 0) expect(valuesOf(engine)).toEqual(valuesOf(run.engine))
      },
    )
    await fc.assert(property, { numRuns: effort(nightly(2_000, 700), 50) })
  })
})

/** Returns how many entries a fault hits, by their frames. A file header is not an entry. */
function lostAtMost(disk: MemoryDisk, { name, from, to }: { name: string; from: number; to: number }): number {
  const bytes = disk.contents.get(name) ?? new Uint8Array(0)
  if (parseFileName(name)?.kind !== 'log') return 0
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let [count, at] = [0, 48]
  while (at + 16 < bytes.length && view.getUint32(at) > 0) {
    const end = at + 16 + view.getUint32(at)
    if (from < end && to > at) count++
    at = end
  }
  return count
}

describe('a log whose first sector is destroyed', () => {
  it('only entries in a destroyed sector are lost, even with the salt lost and frame-like values', async () => {
    const frames = Array.from({ length: 20 }, (_, i) =>
      sealFrame(new Uint8Array(FRAME_HEADER_BYTES + i), 1 + i, NO_SALT),
    )
    const value = toBinaryString(concatBytes(frames))
    const keys = Array.from({ length: 10 }, (_, i) => `k${i}`)
    const { disk } = await written([keys.map(key => entryOf(['SET', key, value]))], 1e6)
    const [name, bytes] = [...disk.contents].find(([name]) => name.startsWith('log')) ?? expect.fail('no log')
    const faulty = bytes.slice()
    faulty.fill(0, 0, 512)
    const salvaged = await salvage(disk.with(name, faulty))
    expect(salvaged.omissions).toMatchObject([{ type: 'entries', first: 1, last: 2, extent: { file: name } }])
    expect(Object.keys(valuesOf(await recovered(salvaged)))).toEqual(keys.slice(1))
  })
})

describe('a damaged snapshot', () => {
  const KEYS = 3_000
  const snapshot = async (): Promise<{ disk: MemoryDisk; name: string; bytes: Uint8Array }> => {
    const engine = new Engine<never>()
    for (let i = 0; i < KEYS; i++) engine.replay({ ...entryOf(['SET', `k${i}`, 'v'.repeat(200)]), maxKeys: KEYS })
    const disk = new MemoryDisk()
    await createLog(disk, engine.capture(), 7)
    const [name, bytes] = [...disk.contents].find(([name]) => name.startsWith('state')) ?? expect.fail('no snapshot')
    return { disk, name, bytes }
  }
  const flipped = (bytes: Uint8Array, at: number): Uint8Array => {
    const copy = bytes.slice()
    copy[at] = (copy[at] ?? 0) ^ 1
    return copy
  }

  it('only the records of the damaged block are lost, and they are counted and listed', async () => {
    const { disk, name, bytes } = await snapshot()
    const salvaged = await salvage(disk.with(name, flipped(bytes, 300_000)))
    const [omission] = salvaged.omissions
    if (omission?.type !== 'records') expect.fail('no records are left out')
    expect(salvaged.omissions).toHaveLength(1)
    expect(salvaged.lostKeys).toBe(omission.keys.length)
    const engine = await recovered(salvaged)
    expect(engine.size).toBe(KEYS - omission.keys.length)
    expect(omission.keys.length).toBeLessThan(600)
    for (const key of omission.keys) expect(engine.peek(key)).toBe(undefined)
  })

  it.each([
    ['its head', 20, 0],
    ['the block that contains the number of keys', 70, 0],
  ])('no record is lost by damage of %s', async (_, at, lost) => {
    const { disk, name, bytes } = await snapshot()
    const engine = await recovered(await salvage(disk.with(name, flipped(bytes, at))))
    expect(engine.size).toBe(KEYS - lost)
  })

  it('a truncated snapshot loses the records after its end, and their number is reported', async () => {
    const { disk, name, bytes } = await snapshot()
    const salvaged = await salvage(disk.with(name, bytes.slice(0, 300_000)))
    const engine = await recovered(salvaged)
    expect(engine.size + (salvaged.lostKeys ?? 0)).toBe(KEYS)
    expect(salvaged.omissions.map(({ type }) => type)).toEqual(['records'])
  })

  it('the log after a missing snapshot is recovered, and the missing snapshot is reported', async () => {
    const { disk, name } = await snapshot()
    const salvaged = await salvage(disk.with(name, undefined))
    expect(salvaged.omissions).toMatchObject([{ type: 'records', file: name, extent: undefined }])
    expect([salvaged.lostKeys, salvaged.position]).toEqual([undefined, 7])
  })
})

describe('a write after a gap', () => {
  const damagedAt = async (entries: readonly LogEntry[], position: number): Promise<Salvaged> => {
    const { disk } = await written([entries], 1e6)
    const [name, bytes] = [...disk.contents].find(([name]) => name.startsWith('log')) ?? expect.fail('no log')
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let at = 48
    for (let number = 1; number < position; number++) at += 16 + view.getUint32(at)
    const faulty = bytes.slice()
    faulty[at + 16 + view.getUint32(at) - 1] = 0xee
    return salvage(disk.with(name, faulty))
  }
  const lost = entryOf(['SET', 'lost', 'x'])

  it('a write with neither a condition nor a token is applied, with a new version', async () => {
    const salvaged = await damagedAt([entryOf(['SET', 'a', '1']), lost, entryOf(['SET', 'a', '2'])], 3)
    const engine = await recovered(salvaged)
    expect(valuesOf(engine)).toEqual({ a: '2' })
    expect(engine.peek(new Uint8Array([97]))?.version.wallClock).toBe(NOW)
    expect(salvaged.omissions).toMatchObject([
      { type: 'entries', first: 3, last: 3, extent: { file: expect.any(String) } },
    ])
  })

  it.each([
    ['a condition', entryOf(['SET', 'a', '2', 'NX']), 'condition'],
    ['an expected value', entryOf(['VDEL', 'a', '1']), 'condition'],
    ['a fencing token', entryOf(['SET', 'a', '2'], 0, { fencingToken: `${START}:0:lock` }), 'fencing-token'],
    [
      'a sender that may repeat the write',
      entryOf(['SET', 'a', '2'], 0, {
        origin: { clientId: 'c', correlationData: Uint8Array.of(1), dup: true, messageExpiry: 10 },
      }),
      'repeat',
    ],
  ] as const)('a write with %s is omitted, and reported with its key, position and bytes', async (_, entry, why) => {
    const salvaged = await damagedAt([entryOf(['SET', 'a', '1']), lost, entry], 3)
    expect(valuesOf(await recovered(salvaged))).toEqual({ a: '1' })
    const [, omission] = salvaged.omissions
    expect(omission).toMatchObject({ type: 'write', position: 4, key: Uint8Array.of(97), why })
  })

  it('a conditional write is applied when the value of its key is certain', async () => {
    const entries = [lost, entryOf(['SET', 'a', '1']), entryOf(['SET', 'a', '2', 'NEX', '1'])]
    const salvaged = await damagedAt(entries, 2)
    expect(valuesOf(await recovered(salvaged))).toEqual({ a: '2' })
    expect(salvaged.omissions).toHaveLength(1)
  })

  it('a write is not rejected because of quota that missing keys used', async () => {
    const full = { ...entryOf(['SET', 'b', '1']), maxKeys: 1 }
    const salvaged = await damagedAt([entryOf(['SET', 'a', '1']), entryOf(['DEL', 'a']), full], 3)
    expect(valuesOf(await recovered(salvaged))).toEqual({ a: '1', b: '1' })
  })

  it('the readable keys of a damaged entry are reported', async () => {
    const { omissions } = await damagedAt([lost, entryOf(['SET', 'a', '1'])], 2)
    expect(omissions).toMatchObject([{ keys: [new Uint8Array(Buffer.from('lost'))] }])
  })
})
