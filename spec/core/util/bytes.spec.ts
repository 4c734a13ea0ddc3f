import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  concatBytes,
  copyIfSparse,
  displayText,
  fromHex,
  fromUtf8,
  randomBytes,
  sameBytes,
  toBinaryString,
  toHex,
  utf8,
} from '../../../src/core/util/bytes.js'
import { PayloadError } from '../../../src/core/util/errors.js'
import { anyCodePoint } from '../../support/any-code-point.js'
import { effort } from '../../support/effort.js'

// Every code point except lone surrogates, which have no UTF-8.
const anyText = fc.string({ unit: anyCodePoint })
const anyBytes = fc.uint8Array({ maxLength: 64 })

const NOT_UTF8 = [
  ['a continuation byte alone', [0x80]],
  ['a sequence cut short', [0xe2, 0x82]],
  ['an overlong slash', [0xc0, 0xaf]],
  ['a surrogate', [0xed, 0xa0, 0x80]],
  ['a code point beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ['a byte that never occurs', [0x41, 0xff, 0x42]],
] as const

describe('utf8', () => {
  it('encodes code points of one to four bytes', () => {
    expect([...utf8('A\u00e9\u20ac\u{1f600}')]).toEqual([0x41, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80])
  })

  it('encodes the empty string as no bytes', () => {
    expect(utf8('')).toHaveLength(0)
  })
})

describe('fromUtf8', () => {
  it('restores the text that utf8 encoded', () => {
    fc.assert(
      fc.property(anyText, text => {
        expect(fromUtf8(utf8(text))).toBe(text)
      }),
    )
  })

  it('keeps a byte order mark, so that decoding remains reversible', () => {
    expect(fromUtf8(new Uint8Array([0xef, 0xbb, 0xbf, 0x41]))).toBe('\ufeffA')
  })

  it.each(NOT_UTF8)('throws PayloadError for %s', (_, bytes) => {
    expect(() => fromUtf8(new Uint8Array(bytes))).toThrow(PayloadError)
  })

  it('either throws PayloadError or returns text that encodes to the same bytes', () => {
    const byteLike = fc.uint8Array({ maxLength: 6 })
    fc.assert(
      fc.property(byteLike, bytes => {
        let text: string
        try {
          text = fromUtf8(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(PayloadError)
          return
        }
        expect([...utf8(text)]).toEqual([...bytes])
      }),
      { numRuns: effort(500, 100) },
    )
  })
})

describe('displayText', () => {
  it('shows valid UTF-8 unchanged', () => {
    fc.assert(
      fc.property(anyText, text => {
        expect(displayText(utf8(text))).toBe(text)
      }),
    )
  })

  it.each(NOT_UTF8)('shows replacement characters for %s', (_, bytes) => {
    expect(displayText(new Uint8Array(bytes))).toContain('\ufffd')
  })
})

describe('toHex', () => {
  it.each([
    ['', ''],
    ['f', '66'],
    ['fo', '666F'],
    ['foo', '666F6F'],
    ['foob', '666F6F62'],
    ['fooba', '666F6F6261'],
    ['foobar', '666F6F626172'],
    ['client-id1', '636C69656E742D696431'],
    ['SOMEKEY', '534F4D454B4559'],
  ])('encodes %j as %j', (text, hex) => {
    expect(toHex(utf8(text))).toBe(hex)
  })

  it('pads every byte to two digits', () => {
    expect(toHex(new Uint8Array([0, 1, 15, 16, 255]))).toBe('00010F10FF')
  })
})

describe('fromHex', () => {
  it('restores the bytes that toHex encoded, in upper or lower case', () => {
    fc.assert(
      fc.property(anyBytes, bytes => {
        expect(fromHex(toHex(bytes))).toEqual(bytes)
        expect(fromHex(toHex(bytes).toLowerCase())).toEqual(bytes)
      }),
    )
  })

  it.each([
    ['an odd number of digits', '534'],
    ['a letter beyond F', '5G'],
    ['a space', ' 5'],
    ['a trailing space', '5 '],
    ['a sign', '-5'],
    ['a prefix', '0x'],
    ['an MQTT wildcard', '+'],
    ['a topic separator', '53/4'],
    ['a line end', '53\n'],
    ['full-width digits', '\uff11\uff12'],
  ])('returns undefined for %s', (_, text) => {
    expect(fromHex(text)).toBeUndefined()
  })
})

describe('sameBytes', () => {
  it('is true for equal bytes in different memory', () => {
    fc.assert(
      fc.property(anyBytes, fc.uint8Array({ maxLength: 5 }), (bytes, before) => {
        const elsewhere = new Uint8Array([...before, ...bytes, 7]).subarray(before.length, before.length + bytes.length)
        expect(sameBytes(bytes, elsewhere)).toBe(true)
      }),
    )
  })

  it('is false when a single bit differs', () => {
    const nonEmpty = fc.uint8Array({ minLength: 1, maxLength: 64 })
    fc.assert(
      fc.property(nonEmpty, fc.nat(), fc.nat(7), (bytes, place, bit) => {
        const at = place % bytes.length
        const other = bytes.map((byte, i) => (i === at ? byte ^ (1 << bit) : byte))
        expect(sameBytes(bytes, other)).toBe(false)
      }),
    )
  })

  it('is false when one array is a prefix of the other', () => {
    fc.assert(
      fc.property(anyBytes, fc.nat(255), (bytes, next) => {
        const longer = new Uint8Array([...bytes, next])
        expect(sameBytes(bytes, longer)).toBe(false)
        expect(sameBytes(longer, bytes)).toBe(false)
      }),
    )
  })
})

describe('concatBytes', () => {
  it('joins the parts in order', () => {
    fc.assert(
      fc.property(fc.array(anyBytes), parts => {
        expect([...concatBytes(parts)]).toEqual(parts.flatMap(part => [...part]))
      }),
    )
  })

  it('copies its parts, so that callers can reuse them', () => {
    const part = new Uint8Array([1, 2])
    const joined = concatBytes([part])
    part.fill(9)
    expect([...joined]).toEqual([1, 2])
  })
})

describe('toBinaryString', () => {
  it('returns one code unit for each byte', () => {
    fc.assert(
      fc.property(anyBytes, bytes => {
        const text = toBinaryString(bytes)
        expect(Array.from({ length: text.length }, (_, i) => text.charCodeAt(i))).toEqual([...bytes])
      }),
    )
  })

  it.each([0, 1, 4095, 4096, 4097, 8192, 8193, 200_000])('preserves all %i bytes', length => {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 31) % 256)
    const text = toBinaryString(bytes)
    expect(text).toHaveLength(length)
    expect(bytes.every((byte, i) => text.charCodeAt(i) === byte)).toBe(true)
  })
})

describe('copyIfSparse', () => {
  it('copies a small part of a large buffer', () => {
    const network = new Uint8Array(1_000).fill(7)
    const kept = copyIfSparse(network.subarray(10, 20))
    network.fill(0)
    expect([kept, kept.buffer.byteLength]).toEqual([new Uint8Array(10).fill(7), 10])
  })

  it('does not copy a large part of its buffer', () => {
    const large = new Uint8Array(1_000)
    expect(copyIfSparse(large.subarray(125)).buffer).toBe(large.buffer)
    expect(copyIfSparse(large.subarray(126)).buffer.byteLength).toBe(874)
  })
})

describe('randomBytes', () => {
  it.each([0, 1, 16, 1000])('returns %i bytes', length => {
    expect(randomBytes(length)).toHaveLength(length)
  })

  it('returns different bytes on each call', () => {
    const drawn = new Set(Array.from({ length: 50 }, () => randomBytes(16).join()))
    expect(drawn.size).toBe(50)
  })
})
