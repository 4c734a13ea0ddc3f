import { NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { boolean, bytes, number, text } from '../../src/client/keys/codec.js'
import { json } from '../../src/client/keys/json.js'
import { deleteIf, deleteKey, set } from '../../src/client/keys/operators/operators.js'
import { fakeStore } from '../support/operator-session.js'

// Arguments that do not compile must also fail immediately for callers without types.

const { store } = fakeStore(() => NEVER)
const key = store.key('k', text)
const keyOf = (item: string): string => item

const argument = (message: unknown = expect.any(String)) => expect.objectContaining({ code: 'argument', message })
const missing = (operator: string, needed: string) =>
  argument(`Expected ${operator}(key, options?) or ${operator}(store, ${needed}, options?)`)

describe('an operator on a store without a function that returns the key', () => {
  it('set throws an argument error', () => {
    // @ts-expect-error a store needs to be told the key of an item
    expect(() => set(store)).toThrow(missing('set', 'keyOf, codec or toValue'))
    // @ts-expect-error options are no function for keys
    expect(() => set(store, { concurrency: 2 })).toThrow(missing('set', 'keyOf, codec or toValue'))
  })

  it('deleteKey throws an argument error', () => {
    // @ts-expect-error a store needs to be told the key of an item
    expect(() => deleteKey(store)).toThrow(missing('deleteKey', 'keyOf'))
    // @ts-expect-error options are no function for keys
    expect(() => deleteKey(store, { timeout: 5 })).toThrow(missing('deleteKey', 'keyOf'))
  })

  it('deleteIf throws an argument error', () => {
    // @ts-expect-error a store needs to be told the key of an item
    expect(() => deleteIf(store)).toThrow(missing('deleteIf', 'keyOf, codec or toValue'))
    // @ts-expect-error a fixed key is written store.key('k', codec)
    expect(() => deleteIf(store, 'k', text)).toThrow(missing('deleteIf', 'keyOf, codec or toValue'))
  })
})

describe('an operator on a store without a codec', () => {
  it('set throws an argument error', () => {
    // @ts-expect-error neither a codec nor a function for values
    expect(() => set(store, keyOf)).toThrow(missing('set', 'keyOf, codec or toValue'))
  })

  it('deleteIf throws an argument error', () => {
    // @ts-expect-error neither a codec nor a function for values
    expect(() => deleteIf(store, keyOf)).toThrow(missing('deleteIf', 'keyOf, codec or toValue'))
  })

  it('an operator with options instead of a codec throws an argument error', () => {
    // @ts-expect-error options are no codec
    expect(() => set(store, keyOf, { concurrency: 2 })).toThrow(argument())
    // @ts-expect-error options are no codec
    expect(() => deleteIf(store, keyOf, { concurrency: 2 })).toThrow(argument())
  })
})

describe('an operator without a key and without a store', () => {
  it.each([
    // @ts-expect-error nothing to write to
    ['set', () => set()],
    // @ts-expect-error nothing to delete
    ['deleteKey', () => deleteKey()],
    // @ts-expect-error nothing to delete
    ['deleteIf', () => deleteIf()],
    // @ts-expect-error the name of a key is no key
    ['set, with a name', () => set('k')],
    // @ts-expect-error null is no key
    ['set, with null', () => set(null)],
  ])('%s throws an argument error', (_, call) => {
    expect(call).toThrow(argument())
  })
})

describe('an operator with invalid options', () => {
  it.each([
    ['concurrency', () => set(key, { concurrency: 0 })],
    ['buffer', () => set(store, keyOf, text, { buffer: 0 })],
    // @ts-expect-error a number is wanted, not its text
    ['concurrency as a text', () => set(key, { concurrency: '4' })],
    ['timeout of set', () => set(key, { timeout: 0 })],
    ['timeout of a store', () => set(store, keyOf, text, { timeout: 0.5 })],
    ['timeout of deleteKey', () => deleteKey(key, { timeout: Number.NaN })],
    ['timeout of deleteIf', () => deleteIf(key, { timeout: -1 })],
    ['expiresIn', () => set(key, { expiresIn: 0 })],
    ['expiresIn of a store', () => set(store, keyOf, text, { expiresIn: 1.5 })],
    // @ts-expect-error milliseconds are wanted, not a text
    ['expiresIn as a text', () => set(key, { expiresIn: '60s' })],
    ['two conditions', () => set(key, { ifAbsent: true, ifAbsentOrEqual: true })],
    ['fencingToken of set', () => set(key, { fencingToken: 'none' })],
    ['fencingToken of deleteKey', () => deleteKey(store, keyOf, { fencingToken: '1:2' })],
    ['fencingToken of deleteIf', () => deleteIf(key, { fencingToken: '' })],
  ])('%s throws an argument error when the operator is called', (_, call) => {
    expect(call).toThrow(argument())
  })

  it('an unknown mode for errors throws an argument error', () => {
    // @ts-expect-error there are `throw` and `emit`
    expect(() => set(key, { onError: 'ignore' })).toThrow(argument())
  })
})

describe('a value that is not of its key’s type', () => {
  it('set and deleteIf reject with an argument error', async () => {
    // @ts-expect-error the key holds numbers
    await expect(store.key('k', number).set('21.5')).rejects.toEqual(argument())
    // @ts-expect-error the key holds numbers
    await expect(store.key('k', number).deleteIf(true)).rejects.toEqual(argument())
    // @ts-expect-error the key holds booleans
    await expect(store.key('k', boolean).set(1)).rejects.toEqual(argument())
    // @ts-expect-error the key holds bytes
    await expect(store.key('k', bytes).set('text')).rejects.toEqual(argument())
    // @ts-expect-error the codec is one of texts
    await expect(store.set('k', 1, text)).rejects.toEqual(argument())
  })

  it('only the compiler rejects the value if JSON can represent it', () => {
    const point = store.key('k', json<{ x: number }>())
    // @ts-expect-error x is a number
    expect(() => point.set({ x: '1' })).not.toThrow()
    // @ts-expect-error x is missing
    expect(() => point.set({})).not.toThrow()
  })
})

describe('an invalid key', () => {
  it('is rejected by the call, or is the error of the request', async () => {
    // @ts-expect-error a key is a text or bytes
    expect(() => store.key(7, text)).toThrow(argument())
    // @ts-expect-error a key is needed
    expect(() => store.key()).toThrow(argument())
    // @ts-expect-error a list of numbers is not bytes
    await expect(store.delete([1, 2])).rejects.toEqual(argument())
  })
})
