import fc from 'fast-check'

const between = (min: number, max: number): fc.Arbitrary<string> => fc.integer({ min, max }).map(String.fromCodePoint)

/**
 * A code point of each length in UTF-8 as likely as another: a unit of texts. fast-check's own, `binary`, makes a map of all
 * there are, which takes each process a second.
 */
export const anyCodePoint = fc.oneof(
  between(0, 0x7f),
  between(0x80, 0x7ff),
  between(0x800, 0xd7ff),
  between(0xe000, 0xffff),
  between(0x1_0000, 0x10_ffff),
)
