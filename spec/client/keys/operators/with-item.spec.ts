import { map, type OperatorFunction, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { text } from '../../../../src/client/keys/codec.js'
import { deleteIf, deleteKey, get, set } from '../../../../src/client/keys/operators/operators.js'
import type { Hlc } from '../../../../src/core/hlc/hlc.js'
import type { ItemResult } from '../../../../src/core/util/with-item.js'
import { marbleTest } from '../../../support/marble-test.js'
import { record } from '../../../support/open-client.js'
import { fakeStore } from '../../../support/operator-session.js'

const keyOf = (item: string): string => `key/${item}`
const withItem = true

type Store = ReturnType<typeof fakeStore>['store']
type Beside = OperatorFunction<string, ItemResult<string, { readonly version: Hlc | undefined }>>

const FORMS: readonly (readonly [string, (store: Store) => Beside])[] = [
  ['set(key)', (store: Store) => set(store.key('k', text), { withItem })],
  ['get(key)', (store: Store) => get(store.key('k', text), { withItem })],
  ['deleteKey(key)', (store: Store) => deleteKey(store.key('k', text), { withItem })],
  ['deleteIf(key)', (store: Store) => deleteIf(store.key('k', text), { withItem })],
  ['set(store)', (store: Store) => set(store, keyOf, text, { withItem })],
  ['get(store)', (store: Store) => get(store, keyOf, text, { withItem })],
  ['deleteKey(store)', (store: Store) => deleteKey(store, keyOf, { withItem })],
  ['deleteIf(store)', (store: Store) => deleteIf(store, keyOf, text, { withItem })],
]

describe.each(FORMS)('%s with `withItem`', (_, operator) => {
  marbleTest('an operator with `withItem` emits each item with its result, in source order', m => {
    const answers = ['---(a|)', '(b|)', '-(c|)']
    const { store } = fakeStore((_, nth) => m.cold<string>(answers[nth] ?? '-'))
    const words$ = m.cold<string>('xyz|').pipe(
      operator(store),
      map(({ item, result }) => `${item}=${result.version?.nodeId}`),
    )
    m.expect(words$).toBeObservable('---(pqr|)', { p: 'x=a', q: 'y=b', r: 'z=c' })
  })
})

describe('`withItem`', () => {
  it('an operator with `withItem` emits a failure unchanged', () => {
    const { store } = fakeStore(({ key }) => of(key === 'key/b' ? '-ERR not authorized' : 'v'))
    const options = { withItem, onError: 'emit' } as const
    const seen = record(of('a', 'b').pipe(set(store, keyOf, text, options)))
    const failure = { key: 'key/b', item: 'b', error: expect.objectContaining({ code: 'not-authorized' }) }
    expect(seen.values).toEqual([
      { item: 'a', result: expect.objectContaining({ key: 'key/a', applied: true }) },
      failure,
    ])
  })

  it('anything but true or false as `withItem` is rejected', () => {
    const { store } = fakeStore(() => of('v'))
    // @ts-expect-error a string is not a flag
    expect(() => set(store.key('k', text), { withItem: 'yes' })).toThrow(expect.objectContaining({ code: 'argument' }))
  })
})
