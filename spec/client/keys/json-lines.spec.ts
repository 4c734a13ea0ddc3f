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

/** A schema that accepts records with a name and marks them. */
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
  it('every array of JSON values round-trips', () =>
    comesBack(jsonLines<unknown>(), fc.array(fc.jsonValue().map(value => JSON.parse(JSON.stringify(value))))))

  it('each record is one line, and no line break follows the last record', () => {
    const records = [{ asset: 'pump', room: 'a\nb' }, { asset: 'fan' }]
    expect(fromUtf8(jsonLines().encode(records))).toBe('{"asset":"pump","room":"a\\nb"}\n{"asset":"fan"}')
  })

  it('an empty array is stored as an empty value', () => {
    expect(jsonLines().encode([])).toEqual(new Uint8Array())
    expect(jsonLines().decode(new Uint8Array())).toEqual([])
  })

  it.each([
    ['a final line break', '1\n2\n'],
    ['CR LF line breaks', '1\r\n2\r\n'],
    ['blank lines', '\n1\n \t\r\n\n2\n\n'],
    ['spaces around records', ' 1 \n\t2'],
  ])('decodes records despite %s', (_, lines) => {
    expect(jsonLines<number>().decode(utf8(lines))).toEqual([1, 2])
  })

  it.each([
    ['malformed JSON', utf8('1\n\n{"a":\n2'), /^Line 3: .*JSON/],
    ['malformed UTF-8', Uint8Array.of(0x31, 10, 0xff), /^Line 2: Bytes are not UTF-8/],
    ['a number that is too large', utf8('1\n1e999'), /^Line 2: A number is too large/],
    ['the start of a multi-line record', utf8('[\n1\n]'), /^Line 1: /],
  ])('a decoding error names the line with %s', (_, stored, message) => {
    expect(() => jsonLines().decode(stored)).toThrow(
      expect.objectContaining({ code: 'payload', message: expect.stringMatching(message) }),
    )
  })

  it.each<[what: string, records: unknown[], says: RegExp]>([
    ['NaN', [{ a: 1 }, { a: Number.NaN }], /^Line 2: JSON has no NaN \(at a\)/],
    ['undefined', [1, undefined], /^Line 2: Expected the value to be a JSON value/],
    // biome-ignore lint/suspicious/noSparseArray: the hole is under test
    ['a hole', [1, , 3], /^Line 2: Expected the value to be a JSON value/],
  ])('encoding %s throws and names the line', (_, records, message) => {
    expect(() => jsonLines().encode(records)).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringMatching(message) }),
    )
  })

  it.each([[{ asset: 'pump' }], ['[]'], [undefined], [new Set([1])]])(
    'encoding a value that is not an array throws: %s',
    value => {
      // @ts-expect-error it takes arrays
      expect(() => jsonLines().encode(value)).toThrow(ArgumentError)
    },
  )
})

describe('jsonLines(schema)', () => {
  it('each line decodes to the output of the schema', () => {
    expect(jsonLines(seen).decode(utf8('{"asset":"pump"}\n{"asset":"fan","more":1}'))).toEqual([
      { asset: 'pump', seen: true },
      { asset: 'fan', seen: true },
    ])
  })

  it('a validation error names the line and the path', () => {
    expect(() => jsonLines(seen).decode(utf8('{"asset":"pump"}\n{"asset":5}'))).toThrow(
      expect.objectContaining({
        code: 'payload',
        message: 'Line 2: The schema rejects the value: asset: Expected a text',
      }),
    )
  })

  it('an invalid schema throws `argument`', () => {
    // @ts-expect-error a schema of another kind
    expect(() => jsonLines({ type: 'object' })).toThrow(ArgumentError)
    // @ts-expect-error nothing
    expect(() => jsonLines(null)).toThrow(ArgumentError)
  })

  it("the type of the values is the schema's output", () => {
    expectTypeOf(jsonLines(seen)).toEqualTypeOf<Codec<readonly (Asset & { readonly seen: true })[]>>()
    expectTypeOf(jsonLines<Asset>()).toEqualTypeOf<Codec<readonly Asset[]>>()
  })

  it('jsonLines returns the same codec for the same schema, and a different one than json', () => {
    expect(jsonLines(seen)).toBe(jsonLines(seen))
    expect(jsonLines()).toBe(jsonLines())
    expect(identityOf(jsonLines(seen))).not.toBe(identityOf(json(seen)))
    expect(identityOf(jsonLines())).not.toBe(identityOf(json()))
  })
})
