import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isAny } from '../../../src/pubsub/wire/protobuf-any.js'
import { FieldReader } from '../../../src/pubsub/wire/protobuf-fields.js'
import { effort } from '../../support/effort.js'
import { hex } from './protobuf-vectors.js'

/** Returns whether a protobuf reader accepts the bytes. */
function isReadable(bytes: Uint8Array): boolean {
  const reader = new FieldReader(bytes)
  try {
    for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
      if (tag === 0o12) reader.string(true)
      else reader.skipField(tag)
    }
    return true
  } catch {
    return false
  }
}

describe('isAny', () => {
  it.each([
    ['nothing', ''],
    ['a type URL and a value', '0a0178120101'],
    ['unknown fields of all wire types', '18ff01210102030405060708 2a0100 3d01020304'.replaceAll(' ', '')],
    ['a group within a group', '1b230a01ff241c'],
  ])('%s is an Any', (_, bytes) => {
    expect([isAny(hex(bytes)), isReadable(hex(bytes))]).toEqual([true, true])
  })

  it.each([
    ['the number 0', '01'],
    ['a wire type that does not exist', '0e'],
    ['a tag that ends too early', '80'],
    ['bytes that end too early', '0a0278'],
    ['a number that ends too early', '18ff'],
    ['a type URL that is not UTF-8', '0a01ff'],
    ['a group without an end', '1b'],
    ['a group with the end of another group', '1b24'],
    ['the end of a group that did not start', '1c'],
    ['a tag beyond 32 bits', 'ffffffff7f00'],
  ])('bytes with %s are not an Any', (_, bytes) => {
    expect([isAny(hex(bytes)), isReadable(hex(bytes))]).toEqual([false, false])
  })

  it('endlessly nested groups are not an Any', () => {
    expect(isAny(new Uint8Array(100_000).fill(0x1b))).toBe(false)
  })

  it('a protobuf reader accepts every short input that isAny accepts', () => {
    const byte = fc.oneof(fc.constantFrom(0x0a, 0x12, 0x1b, 0x1c, 0x18, 0x21, 0x3d, 0x80, 0x01, 0x02), fc.nat(255))
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 12 }), bytes => {
        const any = Uint8Array.from(bytes)
        if (isAny(any)) expect(isReadable(any)).toBe(true)
      }),
      { numRuns: effort(5_000, 500) },
    )
  })
})
