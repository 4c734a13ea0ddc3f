import { map, merge, type Observable } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { describe, expect } from 'vitest'
import { text } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { optimistic } from '../../../src/client/optimistic/index.js'
import { globBench } from '../../support/glob-bench.js'
import { marbleTest } from '../../support/marble-test.js'

const KEY = 's/1'

/** The last emission of each stream, as a page that combines the streams shows them. */
type Shown = Partial<Record<'value' | 'entry' | 'view' | 'map' | 'freshness' | 'matchingFreshness', string | undefined>>

/** Returns all streams of a key, each of which changes one part of what a page shows. */
function streamsOf(store: ReturnType<typeof globBench>['store']): Observable<Shown>[] {
  const key = store.key(KEY, text)
  const keys = matching(store, 's/*', text)
  return [
    key.freshness$.pipe(map(({ state }) => ({ freshness: state }))),
    key.value$.pipe(map(value => ({ value }))),
    key.entries$.pipe(map(entry => ({ entry: entry.value }))),
    optimistic(key).state$.pipe(map(({ confirmed }) => ({ view: confirmed }))),
    keys.map$.pipe(map(values => ({ map: values.get(KEY) }))),
    keys.freshness$.pipe(map(({ state }) => ({ matchingFreshness: state }))),
  ]
}

/** Returns the parts of a page that show an outdated value as live. */
function outdatedParts(shown: Shown, current: string): string[] {
  const { freshness, matchingFreshness, map: mapped, ...values } = shown
  const isLive = freshness === 'live' || matchingFreshness === 'live'
  const parts = { ...(isLive && values), ...(matchingFreshness === 'live' && { map: mapped }) }
  return Object.entries(parts).flatMap(([part, value]) => (value === current ? [] : [`${part} ${value}`]))
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((item, at) =>
    permutations(items.filter((_, other) => other !== at)).map(rest => [item, ...rest]),
  )
}

/** Subscribes to all streams in an order, loses the connection while another client writes, and returns what went wrong. */
function faultsOf(m: Context, order: readonly number[]): string[] {
  const { store, change, at, connect, disconnect } = globBench(m)
  const faults: string[] = []
  let [current, shown]: [string, Shown] = ['a', {}]
  change(KEY, current)
  const streams = streamsOf(store)
  const page = merge(...order.flatMap(index => streams[index] ?? [])).subscribe(part => {
    shown = { ...shown, ...part }
    faults.push(...outdatedParts(shown, current).map(fault => `${order.join('')}: ${fault} instead of ${current}`))
  })
  at(50, () => {
    disconnect()
    current = 'b'
    change(KEY, current)
  })
  at(100, connect)
  at(200, () => page.unsubscribe())
  m.scheduler.flush()
  expect(shown).toMatchObject({
    value: 'b',
    entry: 'b',
    view: 'b',
    map: 'b',
    freshness: 'live',
    matchingFreshness: 'live',
  })
  return faults
}

describe('the streams of a key', () => {
  const orders = permutations([0, 1, 2, 3, 4, 5])
  for (const first of [0, 1, 2, 3, 4, 5])
    marbleTest(`never combine live with an outdated value after a reconnect, in any order after stream ${first}`, m => {
      expect(orders.filter(order => order[0] === first).flatMap(order => faultsOf(m, order))).toEqual([])
    })
})
