import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decode, decodeReply, decodeStrings, type Resp3 } from '../../../src/core/resp3/decode.js'
import { encodeArray } from '../../../src/core/resp3/encode.js'
import { concatBytes, toBinaryString, utf8 } from '../../../src/core/util/bytes.js'
import { PayloadError } from '../../../src/core/util/errors.js'
import { effort } from '../../support/effort.js'
import { anyBytes, anyValue, array, blob, integer, nested, REFUSALS, SAMPLES, wire } from './values.js'

describe('decode', () => {
  it.each(SAMPLES)('decodes %j', (payload, value) => {
    expect(decode(utf8(payload))).toEqual(value)
  })

  it('restores any encoded value', () => {
    fc.assert(
      fc.property(anyValue, value => {
        expect(decode(wire(value))).toEqual(value)
      }),
      { numRuns: effort(500, 100) },
    )
  })

  it.each(['+', '-'])('decodes an array of empty lines after %j', type => {
    const empty: Resp3 = { type: type === '+' ? 'simple' : 'error', text: '' }
    expect(decode(utf8(`*1\r\n${type}\r\n`))).toEqual(array(empty))
    expect(decode(utf8(`*3\r\n${`${type}\r\n`.repeat(3)}`))).toEqual(array(empty, empty, empty))
  })

  it.each(REFUSALS)('throws PayloadError for %j: %s', (payload, words) => {
    expect(() => decode(utf8(payload))).toThrow(
      expect.objectContaining({ name: 'PayloadError', code: 'payload', message: expect.stringContaining(words) }),
    )
  })

  it('throws PayloadError if there are no pieces', () => {
    expect(() => decode()).toThrow(PayloadError)
  })

  it('replaces invalid UTF-8 in a line with replacement characters', () => {
    expect(decode(new Uint8Array([0x2b, 0xff, 0x0d, 0x0a]))).toEqual({ type: 'simple', text: '\ufffd' })
  })

  it('decodes four nested arrays and rejects five', () => {
    expect(decode(wire(nested(4, integer(7))))).toEqual(nested(4, integer(7)))
    expect(decode(wire(nested(4, array())))).toEqual(nested(4, array()))
    expect(() => decode(wire(nested(5, integer(7))))).toThrow('nested too deep')
  })

  it('rejects a hundred thousand nested arrays without exhausting the stack', () => {
    expect(() => decode(utf8('*1\r\n'.repeat(100_000)))).toThrow('nested too deep')
  })

  it('decodes an array of a hundred thousand items', () => {
    const value = decode(utf8(`*100000\r\n${':7\r\n'.repeat(100_000)}`))
    expect(value.type === 'array' && value.items.length).toBe(100_000)
  })

  it('rejects every proper prefix, even if the rest follows in memory', () => {
    const refusesPrefixes = (payload: Uint8Array): void => {
      for (let end = 0; end < payload.length; end++) {
        expect(() => decode(payload.subarray(0, end)), `the first ${end} bytes`).toThrow(PayloadError)
        expect(() => decode(payload.slice(0, end)), `a copy of the first ${end} bytes`).toThrow(PayloadError)
      }
    }
    for (const [payload] of SAMPLES) refusesPrefixes(utf8(payload))
    fc.assert(
      fc.property(anyValue, value => {
        refusesPrefixes(wire(value))
      }),
    )
  })

  it('returns the same value regardless of the surrounding bytes', () => {
    fc.assert(
      fc.property(anyValue, anyBytes, anyBytes, (value, before, after) => {
        const payload = wire(value)
        const around = concatBytes([before, payload, after])
        expect(decode(around.subarray(before.length, before.length + payload.length))).toEqual(value)
      }),
    )
  })

  it('returns views of a single piece rather than copies', () => {
    const payload = utf8('*1\r\n$3\r\nold\r\n')
    const value = decode(payload)
    payload.set(utf8('new'), 8)
    expect(value).toEqual(array(blob('new')))
  })
})

describe('decode, given several pieces', () => {
  const everyTwoWaySplit = (payload: Uint8Array, value: Resp3): void => {
    for (let cut = 0; cut <= payload.length; cut++) {
      expect(decode(payload.subarray(0, cut), payload.subarray(cut)), `cut at ${cut}`).toEqual(value)
    }
  }
  const byteByByte = (payload: Uint8Array): Uint8Array[] => Array.from(payload, (_, at) => payload.subarray(at, at + 1))

  it.each(SAMPLES)('decode decodes %j from any two pieces and byte by byte', (payload, value) => {
    everyTwoWaySplit(utf8(payload), value)
    expect(decode(...byteByByte(utf8(payload)))).toEqual(value)
  })

  it('decode decodes any value from any two pieces and byte by byte', () => {
    fc.assert(
      fc.property(anyValue, value => {
        everyTwoWaySplit(wire(value), value)
        expect(decode(...byteByByte(wire(value)))).toEqual(value)
      }),
    )
  })

  it('decode decodes any value from any pieces, including empty ones', () => {
    fc.assert(
      fc.property(anyValue, fc.array(fc.nat(), { maxLength: 8 }), (value, places) => {
        const payload = wire(value)
        const cuts = [0, ...places.map(place => place % (payload.length + 1)), payload.length].sort((a, b) => a - b)
        expect(decode(...cuts.map((cut, i) => payload.subarray(cut, cuts[i + 1] ?? cut)))).toEqual(value)
      }),
      { numRuns: effort(500, 100) },
    )
  })

  it('decode throws PayloadError if a piece is missing', () => {
    const payload = utf8('*1\r\n$4\r\n1234\r\n')
    expect(() => decode(payload.subarray(0, 5), payload.subarray(6))).toThrow(PayloadError)
  })
})

describe('decodeReply', () => {
  it.each(SAMPLES)('returns the same as decode for %j', (payload, value) => {
    expect(decodeReply(utf8(payload))).toEqual(value)
  })

  it.each([
    ['+OK', { type: 'simple', text: 'OK' }],
    ['-ERR syntax error', { type: 'error', text: 'ERR syntax error' }],
    ['-1', { type: 'error', text: '1' }],
    [':1', integer(1)],
    [':-1', integer(-1)],
    ['$4\r\n1234', blob('1234')],
    ['$0\r\n', blob('')],
    ['$-1', { type: 'blob', bytes: null }],
  ] as const)('decodes %j, which lacks the final CRLF', (payload, value) => {
    expect(decodeReply(utf8(payload))).toEqual(value)
  })

  it.each(REFUSALS)('throws PayloadError for %j', payload => {
    expect(() => decodeReply(utf8(payload))).toThrow(PayloadError)
  })

  it('never reads past its input, even if a line end follows', () => {
    const around = utf8('$6\r\n1234\r\n:12\r\n')
    expect(() => decodeReply(around.subarray(0, 8))).toThrow(PayloadError)
    expect(decodeReply(around.subarray(10, 12))).toEqual(integer(1))
  })

  it('either rejects a prefix of a blob or decodes it as the whole blob', () => {
    fc.assert(
      fc.property(anyBytes, bytes => {
        const payload = wire({ type: 'blob', bytes })
        for (let end = 0; end < payload.length - 2; end++) {
          // `$0` and `$0\r\n` are the empty blob without its line ends.
          if (bytes.length === 0 && end >= 2) continue
          expect(() => decodeReply(payload.subarray(0, end)), `the first ${end} bytes`).toThrow(PayloadError)
        }
        expect(decodeReply(payload.subarray(0, payload.length - 2))).toEqual({ type: 'blob', bytes })
      }),
    )
  })
})

const MOST = 16

/** Returns the expected result, computed with the general decoder. */
function expected(payload: Uint8Array): string[] | undefined {
  try {
    const value = decode(payload)
    if (value.type !== 'array' || value.items.length > MOST) return undefined
    return value.items.map(item => {
      if (item.type !== 'blob' || item.bytes === null) throw new Error('no string')
      return toBinaryString(item.bytes)
    })
  } catch {
    return undefined
  }
}

const anyPiece = fc.constantFrom(
  '*',
  '$',
  '+',
  ':',
  '-1',
  '0',
  '1',
  '2',
  '3',
  '12',
  '\r\n',
  '\r',
  '\n',
  'SET',
  'a',
  '\0',
)

describe('decodeStrings', () => {
  it('restores what `encodeArray` encoded', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: MOST }), strings => {
        expect(decodeStrings(encodeArray(strings), MOST)).toEqual(strings)
      }),
      { numRuns: effort(500, 100) },
    )
  })

  it('returns strings only if the payload is an array of strings', () => {
    const anyPayload = fc.array(anyPiece, { maxLength: 20 }).map(pieces => utf8(pieces.join('')))
    const anyDamaged = fc
      .tuple(fc.array(fc.uint8Array({ maxLength: 12 }), { maxLength: 4 }), fc.nat(), fc.integer({ min: 0, max: 255 }))
      .map(([strings, place, byte]) => {
        const payload = encodeArray(strings)
        payload[place % payload.length] = byte
        return payload
      })
    fc.assert(
      fc.property(fc.oneof(anyPayload, anyDamaged), payload => {
        expect(decodeStrings(payload, MOST)?.map(toBinaryString)).toEqual(expected(payload))
      }),
      { numRuns: effort(20_000, 2_000) },
    )
  })

  it('returns undefined for oversized arrays, empty input and lengths with too many digits', () => {
    expect(decodeStrings(encodeArray(Array.from({ length: MOST + 1 }, () => utf8('a'))), MOST)).toBeUndefined()
    expect(decodeStrings(new Uint8Array(0), MOST)).toBeUndefined()
    expect(decodeStrings(utf8('*0000000001\r\n$1\r\na\r\n'), MOST)).toBeUndefined()
  })
})
