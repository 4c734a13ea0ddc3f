import { NEVER, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { StateStore } from '../../../../src/client/connect/client.js'
import { number, text } from '../../../../src/client/keys/codec.js'
import { deleteIf, deleteKey } from '../../../../src/client/keys/operators/operators.js'
import { Hlc } from '../../../../src/core/hlc/hlc.js'
import { record } from '../../../support/open-client.js'
import { fakeStore } from '../../../support/operator-session.js'

const answer = (payload: string) => of({ payload: `${payload}\r\n`, properties: { __ts: '7:1:StateStore' } })
const VERSION = new Hlc(7, 1, 'StateStore')
const same = (item: string): string => item

describe.each([
  { name: 'deleteKey(key)', of: (store: StateStore, o: object) => deleteKey<string>(store.key('k', text), o) },
  { name: 'deleteKey(store)', of: (store: StateStore, o: object) => deleteKey(store, same, o) },
  { name: 'deleteIf(key)', of: (store: StateStore, o: object) => deleteIf(store.key('k', text), o) },
  { name: 'deleteIf(store)', of: (store: StateStore, o: object) => deleteIf(store, same, text, o) },
])('$name', ({ of: form }) => {
  it.each(['7:1:lock', new Hlc(7, 1, 'lock')])('a deletion sends the fencing token %s and the timeout', token => {
    const { session, store } = fakeStore(() => NEVER)
    record(of('a', 'b').pipe(form(store, { fencingToken: token, timeout: 1_500 })))
    const sent = session.requests.map(({ properties, expiry }) => [properties['__ft'], expiry])
    expect(sent).toEqual([
      ['7:1:lock', 2],
      ['7:1:lock', 2],
    ])
  })

  it('a deletion errors with `outcome-unknown` when the request times out', () => {
    const { store, clock } = fakeStore(() => NEVER)
    const recording = record(of('k').pipe(form(store, { timeout: 500 })))
    clock.advance(500)
    expect(recording.error).toMatchObject({ code: 'outcome-unknown', key: 'k' })
  })
})

describe('deleteKey', () => {
  it('deletes the same key for every item', () => {
    const { session, store } = fakeStore(() => answer(':1'))
    record(of(1, 'two', undefined).pipe(deleteKey(store.key('k', text))))
    expect(session.requests.map(({ verb, key, rest }) => [verb, key, ...rest])).toEqual([
      ['DEL', 'k'],
      ['DEL', 'k'],
      ['DEL', 'k'],
    ])
  })

  it.each([
    { payload: ':1', deleted: true },
    { payload: ':0', deleted: false },
  ])('emits `deleted: $deleted` for the response $payload', ({ payload, deleted }) => {
    const { store } = fakeStore(() => answer(payload))
    const { values } = record(of('now').pipe(deleteKey(store.key('k', text))))
    expect(values).toMatchObject([{ key: 'k', deleted, version: VERSION }])
  })

  it('deletes the key of every item', () => {
    const { session, store } = fakeStore(() => answer(':1'))
    const { values } = record(of(1, 2).pipe(deleteKey(store, id => `asset/${id}`)))
    expect(session.keys).toEqual(['asset/1', 'asset/2'])
    expect(values).toMatchObject([{ key: 'asset/1' }, { key: 'asset/2' }])
  })
})

describe('deleteIf', () => {
  const jobs = of({ id: 'a', state: 'done' }, { id: 'b', state: 'failed' })
  type Job = { readonly id: string; readonly state: string }
  const idOf = ({ id }: Job): string => id
  const stateOf = ({ state }: Job): string => state

  it('sends VDEL with the item', () => {
    const { session, store } = fakeStore(() => answer(':1'))
    record(of(1, 2.5).pipe(deleteIf(store.key('k', number))))
    expect(session.requests.map(({ verb, key, rest }) => [verb, key, ...rest])).toEqual([
      ['VDEL', 'k', '1'],
      ['VDEL', 'k', '2.5'],
    ])
  })

  it.each([
    { payload: ':1', what: 'the key held the value', deleted: true },
    { payload: ':0', what: 'there was no such key', deleted: false },
    { payload: ':-1', what: 'the key held another value', deleted: false },
  ])('emits `deleted: $deleted` when $what', ({ payload, deleted }) => {
    const { store } = fakeStore(() => answer(payload))
    const { values } = record(of(1).pipe(deleteIf(store.key('k', number))))
    expect(values).toMatchObject([{ key: 'k', deleted, version: VERSION }])
  })

  it('compares the key with an item encoded by a codec or a function', () => {
    const { session, store } = fakeStore(() => answer(':1'))
    record(of('x').pipe(deleteIf(store, item => `by-codec/${item}`, text)))
    record(jobs.pipe(deleteIf(store, idOf, stateOf)))
    record(jobs.pipe(deleteIf(store, idOf, () => Uint8Array.of(0xff))))
    expect(session.requests.map(({ key, rest }) => [key, ...rest])).toEqual([
      ['by-codec/x', 'x'],
      ['a', 'done'],
      ['b', 'failed'],
      ['a', '\xff'],
      ['b', '\xff'],
    ])
  })

  it('emits the key of every item', () => {
    const { store } = fakeStore(({ key }) => answer(key === 'a' ? ':1' : ':-1'))
    const { values } = record(jobs.pipe(deleteIf(store, idOf, stateOf)))
    expect(values).toMatchObject([
      { key: 'a', deleted: true, version: VERSION },
      { key: 'b', deleted: false, version: VERSION },
    ])
  })
})
