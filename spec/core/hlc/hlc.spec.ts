import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { HlcError } from '../../../src/core/util/errors.js'
import { anyCodePoint } from '../../support/any-code-point.js'
import { effort } from '../../support/effort.js'

const LARGEST = Number.MAX_SAFE_INTEGER
const MALFORMED = expect.objectContaining({ name: 'HlcError', code: 'hlc', problem: 'malformed' })

// Few distinct values in addition to the whole range make equal parts likely.
const anyNumber = fc.oneof(fc.nat(3), fc.maxSafeNat(), fc.constantFrom(LARGEST, LARGEST - 1))
const anyNodeId = fc.oneof(
  fc.constantFrom('a', 'b', 'B', 'aa', 'StateStore', '\uffff', '\u{10000}', '7', '07'),
  fc.string({ unit: anyCodePoint, minLength: 1 }).filter(text => !text.includes(':')),
)
const anyHlc = fc.tuple(anyNumber, anyNumber, anyNodeId).map(parts => new Hlc(...parts))

const sign = (order: number): string => (order < 0 ? 'older' : order > 0 ? 'newer' : 'equal')

describe('Hlc', () => {
  it('has a wall clock, a counter and a node id', () => {
    const { wallClock, counter, nodeId } = new Hlc(1_696_374_425_000, 1, 'StateStore')
    expect({ wallClock, counter, nodeId }).toEqual({ wallClock: 1_696_374_425_000, counter: 1, nodeId: 'StateStore' })
  })

  it.each([
    ['a negative wall clock', -1, 0, 'a'],
    ['a fractional wall clock', 0.5, 0, 'a'],
    ['a wall clock that is not a number', Number.NaN, 0, 'a'],
    ['an infinite wall clock', Number.POSITIVE_INFINITY, 0, 'a'],
    ['an unsafe wall clock', LARGEST + 1, 0, 'a'],
    ['a negative counter', 0, -1, 'a'],
    ['a fractional counter', 0, 1.5, 'a'],
    ['an unsafe counter', 0, LARGEST + 1, 'a'],
    ['an empty node id', 0, 0, ''],
    ['a node id with a colon', 0, 0, 'a:b'],
  ])('rejects %s', (_, wallClock, counter, nodeId) => {
    expect(() => new Hlc(wallClock, counter, nodeId)).toThrow(MALFORMED)
  })

  it('accepts the largest safe integers', () => {
    expect(String(new Hlc(LARGEST, LARGEST, 'a'))).toBe('9007199254740991:9007199254740991:a')
  })
})

describe('Hlc', () => {
  it('prints the wire form on the console and in JSON, both as a value and inside an object', () => {
    const version = new Hlc(1696374425000, 1, 'StateStore')
    expect(inspect({ version })).toBe('{ version: 1696374425000:1:StateStore }')
    expect(`${version} ${JSON.stringify({ version })}`).toBe(
      '1696374425000:1:StateStore {"version":"1696374425000:1:StateStore"}',
    )
  })
})

describe('Hlc.toString', () => {
  it('returns the wire form', () => {
    expect(String(new Hlc(1_696_374_425_000, 1, 'StateStore'))).toBe('1696374425000:1:StateStore')
  })

  it('is used when a reading is serialized to JSON', () => {
    expect(JSON.stringify({ version: new Hlc(7, 0, 'a') })).toBe('{"version":"7:0:a"}')
  })
})

describe('Hlc.parse', () => {
  it('restores the reading that `toString` printed', () => {
    fc.assert(
      fc.property(anyHlc, hlc => {
        expect(Hlc.parse(String(hlc))).toEqual(hlc)
      }),
    )
  })

  it('parses zero-padded numbers as the same reading', () => {
    const zeros = fc.nat(20).map(count => '0'.repeat(count))
    fc.assert(
      fc.property(anyHlc, zeros, zeros, (hlc, a, b) => {
        expect(Hlc.parse(`${a}${hlc.wallClock}:${b}${hlc.counter}:${hlc.nodeId}`)).toEqual(hlc)
      }),
    )
  })

  it('parses the zero-padded numbers that the official clients send', () => {
    expect(Hlc.parse('001696374425000:00007:client-1')).toEqual(new Hlc(1_696_374_425_000, 7, 'client-1'))
  })

  it('keeps the node id unchanged, including zeros and spaces', () => {
    expect(Hlc.parse('1:2: 007 ').nodeId).toBe(' 007 ')
  })

  it.each([
    [''],
    [':'],
    ['::'],
    ['1:2'],
    ['1:2:'],
    [':2:a'],
    ['1::a'],
    ['1:2:a:'],
    ['1:2:a:b'],
    ['1:2:3:4'],
    ['+1:2:a'],
    ['-1:2:a'],
    ['1:+2:a'],
    ['1:-2:a'],
    [' 1:2:a'],
    ['1 :2:a'],
    ['1: 2:a'],
    ['1:2 :a'],
    ['\n1:2:a'],
    ['1.0:2:a'],
    ['1e3:2:a'],
    ['0x1:2:a'],
    ['1_000:2:a'],
    ['a:2:b'],
    ['1:b:a'],
    ['\u0661:2:a'],
    ['9007199254740992:0:a'],
    ['0:9007199254740992:a'],
    ['0:18446744073709551615:a'],
    [`${'9'.repeat(400)}:0:a`],
  ])('rejects %j', text => {
    expect(() => Hlc.parse(text)).toThrow(MALFORMED)
  })

  it('throws only HlcError, and every text that it accepts equals the printed form of the result', () => {
    const wireLike = fc.string({ unit: fc.constantFrom('0', '1', '9', ':', 'a', '-', ' ', '\n'), maxLength: 12 })
    fc.assert(
      fc.property(wireLike, text => {
        let hlc: Hlc
        try {
          hlc = Hlc.parse(text)
        } catch (error) {
          expect(error).toBeInstanceOf(HlcError)
          return
        }
        expect(String(hlc)).toBe(text.replace(/^0+(?=\d)/, '').replace(/:0+(?=\d+:)/, ':'))
      }),
      { numRuns: effort(2_000, 200) },
    )
  })
})

describe('Hlc.compareTo', () => {
  it.each([
    ['1:0:a', 'older', '2:0:a'],
    ['1:9:z', 'older', '2:0:a'],
    ['1:1:z', 'older', '1:2:a'],
    ['1:1:a', 'older', '1:1:b'],
    ['1:1:B', 'older', '1:1:a'],
    ['1:1:a', 'older', '1:1:aa'],
    ['1:1:10', 'older', '1:1:9'],
    ['1:1:\u{10000}', 'older', '1:1:\uffff'],
    ['9:0:a', 'older', '10:0:a'],
    ['1:9:a', 'older', '1:10:a'],
    ['0:0:a', 'older', `${LARGEST}:0:a`],
    [`${LARGEST - 1}:0:a`, 'older', `${LARGEST}:0:a`],
    ['1:1:a', 'equal', '1:1:a'],
    ['001:01:a', 'equal', '1:1:a'],
  ])('reports %j as %s compared with %j', (a, order, b) => {
    expect(sign(Hlc.parse(a).compareTo(Hlc.parse(b)))).toBe(order)
  })

  it('is antisymmetric and connex: exactly one of two different readings is older', () => {
    fc.assert(
      fc.property(anyHlc, anyHlc, (a, b) => {
        const order = sign(a.compareTo(b))
        const mirrored = { older: 'newer', newer: 'older', equal: 'equal' }[order]
        expect(sign(b.compareTo(a))).toBe(mirrored)
        expect(order === 'equal').toBe(String(a) === String(b))
      }),
      { numRuns: effort(2_000, 200) },
    )
  })

  it('is reflexive', () => {
    fc.assert(
      fc.property(anyHlc, a => {
        expect(a.compareTo(new Hlc(a.wallClock, a.counter, a.nodeId))).toBe(0)
      }),
    )
  })

  it('is transitive', () => {
    fc.assert(
      fc.property(anyHlc, anyHlc, anyHlc, (a, b, c) => {
        const [low, middle, high] = [a, b, c].sort((x, y) => x.compareTo(y))
        expect(low && middle && low.compareTo(middle)).toBeLessThanOrEqual(0)
        expect(middle && high && middle.compareTo(high)).toBeLessThanOrEqual(0)
        expect(low && high && low.compareTo(high)).toBeLessThanOrEqual(0)
      }),
      { numRuns: effort(2_000, 200) },
    )
  })
})
