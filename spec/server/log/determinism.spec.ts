import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CommandError } from '../../../src/core/protocol/parse-command.js'
import { concatBytes, sameBytes, toHex, utf8 } from '../../../src/core/util/bytes.js'
import { Engine } from '../../../src/server/engine/engine.js'
import type { LogEntry } from '../../../src/server/engine/entry.js'
import { decodeEntry, encodeEntry } from '../../../src/server/log/entry-codec.js'
import { encodeState, StateDecoder } from '../../../src/server/log/state-codec.js'
import { anyEntry } from '../../support/any-entry.js'
import { effort } from '../../support/effort.js'

function apply(engine: Engine<string>, entry: LogEntry): string {
  return JSON.stringify(Array.from(engine.apply(entry)), (_, value) =>
    value instanceof Uint8Array ? Array.from(value) : value instanceof CommandError ? value.code : value,
  )
}

const bytesOf = (engine: Engine<string>): Uint8Array => concatBytes([...encodeState(engine.capture())])

function copyOf(engine: Engine<string>): Engine<string> {
  const restored = new Engine<string>()
  const decoder = new StateDecoder(restored.stateLoader)
  for (const block of encodeState(engine.capture())) decoder.addBlock(block)
  expect(decoder.isComplete).toBe(true)
  return restored
}

describe('two engines given the same entries', { timeout: 120_000 }, () => {
  it('engines give equal results and states, even if one is read between entries', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyEntry, fc.boolean()), { maxLength: 30 }), steps => {
        let [one, other] = [new Engine<string>({ maxKeys: 1 }), new Engine<string>({ maxBytes: 1 })]
        for (const [entry, isCopied] of steps) {
          expect(apply(other, decodeEntry(encodeEntry(entry)))).toBe(apply(one, entry))
          if (isCopied) other = copyOf(other)
          expect(sameBytes(bytesOf(other), bytesOf(one))).toBe(true)
        }
        one = copyOf(one)
        expect([one.size, one.bytes, one.nextDeadline]).toEqual([other.size, other.bytes, other.nextDeadline])
      }),
      { numRuns: effort(300, 5) },
    )
  })

  it('a captured state does not change when its engine applies further entries', () => {
    fc.assert(
      fc.property(fc.array(anyEntry, { maxLength: 10 }), fc.array(anyEntry, { maxLength: 10 }), (before, after) => {
        const engine = new Engine<string>()
        for (const entry of before) apply(engine, entry)
        const [state, bytes] = [engine.capture(), bytesOf(engine)]
        for (const entry of after) apply(engine, entry)
        expect(concatBytes([...encodeState(state)])).toEqual(bytes)
      }),
      { numRuns: effort(100, 5) },
    )
  })
})

describe('an encoded entry', { timeout: 120_000 }, () => {
  it('decoding an encoded entry restores it', () => {
    fc.assert(
      fc.property(anyEntry, entry => {
        const bytes = encodeEntry(entry, 12)
        const read = decodeEntry(bytes.subarray(12))
        expect(toHex(encodeEntry(read, 12))).toBe(toHex(bytes))
        expect(read.commands.length).toBe(entry.commands.length)
      }),
    )
  })

  it('a truncated entry is rejected', () => {
    fc.assert(
      fc.property(anyEntry, fc.double({ min: 0, max: 0.999, noNaN: true }), (entry, part) => {
        const bytes = encodeEntry(entry)
        expect(() => decodeEntry(bytes.subarray(0, Math.floor(part * bytes.length)))).toThrow(
          expect.objectContaining({ code: 'damaged' }),
        )
      }),
    )
  })
})

describe('an encoded state', () => {
  it('records are restored while the blocks are read, so that a state is never in memory twice', () => {
    const engine = new Engine<string>()
    const items = Array.from({ length: 1_000 }, (_, i) => ({
      key: utf8(String(i)),
      value: new Uint8Array(1_000),
      version: undefined,
      fencingToken: undefined,
      expiresAt: undefined,
    }))
    apply(engine, { time: 1, ...engine.limits, commands: [{ type: 'load', items, replace: false }] })
    let [keys, maxKeys] = [0, 0]
    const decoder = new StateDecoder({ restoreRecord: () => keys++, finishRestore: () => undefined })
    for (const block of encodeState(engine.capture())) {
      const before = keys
      decoder.addBlock(block)
      expect(decoder.keyCount).toBe(keys)
      maxKeys = Math.max(maxKeys, keys - before)
    }
    expect(keys).toBe(1_000)
    expect(maxKeys).toBeLessThan(200)
  })

  it('a state with missing or reordered blocks is rejected', () => {
    const engine = new Engine<string>()
    const [key, value] = [utf8('a'), utf8('1')]
    const items = [{ key, value, version: undefined, fencingToken: undefined, expiresAt: undefined }]
    apply(engine, { time: 1, ...engine.limits, commands: [{ type: 'load', items, replace: false }] })
    const blocks = [...encodeState(engine.capture())]
    const read = (some: readonly Uint8Array[]) => {
      const decoder = new StateDecoder(new Engine<string>().stateLoader)
      for (const block of some) decoder.addBlock(block)
      return decoder.isComplete
    }
    expect(read(blocks)).toBe(true)
    expect(read(blocks.slice(0, -1))).toBe(false)
    expect(() => read(blocks.slice(1))).toThrow(/out of order/)
    expect(() => read([...blocks, ...blocks])).toThrow(/out of order/)
    expect(() => read(blocks.filter((_, at) => at !== blocks.length - 2))).toThrow(/number of keys differs/)
    expect(() => read([...blocks.slice(0, -1), new Uint8Array([99])])).toThrow(/unknown kind/)
  })
})
