import { catchError, defer, map, of, takeUntil, tap } from 'rxjs'
import { describe, expect } from 'vitest'
import type { OptimisticState } from '../../../src/client/optimistic/index.js'
import { marbleTest } from '../../support/marble-test.js'
import { codeOf, writeBench } from '../../support/write-bench.js'

const VALUES = {
  c: '- connecting',
  A: 'a confirmed',
  b: 'b pending',
  B: 'b confirmed',
  x: 'x pending',
  X: 'x confirmed',
  y: 'y pending',
  Y: 'y confirmed',
}
// The key is read first.
const START = 'c 19ms A'

describe('a write', () => {
  marbleTest('a write is shown immediately and confirmed by the response; its notification changes nothing', m => {
    const { state$, view, at } = writeBench(m)
    at(50, () => view.next('b'))
    m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 9ms B`, VALUES)
  })

  marbleTest('a subscriber that joins while another one writes receives each state once', m => {
    const { state$, view } = writeBench(m)
    const joined: OptimisticState<string>[] = []
    const joining$ = state$.pipe(
      tap(word => {
        if (joined.length > 0 || word !== VALUES.A) return
        view.next('b')
        view.state$.pipe(takeUntil(m.cold('400ms a'))).subscribe(state => joined.push(state))
      }),
    )
    m.expect(joining$, '400ms !').toBeObservable('c 19ms (Ab) 6ms B', VALUES)
    m.flush()
    expect(joined[0]).toMatchObject({ value: 'b', state: 'pending' })
    expect(joined).toEqual(Array.from(new Set(joined)))
  })

  marbleTest('a notification alone does not confirm a write, as another client may have written the same value', m => {
    const { state$, view, at } = writeBench(m, {}, { echo: 5 })
    at(50, () => view.next('b'))
    const values = { ...VALUES, e: 'b pending' }
    m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 4ms e 4ms B`, values)
  })

  marbleTest('a late notification of an earlier value is not shown after a write', m => {
    const { state$, view, notify, at } = writeBench(m)
    at(45, () => notify('x', 30))
    at(50, () => view.next('b'))
    m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 9ms B`, VALUES)
  })

  marbleTest('a later value replaces the write, even if it arrives before the response', m => {
    const { state$, view, notify, at } = writeBench(m, {}, { echo: 2 })
    at(50, () => view.next('b'))
    at(53, () => notify('x'))
    // Two notifications that arrive in between change the confirmed value.
    m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 1ms b b 6ms X`, VALUES)
  })

  marbleTest('a refused write is reverted with the error, until the next write', m => {
    const { state$, view, answers, at } = writeBench(m)
    answers.set('SET', '-ERR the quota has been exceeded')
    at(50, () => view.next('b'))
    at(70, () => {
      answers.clear()
      view.next('x')
    })
    const values = { ...VALUES, r: 'a refused: quota-exceeded' }
    m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 9ms r 9ms x 9ms X`, values)
  })

  marbleTest('a value that cannot be encoded is refused and not sent', m => {
    const { state$, view, writes, at } = writeBench(m)
    at(50, () => view.next('\ud800'))
    m.expect(state$, '400ms !').toBeObservable(`${START} 29ms r`, { ...VALUES, r: 'a refused: argument' })
    m.flush()
    expect(writes()).toEqual([])
  })

  marbleTest('a write that is withdrawn while it waits is not sent', m => {
    const { state$, view, writes, at } = writeBench(m)
    at(50, () => view.next('b'))
    m.expect(
      defer(() => view.set('x')),
      '52ms ^ 2ms !',
    ).toBeObservable('-')
    m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 1ms x 2ms b 4ms B`, VALUES)
    m.flush()
    expect(writes()).toEqual(['50 SET b'])
  })
})

describe('many writes', () => {
  marbleTest('one write is in flight at a time, the newest one waits, and those in between are superseded', m => {
    const { state$, result, writes, at } = writeBench(m)
    const results: string[] = []
    for (const [time, value] of [
      [50, 'b'],
      [52, 'x'],
      [54, 'y'],
    ] as const)
      at(time, () => void result(value).subscribe(outcome => results.push(outcome)))
    m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 1ms x 1ms y 5ms z 9ms Y`, {
      ...VALUES,
      z: 'y pending',
    })
    m.flush()
    expect(results).toEqual(['x superseded', 'b applied', 'y applied'])
    expect(writes()).toEqual(['50 SET b', '60 SET y'])
  })
})

describe('conflict', () => {
  marbleTest('refuse: a write succeeds if the key is unchanged since the user saw it', m => {
    const { state$, view, writes, at } = writeBench(m, { conflict: 'refuse' })
    at(50, () => view.next('b'))
    at(52, () => view.next('x'))
    m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 1ms x 7ms z 9ms X`, { ...VALUES, z: 'x pending' })
    m.flush()
    expect(writes()).toEqual(['50 SET b IFVER 1:0:S', '60 SET x IFVER 2:0:S'])
  })

  marbleTest(
    'refuse: a write conflicts if the key has changed, even if the view received the change while it showed the write',
    m => {
      const { state$, view, notify, at } = writeBench(m, { conflict: 'refuse' })
      at(50, () => notify('x', 5))
      at(51, () => view.next('b'))
      at(57, () => view.next('y'))
      const values = { ...VALUES, w: 'b pending', z: 'x refused: conflict' }
      m.expect(state$, '400ms !').toBeObservable(`${START} 30ms b 3ms w 1ms y 13ms z`, values)
    },
  )

  marbleTest('refuse: a missing key is created if no other client has created it', m => {
    const { view, change, writes, at } = writeBench(m, { conflict: 'refuse' })
    change(undefined)
    view.state$.subscribe()
    at(50, () => view.next('b'))
    m.flush()
    expect(writes()).toEqual(['50 SET b NX'])
  })

  marbleTest('refuse: a write before the first read conflicts, as the user has not seen a value', m => {
    const { view } = writeBench(m, { conflict: 'refuse' })
    const code$ = view.set('b').pipe(
      map(() => 'applied'),
      catchError(error => of(codeOf(error))),
    )
    m.expect(code$, '400ms !').toBeObservable('20ms (c|)', { c: 'conflict' })
  })

  marbleTest(
    "a function merges with the current value until the write succeeds, and the view shows the user's value until then",
    m => {
      const { state$, view, change, writes, at } = writeBench(m, { conflict: (mine, theirs) => `${theirs}+${mine}` })
      at(45, () => change('x'))
      at(50, () => view.next('b'))
      at(65, () => change('y'))
      const values = { ...VALUES, p: 'b pending', M: 'y+b confirmed' }
      m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 19ms p 19ms p 9ms M`, values)
      m.flush()
      expect(writes()).toEqual(['50 SET b IFVER 1:0:S', '70 SET x+b IFVER 2:0:S', '90 SET y+b IFVER 3:0:S'])
    },
  )

  marbleTest('a conflict function that throws refuses the write', m => {
    const merge = (): string => {
      throw new Error('no way')
    }
    const { state$, view, change, writes, at } = writeBench(m, { conflict: merge })
    at(45, () => change('x'))
    at(50, () => view.next('b'))
    const values = { ...VALUES, p: 'b pending', r: 'x refused: argument' }
    m.expect(state$, '400ms !').toBeObservable(`${START} 29ms b 19ms r`, values)
    m.flush()
    expect(writes()).toHaveLength(1)
  })
})
