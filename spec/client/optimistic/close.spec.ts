import { EMPTY, from, lastValueFrom, map, NEVER, Observable, timer } from 'rxjs'
import { describe, expect, it, vi } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { connect, number } from '../../../src/client/index.js'
import { optimistic, type StoredWrite, type WriteStorage } from '../../../src/client/optimistic/index.js'
import { fileStorage } from '../../../src/node/file-storage.js'
import { marbleTest } from '../../support/marble-test.js'
import { record } from '../../support/open-client.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { writeBench } from '../../support/write-bench.js'

const valueText = ({ value }: StoredWrite): string => new TextDecoder().decode(value)

/** A storage whose saves take time. */
function slowStorage(save: () => Observable<unknown>) {
  const saved: string[] = []
  const storage: WriteStorage = {
    load: () => [undefined],
    save: (_, write) => save().pipe(map(() => saved.push(valueText(write)))),
    remove: () => [true],
  }
  return { storage, saved }
}

describe('close', () => {
  it('waits until a queued write is stored', async () => {
    const directory = temporaryFolder()
    const storage = fileStorage(directory)
    const store = connect(`mqtt://127.0.0.1:${await freePort()}`)
    const view = optimistic(store.key('valve', number), { offline: 'latest', storage })
    view.next(24)
    view.next(25)
    await store.close()
    const saved = await lastValueFrom(from(storage.load(Buffer.from('valve').toString('hex').toUpperCase())))
    expect(saved && valueText(saved)).toBe('25')
  })

  marbleTest('close waits for the storage whether or not the client is connected', m => {
    for (const isUp of [false, true]) {
      const { storage, saved } = slowStorage(() => timer(500, m.scheduler))
      const { store, view, disconnect, connect, at } = writeBench(m, { offline: 'latest', storage })
      view.state$.subscribe()
      const closed = record(store.status$)
      at(40, disconnect)
      at(50, () => view.next('b'))
      at(60, () => {
        if (isUp) connect()
        void store.close()
      })
      at(549, () => expect(closed.values.at(-1)?.state).not.toBe('closed'))
      at(551, () => expect([saved, closed.values.at(-1)?.state]).toEqual([['b'], 'closed']))
    }
    m.flush()
  })

  marbleTest('close waits at most 10 s for the storage, and reports the writes that were not saved', m => {
    const { storage } = slowStorage(() => NEVER)
    const { store, view, disconnect, at } = writeBench(m, { offline: 'latest', storage })
    const errors: string[] = []
    store.errors$.subscribe(({ message }) => errors.push(message))
    view.state$.subscribe()
    at(40, disconnect)
    // The timeout of 10 s applies to each of the two requests.
    at(50, () => view.next('b'))
    at(5_000, () => view.next('c'))
    at(6_000, () => void store.close())
    const ends: number[] = []
    store.status$.subscribe({ complete: () => ends.push(m.scheduler.now()) })
    m.flush()
    expect(ends).toEqual([16_000])
    expect(errors).toEqual([
      'The write storage failed: it did not respond within 10000 ms',
      'The write storage failed: it was still writing 10000 ms after the client was closed; the newest write to key "k" may not be saved',
    ])
  })

  marbleTest('the storage gets no further requests after 10 s', m => {
    let pending = 0
    const never = new Observable<never>(() => {
      pending++
      return () => pending--
    })
    const { storage } = slowStorage(() => never)
    const { store, view, disconnect, at } = writeBench(m, { offline: 'latest', storage })
    view.state$.subscribe()
    at(40, disconnect)
    at(50, () => view.next('b'))
    at(5_000, () => view.next('c'))
    at(6_000, () => void store.close())
    at(15_999, () => expect(pending).toBe(1))
    at(16_001, () => expect(pending).toBe(0))
    m.flush()
  })

  marbleTest('a closing client does not reconnect, so that it does not take over the session of its successor', m => {
    for (const [lostAt, endsAt, keeps] of [
      // The connection is lost before close.
      [40, 531, ['b']],
      // The connection is lost after close, when the write was about to be sent. The write is stored again.
      [70, 1_031, ['b', 'b']],
    ] as const) {
      const { storage, saved } = slowStorage(() => timer(500, m.scheduler))
      const { session, store, view, disconnect, connect, at } = writeBench(m, { offline: 'latest', storage })
      const ended = vi.spyOn(session, 'close')
      view.state$.subscribe()
      at(30, disconnect)
      at(31, () => view.next('b'))
      at(32, () => lostAt > 60 && connect())
      at(60, () => void store.close())
      at(lostAt, disconnect)
      at(71, () => expect(ended).toHaveBeenCalledOnce())
      const closed = record(store.status$)
      at(endsAt - 1, () => expect(closed.completed).toBe(false))
      at(endsAt + 1, () => expect([closed.completed, saved]).toEqual([true, keeps]))
    }
    m.flush()
  })

  marbleTest('close does not wait for an idle storage', m => {
    const { storage } = slowStorage(() => EMPTY)
    const { store, view, at } = writeBench(m, { offline: 'latest', storage })
    view.state$.subscribe()
    const ends: number[] = []
    store.status$.subscribe({ complete: () => ends.push(m.scheduler.now()) })
    at(100, () => void store.close())
    m.flush()
    expect(ends).toEqual([100])
  })
})
