import { NEVER, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { text } from '../../../../src/client/keys/codec.js'
import { deleteKey } from '../../../../src/client/keys/operators/operators.js'
import { Hlc } from '../../../../src/core/hlc/hlc.js'
import { fakeStore } from '../../../support/operator-session.js'

const answer = (payload: string) => of({ payload: `${payload}\r\n`, properties: { __ts: '7:1:StateStore' } })
const VERSION = new Hlc(7, 1, 'StateStore')

describe('deleteKey(key)', () => {
  it('deleteKey deletes the same key for every item', () => {
    const { session, store } = fakeStore(() => answer(':1'))
    of(1, 'two', undefined)
      .pipe(deleteKey(store.key('k', text)))
      .subscribe()
    expect(session.requests.map(({ verb, key, rest }) => [verb, key, ...rest])).toEqual([
      ['DEL', 'k'],
      ['DEL', 'k'],
      ['DEL', 'k'],
    ])
  })

  it.each([
    { payload: ':1', deleted: true },
    { payload: ':0', deleted: false },
  ])('deleteKey emits `deleted: $deleted` for the response $payload', ({ payload, deleted }) => {
    const { store } = fakeStore(() => answer(payload))
    const results: unknown[] = []
    of('now')
      .pipe(deleteKey(store.key('k', text)))
      .subscribe(result => results.push(result))
    expect(results).toEqual([{ key: 'k', deleted, version: VERSION }])
  })

  it('deleteKey sends the fencing token and the timeout with every request', () => {
    const { session, store } = fakeStore(() => NEVER)
    of(1, 2)
      .pipe(deleteKey(store.key('k', text), { fencingToken: VERSION, timeout: 1_000 }))
      .subscribe()
    expect(session.requests.map(({ properties, expiry }) => [properties['__ft'], expiry])).toEqual([
      ['7:1:StateStore', 1],
      ['7:1:StateStore', 1],
    ])
  })
})

describe('deleteKey(store)', () => {
  it('deleteKey deletes the key of every item', () => {
    const { session, store } = fakeStore(() => answer(':1'))
    const keys: string[] = []
    of(1, 2)
      .pipe(deleteKey(store, id => `asset/${id}`))
      .subscribe(({ key }) => keys.push(key))
    expect({ sent: session.keys, keys }).toEqual({ sent: ['asset/1', 'asset/2'], keys: ['asset/1', 'asset/2'] })
  })

  it('deleteKey sends its options with every request', () => {
    const { session, store } = fakeStore(() => NEVER)
    of('a', 'b')
      .pipe(deleteKey(store, key => key, { fencingToken: '7:1:lock', timeout: 1_500 }))
      .subscribe()
    expect(session.requests.map(({ properties, expiry }) => [properties['__ft'], expiry])).toEqual([
      ['7:1:lock', 2],
      ['7:1:lock', 2],
    ])
  })

  it('deleteKey errors with `outcome-unknown` when the request times out', () => {
    const { store, clock } = fakeStore(() => NEVER)
    const errors: unknown[] = []
    of('a')
      .pipe(deleteKey(store, key => key, { timeout: 500 }))
      .subscribe({ error: error => errors.push(error) })
    clock.advance(500)
    expect(errors).toEqual([expect.objectContaining({ code: 'outcome-unknown', key: 'a' })])
  })
})
