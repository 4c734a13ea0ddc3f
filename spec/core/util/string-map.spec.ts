import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StringMap } from '../../../src/core/util/string-map.js'

const PIECE = 16_383
const long = (end: string, length = 30_000): string => 'x'.repeat(length - end.length) + end

describe('StringMap', () => {
  it('behaves like a map for keys of any length near the piece size', () => {
    const length = fc.tuple(fc.nat(3), fc.integer({ min: -2, max: 2 })).map(([n, by]) => Math.max(0, n * PIECE + by))
    const key = fc.tuple(length, fc.constantFrom('', 'a', 'bb')).map(([n, end]) => 'x'.repeat(n) + end)
    const step = fc.tuple(fc.constantFrom('set', 'set', 'delete'), key)
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        const map = new StringMap<number>()
        const model = new Map<string, number>()
        for (const [n, [what, name]] of steps.entries()) {
          if (what === 'delete') expect(map.delete(name)).toBe(model.delete(name))
          else model.set(name, map.set(name, n).get(name) ?? expect.fail('It is gone'))
          expect([map.size, map.get(name), map.has(name)]).toEqual([model.size, model.get(name), model.has(name)])
        }
        const byKey = ([a]: [string, number], [b]: [string, number]): number => (a < b ? -1 : 1)
        expect([...map].sort(byKey)).toEqual([...model].sort(byKey))
        expect([...map.keys()].sort()).toEqual([...model.keys()].sort())
        for (const [name, value] of model) expect(map.get(name)).toBe(value)
      }),
    )
  })

  it('distinguishes long keys of which one is a prefix of the other', () => {
    const map = new StringMap<number>()
    const [one, two] = ['x'.repeat(PIECE), 'x'.repeat(2 * PIECE)]
    map.set(two, 2)
    expect([map.get(one), map.has(one), map.delete(one), map.size]).toEqual([undefined, false, false, 1])
    map.set(one, 1)
    expect([map.delete(two), map.get(one), map.get(two), map.size]).toEqual([true, 1, undefined, 1])
  })

  it('iterates short keys in order of insertion, followed by long keys', () => {
    const map = new StringMap<number>().set(long('a'), 1).set('c', 2).set('b', 3).set('c', 4)
    expect([...map]).toEqual([
      ['c', 4],
      ['b', 3],
      [long('a'), 1],
    ])
  })

  it('is empty after it is cleared', () => {
    const map = new StringMap<number>().set(long('a'), 1).set('c', 2)
    map.clear()
    expect([map.size, [...map], map.has('c'), map.has(long('a'))]).toEqual([0, [], false, false])
  })

  it('holds a key that is thousands of pieces long', { tags: 'slow' }, () => {
    const endless = 'x'.repeat(5_000 * PIECE)
    const map = new StringMap<number>().set(endless, 1)
    expect(map.get(endless)).toBe(1)
    expect([...map.keys()].map(({ length }) => length)).toEqual([endless.length])
    expect([map.delete(endless), map.size, [...map]]).toEqual([true, 0, []])
  })
})
