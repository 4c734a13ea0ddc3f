import { runInNewContext } from 'node:vm'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { describe, expect, it } from 'vitest'
import { json } from '../../../src/client/keys/json.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { ArgumentError, PayloadError } from '../../../src/core/util/errors.js'

type Issue = StandardSchemaV1.Issue

/** A Standard Schema with the given validation function. */
const schema = <T>(validate: StandardSchemaV1<unknown, T>['~standard']['validate']): StandardSchemaV1<unknown, T> => ({
  '~standard': { version: 1, vendor: 'spec', validate },
})

const failing = (...issues: readonly Issue[]) => schema<never>(() => ({ issues }))

interface Asset {
  readonly name: string
}

const isAsset = (value: unknown): value is Asset =>
  typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string'

const asset = schema<Asset>(value =>
  isAsset(value) ? { value } : { issues: [{ message: 'Expected a text', path: ['name'] }] },
)

/** A schema that converts days stored as `2023-10-03`. */
const day = schema<Date>(value => ({ value: new Date(`${String(value)}T00:00:00Z`) }))

describe('json(schema)', () => {
  it.each([[{ type: 'object' }], [{ '~standard': {} }], [null]])('an invalid schema throws `argument`: %j', schema => {
    // @ts-expect-error a schema of another kind
    expect(() => json(schema)).toThrow(ArgumentError)
  })

  it('a valid value decodes', () => {
    expect(json(asset).decode(utf8('{"name":"pump","more":1}'))).toEqual({ name: 'pump', more: 1 })
  })

  it('a value decodes to the output of the schema', () => {
    expect(json(day).decode(utf8('"2023-10-03"'))).toEqual(new Date(1_696_291_200_000))
  })

  it('a schema may decode a value to undefined', () => {
    expect(json(schema(() => ({ value: undefined }))).decode(utf8('1'))).toBeUndefined()
  })

  it('the schema receives the parsed value', () => {
    const seen: unknown[] = []
    const spy = schema(value => {
      seen.push(value)
      return { value }
    })
    json(spy).decode(utf8('[1,{"a":null}]'))
    expect(seen).toEqual([[1, { a: null }]])
  })

  it('a schema may be a function with a `~standard` property, as in some libraries', () => {
    const callable = Object.assign(() => undefined, asset)
    expect(json(callable).decode(utf8('{"name":"pump"}'))).toEqual({ name: 'pump' })
    expect(() => json(callable).decode(utf8('{}'))).toThrow(PayloadError)
  })

  it('encoding does not validate', () => {
    expect(json(failing({ message: 'never' })).encode).toBeTypeOf('function')
    expect(json(day).encode(new Date(0))).toEqual(utf8('"1970-01-01T00:00:00.000Z"'))
  })

  it('malformed JSON is not passed to the schema', () => {
    const spy = schema<unknown>(() => {
      throw new Error('asked')
    })
    expect(() => json(spy).decode(utf8('{'))).toThrow(SyntaxError)
  })

  it('an error that the schema throws is rethrown unchanged', () => {
    const broken = schema<unknown>(() => {
      throw new RangeError('broken schema')
    })
    expect(() => json(broken).decode(utf8('1'))).toThrow(RangeError)
  })
})

describe('json(schema) with an invalid value', () => {
  it.each<{ what: string; issues: Issue[]; says: string }>([
    { what: 'the message', issues: [{ message: 'Wrong' }], says: 'Wrong' },
    { what: 'the path', issues: [{ message: 'Wrong', path: ['a', 0, 'b'] }], says: 'a.0.b: Wrong' },
    {
      what: 'the path of segment objects',
      issues: [{ message: 'Wrong', path: [{ key: 'a' }, { key: 1 }] }],
      says: 'a.1: Wrong',
    },
    { what: 'a symbol in the path', issues: [{ message: 'Wrong', path: [Symbol('s')] }], says: 'Symbol(s): Wrong' },
    { what: 'no path if it is empty', issues: [{ message: 'Wrong', path: [] }], says: 'Wrong' },
    {
      what: 'all issues',
      issues: [{ message: 'Wrong', path: ['a'] }, { message: 'Missing', path: ['b'] }, { message: 'Odd' }],
      says: 'a: Wrong; b: Missing; Odd',
    },
  ])('the error names $what', ({ issues, says }) => {
    expect(() => json(failing(...issues)).decode(utf8('1'))).toThrow(
      expect.objectContaining({ code: 'payload', message: `The schema rejects the value: ${says}` }),
    )
  })

  it('decoding throws even if the schema returns an empty list of issues', () => {
    expect(() => json(failing()).decode(utf8('1'))).toThrow(PayloadError)
  })
})

describe('json(schema) with an asynchronous schema', () => {
  const asynchronous = expect.objectContaining({ code: 'payload', message: expect.stringContaining('asynchronous') })

  it('decoding throws', () => {
    expect(() => json(schema(async value => ({ value }))).decode(utf8('1'))).toThrow(asynchronous)
  })

  it('decoding throws even if the promise is from another realm', () => {
    const foreign: Promise<StandardSchemaV1.Result<number>> = runInNewContext('Promise.resolve({ value: 1 })')
    expect(() => json(schema(() => foreign)).decode(utf8('1'))).toThrow(asynchronous)
  })
})
