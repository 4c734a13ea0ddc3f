import { concatMap, defer, of, throwError, timer } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { describe, expect } from 'vitest'
import { text } from '../../../src/client/index.js'
import { optimistic, type StoredWrite, type WriteStorage } from '../../../src/client/optimistic/index.js'
import { shadow } from '../../../src/client/shadow/index.js'
import { START } from '../../support/manual-clock.js'
import { marbleTest } from '../../support/marble-test.js'
import { codeOf, writeBench } from '../../support/write-bench.js'

const textOf = (write: StoredWrite | undefined): string | undefined => write && new TextDecoder().decode(write.value)

/** A storage of one key that survives pages. Each operation takes `delayMs`; without one it is synchronous. */
function keptStorage({ scheduler }: Context, delayMs: number | undefined, { loads = true } = {}) {
  const kept = new Map<string, StoredWrite>()
  const after = <R>(run: () => R) => {
    const result$ = defer(() => of(run()))
    return delayMs === undefined ? result$ : timer(delayMs, scheduler).pipe(concatMap(() => result$))
  }
  const storage: WriteStorage = {
    load: key => (loads ? after(() => kept.get(key)) : throwError(() => new Error('unreadable'))),
    save: (key, write) => after(() => kept.set(key, write)),
    remove: (key, id) => after(() => kept.get(key)?.id === id && kept.delete(key)),
  }
  return { kept, storage, contents: () => Array.from(kept.values(), textOf) }
}

describe('a view without subscribers', () => {
  for (const delayMs of [undefined, 0, 20, 3_000])
    for (const offline of ['latest', 'ask', 'cas'] as const)
      marbleTest(`a first write (${offline}) stays in a storage that takes ${delayMs} ms`, m => {
        const { storage, contents } = keptStorage(m, delayMs)
        const { view, disconnect, at } = writeBench(m, {
          offline,
          ...(offline === 'ask' && { ask: () => [true] }),
          storage,
        })
        disconnect()
        at(10, () => view.next('b'))
        at(59_000, () => expect(contents()).toEqual(['b']))
        m.flush()
      })

  for (const exists of [true, false])
    marbleTest(`cas: a write by a user who saw nothing is sent if the key is missing (it exists: ${exists})`, m => {
      const { view, change, writes, connect, disconnect, at } = writeBench(m, { offline: 'cas' })
      disconnect()
      if (!exists) change(undefined)
      const results: string[] = []
      at(10, () => view.set('b').subscribe({ next: r => results.push(r.outcome), error: e => results.push(codeOf(e)) }))
      at(100, connect)
      m.flush()
      expect(writes().map(write => write.split(' ').slice(1))).toEqual([['SET', 'b', 'NX']])
      expect(results).toEqual([exists ? 'conflict' : 'applied'])
    })

  marbleTest('a first write stays in a storage that cannot be read', m => {
    const { storage, contents } = keptStorage(m, 5, { loads: false })
    const { view, disconnect, at } = writeBench(m, { offline: 'latest', storage })
    disconnect()
    at(10, () => view.next('b'))
    at(59_000, () => expect(contents()).toEqual(['b']))
    m.flush()
  })

  marbleTest('the values of a source are stored as the newest one', m => {
    const { storage, contents } = keptStorage(m, 5)
    const { view, disconnect, at } = writeBench(m, { offline: 'latest', storage })
    disconnect()
    at(10, () => of('b', 'c', 'd').subscribe(view))
    at(59_000, () => expect(contents()).toEqual(['d']))
    m.flush()
  })

  marbleTest('a write after a stored one of an earlier page replaces it', m => {
    const { storage, contents } = keptStorage(m, 5)
    const { view, store, writes, connect, disconnect, at } = writeBench(m, { offline: 'latest', storage })
    disconnect()
    at(10, () => view.next('b'))
    at(100, () => optimistic(store.key('k', text), { offline: 'latest', storage }).next('c'))
    at(200, () => expect(contents()).toEqual(['c']))
    at(300, connect)
    m.flush()
    // The key is read first.
    expect(writes()).toEqual(['325 SET c'])
  })

  marbleTest('a stored write is sent once although its view is watched, left and watched again', m => {
    const { storage, contents } = keptStorage(m, 20)
    const { view, store, writes, connect, disconnect, at } = writeBench(m, { offline: 'latest', storage })
    disconnect()
    at(10, () => view.next('b'))
    const next = optimistic(store.key('k', text), { offline: 'latest', storage })
    // Both subscriptions load the write; the load of the first one completes while the second one is there.
    at(100, () => next.state$.subscribe().unsubscribe())
    at(101, () => next.state$.subscribe())
    at(500, () => expect(contents()).toEqual(['b']))
    at(600, connect)
    m.flush()
    expect(writes().map(write => write.split(' ').slice(1).join(' '))).toEqual(['SET b'])
  })

  marbleTest('a stored write is not sent after a newer one that was sent before it was loaded', m => {
    const { kept, storage, contents } = keptStorage(m, 500)
    kept.set('6B', { id: 'x', value: new TextEncoder().encode('b'), at: START })
    const { view, writes, at } = writeBench(m, { offline: 'latest', storage })
    at(1_000, () => expect(contents()).toEqual(['b']))
    at(1_000, () => view.next('c'))
    at(10_000, () => view.state$.subscribe())
    m.flush()
    expect(writes()).toEqual(['1000 SET c'])
    expect(contents()).toEqual([])
  })

  marbleTest('a write after the client was closed fails, and the stored write stays', m => {
    const { storage, contents } = keptStorage(m, 5)
    const { view, store, disconnect, at } = writeBench(m, { offline: 'latest', storage })
    const errors: string[] = []
    disconnect()
    at(10, () => view.next('b'))
    at(100, () => void store.close())
    at(200, () => view.set('c').subscribe({ error: error => errors.push(codeOf(error)) }))
    m.flush()
    expect([errors, contents()]).toEqual([['closed'], ['b']])
  })

  marbleTest('the report of a device without a connection is stored', m => {
    const { storage, contents } = keptStorage(m, 5)
    const { store, disconnect, at } = writeBench(m)
    disconnect()
    const pump = shadow(store, 'pump', undefined, { offline: 'latest', storage })
    at(10, () => pump.report({ speed: 7 }).subscribe({ error: () => undefined }))
    at(59_000, () => expect(contents()).toEqual(['{"speed":7}']))
    m.flush()
  })
})
