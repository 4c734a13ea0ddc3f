import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyPatch, difference, isEmpty, isSame, mergedFields } from '../../../src/client/shadow/fields.js'

type Document = Partial<Record<'a' | 'b' | 'c', number>>

const document = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: 3 }), {
  noNullPrototype: true,
})

describe('difference', () => {
  it('contains the desired values that differ, and no other fields', () => {
    expect(difference<Document>({ a: 1, b: 2 }, { a: 1, b: 3, c: 4 })).toEqual({ b: 2 })
    expect(difference<Document>({ a: 1 }, undefined)).toEqual({ a: 1 })
    expect(difference<Document>(undefined, { a: 1 })).toEqual({})
  })

  it('may contain fields named like Object members', () => {
    const hostile: object = JSON.parse('{"__proto__":{"x":1}}')
    const delta = difference<object>(hostile, {})
    expect(JSON.stringify(delta)).toBe(JSON.stringify(hostile))
    expect(Reflect.get(delta, 'x')).toBeUndefined()
  })

  it('values are compared deeply, regardless of the order of fields', () => {
    expect(isSame({ x: [1, { y: 2, z: 3 }] }, { x: [1, { z: 3, y: 2 }] })).toBe(true)
    expect([isSame([1], { 0: 1 }), isSame([1, 2], [2, 1]), isSame(null, {})]).toEqual([false, false, false])
  })

  it('no difference is left once the difference is applied', () =>
    fc.assert(
      fc.property(document, document, (wanted, actual) => {
        const delta = difference(wanted, actual)
        return isEmpty(difference(wanted, applyPatch(actual, delta)))
      }),
    ))
})

describe('mergedFields', () => {
  it('concurrent changes to different fields are both kept', () =>
    fc.assert(
      fc.property(document, fc.integer({ min: 4, max: 9 }), fc.integer({ min: 4, max: 9 }), (base, mine, theirs) => {
        const [one, other] = [applyPatch(base, { a: mine }), applyPatch(base, { b: theirs })]
        expect(mergedFields(one, other, base)).toEqual({ ...base, a: mine, b: theirs })
      }),
    ))

  it('removed fields stay removed, and no field of a deleted document returns', () => {
    expect(mergedFields<Document>({ b: 2 }, { a: 1, b: 2, c: 3 }, { a: 1, b: 2 })).toEqual({ b: 2, c: 3 })
    expect(mergedFields<Document>({ a: 1, b: 5 }, undefined, { a: 1, b: 2 })).toEqual({ b: 5 })
    expect(mergedFields<Document>({ a: 1 }, { c: 3 }, undefined)).toEqual({ a: 1, c: 3 })
  })

  it('fields named like Object members are kept', () => {
    const hostile: object = JSON.parse('{"__proto__":{"x":1},"constructor":2}')
    expect(JSON.stringify(mergedFields<object>(hostile, undefined, undefined))).toBe(JSON.stringify(hostile))
    expect(Object.hasOwn({}, 'x')).toBe(false)
  })
})
