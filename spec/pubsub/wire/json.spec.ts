import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkedJson, JsonText, shallowMembers } from '../../../src/pubsub/wire/json.js'

const isTaken = (read: () => unknown): boolean => {
  try {
    read()
    return true
  } catch {
    return false
  }
}

/** JSON text, and text in which a part of the JSON is replaced. */
const anyText = fc.oneof(
  fc.json({ maxDepth: 4 }),
  fc
    .tuple(
      fc.json({ maxDepth: 3 }),
      fc.nat(),
      fc.nat(3),
      fc.string({ maxLength: 3, unit: fc.constantFrom(...'{}[]",:\\u0a1-.+eE \n\t\u0001tfn') }),
    )
    .map(
      ([text, at, cut, piece]) =>
        text.slice(0, at % (text.length + 1)) + piece + text.slice((at % (text.length + 1)) + cut),
    ),
  fc.string({ maxLength: 12, unit: fc.constantFrom(...'{}[]",:\\u0a1-.+eE \n\ttrufalsn') }),
)

describe('validating JSON text', () => {
  it('checkedJson accepts exactly what JSON.parse accepts', () => {
    fc.assert(
      fc.property(anyText, text => {
        expect(
          isTaken(() => checkedJson(text)),
          JSON.stringify(text),
        ).toBe(isTaken(() => JSON.parse(text)))
      }),
      { numRuns: 5_000 },
    )
  })

  it.each([
    ['long strings with escapes', `"${'x'.repeat(40)}\\n${'y'.repeat(40)}\\u0041${'z'.repeat(100)}"`, true],
    ['a control character far inside a string', `"${'x'.repeat(100)}\n"`, false],
    ['a string without an end quote', `"${'x'.repeat(100)}`, false],
    ['a string that ends with a backslash', `"${'x'.repeat(100)}\\`, false],
    ['half an escape sequence', '"\\u12"', false],
    ['512 levels', '['.repeat(512) + ']'.repeat(512), true],
    ['513 levels', '['.repeat(513) + ']'.repeat(513), false],
    ['a number with a leading zero', '[01]', false],
    ['a byte order mark', '\ufeff1', false],
  ])('checkedJson accepts or rejects %s as JSON.parse does', (_, text, taken) => {
    expect(isTaken(() => checkedJson(text))).toBe(taken)
  })
})

describe('shallowMembers', () => {
  const names = new Set(['a', 'b'])

  it('returns the wanted members, the last one of a repeated name, and containers as text', () => {
    const text = '{ "a" : 1 , "b":[ 1,{"a":2} ], "c":{}, "\\u0061":"x", "__proto__":{"b":1} }'
    expect(shallowMembers(text, names)).toEqual({ a: 'x', b: new JsonText('[ 1,{"a":2} ]') })
  })

  it('returns values equal to those of JSON.parse', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.jsonValue({ maxDepth: 3 })), value => {
        const { c: _, ...expected } = value
        const members = Object.entries(shallowMembers(JSON.stringify(value), names))
        const parsed = members.map(([name, member]) => [name, member instanceof JsonText ? member.value : member])
        expect(Object.fromEntries(parsed)).toEqual(JSON.parse(JSON.stringify(expected)))
      }),
    )
  })

  it.each(['', '[]', '1', '{}x', '{"a":1,}', '{"a"}'])('throws for %j, which is not an object', text => {
    expect(() => shallowMembers(text, names)).toThrow(SyntaxError)
  })
})
