import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decode } from '../../../src/core/resp3/decode.js'
import { decodeStrings } from '../../../src/core/resp3/decode-strings.js'
import { encodeArray } from '../../../src/core/resp3/encode.js'
import { toBinaryString, utf8 } from '../../../src/core/util/bytes.js'
import { effort } from '../../support/effort.js'

const MOST = 16

/** What it should say of a payload, by what is known to read it right. */
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

/** Pieces of which payloads are made, right ones and wrong ones. */
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
  it('reads what was written', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: MOST }), strings => {
        expect(decodeStrings(encodeArray(strings), MOST)).toEqual(strings)
      }),
      { numRuns: effort(500, 100) },
    )
  })

  it('takes nothing for strings that is something else', () => {
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

  it('leaves larger arrays, nothing and longer numbers to others', () => {
    expect(decodeStrings(encodeArray(Array.from({ length: MOST + 1 }, () => utf8('a'))), MOST)).toBeUndefined()
    expect(decodeStrings(new Uint8Array(0), MOST)).toBeUndefined()
    expect(decodeStrings(utf8('*0000000001\r\n$1\r\na\r\n'), MOST)).toBeUndefined()
  })
})
