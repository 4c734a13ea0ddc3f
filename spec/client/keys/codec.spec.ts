import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { boolean, bytes, encodeFor, number, text } from '../../../src/client/keys/codec.js'
import { ArgumentError, PayloadError } from '../../../src/core/util/errors.js'
import { anyCodePoint } from '../../support/any-code-point.js'
import { comesBack, encoding, NOT_UTF8, read, stored } from '../../support/operator-codecs.js'

describe('bytes', () => {
  it('gives back every byte string', () => comesBack(bytes, fc.uint8Array()))

  it.each([
    ['a text', 'x'],
    ['a list of numbers', [1, 2]],
    ['a buffer without a view', new ArrayBuffer(2)],
    ['nothing', undefined],
    ['null', null],
    ['a clamped array', Uint8ClampedArray.of(1)],
  ])('refuses to encode %s', (_, value) => {
    expect(encoding(bytes, value)).toThrow(ArgumentError)
  })
})

describe('text', () => {
  it('gives back every well-formed text', () => comesBack(text, fc.string({ unit: anyCodePoint })))

  it('is UTF-8 without a byte order mark, and keeps one that is part of the text', () => {
    expect(text.encode('é€𝄞')).toEqual(stored('\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e'))
    expect(text.decode(stored('\xef\xbb\xbfx'))).toBe('\ufeffx')
  })

  it('has an empty text', () => {
    expect(text.encode('')).toHaveLength(0)
    expect(text.decode(new Uint8Array())).toBe('')
  })

  it.each([
    ['a number', 1],
    ['a boolean', true],
    ['bytes', Uint8Array.of(1)],
    ['nothing', undefined],
    ['null', null],
    ['an object', {}],
  ])('refuses to encode %s', (_, value) => {
    expect(encoding(text, value)).toThrow(ArgumentError)
  })

  it.each(['\ud800', 'a\udfffb', '\udc00\ud800'])(
    'refuses to encode the half of a surrogate pair, which UTF-8 cannot hold, rather than store another text: %j',
    value => {
      expect(() => text.encode(value)).toThrow(ArgumentError)
    },
  )

  it.each(NOT_UTF8)('does not decode %s', (_, value) => {
    expect(() => text.decode(stored(value))).toThrow(PayloadError)
  })
})

describe('number', () => {
  it('gives back every finite number', () =>
    comesBack(
      number,
      // The sign of a zero is not kept.
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => value + 0 || 0),
    ))

  it.each([
    [21.5, '21.5'],
    [-3, '-3'],
    [0, '0'],
    [-0, '0'],
    [1e21, '1e+21'],
    [5e-324, '5e-324'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ])('is decimal text: %d', (value, encoded) => {
    expect(read(number.encode(value))).toBe(encoded)
  })

  it.each([
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['a numeric text', '1'],
    ['a big integer', 1n],
    ['a boolean', true],
    ['nothing', undefined],
    ['null', null],
    ['a date', new Date(0)],
  ])('refuses to encode %s', (_, value) => {
    expect(encoding(number, value)).toThrow(ArgumentError)
  })

  it('says what it expected and what it got', () => {
    expect(() => number.encode(Number.NaN)).toThrow('Expected the value to be a finite number, got `NaN` (number)')
    expect(encoding(number, '1')).toThrow('Expected the value to be a finite number, got `1` (string)')
  })

  it.each([
    ['21.5', 21.5],
    ['-21', -21],
    ['+7', 7],
    ['007', 7],
    ['.5', 0.5],
    ['5.', 5],
    ['1e3', 1000],
    ['1E-3', 0.001],
    [' 21.5\r\n', 21.5],
  ])('decodes %j', (value, decoded) => {
    expect(number.decode(stored(value))).toBe(decoded)
  })

  it.each([
    '',
    ' ',
    '\n',
    'NaN',
    'Infinity',
    '-Infinity',
    '1e999',
    '-1e999',
    '21,5',
    '1 000',
    '1_000',
    '21.5 °C',
    '1n',
    'true',
    'null',
    '[1]',
    '--1',
    '.',
    'e5',
    '1\0',
  ])('does not decode %j', value => {
    expect(() => number.decode(stored(value))).toThrow(PayloadError)
  })

  it.each(['0x10', '0X1F', '0b101', '0o17'])('does not decode %j, which is no decimal text', value => {
    expect(() => number.decode(stored(value))).toThrow(PayloadError)
  })

  it.each(NOT_UTF8)('does not decode %s', (_, value) => {
    expect(() => number.decode(stored(value))).toThrow(PayloadError)
  })

  it('shows no more than the start of what it cannot decode', () => {
    expect(() => number.decode(stored('x'.repeat(10_000)))).toThrow(`Not a number: "${'x'.repeat(80)}"`)
  })
})

describe('boolean', () => {
  it('gives back both', () => comesBack(boolean, fc.boolean()))

  it('is a word', () => {
    expect([true, false].map(value => read(boolean.encode(value)))).toEqual(['true', 'false'])
  })

  it.each([
    ['a word', 'true'],
    ['a number', 1],
    ['nothing', undefined],
    ['null', null],
    ['an object', {}],
  ])('refuses to encode %s', (_, value) => {
    expect(encoding(boolean, value)).toThrow(ArgumentError)
  })

  it('decodes its words with white space around them', () => {
    expect(boolean.decode(stored(' true\r\n'))).toBe(true)
    expect(boolean.decode(stored('\tfalse'))).toBe(false)
  })

  it.each(['', 'True', 'TRUE', '1', '0', 'yes', 'on', 'null', 'truefalse', 'true false'])(
    'does not decode %j',
    value => {
      expect(() => boolean.decode(stored(value))).toThrow(PayloadError)
    },
  )

  it.each(NOT_UTF8)('does not decode %s', (_, value) => {
    expect(() => boolean.decode(stored(value))).toThrow(PayloadError)
  })
})

describe.each([
  ['bytes', bytes],
  ['text', text],
  ['number', number],
  ['boolean', boolean],
] as const)('%s', (_, codec) => {
  it('refuses an object without a prototype as any other wrong value', () => {
    expect(encoding(codec, Object.create(null))).toThrow(ArgumentError)
  })
})

describe('encoding for a key', () => {
  /** A codec that breaks its word. */
  const returning = (encoded: unknown) => ({ encode: (): Uint8Array => Object({ encoded }).encoded })

  it.each([
    ['text', 'abc', '`abc` (string)'],
    ['null', null, '`null` (object)'],
    ['nothing', undefined, '`undefined` (undefined)'],
    ['an ArrayBuffer', new ArrayBuffer(3), '`[object ArrayBuffer]` (object)'],
    ['an array', [1, 2], '`1,2` (object)'],
    ['a promise', Promise.resolve(), '`[object Promise]` (object)'],
  ])('refuses what a codec encodes to %s', (_, encoded, words) => {
    expect(() => encodeFor('k', returning(encoded), 'x')).toThrow(
      expect.objectContaining({
        code: 'argument',
        message: `The value for key "k" does not encode: Expected \`encode\` of the codec to return a Uint8Array, got ${words}`,
      }),
    )
  })

  it('takes bytes of another realm, as test environments and frames make them', () => {
    const foreign: unknown = runInNewContext('new Uint8Array([1, 2])')
    expect(encodeFor('k', returning(foreign), 'x')).toBe(foreign)
  })
})

describe('a codec of the application', () => {
  const gone = Uint8Array.of(1, 2)
  structuredClone(gone, { transfer: [gone.buffer] })
  const throwing = {
    get [Symbol.toStringTag](): string {
      throw new Error('no')
    },
    get message(): string {
      throw new Error('no')
    },
  }

  it.each([
    ['bytes that were transferred', gone],
    ['the prototype of bytes alone', Object.create(Uint8Array.prototype)],
    ['the name of bytes alone', { [Symbol.toStringTag]: 'Uint8Array', length: 3 }],
  ])('gets `argument` for %s', (_, encoded) => {
    expect(() => encodeFor('k', { encode: () => encoded }, 1)).toThrow(ArgumentError)
  })

  it.each([
    ['refuses to be text', throwing],
    ['has a message that throws', Object.setPrototypeOf(throwing, Error.prototype)],
  ])('gets `argument` when it throws what %s', (_, thrown) => {
    const encode = (): Uint8Array => {
      throw thrown
    }
    expect(() => encodeFor('k', { encode }, 1)).toThrow(ArgumentError)
  })
})
