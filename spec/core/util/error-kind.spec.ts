import { expect, it } from 'vitest'
import { kindOf } from '../../../src/core/util/error-kind.js'

it.each<[unknown, string]>([
  [new RangeError('secret'), 'RangeError'],
  [Object.assign(new Error('secret'), { code: 'ERR_X' }), 'Error ERR_X'],
  [Object.assign(new Error('secret'), { code: 'line\nbreak' }), 'Error'],
  [Object.assign(new Error('secret'), { code: 7 }), 'Error'],
  [Object.assign(new Error('secret'), { code: 'x'.repeat(65) }), 'Error'],
  [Object.assign(new Error('secret'), { name: 'the secret' }), 'Error'],
  ['secret', 'a thrown string'],
  [undefined, 'a thrown undefined'],
])('The kind of %j says nothing of its message', (error, kind) => {
  expect(kindOf(error)).toBe(kind)
})
