import { runInNewContext } from 'node:vm'
import { lastValueFrom, of, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { bytes, json } from '../../../src/client/index.js'
import { hasSameContent } from '../../../src/core/util/same-content.js'
import { toPayload } from '../../../src/pubsub/client/send.js'
import { payloadOf } from '../../../src/pubsub/wire/rules.js'
import { fakeStore } from '../../support/operator-session.js'

const otherBytes: Uint8Array = runInNewContext('new Uint8Array([0xff, 1])')

describe('a value of another realm', () => {
  it('bytes of another realm are accepted as a key, as a glob and as a value', async () => {
    const { store, session } = fakeStore(({ verb }) =>
      of({ payload: verb === 'SCAN' ? '*1\r\n*0\r\n' : '+OK\r\n', properties: { __stat: '200' } }),
    )
    await store.set(otherBytes, otherBytes, bytes)
    await lastValueFrom(store.scan(otherBytes, bytes).pipe(toArray()))
    expect(otherBytes instanceof Uint8Array).toBe(false)
    expect(session.requests).toHaveLength(2)
    expect(session.keys[0]).toBe('\xff\x01')
  })

  it('bytes of another realm are the data of a message, and a buffer is refused', () => {
    expect(toPayload(otherBytes, undefined)).toMatchObject({ dataType: 'binary' })
    expect(payloadOf('protobuf', otherBytes)).toMatchObject({ dataType: 'protobuf' })
    expect(() => toPayload(runInNewContext('new ArrayBuffer(2)'), undefined)).toThrow('JSON value')
  })

  it.each([
    'new Map()',
    'new Set()',
    'new ArrayBuffer(1)',
    '/a/',
    'new Error("x")',
    'Promise.resolve()',
    'new Date(NaN)',
  ])('a value that JSON would lose is refused: %s', code => {
    expect(() => json().encode({ field: runInNewContext(code) })).toThrow(/^JSON has no /)
  })

  it('values with the same content are the same', () => {
    const other: unknown = runInNewContext('({ a: [1, { b: new Uint8Array([1]) }] })')
    expect(hasSameContent(other, { a: [1, { b: Uint8Array.of(1) }] })).toBe(true)
    expect(hasSameContent(runInNewContext('new (class A {})()'), {})).toBe(false)
  })
})
