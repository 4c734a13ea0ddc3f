// Compiled, never run: what components get, and what the compiler refuses.

import { expectTypeOf } from 'vitest'
import {
  type Entry,
  type Freshness,
  json,
  number,
  type StateStore,
  type StateStoreError,
  type Status,
} from '../../src/index.js'
import { type KeySnapshot, useKey, useStatus } from '../../src/react/index.js'

declare const store: StateStore
declare const later: StateStore | undefined

export function Component(): void {
  expectTypeOf(useKey(store.key('k', number))).toEqualTypeOf<KeySnapshot<number>>()
  expectTypeOf(useKey(store.key('k'))).toEqualTypeOf<KeySnapshot<Uint8Array>>()
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
  expectTypeOf(useStatus(store)).toEqualTypeOf<Status>()
  expectTypeOf(useStatus(later)).toEqualTypeOf<Status>()
  // @ts-expect-error a key has no status
  useStatus(store.key('k'))
}
