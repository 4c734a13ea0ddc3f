import { map } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { describe, expect } from 'vitest'
import { text } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { type GlobStore, globBench } from '../../support/glob-bench.js'
import { marbleTest } from '../../support/marble-test.js'

function open(m: Context, glob: GlobStore['glob'] = ['+OK']) {
  const bench = globBench(m, { glob, verifyEvery: 1_000 })
  const keys = matching(bench.store, 's/*', text)
  return {
    ...bench,
    entries$: keys.entries$.pipe(map(({ key, op, value }) => (op === 'set' ? `${key}=${value}` : `${key} ${op}`))),
    freshness$: keys.freshness$.pipe(map(({ state }) => state)),
  }
}

describe('verifyEvery for a watched glob', () => {
  marbleTest('verification finds a change, a deletion and a new key whose notifications were lost', m => {
    const { entries$, change, at } = open(m)
    change('s/1', 'a')
    change('s/2', 'a')
    const seen: string[] = []
    const subscription = entries$.subscribe(entry => seen.push(`${m.scheduler.now()} ${entry}`))
    at(100, () => {
      change('s/1', 'b')
      change('s/2', undefined)
      change('s/3', 'c')
    })
    at(2_200, () => subscription.unsubscribe())
    m.flush()
    expect(seen.slice(0, 2)).toEqual(['30 s/1=a', '30 s/2=a'])
    expect(
      seen
        .slice(2)
        .map(line => line.replace(/^\d+ /, ''))
        .sort(),
    ).toEqual(['s/1=b', 's/2 absent', 's/3=c'])
    for (const line of seen.slice(2)) expect(Number.parseInt(line, 10)).toBeLessThan(1_200)
  })

  marbleTest('verification registers the glob and scans again once per interval, and the glob stays live', m => {
    const { freshness$, sent } = open(m)
    m.expect(freshness$, '1500ms !').toBeObservable('c 19ms l', { c: 'connecting', l: 'live' })
    m.flush()
    expect(sent).toEqual([
      '0 GLOBNOTIFY s/*',
      '10 SCAN s/*',
      '1020 GLOBNOTIFY s/*',
      '1030 SCAN s/*',
      '1500 GLOBNOTIFY s/* STOP',
    ])
  })

  marbleTest('the keys are no longer live when the store stops responding', m => {
    const { freshness$ } = open(m, ['+OK', undefined])
    const states: string[] = []
    const subscription = freshness$.subscribe(state => states.push(state))
    m.scheduler.schedule(() => subscription.unsubscribe(), 10_000)
    m.flush()
    expect(states.slice(0, 4)).toEqual(['connecting', 'live', 'resyncing', 'live'])
  })
})
