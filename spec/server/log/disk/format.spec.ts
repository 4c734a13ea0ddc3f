import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../../src/core/util/bytes.js'
import type { LogEntry } from '../../../../src/server/engine/entry.js'
import {
  CURRENT_FORMAT,
  createFileHead,
  FILE_HEAD_BYTES,
  type FileKind,
  FRAME_HEADER_BYTES,
  NO_SALT,
  parseFileName,
  readFileHead,
  readFrameHeader,
  sealFrame,
} from '../../../../src/server/log/disk/format.js'
import { recover } from '../../../../src/server/log/disk/recovery.js'
import { anyEntry } from '../../../support/any-entry.js'
import { effort } from '../../../support/effort.js'
import { MemoryDisk } from './memory-disk.js'
import { pictureOf, Run } from './run.js'

const RUNS = effort(200, 30)

/** Creates a file's header as another version would write it. */
function headOf(format: number, kind: FileKind = 'log', position = 7): Uint8Array {
  const frame = createFileHead(kind, position).head
  new DataView(frame.buffer).setUint32(FRAME_HEADER_BYTES, format)
  return sealFrame(frame, position, NO_SALT)
}

/** Converts an entry to format 1, which has no quotas per owner. */
const ofOld = (entry: LogEntry): LogEntry => ({
  ...entry,
  commands: entry.commands.map(command => (command.type === 'write' ? { ...command, owner: undefined } : command)),
})

/** Converts a directory to format 1, whose frames have no salt. */
function aged(disk: MemoryDisk): MemoryDisk {
  let old = disk
  for (const [name, bytes] of disk.contents) {
    const file = parseFileName(name)
    if (file === undefined) continue
    const { salt } = readFileHead(name, bytes.slice(0, FILE_HEAD_BYTES), file.kind, file.position)
    const frames = bytes.slice(FILE_HEAD_BYTES)
    for (let at = 0; ; ) {
      const { length = 0, number = 0 } = readFrameHeader(frames, at, salt) ?? {}
      if (length === 0) break
      const end = at + FRAME_HEADER_BYTES + length
      sealFrame(frames.subarray(at, end), number, NO_SALT)
      at = end
    }
    old = old.with(name, concatBytes([headOf(1, file.kind, file.position), frames]))
  }
  return old
}

const stateOf = async (disk: MemoryDisk): Promise<string> => pictureOf((await recover<never>(disk, {})).engine)

const formatsOf = (disk: MemoryDisk): ReadonlySet<number> => {
  const formats = Array.from(disk.contents).flatMap(([name, bytes]) => {
    const file = parseFileName(name)
    return file?.kind === 'log'
      ? [readFileHead(name, bytes.slice(0, FILE_HEAD_BYTES), 'log', file.position).format]
      : []
  })
  return new Set(formats)
}

describe('a file on the disk', () => {
  it('a file name contains a position within the range of safe integers', () => {
    expect(parseFileName('log-0000000000000007')).toEqual({ kind: 'log', position: 7 })
    expect(parseFileName('log-9999999999999999')).toBeUndefined()
  })

  it('the current format and older formats are supported', () => {
    for (let format = 1; format <= CURRENT_FORMAT; format++)
      expect(() => readFileHead('log-7', headOf(format), 'log', 7)).not.toThrow()
  })

  it.each([0, CURRENT_FORMAT + 1])('format %i is rejected', format => {
    expect(() => readFileHead('log-7', headOf(format), 'log', 7)).toThrow(
      `has format ${format}, but this version supports 1 to`,
    )
  })
})

describe('a directory of format 1', () => {
  it('keeps its content, accepts new entries, and is then converted to the current format', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEntry.map(ofOld)),
        fc.array(anyEntry),
        fc.constantFrom(400, 1e6),
        async (before, after, worth) => {
          const disk = new MemoryDisk()
          const old = await Run.open(disk, worth)
          await old.append(before)
          await old.close()
          const left = aged(disk)
          expect(formatsOf(left)).toEqual(new Set([1]))
          expect(await stateOf(left)).toBe(old.pictures.at(-1))
          const run = await Run.open(left, worth)
          // An older version must reject the log, because it would misread later entries.
          expect(formatsOf(left)).toContain(CURRENT_FORMAT)
          await run.append(after)
          await run.close()
          expect(await stateOf(left)).toBe(run.pictures.at(-1))
        },
      ),
      { numRuns: RUNS },
    )
  })
})
