import { marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
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

describe('a write whose connection broke', () => {
  it(
    'is not merged in once more with the next one',
    marbles(m => {
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
    }),
  )

  it(
    'is confirmed by the read of the next connection, if that finds it',
    marbles(m => {
      const { state$, view, unanswered, connect, disconnect, at } = writeBench(m)
      unanswered.add('SET')
      at(50, () => view.next('b'))
      at(55, disconnect)
      at(100, connect)
      // Its answer cannot come any more when the broker has lost the session.
      m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 4ms p 44ms (uv) 16ms B`, {
        ...VALUES,
        p: 'b pending',
        v: 'b unknown: outcome-unknown',
      })
    }),
  )

  it(
    'gives way to what somebody else has written since',
    marbles(m => {
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
    }),
  )

  it(
    'is shown as unknown while the key is what it was, until a read after its time says that it was not done',
    marbles(m => {
      const { state$, view, lost, connect, disconnect, sent, at } = writeBench(m)
      lost.add('SET')
      at(50, () => view.next('b'))
      at(55, disconnect)
      at(100, connect)
      // The time of a write from the connection on, a second by which expiry is rounded, and the read.
      m.expect(state$, '5s !').toBeObservable(`${START} 29ms b 4ms p 44ms (uv) 16ms w 1989ms r`, {
        ...VALUES,
        p: 'b pending',
        v: 'b unknown: outcome-unknown',
        w: 'b unknown: outcome-unknown',
      })
      m.flush()
      expect(sent.at(-2)).toBe('2100 GET')
    }),
  )

  it(
    'that is done later yet is shown by its notification',
    marbles(m => {
      const { state$, view, lost, tell, connect, disconnect, at } = writeBench(m)
      lost.add('SET')
      at(50, () => view.next('b'))
      at(55, disconnect)
      at(100, connect)
      at(500, () => tell('b'))
      m.expect(state$, '5s !').toBeObservable(`${START} 29ms b 4ms p 44ms (uv) 16ms w 379ms B`, {
        ...VALUES,
        p: 'b pending',
        v: 'b unknown: outcome-unknown',
        w: 'b unknown: outcome-unknown',
      })
    }),
  )
})

describe('a write that was not answered in time', () => {
  it(
    'is unknown until a read a second later tells',
    marbles(m => {
      const { state$, view, unanswered, at } = writeBench(m, {}, { echo: 100_000 })
      unanswered.add('SET')
      at(50, () => view.next('b'))
      m.expect(state$, '5s !').toBeObservable(`${START} 29ms b 999ms u 1009ms B`, VALUES)
    }),
  )

  it(
    'is confirmed at once if it was told of before',
    marbles(m => {
      const { state$, view, unanswered, at } = writeBench(m)
      unanswered.add('SET')
      at(50, () => view.next('b'))
      m.expect(state$, '5s !').toBeObservable(`${START} 29ms b 11ms p 987ms B`, { ...VALUES, p: 'b pending' })
    }),
  )

  it(
    'does not matter any more when the next one was sent',
    marbles(m => {
      const { state$, view, unanswered, at } = writeBench(m, {}, { echo: 100_000 })
      unanswered.add('SET')
      at(50, () => view.next('b'))
      at(1_100, () => {
        unanswered.clear()
        view.next('x')
      })
      m.expect(state$, '5s !').toBeObservable(`${START} 29ms b 999ms u 49ms x 9ms X`, { ...VALUES, x: 'x pending' })
    }),
  )
})
