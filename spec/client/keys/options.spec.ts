import { NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { number, text } from '../../../src/client/keys/codec.js'
import {
  checkSetOptions,
  checkTimeout,
  checkToken,
  type DeleteOptions,
  type SetOptions,
} from '../../../src/client/keys/options.js'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { checkPositiveInteger } from '../../../src/core/util/check.js'
import { record } from '../../support/open-client.js'
import { fakeStore } from '../../support/operator-session.js'

/** Returns a function that calls `run` without type checking. */
const untyped =
  (check: (...values: never[]) => unknown, ...values: readonly unknown[]) =>
  (): unknown =>
    Reflect.apply(check, undefined, values)

const noPositiveInteger = (name: string, got: string) =>
  expect.objectContaining({
    name: 'ArgumentError',
    code: 'argument',
    message: `Expected \`${name}\` to be a positive integer up to 2^53 - 1, got ${got}`,
  })

const WRONG_NUMBERS: readonly (readonly [unknown, string])[] = [
  [0, '`0` (number)'],
  [-0, '`0` (number)'],
  [-1, '`-1` (number)'],
  [1.5, '`1.5` (number)'],
  [Number.NaN, '`NaN` (number)'],
  [Number.POSITIVE_INFINITY, '`Infinity` (number)'],
  [Number.NEGATIVE_INFINITY, '`-Infinity` (number)'],
  [Number.MAX_SAFE_INTEGER + 1, '`9007199254740992` (number)'],
  ['5000', '`5000` (string)'],
  ['', '`` (string)'],
  [5n, '`5` (bigint)'],
  [true, '`true` (boolean)'],
  [null, '`null` (object)'],
  [[5], '`5` (object)'],
]

const WRONG_OR_MISSING: typeof WRONG_NUMBERS = [...WRONG_NUMBERS, [undefined, '`undefined` (undefined)']]

describe('checkPositiveInteger', () => {
  it.each([1, 2, 10_000, Number.MAX_SAFE_INTEGER])('accepts %d', value => {
    expect(() => checkPositiveInteger('size', value)).not.toThrow()
  })

  it.each(WRONG_OR_MISSING)('rejects %s and names the option', (value, got) => {
    expect(untyped(checkPositiveInteger, 'size', value)).toThrow(noPositiveInteger('size', String(got)))
  })
})

describe('timeout', () => {
  it('a request without a timeout uses the timeout of the client', () => {
    expect(checkTimeout(undefined, 10_000)).toBe(10_000)
    expect(checkTimeout(1, 10_000)).toBe(1)
  })

  it.each(WRONG_NUMBERS)('of %s throws', (value, got) => {
    expect(untyped(checkTimeout, value, 10_000)).toThrow(noPositiveInteger('timeout', got))
  })
})

describe('expiresIn', () => {
  it('is sent as time to live', () => {
    expect(checkSetOptions({ expiresIn: 60_000 }).px).toBe(60_000)
    expect(checkSetOptions({}).px).toBeUndefined()
  })

  it.each(WRONG_NUMBERS)('of %s throws', (value, got) => {
    expect(untyped(checkSetOptions, { expiresIn: value })).toThrow(noPositiveInteger('expiresIn', got))
  })
})

describe('conditions', () => {
  it.each<[SetOptions, unknown]>([
    [{}, undefined],
    [{ ifAbsent: false, ifAbsentOrEqual: false }, undefined],
    [{ ifAbsent: true }, { type: 'NX' }],
    [{ ifAbsent: true, ifAbsentOrEqual: false }, { type: 'NX' }],
    [{ ifAbsentOrEqual: true }, { type: 'NEX', comparand: undefined }],
    [
      { ifAbsentOrEqual: true, ifAbsent: false },
      { type: 'NEX', comparand: undefined },
    ],
  ])('the options %o select the right condition', (options, condition) => {
    expect(checkSetOptions(options).condition).toEqual(condition)
  })

  it('two conditions together throw', () => {
    expect(() => checkSetOptions({ ifAbsent: true, ifAbsentOrEqual: true })).toThrow(
      expect.objectContaining({
        code: 'argument',
        message: 'Expected one of `ifAbsent` and `ifAbsentOrEqual`, got both',
      }),
    )
  })
})

describe('fencingToken', () => {
  const token = new Hlc(1_696_374_425_000, 1, 'StateStore')

  it('a fencing token may be a version or its text, zero-padded or not', () => {
    expect(checkToken(token)).toBe(token)
    expect(checkToken('1696374425000:1:StateStore')).toEqual(token)
    expect(checkToken('001696374425000:00001:StateStore')).toEqual(token)
  })

  it('a fencing token is optional', () => {
    expect(checkToken(undefined)).toBeUndefined()
    expect(checkSetOptions({}).fencingToken).toBeUndefined()
  })

  it('a fencing token is part of the options of a write', () => {
    expect(checkSetOptions({ fencingToken: String(token) }).fencingToken).toEqual(token)
  })

  it('a fencing token may come from another copy of this package', () => {
    const foreign = { wallClock: 7, counter: 1, nodeId: 'lock', toString: () => '7:1:lock' }
    expect(untyped(checkToken, foreign)()).toEqual(new Hlc(7, 1, 'lock'))
  })

  it.each([
    '',
    ':',
    '1',
    '1:2',
    '1:2:',
    ':1:a',
    '1::a',
    'a:1:b',
    '-1:1:a',
    '1.5:1:a',
    '1:1:a:b',
    ' 1:1:a',
    '1e3:1:a',
    '0x1:1:a',
    '9007199254740992:1:a',
    '1:9007199254740992:a',
  ])('a fencing token of %j throws', text => {
    expect(() => checkToken(text)).toThrow(
      expect.objectContaining({
        code: 'argument',
        message: `Expected \`fencingToken\` to be a version such as 1696374425000:1:StateStore, got \`${text}\``,
        cause: expect.objectContaining({ code: 'hlc', problem: 'malformed' }),
      }),
    )
  })

  it.each([null, 1, true, {}, []])('a fencing token of %j throws', value => {
    expect(untyped(checkToken, value)).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it('the error shows only the start of a long malformed token', () => {
    expect(() => checkToken('x'.repeat(10_000))).toThrow(/got `x{80}`$/)
  })
})

describe('invalid options of a key', () => {
  const key = () => {
    const fake = fakeStore(() => NEVER)
    return { ...fake, key: fake.store.key('k', text) }
  }

  const argument = expect.objectContaining({ code: 'argument' })

  it.each<SetOptions>([
    { timeout: 0 },
    { expiresIn: 0 },
    { fencingToken: 'x' },
    { ifAbsent: true, ifAbsentOrEqual: true },
    { ...Object({ ifAbsentOrEqual: 'old' }) },
    { ...Object({ ifAbsent: 1 }) },
    { ...Object({ persist: 'no' }) },
  ])('set emits an error and sends nothing for the invalid options %o', options => {
    const { key: handle, session } = key()
    expect(record(handle.set('x', options)).error).toEqual(argument)
    expect(session.requests).toEqual([])
  })

  it.each<DeleteOptions>([{ timeout: 0 }, { fencingToken: 'x' }])(
    'delete and deleteIf emit an error for the invalid options %o',
    options => {
      expect(record(key().key.delete(options)).error).toEqual(argument)
      expect(record(key().key.deleteIf('x', options)).error).toEqual(argument)
    },
  )

  it('get emits an error for invalid options', () => {
    expect(record(key().key.get({ timeout: 0 })).error).toEqual(argument)
  })

  it('set and deleteIf emit an error for a value that cannot be encoded', () => {
    const handle = key().store.key('k', number)
    expect(record(handle.set(Number.NaN)).error).toEqual(argument)
    expect(record(handle.deleteIf(Number.NaN)).error).toEqual(argument)
  })

  it('get, set, delete and deleteIf of the store emit an error for invalid arguments', () => {
    const { store } = key()
    expect(record(store.get('', text)).error).toEqual(argument)
    expect(record(store.set('k', 'x', text, { expiresIn: 0 })).error).toEqual(argument)
    expect(record(store.delete('k', { timeout: 0.5 })).error).toEqual(argument)
    expect(record(store.deleteIf('k', 'x', text, { fencingToken: 'x' })).error).toEqual(argument)
  })

  it('key throws synchronously for an empty name', () => {
    expect(() => key().store.key('', text)).toThrow(argument)
  })
})
