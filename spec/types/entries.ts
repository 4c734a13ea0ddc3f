// Code that the compiler must reject, for all entry points except the client. It is compiled but never run.

import { of } from 'rxjs'
import { expectTypeOf } from 'vitest'
import { type Key, number, type StateStore, type StoreView } from '../../src/client/index.js'
import { fenced, type LeaseState, lease } from '../../src/client/lease/index.js'
import { type Matching, matching } from '../../src/client/matching/index.js'
import { type LateWriteInfo, type OptimisticResult, optimistic } from '../../src/client/optimistic/index.js'
import { shadow } from '../../src/client/shadow/index.js'

declare const store: StateStore
declare const numbers: Key<number>

export function leases(): void {
  // @ts-expect-error a lease needs its duration
  lease(store, 'line')
  // @ts-expect-error a letter is missing
  lease(store, 'line', { duraton: 1_000 })
  // @ts-expect-error a key is no store
  lease(numbers, 'line', { duration: 1_000 })
  lease(store, 'line', { duration: 1_000 }).subscribe(state => {
    expectTypeOf(state).toEqualTypeOf<LeaseState>()
    // @ts-expect-error there is a token while it is held
    state.token
    if (state.status === 'held') expectTypeOf(fenced(store, state.token)).toEqualTypeOf<StoreView>()
  })
  // @ts-expect-error a lease requires a client, not a view of it
  lease(fenced(store, '1:1:a'), 'line', { duration: 1_000 })
  // @ts-expect-error a fenced view requires codecs
  fenced(store, '1:1:a').key('k')
}

export function globs(): void {
  expectTypeOf(matching(store, 'k/*', number)).toEqualTypeOf<Matching<number>>()
  // @ts-expect-error options come after a codec
  matching(store, 'k/*', { maxKeys: 5 })
  // @ts-expect-error a letter is missing
  matching(store, 'k/*', number, { maxKey: 5 })
}

export function writing(): void {
  const view = optimistic(numbers, { conflict: 'refuse' })
  of(21).subscribe(view)
  // @ts-expect-error the key holds numbers
  view.next('21')
  // @ts-expect-error the key holds numbers
  view.set('21')
  // @ts-expect-error the source has texts
  of('21').subscribe(view)
  // @ts-expect-error a policy that does not exist
  optimistic(numbers, { offline: 'queue' })
  // @ts-expect-error a name is no key
  optimistic('k')
  expectTypeOf<Awaited<ReturnType<typeof view.set>>>().toEqualTypeOf<OptimisticResult<number>>()
  expectTypeOf(view.state.late).toEqualTypeOf<LateWriteInfo | undefined>()
}

export function shadows(): void {
  const pump = shadow<{ speed: number }>(store, 'pump-7')
  pump.desire({ speed: undefined })
  pump.report({ speed: undefined })
  pump.follow(() => [{ speed: undefined }])
  // @ts-expect-error a field that does not exist
  pump.desire({ sped: 1 })
  // @ts-expect-error the field is a number
  pump.report({ speed: 'fast' })
}
