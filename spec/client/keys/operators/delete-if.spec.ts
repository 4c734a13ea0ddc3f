import { NEVER, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { number, text } from '../../../../src/client/keys/codec.js'
import { deleteIf } from '../../../../src/client/keys/operators/operators.js'
import { Hlc } from '../../../../src/core/hlc/hlc.js'
import { fakeStore } from '../../../support/operator-session.js'

const answer = (payload: string) => of({ payload: `${payload}\r\n`, properties: { __ts: '7:1:StateStore' } })
const VERSION = new Hlc(7, 1, 'StateStore')

describe('deleteIf(key)', () => {
  it('deleteIf sends VDEL with the item', () => {
    const { session, store } = fakeStore(() => answer(':1'))
    of(1, 2.5)
      .pipe(deleteIf(store.key('k', number)))
      .subscribe()
    expect(session.requests.map(({ verb, key, rest }) => [verb, key, ...rest])).toEqual([
      ['VDEL', 'k', '1'],
      ['VDEL', 'k', '2.5'],
    ])
  })

  it.each([
    { payload: ':1', what: 'the key held the value', deleted: true },
    { payload: ':0', what: 'there was no such key', deleted: false },
    { payload: ':-1', what: 'the key held another value', deleted: false },
  ])('deleteIf emits `deleted: $deleted` when $what', ({ payload, deleted }) => {
    const { store } = fakeStore(() => answer(payload))
    const results: unknown[] = []
    of(1)
      .pipe(deleteIf(store.key('k', number)))
      .subscribe(result => results.push(result))
    expect(results).toEqual([{ key: 'k', deleted, version: VERSION }])
  })

  it('deleteIf sends the fencing token and the timeout with every request', () => {
    const { session, store } = fakeStore(() => NEVER)
    of('x', 'y')
      .pipe(deleteIf(store.key('k', text), { fencingToken: VERSION, timeout: 1_000 }))
      .subscribe()
    expect(session.requests.map(({ properties, expiry }) => [properties['__ft'], expiry])).toEqual([
      ['7:1:StateStore', 1],
      ['7:1:StateStore', 1],
    ])
  })
})

describe('deleteIf(store)', () => {
  const jobs = of({ id: 'a', state: 'done' }, { id: 'b', state: 'failed' })

  it('deleteIf compares the key with the item, encoded by a codec or by a function that returns text or bytes', () => {
    const { session, store } = fakeStore(() => answer(':1'))
    of('x')
      .pipe(deleteIf(store, item => `by-codec/${item}`, text))
      .subscribe()
    jobs
      .pipe(
        deleteIf(
          store,
          ({ id }) => `job/${id}`,
          ({ state }) => state,
        ),
      )
      .subscribe()
    jobs
      .pipe(
        deleteIf(
          store,
          ({ id }) => `job/${id}`,
          () => Uint8Array.of(0xff),
        ),
      )
      .subscribe()
    expect(session.requests.map(({ key, rest }) => [key, ...rest])).toEqual([
      ['by-codec/x', 'x'],
      ['job/a', 'done'],
      ['job/b', 'failed'],
      ['job/a', '\xff'],
      ['job/b', '\xff'],
    ])
  })

  it('deleteIf emits the key of every item', () => {
    const { store } = fakeStore(({ key }) => answer(key === 'a' ? ':1' : ':-1'))
    const results: unknown[] = []
    jobs
      .pipe(
        deleteIf(
          store,
          ({ id }) => id,
          () => 'done',
        ),
      )
      .subscribe(result => results.push(result))
    expect(results).toEqual([
      { key: 'a', deleted: true, version: VERSION },
      { key: 'b', deleted: false, version: VERSION },
    ])
  })

  it('deleteIf sends its options with every request', () => {
    const { session, store } = fakeStore(() => NEVER)
    jobs
      .pipe(
        deleteIf(
          store,
          ({ id }) => id,
          () => 'done',
          { fencingToken: '7:1:lock', timeout: 1_500 },
        ),
      )
      .subscribe()
    expect(session.requests.map(({ properties, expiry }) => [properties['__ft'], expiry])).toEqual([
      ['7:1:lock', 2],
      ['7:1:lock', 2],
    ])
  })

  it('deleteIf errors with `outcome-unknown` when the request times out', () => {
    const { store, clock } = fakeStore(() => NEVER)
    const errors: unknown[] = []
    of('a')
      .pipe(deleteIf(store.key('k', text), { timeout: 500 }))
      .subscribe({ error: error => errors.push(error) })
    clock.advance(500)
    expect(errors).toEqual([expect.objectContaining({ code: 'outcome-unknown', key: 'k' })])
  })
})
