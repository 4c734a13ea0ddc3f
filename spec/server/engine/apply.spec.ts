import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { type ApplyContext, apply, type RecordCommand, type StoredRecord } from '../../../src/server/engine/apply.js'
import { effort } from '../../support/effort.js'
import { bytes, textOf } from '../../support/words.js'

const NOW = 1_000_000

const text = fc.constantFrom('', 'a', 'b', '\x00\xff')
const clock = fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 2 }), fc.constantFrom('A', 'B'))
const hlc = clock.map(([wall, counter, node]) => new Hlc(NOW + wall, counter, node))

const record: fc.Arbitrary<StoredRecord> = fc.record({
  value: text.map(bytes),
  version: hlc,
  fencingToken: fc.option(hlc, { nil: undefined }),
  expiresAt: fc.option(fc.integer({ min: NOW + 1, max: NOW + 100 }), { nil: undefined }),
})

const condition = fc.oneof(
  fc.constant(undefined),
  fc.constant({ type: 'NX' } as const),
  fc.option(text.map(bytes), { nil: undefined }).map(comparand => ({ type: 'NEX', comparand }) as const),
)

const key = bytes('key')
const px = fc.option(fc.integer({ min: 1, max: 1_000 }), { nil: undefined })

const recordCommand: fc.Arbitrary<RecordCommand> = fc.oneof(
  fc.record({ verb: fc.constant('SET'), key: fc.constant(key), value: text.map(bytes), condition, px }),
  fc.record({ verb: fc.constantFrom('GET', 'DEL'), key: fc.constant(key) }),
  fc.record({ verb: fc.constant('VDEL'), key: fc.constant(key), value: text.map(bytes) }),
)

const clocks: fc.Arbitrary<ApplyContext> = fc.record({
  now: fc.constant(NOW),
  next: fc.constant(new Hlc(NOW + 10, 7, 'StateStore')),
  fencingToken: fc.option(hlc, { nil: undefined }),
})

const anyInput = fc.tuple(fc.option(record, { nil: undefined }), recordCommand, clocks)

/** Serializes all arguments as text, to detect mutations. */
const serialize = (...values: unknown[]): string =>
  JSON.stringify(values, (_, value) => (value instanceof Uint8Array ? textOf(value) : value))

const deepFreeze = <T extends object>(value: T): T => {
  for (const part of Object.values(value)) if (part instanceof Hlc) Object.freeze(part)
  return Object.freeze(value)
}

describe('apply', () => {
  it('does not mutate its arguments', () => {
    fc.assert(
      fc.property(anyInput, ([stored, command, at]) => {
        const before = serialize(stored, command, at)
        apply(stored && deepFreeze(stored), deepFreeze(command), deepFreeze(at))
        expect(serialize(stored, command, at)).toBe(before)
      }),
      { numRuns: effort(500, 100) },
    )
  })

  it('is deterministic', () => {
    fc.assert(
      fc.property(anyInput, ([stored, command, at]) => {
        expect(apply(stored, command, at)).toEqual(apply(stored, command, at))
      }),
      { numRuns: effort(500, 100) },
    )
  })

  it('a change and the record that it writes get the next version', () => {
    fc.assert(
      fc.property(anyInput, ([stored, command, at]) => {
        const { record: after, version, change } = apply(stored, command, at)
        if (change === undefined) return
        expect(version).toBe(at.next)
        if (change.op === 'set') expect(after?.version).toBe(at.next)
        else expect(after).toBeUndefined()
      }),
      { numRuns: effort(500, 100) },
    )
  })

  it('a key never expires later than a date can be', () => {
    const write: RecordCommand = { verb: 'SET', key, value: key, condition: undefined, px: Number.MAX_SAFE_INTEGER }
    const context = { now: NOW, next: new Hlc(NOW, 0, 'StateStore'), fencingToken: undefined }
    const { expiresAt = 0 } = apply(undefined, write, context).record ?? {}
    expect(new Date(expiresAt).toISOString()).toBe('+275760-09-13T00:00:00.000Z')
  })
})
