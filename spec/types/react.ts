// The types that components receive, and code that the compiler must reject. It is compiled but never run.

import { expectTypeOf } from 'vitest'
import {
  bytes,
  type Entry,
  type Freshness,
  json,
  number,
  type StateStore,
  type StateStoreError,
  type Status,
} from '../../src/client/index.js'
import { matching } from '../../src/client/matching/index.js'
import { type KeySnapshot, type KeysSnapshot, useKey, useKeys, useStatus } from '../../src/client/react/index.js'

declare const store: StateStore
declare const later: StateStore | undefined

export function keysThatFit(): void {
  // @ts-expect-error the codec is needed
  matching(store, 'k/*')
}

export function Component(): void {
  expectTypeOf(useKey(store.key('k', number))).toEqualTypeOf<KeySnapshot<number>>()
  expectTypeOf(useKey(store.key('k', bytes))).toEqualTypeOf<KeySnapshot<Uint8Array>>()
  expectTypeOf(useKey(later?.key('k', json<{ id: number }>()))).toEqualTypeOf<KeySnapshot<{ id: number }>>()
  const snapshot = useKey(store.key('k', number))
  expectTypeOf(snapshot.value).toEqualTypeOf<number | undefined>()
  expectTypeOf(snapshot.entry).toEqualTypeOf<Entry<number> | undefined>()
  expectTypeOf(snapshot.freshness).toEqualTypeOf<Freshness>()
  expectTypeOf(snapshot.error).toEqualTypeOf<StateStoreError | undefined>()
  // @ts-expect-error a snapshot does not change
  snapshot.value = 21
  // @ts-expect-error a name is no key
  useKey('k')
  // @ts-expect-error an observable is no key
  useKey(store.key('k', number).value$)
  expectTypeOf(useKey(store.key('k', number), ({ value }) => value === 7)).toEqualTypeOf<boolean>()
  const isSeven = ({ value }: KeySnapshot<number>): boolean => value === 7
  // @ts-expect-error `isEqual` compares selected values
  useKey(store.key('k', number), isSeven, (before: string) => before === '')
  expectTypeOf(useKeys(matching(store, 'k/*', number))).toEqualTypeOf<KeysSnapshot<number>>()
  expectTypeOf(useKeys([store.key('k', number)])).toEqualTypeOf<KeysSnapshot<number>>()
  expectTypeOf(useKeys(later && matching(later, 'k/*', number), ({ values }) => values.size)).toEqualTypeOf<number>()
  // @ts-expect-error a glob is no handle
  useKeys('k/*')
  expectTypeOf(useStatus(store)).toEqualTypeOf<Status>()
  expectTypeOf(useStatus(later)).toEqualTypeOf<Status>()
  // @ts-expect-error a key has no status
  useStatus(store.key('k', number))
}
