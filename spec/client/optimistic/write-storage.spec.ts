import { NEVER } from 'rxjs'
import { marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { StateStoreError } from '../../../src/client/index.js'
import type { StoredWrite, WriteStorage } from '../../../src/client/optimistic/index.js'
import { marbleTest } from '../../support/marble-test.js'
import { inWords, writeBench } from '../../support/write-bench.js'

const VALUE = new TextEncoder().encode('b')

/** Creates a storage that already contains a record. */
function storageOf(found: unknown) {
  const saved: StoredWrite[] = []
  const removed: string[] = []
  const storage: WriteStorage = {
    // @ts-expect-error storages may contain anything
    load: () => [found],
    save: (_, write) => [saved.push(write)],
    remove: (_, id) => [removed.push(id) > 0],
  }
  return { storage, saved, removed }
}

describe('a write storage', () => {
  it.each([
    ['no time', { id: 'x', value: VALUE }],
    ['an invalid time', { id: 'x', at: Number.NaN, value: VALUE }],
    ['text in place of a value', { id: 'x', at: 1, value: 'b' }],
    ['a number in place of a version', { id: 'x', at: 1, value: VALUE, seen: 7 }],
    ['a text', 'x'],
  ])('a record with %s is reported and not sent', (_, found) =>
    marbles(m => {
      const { state$, store, writes } = writeBench(m, { offline: 'latest', storage: storageOf(found).storage })
      const errors: string[] = []
      store.errors$.subscribe(({ message }) => errors.push(message))
      m.expect(state$, '100ms !').toBeObservable('c 19ms A', { c: '- connecting', A: 'a confirmed' })
      m.flush()
      expect(writes()).toEqual([])
      expect(errors).toEqual(['The write storage failed: it holds a record that is not a write; it was left unchanged'])
    })(),
  )

  marbleTest('a storage that never responds delays writes by at most 10 s', m => {
    const removed: string[] = []
    const storage: WriteStorage = {
      load: () => [undefined],
      save: () => NEVER,
      remove: (_, id) => {
        removed.push(id)
        return NEVER
      },
    }
    const { view, store, writes, disconnect, connect, at } = writeBench(m, { offline: 'latest', storage })
    const errors: string[] = []
    store.errors$.subscribe(error => errors.push(error instanceof StateStoreError ? error.message : ''))
    view.state$.subscribe()
    at(40, disconnect)
    at(50, () => view.next('b'))
    at(100, connect)
    at(70_000, () => view.next('c'))
    m.flush()
    expect(writes()).toEqual(['10050 SET b', '70000 SET c'])
    expect(errors[0]).toBe('The write storage failed: it did not respond within 10000 ms')
    // A save that completes late must not leave a record behind.
    expect(removed).toHaveLength(1)
  })

  marbleTest('a stored write is removed even if a handler replaces the next write', m => {
    const { storage, saved, removed } = storageOf(undefined)
    const options = { offline: 'latest', conflict: 'refuse', storage } as const
    const { view, writes, disconnect, connect, at } = writeBench(m, options)
    view.state$.subscribe()
    at(40, disconnect)
    at(50, () => view.set('b').subscribe(() => view.next('d')))
    at(60, connect)
    // The write waits until the key has been read again.
    at(61, () => view.next('c'))
    m.flush()
    expect(writes()).toEqual(['80 SET d IFVER 1:0:S'])
    expect(saved).toHaveLength(1)
    expect(removed).toEqual(saved.map(({ id }) => id))
  })

  marbleTest('the storage keeps what the user wrote, not the merged value', m => {
    const { storage, saved } = storageOf(undefined)
    const conflict = (mine: string, theirs?: string) => `${mine}+${theirs}`
    const { view, writes, change, disconnect, at } = writeBench(m, { offline: 'latest', storage, conflict })
    view.state$.subscribe()
    at(50, () => {
      change('x')
      view.next('b')
    })
    at(65, () => change('y'))
    at(85, disconnect)
    m.flush()
    expect(writes()).toEqual(['50 SET b IFVER 1:0:S', '70 SET b+x IFVER 2:0:S'])
    expect(saved.map(({ value }) => new TextDecoder().decode(value))).toEqual(['b'])
  })
})

describe('a write', () => {
  marbleTest('a write without a policy keeps its deadline even if it starts without a connection', m => {
    const { view, disconnect, connect, at, lost } = writeBench(m)
    view.state$.subscribe()
    lost.add('SET')
    const ends: number[] = []
    at(40, disconnect)
    at(50, () => view.set('b').subscribe({ error: () => ends.push(m.scheduler.now()) }))
    at(1_000, connect)
    m.flush()
    expect(ends).toEqual([1_050])
  })

  marbleTest('a write made in the handler of the first state is shown to that subscriber', m => {
    const { view, at, disconnect } = writeBench(m, { offline: 'drop' })
    const states: string[] = []
    view.state$.subscribe()
    at(40, disconnect)
    at(60, () =>
      view.state$.subscribe(state => {
        if (states.push(inWords(state)) === 1) view.next('b')
      }),
    )
    m.flush()
    expect(states.slice(0, 2)).toEqual(['a confirmed', 'a refused: offline'])
  })
})
