import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toKeyName } from '../../../src/client/watch/key-name.js'
import type { KeyName } from '../../../src/core/protocol/commands.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { ArgumentError } from '../../../src/core/util/errors.js'
import { anyCodePoint } from '../../support/any-code-point.js'

/** Returns a function that calls `toKeyName` as an untyped caller does. */
const untyped = (name: unknown) => (): unknown => Reflect.apply(toKeyName, undefined, [name])

/** Returns a key name without its id. */
const bytesAndTextOf = (name: string | Uint8Array): Omit<KeyName, 'id'> => {
  const { bytes, text } = toKeyName(name)
  return { bytes, text }
}

describe('toKeyName', () => {
  it('a text name has its UTF-8 bytes and its text', () => {
    expect(bytesAndTextOf('größe')).toEqual({ bytes: utf8('größe'), text: 'größe' })
  })

  it('the bytes of a UTF-8 name are converted to its text', () => {
    expect(bytesAndTextOf(utf8('größe'))).toEqual({ bytes: utf8('größe'), text: 'größe' })
  })

  it('a well-formed text and its bytes name the same key', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint, minLength: 1 }), name => {
        expect(bytesAndTextOf(utf8(name))).toEqual(bytesAndTextOf(name))
      }),
    )
  })

  it('bytes that are not UTF-8 are shown in hex', () => {
    expect(bytesAndTextOf(Uint8Array.of(0xff, 0x0a, 0x80)).text).toBe('0xFF0A80')
    expect(toKeyName(Uint8Array.of(0xc3)).text).toBe('0xC3')
  })

  it('every byte of a key is kept', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), name => {
        expect(toKeyName(name).bytes).toEqual(name)
      }),
    )
  })

  it('NUL, blanks, wildcards and a byte order mark in a name are kept', () => {
    for (const name of ['\0', ' ', '#', '+', '$', '/', '\\', '\ufeffx']) {
      expect(bytesAndTextOf(name)).toEqual({ bytes: utf8(name), text: name })
      expect(bytesAndTextOf(utf8(name)).text).toBe(name)
    }
  })

  it('later changes of the source array do not affect the key', () => {
    const name = utf8('key')
    const key = toKeyName(name)
    name.fill(0)
    expect(key).toMatchObject({ bytes: utf8('key'), text: 'key' })
  })

  it('a view of a larger buffer names only the bytes of the view', () => {
    expect(bytesAndTextOf(utf8('a key').subarray(2))).toEqual({ bytes: utf8('key'), text: 'key' })
    expect(toKeyName(Buffer.from('key')).text).toBe('key')
  })

  it.each([
    ['text', ''],
    ['bytes', new Uint8Array()],
  ])('throws for an empty name, given as %s', (_, name) => {
    expect(() => toKeyName(name)).toThrow(
      expect.objectContaining({
        code: 'argument',
        message: 'Expected the key to have at least one byte',
      }),
    )
  })

  it.each([
    [1, '`1` (number)'],
    [undefined, '`undefined` (undefined)'],
    [null, '`null` (object)'],
    [true, '`true` (boolean)'],
    [{}, '`[object Object]` (object)'],
    [[1, 2], '`1,2` (object)'],
    [Symbol('s'), '`Symbol(s)` (symbol)'],
    [new Uint16Array(1), '`0` (object)'],
  ])('throws for a name that is neither text nor bytes: %s', (name, got) => {
    expect(untyped(name)).toThrow(
      expect.objectContaining({
        code: 'argument',
        message: `Expected the key to be a string or a Uint8Array, got ${got}`,
      }),
    )
  })

  it('throws for an object without a prototype', () => {
    expect(untyped(Object.create(null))).toThrow(ArgumentError)
  })

  it.each(['\ud800', 'sensor/\udfff'])('throws for an unpaired surrogate instead of naming another key: %j', name => {
    expect(() => toKeyName(name)).toThrow(ArgumentError)
  })
})
