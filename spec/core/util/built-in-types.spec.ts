import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { hasTag, isArrayBuffer, isBytes, isError } from '../../../src/core/util/built-in-types.js'

const inOtherRealm = (code: string): unknown => runInNewContext(code)

const PREDICATES = { isBytes, isArrayBuffer, isError }

describe('a check of a built-in type', () => {
  it.each([
    ['isBytes', 'new Uint8Array([1, 2])', Uint8Array.of(1), Buffer.from('a')],
    ['isArrayBuffer', 'new ArrayBuffer(2)', new ArrayBuffer(0)],
    ['isError', 'new RangeError("why")', new Error('why'), new DOMException('why', 'AbortError')],
  ] as const)('%s accepts the value of another realm %s', (name, code, ...own) => {
    expect(PREDICATES[name](inOtherRealm(code))).toBe(true)
    expect(own.every(value => PREDICATES[name](value))).toBe(true)
  })

  it.each(['isBytes', 'isArrayBuffer', 'isError'] as const)('%s rejects other values', name => {
    const others = [undefined, null, 'Uint8Array', 7, {}, [], new Uint16Array(2), new DataView(new ArrayBuffer(1))]
    expect(others.filter(value => PREDICATES[name](value))).toEqual([])
  })

  it('a type is known by its tag in any realm', () => {
    expect([hasTag(inOtherRealm('new Date(0)'), 'Map', 'Date'), hasTag(new Date(0), 'Map')]).toEqual([true, false])
  })
})
