import { EMPTY, mergeMap, type Observable, timer } from 'rxjs'
import { map } from 'rxjs/operators'
import { describe, expect, it } from 'vitest'
import { number } from '../../../../src/client/keys/codec.js'
import type { DeleteResult, SetResult } from '../../../../src/client/keys/key.js'
import type { StoreView } from '../../../../src/client/keys/store-view.js'
import { marbleTest } from '../../../support/marble-test.js'
import { fakeStore } from '../../../support/operator-session.js'

interface Reading {
  readonly key: string
  /** Undefined if the key is absent. */
  readonly value: number | undefined
}

/** The recipe of the documents, here with two requests in flight. */
const setOrDelete =
  (store: StoreView) =>
  (reading$: Observable<Reading>): Observable<SetResult | DeleteResult> =>
    reading$.pipe(
      mergeMap(({ key, value }) => (value === undefined ? store.delete(key) : store.set(key, value, number)), 2),
    )

const READINGS: Record<string, Reading> = {
  a: { key: 'a', value: 1 },
  A: { key: 'a', value: undefined },
  b: { key: 'b', value: 2 },
}

describe('the recipe that sets or deletes by item', () => {
  marbleTest(
    'setOrDelete sends the requests in the order of the items, two at a time, and completes after the last response',
    m => {
      const sent: string[] = []
      const { store } = fakeStore(({ verb, key }) => {
        sent.push(`${m.scheduler.now()} ${verb} ${key}`)
        return timer(3, m.scheduler).pipe(map(() => 'v'))
      })
      const readings$ = m.cold('aAba|     ', READINGS)
      const results$ = setOrDelete(store)(readings$).pipe(
        map(result => ('deleted' in result ? `deleted ${result.key}` : `set ${result.key}`)),
      )
      m.expect(results$).toBeObservable('---xy-z(x|)', { x: 'set a', y: 'deleted a', z: 'set b' })
      m.expect(readings$).toHaveSubscriptions('^---!')
      m.flush()
      expect(sent).toEqual(['0 SET a', '1 DEL a', '3 SET b', '4 SET a'])
    },
  )

  it('setOrDelete sends nothing for an empty stream, and completes', () => {
    const { session, store } = fakeStore(() => EMPTY)
    let hasCompleted = false
    setOrDelete(store)(EMPTY).subscribe({ complete: () => (hasCompleted = true) })
    expect([hasCompleted, session.requests]).toEqual([true, []])
  })

  marbleTest('setOrDelete errors with the first request that fails', m => {
    const { store } = fakeStore(({ verb }) => timer(1, m.scheduler).pipe(map(() => (verb === 'DEL' ? '-ERR no' : 'v'))))
    const codes$ = setOrDelete(store)(m.cold('a-A-b', READINGS)).pipe(map(() => 'x'))
    let code: unknown
    codes$.subscribe({ error: error => (code = error.code) })
    m.flush()
    expect(code).toBe('service-unknown')
  })
})
