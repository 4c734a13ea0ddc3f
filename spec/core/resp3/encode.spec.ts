import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decode } from '../../../src/core/resp3/decode.js'
import { encodeArray, encodeBlob, encodeError, encodeInteger, encodeSimple } from '../../../src/core/resp3/encode.js'
import { fromUtf8, utf8 } from '../../../src/core/util/bytes.js'
import { anyCodePoint } from '../../support/any-code-point.js'

const anyBytes = fc.uint8Array({ maxLength: 40 })
const anyLine = fc.string({ unit: anyCodePoint }).filter(text => !/[\r\n]/.test(text))

describe('encodeArray', () => {
  it.each([
    [[], '*0\r\n'],
    [['GET', 'SETKEY2'], '*2\r\n$3\r\nGET\r\n$7\r\nSETKEY2\r\n'],
    [['SET', 'SETKEY2', 'VALUE5'], '*3\r\n$3\r\nSET\r\n$7\r\nSETKEY2\r\n$6\r\nVALUE5\r\n'],
    [['', 'a\r\nb'], '*2\r\n$0\r\n\r\n$4\r\na\r\nb\r\n'],
  ])('encodes %j as the protocol defines', (items, wire) => {
    expect(fromUtf8(encodeArray(items.map(utf8)))).toBe(wire)
  })

  it('encodes lengths in bytes rather than characters', () => {
    expect(fromUtf8(encodeArray([utf8('\u20ac')]))).toBe('*1\r\n$3\r\n\u20ac\r\n')
  })

  it('produces an array that decodes to the same byte strings, for any content', () => {
    fc.assert(
      fc.property(fc.array(anyBytes), items => {
        expect(decode(encodeArray(items))).toEqual({
          type: 'array',
          items: items.map(bytes => ({ type: 'blob', bytes })),
        })
      }),
    )
  })

  it('copies its items, so that callers can reuse them', () => {
    const item = utf8('old')
    const wire = encodeArray([item])
    item.fill(0)
    expect(fromUtf8(wire)).toBe('*1\r\n$3\r\nold\r\n')
  })
})

describe('encodeBlob', () => {
  it.each([
    ['1234', '$4\r\n1234\r\n'],
    ['', '$0\r\n\r\n'],
    ['\u20ac', '$3\r\n\u20ac\r\n'],
    ['\r\n', '$2\r\n\r\n\r\n'],
  ])('encodes %j as %j', (text, wire) => {
    expect(fromUtf8(encodeBlob(utf8(text)))).toBe(wire)
  })

  it('encodes null as $-1, which differs from an empty blob', () => {
    expect(fromUtf8(encodeBlob(null))).toBe('$-1\r\n')
  })

  it('produces a blob that decodes to the same bytes or to null', () => {
    fc.assert(
      fc.property(fc.option(anyBytes), bytes => {
        expect(decode(encodeBlob(bytes))).toEqual({ type: 'blob', bytes })
      }),
    )
  })
})

describe('encodeSimple', () => {
  it('encodes OK as +OK', () => {
    expect(fromUtf8(encodeSimple('OK'))).toBe('+OK\r\n')
  })

  it('produces a reply that decodes to the same line', () => {
    fc.assert(
      fc.property(anyLine, text => {
        expect(decode(encodeSimple(text))).toEqual({ type: 'simple', text })
      }),
    )
  })
})

describe('encodeError', () => {
  it('encodes an error after a minus sign', () => {
    expect(fromUtf8(encodeError('ERR syntax error'))).toBe('-ERR syntax error\r\n')
  })

  it('produces a reply that decodes to the same line', () => {
    fc.assert(
      fc.property(anyLine, text => {
        expect(decode(encodeError(text))).toEqual({ type: 'error', text })
      }),
    )
  })
})

describe('encodeInteger', () => {
  it.each([
    [0, ':0\r\n'],
    [1, ':1\r\n'],
    [-1, ':-1\r\n'],
    [Number.MAX_SAFE_INTEGER, ':9007199254740991\r\n'],
    [Number.MIN_SAFE_INTEGER, ':-9007199254740991\r\n'],
  ])('encodes %i as %j', (value, wire) => {
    expect(fromUtf8(encodeInteger(value))).toBe(wire)
  })

  it('produces a reply that decodes to the same integer', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), value => {
        expect(decode(encodeInteger(value))).toEqual({ type: 'integer', value })
      }),
    )
  })
})
