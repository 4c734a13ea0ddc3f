import type { StandardSchemaV1 } from '@standard-schema/spec'
import fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Codec } from '../../../src/client/keys/codec.js'
import { identityOf, json } from '../../../src/client/keys/json.js'
import { jsonLines } from '../../../src/client/keys/json-lines.js'
import { fromUtf8, utf8 } from '../../../src/core/util/bytes.js'
import { ArgumentError } from '../../../src/core/util/errors.js'
import { comesBack } from '../../support/operator-codecs.js'

interface Asset {
  readonly asset: string
}

/** Takes records with a name, and adds that it has seen them. */
const seen: StandardSchemaV1<Asset, Asset & { readonly seen: true }> = {
  '~standard': {
    version: 1,
    vendor: 'spec',
    validate: value =>
      typeof value === 'object' && value !== null && 'asset' in value && typeof value.asset === 'string'
        ? { value: { asset: value.asset, seen: true } }
        : { issues: [{ message: 'Expected a text', path: ['asset'] }] },
  },
}

describe('jsonLines', () => {
  it('gives back every array of JSON values', () =>
    comesBack(jsonLines<unknown>(), fc.array(fc.jsonValue().map(value => JSON.parse(JSON.stringify(value))))))

  it('writes one record a line, without an end of the last line', () => {
    const records = [{ asset: 'pump', room: 'a\nb' }, { asset: 'fan' }]
    expect(fromUtf8(jsonLines().encode(records))).toBe('{"asset":"pump","room":"a\\nb"}\n{"asset":"fan"}')
  })

  it('writes an empty array as an empty value', () => {
    expect(jsonLines().encode([])).toEqual(new Uint8Array())
    expect(jsonLines().decode(new Uint8Array())).toEqual([])
  })

  it.each([
    ['an end of the last line', '1\n2\n'],
    ['ends of Windows', '1\r\n2\r\n'],
    ['blank lines', '\n1\n \t\r\n\n2\n\n'],
    ['spaces around records', ' 1 \n\t2'],
  ])('reads records with %s', (_, lines) => {
    expect(jsonLines<number>().decode(utf8(lines))).toEqual([1, 2])
  })

  it.each([
    ['no JSON', utf8('1\n\n{"a":\n2'), /^Line 3: .*JSON/],
    ['no UTF-8', Uint8Array.of(0x31, 10, 0xff), /^Line 2: Bytes are not UTF-8/],
    ['a number that is too large', utf8('1\n1e999'), /^Line 2: A number is too large/],
    ['one record over several lines', utf8('[\n1\n]'), /^Line 1: /],
  ])('names the line that is %s', (_, stored, message) => {
    expect(() => jsonLines().decode(stored)).toThrow(
      expect.objectContaining({ code: 'payload', message: expect.stringMatching(message) }),
    )
  })

  it.each<[what: string, records: unknown[], says: RegExp]>([
    ['NaN', [{ a: 1 }, { a: Number.NaN }], /^Line 2: JSON has no NaN \(at a\)/],
    ['undefined', [1, undefined], /^Line 2: Expected the value to be a JSON value/],
    // biome-ignore lint/suspicious/noSparseArray: what is tried
    ['a hole', [1, , 3], /^Line 2: Expected the value to be a JSON value/],
  ])('refuses to write %s, with its line', (_, records, message) => {
    expect(() => jsonLines().encode(records)).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringMatching(message) }),
    )
  })

  it.each([[{ asset: 'pump' }], ['[]'], [undefined], [new Set([1])]])(
    'refuses to write what is no array: %s',
    value => {
      // @ts-expect-error it takes arrays
      expect(() => jsonLines().encode(value)).toThrow(ArgumentError)
    },
  )
})

describe('jsonLines(schema)', () => {
  it('decodes each line to what the schema makes of it', () => {
    expect(jsonLines(seen).decode(utf8('{"asset":"pump"}\n{"asset":"fan","more":1}'))).toEqual([
      { asset: 'pump', seen: true },
      { asset: 'fan', seen: true },
    ])
  })

  it('names the line, and the place in it, that the schema does not take', () => {
    expect(() => jsonLines(seen).decode(utf8('{"asset":"pump"}\n{"asset":5}'))).toThrow(
      expect.objectContaining({
        code: 'payload',
        message: 'Line 2: The schema rejects it: asset: Expected a text',
      }),
    )
  })

  it('refuses what is no Standard Schema', () => {
    // @ts-expect-error a schema of another kind
    expect(() => jsonLines({ type: 'object' })).toThrow(ArgumentError)
    // @ts-expect-error nothing
    expect(() => jsonLines(null)).toThrow(ArgumentError)
  })

  it('has the type of the records that are read', () => {
    expectTypeOf(jsonLines(seen)).toEqualTypeOf<Codec<readonly (Asset & { readonly seen: true })[]>>()
    expectTypeOf(jsonLines<Asset>()).toEqualTypeOf<Codec<readonly Asset[]>>()
  })

  it('is one codec for one schema, and another than that of json', () => {
    expect(jsonLines(seen)).toBe(jsonLines(seen))
    expect(jsonLines()).toBe(jsonLines())
    expect(identityOf(jsonLines(seen))).not.toBe(identityOf(json(seen)))
    expect(identityOf(jsonLines())).not.toBe(identityOf(json()))
  })
})
