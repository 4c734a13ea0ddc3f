import fc from 'fast-check'
import { expect } from 'vitest'
import type { Codec } from '../../src/client/keys/codec.js'

/** Returns the stored bytes of a text, one byte per character. */
export const stored = (latin1: string): Uint8Array => Uint8Array.from(latin1, character => character.charCodeAt(0))

/** Decodes UTF-8 to text. */
export const read = (encoded: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(encoded)

/** Expects that every value survives a round trip. */
export function comesBack<T>(codec: Codec<T>, values: fc.Arbitrary<T>): void {
  fc.assert(
    fc.property(values, value => {
      expect(codec.decode(codec.encode(value))).toEqual(value)
    }),
  )
}

/** Returns a function that encodes a value of any type, as a caller without types can. */
export const encoding = (codec: { encode(value: never): Uint8Array }, value: unknown) => (): unknown =>
  Reflect.apply(codec.encode, codec, [value])

/** Byte sequences that are not valid UTF-8. */
export const NOT_UTF8 = [
  ['a byte that never occurs', '\xff'],
  ['a truncated character', 'a\xc3'],
  ['an overlong form', '\xc0\x80'],
  ['a surrogate', '\xed\xa0\x80'],
] as const
