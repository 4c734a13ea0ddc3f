import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { json } from '../../../src/client/keys/json.js'
import { fromUtf8, utf8 } from '../../../src/core/util/bytes.js'

const codec = json<unknown>()

describe('encoding with json', () => {
  it.each<[string, unknown, string]>([
    ['NaN', Number.NaN, 'NaN'],
    ['Infinity in an object', { a: { b: Number.POSITIVE_INFINITY } }, 'Infinity (at a.b)'],
    ['NaN in an array', { list: [1, [2, Number.NaN]] }, 'NaN (at list[1][1])'],
    ['a Map', new Map([['a', 1]]), 'Map'],
    ['a Set in an object', { tags: new Set(['a']) }, 'Set (at tags)'],
    ['a bigint', { id: 10n }, 'bigint (at id)'],
    ['undefined in an array', [1, undefined], 'undefined (at [1])'],
    // biome-ignore lint/suspicious/noSparseArray: the hole is under test
    ['a hole in an array', [1, , 3], 'undefined (at [1])'],
    ['a function', { render: () => 1 }, 'function (at render)'],
    ['a symbol', [Symbol('s')], 'symbol (at [0])'],
    ['bytes', { raw: new Uint8Array(2) }, 'Uint8Array (at raw)'],
    ['an ArrayBuffer', new ArrayBuffer(2), 'ArrayBuffer'],
    ['an error', { cause: new RangeError('x') }, 'RangeError (at cause)'],
    ['a promise', { value: Promise.resolve(1) }, 'Promise (at value)'],
    ['a Promise with a symbol', Object.assign(Promise.resolve(1), { [Symbol('id')]: 1 }), 'Promise'],
    ['a regular expression', /x/, 'RegExp'],
    ['an invalid Date', { at: new Date(Number.NaN) }, 'invalid Date (at at)'],
    ['NaN in a Number object', [Object(Number.NaN)], 'NaN (at [0])'],
    ['a `toJSON` that returns NaN', { a: { toJSON: () => Number.NaN } }, 'NaN (at a)'],
    ['a `toJSON` that returns a value containing NaN', { toJSON: () => ({ b: [Number.NaN] }) }, 'NaN (at b[0])'],
    ['a `toJSON` that returns undefined in an array', [{ toJSON: () => undefined }], 'undefined (at [0])'],
    ['a property that is a symbol', { a: { [Symbol('s')]: 1 } }, 'property that is a symbol (at a[Symbol(s)])'],
    ['an array with a property', { list: Object.assign([1], { extra: 2 }) }, 'array with a property (at list.extra)'],
  ])('encoding %s throws and names the path', (_, value, words) => {
    expect(() => codec.encode(value)).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringContaining(`JSON has no ${words}:`) }),
    )
  })

  it('undefined properties are omitted', () => {
    expect(fromUtf8(codec.encode({ a: 1, b: undefined }))).toBe('{"a":1}')
  })

  it('the result of `toJSON` is encoded', () => {
    expect(fromUtf8(codec.encode({ at: new Date(0) }))).toBe('{"at":"1970-01-01T00:00:00.000Z"}')
  })

  it('properties whose `toJSON` returns undefined are omitted, with one call per name', () => {
    const made = { toJSON: () => ({ toJSON: 1 }) }
    const named = { toJSON: (name: string) => name }
    expect(fromUtf8(codec.encode({ gone: { toJSON: () => undefined }, made, list: [named], named }))).toBe(
      '{"made":{"toJSON":1},"list":["0"],"named":"named"}',
    )
  })

  it('-0 is encoded as 0', () => {
    expect(fromUtf8(codec.encode([-0]))).toBe('[0]')
  })

  it('encoding a circular reference throws the error of JSON.stringify', () => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    expect(() => codec.encode(circle)).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringMatching(/circular/i) }),
    )
  })

  it('every JSON value round-trips', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(codec.decode(codec.encode(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})

describe('decoding with json', () => {
  it.each(['1e400', '{"a":[-1E+309]}', `1${'0'.repeat(310)}`, `1${'0'.repeat(250)}e99`, '1e0000000400'])(
    'decoding a number that would become Infinity throws: %.20s',
    stored => {
      expect(() => codec.decode(utf8(stored))).toThrow(expect.objectContaining({ code: 'payload' }))
    },
  )

  it.each(['1e308', '"1e400"', `"${'9'.repeat(400)}"`, `0.${'1'.repeat(300)}`, '1e-400'])(
    'the codec json decodes %.20s',
    stored => {
      expect(codec.decode(utf8(stored))).toEqual(JSON.parse(stored))
    },
  )
})
