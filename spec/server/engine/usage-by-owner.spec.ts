import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toBinaryString } from '../../../src/core/util/bytes.js'
import { Engine } from '../../../src/server/engine/engine.js'
import { recordBytes } from '../../../src/server/engine/records.js'
import { encodeState, StateDecoder } from '../../../src/server/log/state-codec.js'
import { anyEntry } from '../../support/any-entry.js'

/** Counts all records, as a reference. */
function recount(engine: Engine<never>): Record<string, { keys: number; bytes: number }> {
  const usage: Record<string, { keys: number; bytes: number }> = {}
  for (const [key, record] of engine.records()) {
    if (record.owner === undefined) continue
    const { keys, bytes } = usage[record.owner] ?? { keys: 0, bytes: 0 }
    usage[record.owner] = { keys: keys + 1, bytes: bytes + recordBytes(toBinaryString(key), record) }
  }
  return usage
}

describe('Usage per owner', () => {
  it('usage equals a full count after any entries and after restoring the state', () => {
    fc.assert(
      fc.property(fc.array(anyEntry, { maxLength: 12 }), entries => {
        const engine = new Engine<never>()
        for (const entry of entries) engine.replay(entry)
        expect(Object.fromEntries(engine.usage.entries())).toEqual(recount(engine))
        const restored = new Engine<never>()
        const decoder = new StateDecoder(restored.stateLoader)
        for (const block of encodeState(engine.capture())) decoder.addBlock(block)
        expect(Object.fromEntries(restored.usage.entries())).toEqual(recount(engine))
      }),
    )
  })
})
