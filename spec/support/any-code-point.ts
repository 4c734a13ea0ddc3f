import fc from 'fast-check'

const between = (min: number, max: number): fc.Arbitrary<string> => fc.integer({ min, max }).map(String.fromCodePoint)

/**
 * Generates a code point whose UTF-8 length is one to four bytes, with equal probability. It serves as the `unit` of
 * texts. The `binary` unit of fast-check builds a map of all code points, which takes a second per process.
 */
export const anyCodePoint = fc.oneof(
  between(0, 0x7f),
  between(0x80, 0x7ff),
  between(0x800, 0xd7ff),
  between(0xe000, 0xffff),
  between(0x1_0000, 0x10_ffff),
)
