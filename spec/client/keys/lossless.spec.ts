import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { json } from '../../../src/client/keys/json.js'
import { fromUtf8, utf8 } from '../../../src/core/util/bytes.js'

const codec = json<unknown>()

describe('json, when it writes,', () => {
  it.each<[string, unknown, string]>([
    ['NaN', Number.NaN, 'NaN'],
    ['Infinity in an object', { a: { b: Number.POSITIVE_INFINITY } }, 'Infinity (at a.b)'],
    ['NaN in an array', { list: [1, [2, Number.NaN]] }, 'NaN (at list[1][1])'],
    ['a Map', new Map([['a', 1]]), 'Map'],
    ['a Set in an object', { tags: new Set(['a']) }, 'Set (at tags)'],
    ['a bigint', { id: 10n }, 'bigint (at id)'],
    ['undefined in an array', [1, undefined], 'undefined (at [1])'],
    // biome-ignore lint/suspicious/noSparseArray: this is what it is about
    ['a hole in an array', [1, , 3], 'undefined (at [1])'],
    ['a function', { render: () => 1 }, 'function (at render)'],
    ['a symbol', [Symbol('s')], 'symbol (at [0])'],
    ['bytes', { raw: new Uint8Array(2) }, 'Uint8Array (at raw)'],
    ['an ArrayBuffer', new ArrayBuffer(2), 'ArrayBuffer'],
    ['an error', { cause: new RangeError('x') }, 'RangeError (at cause)'],
    ['a promise', { value: Promise.resolve(1) }, 'Promise (at value)'],
    ['a regular expression', /x/, 'RegExp'],
    ['an invalid Date', { at: new Date(Number.NaN) }, 'invalid Date (at at)'],
    ['NaN in a box', [Object(Number.NaN)], 'NaN (at [0])'],
    ['a `toJSON` that returns NaN', { a: { toJSON: () => Number.NaN } }, 'NaN (at a)'],
    ['a `toJSON` that returns NaN inside', { toJSON: () => ({ b: [Number.NaN] }) }, 'NaN (at b[0])'],
    ['a `toJSON` that returns nothing in an array', [{ toJSON: () => undefined }], 'undefined (at [0])'],
    ['a property that is a symbol', { a: { [Symbol('s')]: 1 } }, 'property that is a symbol (at a[Symbol(s)])'],
    ['an array with a property', { list: Object.assign([1], { extra: 2 }) }, 'array with a property (at list.extra)'],
  ])('refuses %s, and says where it is', (_, value, words) => {
    expect(() => codec.encode(value)).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringContaining(`JSON has no ${words}:`) }),
    )
  })

  it('leaves out properties that are undefined, as optional ones are', () => {
    expect(fromUtf8(codec.encode({ a: 1, b: undefined }))).toBe('{"a":1}')
  })

  it('leaves it to a value with `toJSON` what it becomes', () => {
    expect(fromUtf8(codec.encode({ at: new Date(0) }))).toBe('{"at":"1970-01-01T00:00:00.000Z"}')
  })

  it('leaves out what `toJSON` makes nothing of, gives it its name, and does not ask twice', () => {
    const made = { toJSON: () => ({ toJSON: 1 }) }
    const named = { toJSON: (name: string) => name }
    expect(fromUtf8(codec.encode({ gone: { toJSON: () => undefined }, made, list: [named], named }))).toBe(
      '{"made":{"toJSON":1},"list":["0"],"named":"named"}',
    )
  })

  it('writes -0 as 0, which is equal', () => {
    expect(fromUtf8(codec.encode([-0]))).toBe('[0]')
  })

  it('says of a circle what JSON says of it', () => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    expect(() => codec.encode(circle)).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringMatching(/circular/i) }),
    )
  })

  it('takes everything that JSON has, and gives it back', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(codec.decode(codec.encode(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})

describe('json, when it reads,', () => {
  it.each(['1e400', '{"a":[-1E+309]}', `1${'0'.repeat(310)}`, `1${'0'.repeat(250)}e99`, '1e0000000400'])(
    'refuses a number that would become Infinity: %.20s',
    stored => {
      expect(() => codec.decode(utf8(stored))).toThrow(expect.objectContaining({ code: 'payload' }))
    },
  )

  it.each(['1e308', '"1e400"', `"${'9'.repeat(400)}"`, `0.${'1'.repeat(300)}`, '1e-400'])('takes %.20s', stored => {
    expect(codec.decode(utf8(stored))).toEqual(JSON.parse(stored))
  })
})
