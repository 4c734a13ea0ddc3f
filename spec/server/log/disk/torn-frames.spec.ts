import { describe, expect, it } from 'vitest'
import { Random } from '../../../../harness/random.js'
import { concatBytes } from '../../../../src/core/util/bytes.js'
import { type LogEntry, parseWriteCommand } from '../../../../src/server/engine/entry.js'
import { FRAME_HEADER_BYTES, NO_SALT, sealFrame } from '../../../../src/server/log/disk/format.js'
import { FrameReader } from '../../../../src/server/log/disk/frame-reader.js'
import { recover } from '../../../../src/server/log/disk/recovery.js'
import { START } from '../../../support/manual-clock.js'
import { resp3 } from '../../../support/words.js'
import { failure, MemoryDisk } from './memory-disk.js'
import { pictureOf, Run } from './run.js'

function setting(key: string, value: Uint8Array): LogEntry {
  const payload = new Uint8Array(resp3(['SET', key, Buffer.from(value).toString('latin1')]))
  const command = parseWriteCommand(payload) ?? expect.fail('no write')
  const write = { type: 'write', payload, command, timestamp: `${START}:0:client`, origin: undefined } as const
  return { time: START, maxKeys: 100, maxBytes: 1e9, commands: [write] }
}

/** Intact frames that a client could store in a value if it knew the format. */
const frames = concatBytes(
  Array.from({ length: 40 }, (_, i) => sealFrame(new Uint8Array(FRAME_HEADER_BYTES + i), 2 + i, NO_SALT)),
)

describe('a torn frame whose value contains frames', () => {
  it('a torn frame is removed as unacknowledged, whichever sectors are on the disk', async () => {
    for (let seed = 0; seed < 200; seed++) {
      const disk = new MemoryDisk()
      const run = await Run.open(disk)
      await run.append([setting('a', frames)])
      const acknowledged = pictureOf(run.engine)
      disk.fail = (_, operation) => (operation === 'flush' ? failure('EIO') : undefined)
      await run.append([setting('b', frames)])
      expect(run.refusals).toHaveLength(1)
      const left = disk.killed().cut(new Random(seed).next)
      const { engine, tornBytes: torn } = await recover<never>(left, {})
      if (torn > 0) expect(pictureOf(engine)).toBe(acknowledged)
      await (await Run.open(left)).close()
    }
  })

  it('a torn frame that is full of headers is searched in linear time', { tags: 'slow', timeout: 20_000 }, async () => {
    const disk = new MemoryDisk()
    const size = 8 * 1024 * 1024
    const file = await disk.create('log')
    const bytes = new Uint8Array(size)
    const view = new DataView(bytes.buffer)
    for (let at = 0; at + FRAME_HEADER_BYTES < size; at += FRAME_HEADER_BYTES) {
      view.setUint32(at, size - at - FRAME_HEADER_BYTES)
      view.setFloat64(at + 4, 2 + at / FRAME_HEADER_BYTES)
    }
    await file.write(bytes, 0)
    const salted = await FrameReader.open(file, 0, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8))
    expect(await salted.seekFrame(1, size)).toBe(undefined)
    const unsalted = await FrameReader.open(file, 0, NO_SALT)
    expect(await unsalted.seekFrame(1, size)).toBe('unclear')
  })
})

describe('a log that was created just before a power cut', () => {
  it.each([0, 20, 48, 400])('a log of %i zeros is created again', async length => {
    const disk = new MemoryDisk()
    await (await Run.open(disk)).close()
    const fresh = new MemoryDisk().with('mark', undefined).with('log-0000000000000000', new Uint8Array(length))
    await expect(recover(fresh, {})).rejects.toMatchObject({ code: 'damaged' })
    const { mark = new Uint8Array(0) } = Object.fromEntries((await atPositionZero()).contents)
    const unborn = fresh.with('mark', mark)
    await (await Run.open(unborn)).close()
    expect((await recover(unborn, {})).position).toBe(1)
  })
})

/** Returns a directory whose process was killed before its first entry. */
async function atPositionZero(): Promise<MemoryDisk> {
  const disk = new MemoryDisk()
  let files = 0
  disk.fail = (_, operation) => (operation === 'create' && ++files === 2 ? failure('EIO') : undefined)
  await Run.open(disk).catch(() => undefined)
  return disk.killed()
}

describe('an entry that was written but not flushed when the process was killed', () => {
  it.each(['kill', 'a flush that fails'])(
    'the next process flushes the entry before anything depends on it (%s)',
    async how => {
      const disk = new MemoryDisk()
      const run = await Run.open(disk)
      let left: MemoryDisk | undefined
      disk.fail = (_, operation) => {
        if (operation !== 'flush') return undefined
        if (how === 'kill') left ??= disk.killed()
        return failure('EIO')
      }
      await run.append([setting('a', frames)])
      left ??= disk.killed()
      const next = await Run.open(left)
      await next.append([setting('b', frames)])
      const { engine } = await recover<never>(
        left.cut(() => 0),
        {},
      )
      expect([engine.size, pictureOf(engine)]).toEqual([2, pictureOf(next.engine)])
    },
  )
})
