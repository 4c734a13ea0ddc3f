import { map, merge } from 'rxjs'
import { type Context, marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { type Entry, text } from '../../../src/client/index.js'
import { type MatchingOptions, matching } from '../../../src/client/matching/index.js'
import { type GlobStore, globBench } from '../../support/glob-bench.js'
import { marbleTest } from '../../support/marble-test.js'

const UNKNOWN = '-ERR unknown command'
const QUOTA = '-ERR the quota has been exceeded'

/** Returns the three observables of `s/*`, with their emissions as words. */
function open(m: Context, options: GlobStore = {}, terms: MatchingOptions = {}) {
  const bench = globBench(m, options)
  const keys = matching(bench.store, 's/*', text, terms)
  const entryText = ({ key, op, value }: Entry<string>): string => (op === 'set' ? `${key}=${value}` : `${key} ${op}`)
  return {
    ...bench,
    entries$: keys.entries$.pipe(map(entryText)),
    map$: keys.map$.pipe(map(values => Array.from(values, ([key, value]) => `${key}=${value}`).join())),
    freshness$: keys.freshness$.pipe(map(({ state }) => state)),
  }
}

const STATES = { c: 'connecting', l: 'live', r: 'resyncing', s: 'stale' } as const

describe('entries$', () => {
  marbleTest(
    'entries$ emits existing keys once they have been read, and every notified change, without reading new keys',
    m => {
      const { entries$, change, notify, at, sent } = open(m)
      change('s/1', 'a')
      at(40, () => notify('s/1', 'b'))
      at(50, () => notify('s/2', 'c'))
      at(60, () => notify('s/1', undefined))
      const values = { a: 's/1=a', b: 's/1=b', c: 's/2=c', d: 's/1 delete' }
      m.expect(entries$, '400ms !').toBeObservable('30ms a 9ms b 9ms c 9ms d', values)
      m.flush()
      expect(sent.slice(0, -1)).toEqual(['0 GLOBNOTIFY s/*', '10 SCAN s/*', '20 GET s/1'])
    },
  )

  marbleTest('after a reconnect, entries$ emits only the keys that were added, changed or removed', m => {
    const { entries$, change, at, connect, disconnect } = open(m)
    for (const key of ['s/1', 's/2', 's/3']) change(key, 'a')
    at(50, disconnect)
    at(60, () => {
      change('s/1', 'b')
      change('s/2', undefined)
      change('s/4', 'c')
    })
    at(100, connect)
    const values = { a: 's/1=a', b: 's/2=a', c: 's/3=a', d: 's/1=b', e: 's/2 absent', f: 's/4=c' }
    m.expect(entries$, '400ms !').toBeObservable('30ms (abc) 85ms (de) 6ms f', values)
  })
})

describe('map$', () => {
  marbleTest('map$ emits the first map when all keys are read, and one map for all changes of a turn', m => {
    const { map$, change, notify, at } = open(m)
    change('s/1', 'a')
    change('s/2', 'a')
    at(40, () => {
      notify('s/1', 'b')
      notify('s/3', 'c')
      notify('s/2', undefined)
    })
    m.expect(map$, '400ms !').toBeObservable('30ms a 9ms b', { a: 's/1=a,s/2=a', b: 's/1=b,s/3=c' })
  })

  marbleTest('after a reconnect, map$ emits the changed map before freshness$ emits live', m => {
    const { map$, freshness$, change, at, connect, disconnect } = open(m)
    change('s/1', 'a')
    at(50, disconnect)
    at(60, () => change('s/1', 'b'))
    at(100, connect)
    const values = { ...STATES, a: 's/1=a', b: 's/1=b' }
    m.expect(merge(map$, freshness$), '400ms !').toBeObservable('c 29ms (al) 16ms s 49ms r 19ms (bl)', values)
  })

  marbleTest('map$ emits an empty map immediately if no key matches', m => {
    m.expect(open(m).map$, '400ms !').toBeObservable('20ms a', { a: '' })
  })
})

describe('freshness$', () => {
  marbleTest(
    'freshness$ is live when all keys have been read, stale without a connection, and resyncing until all are read again',
    m => {
      const { freshness$, change, at, connect, disconnect } = open(m)
      change('s/1', 'a')
      at(50, disconnect)
      at(100, connect)
      m.expect(freshness$, '400ms !').toBeObservable('c 29ms l 19ms s 49ms r 19ms l', STATES)
    },
  )

  marbleTest('freshness$ stays live when keys are added and removed', m => {
    const { freshness$, notify, at } = open(m)
    at(40, () => notify('s/1', 'a'))
    at(50, () => notify('s/1', undefined))
    m.expect(freshness$, '400ms !').toBeObservable('c 19ms l', STATES)
  })
})

describe('matching at a store that does not confirm the registration', () => {
  marbleTest('the store is scanned again one scanInterval after the end of each scan', m => {
    const { entries$, change, at, sent } = open(m, { glob: [UNKNOWN] }, { scanInterval: 100 })
    at(30, () => change('s/1', 'a'))
    m.expect(entries$, '400ms !').toBeObservable('150ms a', { a: 's/1=a' })
    m.flush()
    const scans = sent.filter(request => request.includes('SCAN'))
    expect(scans).toEqual(['10 SCAN s/*', '120 SCAN s/*', '230 SCAN s/*', '340 SCAN s/*'])
  })

  it.each([
    ['was full', QUOTA],
    ['did not respond three times', undefined],
  ])('a store that %s is scanned until it confirms the registration, then resynced', (_, silence) =>
    marbles(m => {
      const glob = [silence, silence, silence, '+OK']
      const { freshness$, sent } = open(m, { glob }, { scanInterval: 100_000 })
      const states: string[] = []
      const subscription = freshness$.subscribe(state => states.push(state))
      m.scheduler.schedule(() => subscription.unsubscribe(), 20_000)
      m.flush()
      const asked = sent.filter(request => request.includes('GLOBNOTIFY') && !request.endsWith('STOP'))
      expect(asked).toHaveLength(4)
      expect(states).toEqual(['connecting', 'live', 'resyncing', 'live'])
      const [last] = asked.slice(-1).map(request => Number.parseInt(request, 10))
      expect(sent.filter(request => request.includes('SCAN')).at(-1)).toBe(`${(last ?? 0) + 10} SCAN s/*`)
    })(),
  )
})

describe('unsubscribing a watched glob', () => {
  it.each([
    ['during the registration', { glob: [undefined] }, 500],
    ['before a retry', { glob: ['-ERR'] }, 40],
    ['before a scan', { glob: [UNKNOWN] }, 100],
    ['while an unresponsive store is scanned and the registration retried', { glob: [undefined] }, 5_000],
    ['while keys are watched', {}, 100],
    ['before keys are verified', { verifyEvery: 1_000 }, 100],
  ])('unsubscribing %s leaves no timer, registration or request', (_, options: GlobStore, leaving) =>
    marbles(m => {
      const { entries$, map$, freshness$, change, sent, pending, at } = open(m, options)
      change('s/1', 'a')
      const subscriptions = [entries$, map$, freshness$].map(one$ => one$.subscribe())
      const left = { pending: -1, sent: -1 }
      at(leaving, () => {
        for (const subscription of subscriptions) subscription.unsubscribe()
      })
      at(leaving + 20, () => Object.assign(left, { pending: pending(), sent: sent.length }))
      m.flush()
      // The one timer belongs to the client, which verifies one key after the other.
      expect(left.pending).toBe(options.verifyEvery ? 1 : 0)
      expect(sent).toHaveLength(left.sent)
      const stops = sent.filter(request => request.endsWith('GLOBNOTIFY s/* STOP'))
      expect(stops).toHaveLength(options.glob?.[0] === UNKNOWN ? 0 : 1)
    })(),
  )

  marbleTest('an unanswered STOP is sent up to eight times, and no longer once the glob is watched again', m => {
    const bench = globBench(m)
    const keys = matching(bench.store, 's/*', text)
    const subscription = keys.freshness$.subscribe()
    bench.at(100, () => {
      bench.mute('STOP')
      subscription.unsubscribe()
    })
    bench.at(200_000, () => keys.freshness$.subscribe().unsubscribe())
    bench.at(200_500, () => keys.freshness$.subscribe())
    m.flush()
    const times = bench.sent.filter(request => request.endsWith('STOP')).map(request => Number.parseInt(request, 10))
    expect(times.filter(time => time < 200_000)).toHaveLength(8)
    expect(times.filter(time => time >= 200_000)).toEqual([200_000])
  })
})
