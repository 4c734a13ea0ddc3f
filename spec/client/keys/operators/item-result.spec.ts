import { map, type OperatorFunction, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { text } from '../../../../src/client/keys/codec.js'
import { deleteIf, deleteKey, set } from '../../../../src/client/keys/operators/operators.js'
import type { Hlc } from '../../../../src/core/hlc/hlc.js'
import type { ItemResult } from '../../../../src/core/util/item-result.js'
import { marbleTest } from '../../../support/marble-test.js'
import { record } from '../../../support/open-client.js'
import { fakeStore } from '../../../support/operator-session.js'

const keyOf = (item: string): string => `key/${item}`

type Store = ReturnType<typeof fakeStore>['store']
type Operator = OperatorFunction<string, ItemResult<string, { readonly version: Hlc | undefined }>>

const FORMS: readonly (readonly [string, (store: Store) => Operator])[] = [
  ['set(key)', store => set(store.key('k', text))],
  ['deleteKey(key)', store => deleteKey(store.key('k', text))],
  ['deleteIf(key)', store => deleteIf(store.key('k', text))],
  ['set(store)', store => set(store, keyOf, text)],
  ['deleteKey(store)', store => deleteKey(store, keyOf)],
  ['deleteIf(store)', store => deleteIf(store, keyOf, text)],
]

describe.each(FORMS)('%s', (_, operator) => {
  marbleTest('emits each item with its result, in source order', m => {
    const answers = ['---(a|)', '(b|)', '-(c|)']
    const { store } = fakeStore((_, nth) => m.cold<string>(answers[nth] ?? '-'))
    const words$ = m.cold<string>('xyz|').pipe(
      operator(store),
      map(({ item, version }) => `${item}=${version?.nodeId}`),
    )
    m.expect(words$).toBeObservable('---(pqr|)', { p: 'x=a', q: 'y=b', r: 'z=c' })
  })
})

it('results and failures of a stream have the same item and key', () => {
  const { store } = fakeStore(({ key }) => of(key === 'key/b' ? '-ERR not authorized' : 'v'))
  const seen = record(of('a', 'b').pipe(set(store, keyOf, text, { onError: 'emit' })))
  expect(seen.values).toEqual([
    { item: 'a', key: 'key/a', applied: true, version: expect.anything() },
    { item: 'b', key: 'key/b', error: expect.objectContaining({ code: 'not-authorized' }) },
  ])
})
