import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sameBytes, utf8 } from '../../../src/core/util/bytes.js'
import { fromBase64, toBase64 } from '../../../src/pubsub/wire/json-frame.js'
import { anyCodePoint } from '../../support/any-code-point.js'
import { effort } from '../../support/effort.js'

// The test vectors of RFC 4648, section 10.
const VECTORS = [
  ['', ''],
  ['f', 'Zg=='],
  ['fo', 'Zm8='],
  ['foo', 'Zm9v'],
  ['foob', 'Zm9vYg=='],
  ['fooba', 'Zm9vYmE='],
  ['foobar', 'Zm9vYmFy'],
] as const

describe('base64', () => {
  it.each(VECTORS)('%j is encoded as %j and decoded again', (text, base64) => {
    expect(toBase64(utf8(text))).toBe(base64)
    expect(fromBase64(base64)).toEqual(utf8(text))
  })

  it('encodes all bytes as Buffer does', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), bytes => {
        const base64 = Buffer.from(bytes).toString('base64')
        expect(toBase64(bytes)).toBe(base64)
        expect(fromBase64(base64)).toEqual(bytes)
      }),
      { numRuns: effort(2_000, 200) },
    )
  })

  it('only the bytes of a view are encoded', () => {
    expect(toBase64(Uint8Array.of(9, 9, 1, 2, 3, 9).subarray(2, 5))).toBe('AQID')
  })

  it('a megabyte survives a round trip', () => {
    const bytes = Uint8Array.from({ length: 1_000_001 }, (_, i) => (i * 7_919) % 256)
    expect(sameBytes(fromBase64(toBase64(bytes)) ?? new Uint8Array(), bytes)).toBe(true)
  })

  it.each([
    'A',
    'AA',
    'AAA',
    'A===',
    '====',
    '=',
    '==',
    'AQ=D',
    'AQ==AQID',
    'AQID=',
    'AQID====',
    'AQ I',
    'AQI\n',
    ' AQID',
    'AQI-',
    'AQI_',
    'AQI\u0000',
    'AQIĀ',
    'AQI\u0241',
    'AQI\ud800',
    '{"a"',
  ])('decoding rejects %j', text => {
    expect(fromBase64(text)).toBeUndefined()
  })

  it('decoding ignores unused bits of the last digit', () => {
    expect([fromBase64('AR=='), fromBase64('AQJ=')]).toEqual([Uint8Array.of(1), Uint8Array.of(1, 2)])
  })

  it('decoding rejects any character outside of the alphabet', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint, maxLength: 12 }), text => {
        const isBase64 = text.length % 4 === 0 && /^([A-Za-z0-9+/]{2,}={0,2})?$/.test(text)
        expect(fromBase64(text) !== undefined).toBe(isBase64)
      }),
      { numRuns: effort(2_000, 200) },
    )
  })
})
