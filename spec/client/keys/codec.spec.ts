import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { boolean, bytes, encodeFor, number, text } from '../../../src/client/keys/codec.js'
import { ArgumentError, PayloadError } from '../../../src/core/util/errors.js'
import { anyCodePoint } from '../../support/any-code-point.js'
import { comesBack, encoding, NOT_UTF8, read, stored } from '../../support/operator-codecs.js'

describe('bytes', () => {
  it('every byte string round-trips', () => comesBack(bytes, fc.uint8Array()))

  it.each([
    ['a text', 'x'],
    ['a list of numbers', [1, 2]],
    ['a buffer without a view', new ArrayBuffer(2)],
    ['undefined', undefined],
    ['null', null],
    ['a clamped array', Uint8ClampedArray.of(1)],
  ])('encoding %s as bytes throws `argument`', (_, value) => {
    expect(encoding(bytes, value)).toThrow(ArgumentError)
  })
})

describe('text', () => {
  it('every well-formed text round-trips', () => comesBack(text, fc.string({ unit: anyCodePoint })))

  it('is encoded as UTF-8 without a byte order mark, and a mark that belongs to the text is kept', () => {
    expect(text.encode('é€𝄞')).toEqual(stored('\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e'))
    expect(text.decode(stored('\xef\xbb\xbfx'))).toBe('\ufeffx')
  })

  it('an empty text is encoded as empty bytes and decoded from them', () => {
    expect(text.encode('')).toHaveLength(0)
    expect(text.decode(new Uint8Array())).toBe('')
  })

  it.each([
    ['a number', 1],
    ['a boolean', true],
    ['bytes', Uint8Array.of(1)],
    ['undefined', undefined],
    ['null', null],
    ['an object', {}],
  ])('encoding %s as text throws `argument`', (_, value) => {
    expect(encoding(text, value)).toThrow(ArgumentError)
  })

  it.each(['\ud800', 'a\udfffb', '\udc00\ud800'])(
    'encoding an unpaired surrogate throws instead of storing another text: %j',
    value => {
      expect(() => text.encode(value)).toThrow(ArgumentError)
    },
  )

  it.each(NOT_UTF8)('decoding %s as text throws', (_, value) => {
    expect(() => text.decode(stored(value))).toThrow(PayloadError)
  })
})

describe('number', () => {
  it('every finite number round-trips', () =>
    comesBack(
      number,
      // Adding zero turns -0 into 0, as the sign of zero is lost.
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
  ])('is stored as decimal text: %d', (value, encoded) => {
    expect(read(number.encode(value))).toBe(encoded)
  })

  it.each([
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['a numeric string', '1'],
    ['a bigint', 1n],
    ['a boolean', true],
    ['undefined', undefined],
    ['null', null],
    ['a date', new Date(0)],
  ])('encoding %s as a number throws `argument`', (_, value) => {
    expect(encoding(number, value)).toThrow(ArgumentError)
  })

  it('the error names the expected type and the actual value', () => {
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
  ])('the codec number decodes %j as a number', (value, decoded) => {
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
  ])('decoding %j as a number throws', value => {
    expect(() => number.decode(stored(value))).toThrow(PayloadError)
  })

  it.each(['0x10', '0X1F', '0b101', '0o17'])('decoding the non-decimal literal %j as a number throws', value => {
    expect(() => number.decode(stored(value))).toThrow(PayloadError)
  })

  it.each(NOT_UTF8)('decoding %s as a number throws', (_, value) => {
    expect(() => number.decode(stored(value))).toThrow(PayloadError)
  })

  it('the error shows only the start of a long malformed number', () => {
    expect(() => number.decode(stored('x'.repeat(10_000)))).toThrow(`Not a number: "${'x'.repeat(80)}"`)
  })
})

describe('boolean', () => {
  it('both booleans round-trip', () => comesBack(boolean, fc.boolean()))

  it('is encoded as `true` or `false`', () => {
    expect([true, false].map(value => read(boolean.encode(value)))).toEqual(['true', 'false'])
  })

  it.each([
    ['a word', 'true'],
    ['a number', 1],
    ['undefined', undefined],
    ['null', null],
    ['an object', {}],
  ])('encoding %s as a boolean throws `argument`', (_, value) => {
    expect(encoding(boolean, value)).toThrow(ArgumentError)
  })

  it('white space around a boolean is ignored', () => {
    expect(boolean.decode(stored(' true\r\n'))).toBe(true)
    expect(boolean.decode(stored('\tfalse'))).toBe(false)
  })

  it.each(['', 'True', 'TRUE', '1', '0', 'yes', 'on', 'null', 'truefalse', 'true false'])(
    'decoding %j as a boolean throws',
    value => {
      expect(() => boolean.decode(stored(value))).toThrow(PayloadError)
    },
  )

  it.each(NOT_UTF8)('decoding %s as a boolean throws', (_, value) => {
    expect(() => boolean.decode(stored(value))).toThrow(PayloadError)
  })
})

describe.each([
  ['bytes', bytes],
  ['text', text],
  ['number', number],
  ['boolean', boolean],
] as const)('%s', (_, codec) => {
  it('encoding an object without a prototype throws `argument`', () => {
    expect(encoding(codec, Object.create(null))).toThrow(ArgumentError)
  })
})

describe('encodeFor', () => {
  /** Returns a codec whose result has the wrong type. */
  const returning = (encoded: unknown) => ({ encode: (): Uint8Array => Object({ encoded }).encoded })

  it.each([
    ['text', 'abc', '`abc` (string)'],
    ['null', null, '`null` (object)'],
    ['undefined', undefined, '`undefined` (undefined)'],
    ['an ArrayBuffer', new ArrayBuffer(3), '`[object ArrayBuffer]` (object)'],
    ['an array', [1, 2], '`1,2` (object)'],
    ['a promise', Promise.resolve(), '`[object Promise]` (object)'],
  ])('a codec that returns %s throws `argument`', (_, encoded, words) => {
    expect(() => encodeFor('k', returning(encoded), 'x')).toThrow(
      expect.objectContaining({
        code: 'argument',
        message: `The value for key "k" cannot be encoded: Expected \`encode\` of the codec to return a Uint8Array, got ${words}`,
      }),
    )
  })

  it('a codec may return a Uint8Array of another realm, as in test environments and frames', () => {
    const foreign: unknown = runInNewContext('new Uint8Array([1, 2])')
    expect(encodeFor('k', returning(foreign), 'x')).toBe(foreign)
  })
})

describe('a custom codec', () => {
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
    ['transferred bytes', gone],
    ['an object with only the prototype of bytes', Object.create(Uint8Array.prototype)],
    ['an object with only the name of bytes', { [Symbol.toStringTag]: 'Uint8Array', length: 3 }],
  ])('a codec that returns %s throws `argument`', (_, encoded) => {
    expect(() => encodeFor('k', { encode: () => encoded }, 1)).toThrow(ArgumentError)
  })

  it.each([
    ['cannot be converted to a string', throwing],
    ['has a message that throws', Object.setPrototypeOf(throwing, Error.prototype)],
  ])('a codec causes `argument` if it throws an object that %s', (_, thrown) => {
    const encode = (): Uint8Array => {
      throw thrown
    }
    expect(() => encodeFor('k', { encode }, 1)).toThrow(ArgumentError)
  })
})
