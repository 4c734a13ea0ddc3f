import { describe, expect } from 'vitest'
import { marbleTest } from '../../support/marble-test.js'
import { writeBench } from '../../support/write-bench.js'

const VALUES = {
  c: '- connecting',
  A: 'a confirmed',
  b: 'b pending',
  u: 'b unknown: outcome-unknown',
  B: 'b confirmed',
  X: 'x confirmed',
  r: 'a refused: outcome-unknown',
}
const START = 'c 19ms A'

describe('a write whose connection was lost', () => {
  marbleTest('a lost write is not merged again with the next write', m => {
    const merged: string[] = []
    const conflict = (mine: string, theirs: string | undefined, base: string | undefined): string => {
      merged.push(`${mine} on ${theirs}, made from ${base}`)
      return `${theirs}+${mine}`
    }
    const { state$, view, unanswered, change, connect, disconnect, at } = writeBench(m, { conflict })
    unanswered.add('SET')
    at(50, () => view.next('b'))
    at(55, disconnect)
    at(60, () => change('x'))
    at(70, () => view.next('c'))
    at(80, () => unanswered.clear())
    at(100, connect)
    state$.subscribe()
    m.flush()
    expect(merged).toEqual(['c on x, made from b'])
  })

  marbleTest('the read of the next connection confirms a lost write if the key has its value', m => {
    const { state$, view, unanswered, connect, disconnect, at } = writeBench(m)
    unanswered.add('SET')
    at(50, () => view.next('b'))
    at(55, disconnect)
    at(100, connect)
    // A lost session rules out a response to the write.
    m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 4ms p 44ms (uv) 16ms B`, {
      ...VALUES,
      p: 'b pending',
      v: 'b unknown: outcome-unknown',
    })
  })

  marbleTest('a later value of another client replaces a lost write', m => {
    const { state$, view, lost, change, connect, disconnect, at } = writeBench(m)
    lost.add('SET')
    at(50, () => view.next('b'))
    at(55, disconnect)
    at(60, () => change('x'))
    at(100, connect)
    m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 4ms p 44ms (uv) 16ms X`, {
      ...VALUES,
      p: 'b pending',
      v: 'b unknown: outcome-unknown',
    })
  })

  marbleTest('a lost write is unknown while the key is unchanged, and refused by a read after its expiry', m => {
    const { state$, view, lost, connect, disconnect, sent, at } = writeBench(m)
    lost.add('SET')
    at(50, () => view.next('b'))
    at(55, disconnect)
    at(100, connect)
    // The refusal comes after a write's timeout after the reconnect, one second of rounding of the expiry, and
    // the read.
    m.expect(state$, '5s !').toBeObservable(`${START} 29ms b 4ms p 44ms (uv) 16ms w 1989ms r`, {
      ...VALUES,
      p: 'b pending',
      v: 'b unknown: outcome-unknown',
      w: 'b unknown: outcome-unknown',
    })
    m.flush()
    expect(sent.at(-2)).toBe('2100 GET')
  })

  marbleTest('the notification of a lost write that is applied late shows that write', m => {
    const { state$, view, lost, notify, connect, disconnect, at } = writeBench(m)
    lost.add('SET')
    at(50, () => view.next('b'))
    at(55, disconnect)
    at(100, connect)
    at(500, () => notify('b'))
    m.expect(state$, '5s !').toBeObservable(`${START} 29ms b 4ms p 44ms (uv) 16ms w 379ms B`, {
      ...VALUES,
      p: 'b pending',
      v: 'b unknown: outcome-unknown',
      w: 'b unknown: outcome-unknown',
    })
  })
})

describe('a write that timed out', () => {
  marbleTest('a timed-out write is unknown until a read one second later', m => {
    const { state$, view, unanswered, at } = writeBench(m, {}, { echo: 100_000 })
    unanswered.add('SET')
    at(50, () => view.next('b'))
    m.expect(state$, '5s !').toBeObservable(`${START} 29ms b 999ms u 1009ms B`, VALUES)
  })

  marbleTest('a timed-out write is confirmed immediately if its notification has arrived', m => {
    const { state$, view, unanswered, at } = writeBench(m)
    unanswered.add('SET')
    at(50, () => view.next('b'))
    m.expect(state$, '5s !').toBeObservable(`${START} 29ms b 11ms p 987ms B`, { ...VALUES, p: 'b pending' })
  })

  marbleTest('the outcome of a timed-out write no longer matters once the next write is sent', m => {
    const { state$, view, unanswered, at } = writeBench(m, {}, { echo: 100_000 })
    unanswered.add('SET')
    at(50, () => view.next('b'))
    at(1_100, () => {
      unanswered.clear()
      view.next('x')
    })
    m.expect(state$, '5s !').toBeObservable(`${START} 29ms b 999ms u 49ms x 9ms X`, { ...VALUES, x: 'x pending' })
  })
})
