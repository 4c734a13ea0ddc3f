import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { json } from '../../../src/client/keys/json.js'
import { ArgumentError, PayloadError } from '../../../src/core/util/errors.js'
import { comesBack, encoding, NOT_UTF8, stored } from '../../support/operator-codecs.js'

const cyclic: unknown[] = []
cyclic.push(cyclic)

describe('json', () => {
  it('gives back every JSON value', () =>
    comesBack(
      json<fc.JsonValue>(),
      fc.jsonValue({ noUnicodeString: false }).map(value => JSON.parse(JSON.stringify(value))),
    ))

  it('is compact UTF-8', () => {
    expect(json<object>().encode({ a: [1, 'é', null] })).toEqual(stored('{"a":[1,"\xc3\xa9",null]}'))
  })

  it.each([
    ['nothing', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a cyclic value', cyclic],
    ['a big integer', 1n],
    ['a big integer inside', { deep: [1n] }],
  ])('refuses to encode %s', (_, value) => {
    expect(encoding(json<unknown>(), value)).toThrow(ArgumentError)
  })

  it('keeps what a value threw as the cause', () => {
    const cause = new RangeError('not now')
    const value = {
      toJSON: () => {
        throw cause
      },
    }
    expect(() => json<unknown>().encode(value)).toThrow(expect.objectContaining({ code: 'argument', cause }))
  })

  it.each(['', '{', '{a:1}', "'x'", 'undefined', 'NaN', '01', '[1,]', '"\n"', '{} {}', '\xef\xbb\xbf{}'])(
    'does not decode %j',
    value => {
      expect(() => json<unknown>().decode(stored(value))).toThrow()
    },
  )

  it.each(NOT_UTF8)('does not decode %s', (_, value) => {
    expect(() => json<unknown>().decode(stored(`"${value}"`))).toThrow(PayloadError)
  })
})
