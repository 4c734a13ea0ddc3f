import { expect, it } from 'vitest'
import { omitUndefined } from '../../../src/core/util/omit-undefined.js'

it('omitUndefined() keeps all members that are not undefined', () => {
  expect(omitUndefined({ a: 1, b: undefined, c: null, d: '', e: false })).toStrictEqual({
    a: 1,
    c: null,
    d: '',
    e: false,
  })
})
