import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { json } from '../../../src/client/keys/json.js'
import { ArgumentError, PayloadError } from '../../../src/core/util/errors.js'
import { comesBack, encoding, NOT_UTF8, stored } from '../../support/operator-codecs.js'

const cyclic: unknown[] = []
cyclic.push(cyclic)

describe('json', () => {
  it('every JSON value round-trips', () =>
    comesBack(
      json<fc.JsonValue>(),
      fc.jsonValue({ noUnicodeString: false }).map(value => JSON.parse(JSON.stringify(value))),
    ))

  it('a value is stored as compact UTF-8', () => {
    expect(json<object>().encode({ a: [1, 'é', null] })).toEqual(stored('{"a":[1,"\xc3\xa9",null]}'))
  })

  it.each([
    ['undefined', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a cyclic value', cyclic],
    ['a bigint', 1n],
    ['a nested bigint', { deep: [1n] }],
  ])('encoding %s as JSON throws `argument`', (_, value) => {
    expect(encoding(json<unknown>(), value)).toThrow(ArgumentError)
  })

  it('an error that a value throws becomes the cause of the error', () => {
    const cause = new RangeError('not now')
    const value = {
      toJSON: () => {
        throw cause
      },
    }
    expect(() => json<unknown>().encode(value)).toThrow(expect.objectContaining({ code: 'argument', cause }))
  })

  it.each(['', '{', '{a:1}', "'x'", 'undefined', 'NaN', '01', '[1,]', '"\n"', '{} {}', '\xef\xbb\xbf{}'])(
    'decoding %j as JSON throws',
    value => {
      expect(() => json<unknown>().decode(stored(value))).toThrow()
    },
  )

  it.each(NOT_UTF8)('decoding %s as JSON throws', (_, value) => {
    expect(() => json<unknown>().decode(stored(`"${value}"`))).toThrow(PayloadError)
  })
})
