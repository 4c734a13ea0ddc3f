import { of, timer, map as toMap } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { describe, expect } from 'vitest'
import type { LateWrite, OptimisticOptions } from '../../../src/client/optimistic/index.js'
import { START as START_MS } from '../../support/manual-clock.js'
import { marbleTest } from '../../support/marble-test.js'
import { inWords, writeBench } from '../../support/write-bench.js'

const VALUES = {
  c: '- connecting',
  A: 'a confirmed',
  S: 'a confirmed',
  p: 'b pending late',
  q: 'b pending late',
  s: 'b pending sent 50 late',
  X: 'x confirmed',
  d: 'a refused: offline',
}
// The key is read first, and 40 ms later the connection is lost.
const START = 'c 19ms A 19ms S'

describe('a write without a connection', () => {
  marbleTest('without a policy a write fails at its deadline', m => {
    const { state$, view, writes, disconnect, connect, at } = writeBench(m)
    at(40, disconnect)
    at(50, () => view.next('b'))
    at(1_500, connect)
    m.expect(state$, '1200ms !').toBeObservable(`${START} 9ms p 999ms r`, { ...VALUES, r: 'a refused: timeout' })
    m.flush()
    expect(writes()).toEqual([])
  })

  marbleTest('a write is sent if the connection returns before its deadline, and marked late', m => {
    const { state$, view, writes, disconnect, connect, at } = writeBench(m)
    at(40, disconnect)
    at(50, () => view.next('b'))
    at(100, connect)
    const values = { ...VALUES, B: 'b confirmed sent 50 late' }
    m.expect(state$, '112ms !').toBeObservable(`${START} 9ms p 49ms (ss) 6ms B`, values)
    m.flush()
    expect(writes()).toEqual(['100 SET b'])
  })

  marbleTest('a value that replaces a late write is not marked late', m => {
    const { state$, view, notify, disconnect, connect, at } = writeBench(m)
    at(40, disconnect)
    at(50, () => view.next('b'))
    at(100, connect)
    at(150, () => notify('x'))
    const values = { ...VALUES, B: 'b confirmed sent 50 late' }
    m.expect(state$, '162ms !').toBeObservable(`${START} 9ms p 49ms (ss) 6ms B 9ms B 29ms X`, values)
  })

  marbleTest('drop: a write fails immediately', m => {
    const { state$, view, writes, disconnect, connect, at } = writeBench(m, { offline: 'drop' })
    at(40, disconnect)
    at(50, () => view.next('b'))
    at(100, connect)
    m.expect(state$, '90ms !').toBeObservable(`${START} 9ms d`, VALUES)
    m.flush()
    expect(writes()).toEqual([])
  })

  marbleTest('latest: the newest write waits for the connection and is sent late', m => {
    const { state$, result, writes, disconnect, connect, at } = writeBench(m, { offline: 'latest' })
    const results: string[] = []
    at(40, disconnect)
    at(50, () => void result('x').subscribe(outcome => results.push(outcome)))
    at(60, () => void result('b').subscribe(outcome => results.push(outcome)))
    at(2_000, connect)
    const values = { ...VALUES, x: 'x pending late', s: 'b pending sent 1960 late', B: 'b confirmed sent 1960 late' }
    // The key is read first.
    m.expect(state$, '2032ms !').toBeObservable(`${START} 9ms x 9ms p 1939ms q 19ms s 9ms B`, values)
    m.flush()
    expect(results).toEqual(['x superseded', 'b applied'])
    expect(writes()).toEqual(['2020 SET b'])
  })

  describe.each([
    { clocks: 'the same clock', offset: 0 },
    { clocks: 'a clock 40 s behind the clock of the store', offset: 40_000 },
    { clocks: 'a clock 20 s ahead of the clock of the store', offset: -20_000 },
  ])('with $clocks', ({ offset }) => {
    const seen = (m: Context, changedAt: number, options: OptimisticOptions<string> = {}) => {
      const bench = writeBench(m, { offline: 'latest', ...options })
      const { view, changeAt, disconnect, connect, at } = bench
      const results: string[] = []
      view.state$.subscribe()
      at(40, disconnect)
      at(50, () => bench.result('b').subscribe(outcome => results.push(outcome)))
      at(80, () => changeAt('x', START_MS + changedAt + offset))
      at(1_000, () => connect({ storeTime: START_MS + 1_000 + offset }))
      at(1_100, () => results.push(inWords(view.state), String(view.state.late?.superseded)))
      m.flush()
      return { results, writes: bench.writes() }
    }

    marbleTest('latest: another client that wrote later wins', m => {
      expect(seen(m, 60)).toEqual({ results: ['b superseded', 'x confirmed late', 'true'], writes: [] })
    })

    marbleTest('latest: another client that wrote earlier loses', m => {
      const results = ['b applied', 'b confirmed sent 970 late', 'undefined']
      expect(seen(m, 45)).toEqual({ results, writes: ['1020 SET b'] })
    })

    marbleTest("latest: nobody else wins with `supersede: 'never'`", m => {
      expect(seen(m, 60, { supersede: 'never' }).writes).toEqual(['1000 SET b'])
    })
  })

  marbleTest('latest: a deletion during the outage does not win, because it has no time', m => {
    const { view, writes, change, disconnect, connect, at } = writeBench(m, { offline: 'latest' })
    view.state$.subscribe()
    at(40, disconnect)
    at(50, () => view.next('b'))
    at(60, () => change(undefined))
    at(100, connect)
    m.flush()
    expect(writes()).toEqual(['120 SET b'])
  })

  marbleTest('latest: the previous write of the same view does not win', m => {
    const { view, writes, unanswered, disconnect, connect, at } = writeBench(m, { offline: 'latest' })
    view.state$.subscribe()
    at(30, () => unanswered.add('SET'))
    at(35, () => view.next('b'))
    at(40, disconnect)
    at(50, () => view.next('c'))
    at(60, () => unanswered.clear())
    at(100, connect)
    m.flush()
    expect(writes()).toEqual(['35 SET b', '120 SET c'])
  })

  marbleTest('latest: a write fails after maxAge and is not sent', m => {
    const { state$, view, writes, disconnect, connect, at } = writeBench(m, { offline: 'latest', maxAge: 500 })
    at(40, disconnect)
    at(50, () => view.next('b'))
    at(550, connect)
    m.expect(state$, '549ms !').toBeObservable(`${START} 9ms p`, VALUES)
    m.flush()
    expect(writes()).toEqual([])
  })

  marbleTest('cas: a write is sent if the key still has the value that the user saw', m => {
    const { view, writes, disconnect, connect, at } = writeBench(m, { offline: 'cas' })
    view.state$.subscribe()
    at(40, disconnect)
    at(50, () => view.next('b'))
    at(100, connect)
    m.flush()
    // The write is sent only after the key has been read again.
    expect(writes()).toEqual(['120 SET b IFVER 1:0:S'])
  })

  marbleTest('cas: a write conflicts if another client changed the key', m => {
    const { state$, view, change, disconnect, connect, at } = writeBench(m, { offline: 'cas' })
    at(40, disconnect)
    at(50, () => view.next('b'))
    at(60, () => change('x'))
    at(100, connect)
    const values = { ...VALUES, s: 'b pending late', t: 'b pending sent 70 late', r: 'x refused: conflict' }
    m.expect(state$, '400ms !').toBeObservable(`${START} 9ms p 49ms q 19ms t 9ms r`, values)
  })

  marbleTest('cas: a write made while connected is unconditional', m => {
    const { view, writes, at } = writeBench(m, { offline: 'cas' })
    at(50, () => view.next('b'))
    m.flush()
    expect(writes()).toEqual(['50 SET b'])
  })
})

describe('ask', () => {
  marbleTest(
    '`ask` is called with the current value once the key has been read, and the write is sent if it returns true',
    m => {
      const asked: LateWrite<string>[] = []
      const ask = (late: LateWrite<string>) => {
        asked.push(late)
        return timer(30, m.scheduler).pipe(toMap(() => true))
      }
      const { view, change, writes, disconnect, connect, at } = writeBench(m, { offline: 'ask', ask })
      view.state$.subscribe()
      at(40, disconnect)
      at(50, () => view.next('b'))
      at(60, () => change('x'))
      at(100, connect)
      m.flush()
      expect(asked).toEqual([expect.objectContaining({ key: 'k', value: 'b', age: 70, current: 'x' })])
      expect(writes()).toEqual(['150 SET b'])
    },
  )

  marbleTest('a write is withdrawn if `ask` returns false', m => {
    const { view, result, writes, disconnect, connect, at } = writeBench(m, { offline: 'ask', ask: () => of(false) })
    view.state$.subscribe()
    const results: string[] = []
    at(40, disconnect)
    at(50, () => void result('b').subscribe(outcome => results.push(outcome)))
    at(100, connect)
    m.flush()
    expect([results, writes()]).toEqual([['b withdrawn'], []])
  })

  marbleTest('`ask` is called again on the next connection, but not after maxAge', m => {
    let asked = 0
    const ask = () => {
      asked++
      return timer(200, m.scheduler).pipe(toMap(() => true))
    }
    const { view, writes, disconnect, connect, at } = writeBench(m, { offline: 'ask', ask, maxAge: 400 })
    view.state$.subscribe()
    at(40, disconnect)
    at(50, () => view.next('b'))
    at(100, connect)
    at(200, disconnect)
    at(300, connect)
    m.flush()
    expect([asked, writes()]).toEqual([2, []])
  })

  marbleTest('a newer write made while connected needs no approval', m => {
    const { view, writes, disconnect, connect, at } = writeBench(m, {
      offline: 'ask',
      ask: () => timer(9e4, m.scheduler).pipe(toMap(() => true)),
    })
    view.state$.subscribe()
    at(40, disconnect)
    at(50, () => view.next('b'))
    at(100, connect)
    at(150, () => view.next('x'))
    m.flush()
    expect(writes()).toEqual(['150 SET x'])
  })
})
