import { EMPTY, from, NEVER, of } from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { number } from '../../../src/client/keys/codec.js'
import { set } from '../../../src/client/keys/operators/operators.js'
import { fenced } from '../../../src/client/lease/fenced.js'
import { record } from '../../support/open-client.js'
import { fakeStore } from '../../support/operator-session.js'

const TOKEN = '1696374425000:1:StateStore'
const microtasks = async (): Promise<void> => {
  for (let i = 0; i < 9; i++) await undefined
}

describe.each([
  ['key.set', 'SET', (store: Store) => store.key('k', number).set(1)],
  ['key.next', 'SET', (store: Store) => store.key('k', number).next(1)],
  ['key.delete', 'DEL', (store: Store) => store.key('k', number).delete()],
  ['key.deleteIf', 'VDEL', (store: Store) => store.key('k', number).deleteIf(1)],
  ['store.set', 'SET', (store: Store) => store.set('k', 1, number)],
  ['store.delete', 'DEL', (store: Store) => store.delete('k')],
  ['store.deleteIf', 'VDEL', (store: Store) => store.deleteIf('k', 1, number)],
  ['set of a fenced key', 'SET', (store: Store) => fenced(store, TOKEN).key('k', number).set(1)],
  ['a piped set', 'SET', (store: Store) => store.key('k', number).set(1).pipe()],
])('%s without an observer', (_, verb, write) => {
  it('the call sends one request', async () => {
    const { store, session } = fakeStore(() => of('1'))
    void write(store)
    await microtasks()
    expect(session.requests.map(request => request.verb)).toEqual([verb])
  })

  it('a failure is reported on errors$', async () => {
    const { store } = fakeStore(() => of('-ERR the store is read-only'))
    const errors = record(store.errors$)
    void write(store)
    await microtasks()
    expect(errors.values).toMatchObject([{ code: 'service-unknown' }])
  })
})

describe('writes without an observer', () => {
  const warnings = (): unknown[] => {
    const words: unknown[] = []
    vi.spyOn(console, 'warn').mockImplementation(word => words.push(word))
    onTestFinished(() => void vi.restoreAllMocks())
    return words
  }

  it('the console warns once per code if nothing observes errors$', async () => {
    const words = warnings()
    const key = fakeStore(() => NEVER).store.key('k', number)
    for (let i = 0; i < 3; i++) void key.set(Number.NaN)
    await microtasks()
    expect(words).toEqual([expect.stringMatching(/^rx-statestore: The value for key "k" cannot be encoded: .*NaN/)])
  })

  it('the console warns about a write after the client has closed', async () => {
    const words = warnings()
    const { store } = fakeStore(() => NEVER)
    record(store.errors$)
    await store.close()
    store.key('k', number).next(1)
    await microtasks()
    expect(words).toEqual([expect.stringContaining('closed')])
  })

  it('a write that the next write follows reaches the store first', () => {
    const { store, session } = fakeStore(() => of('1'))
    const key = store.key('k', number)
    void key.set(1)
    key.set(2).subscribe()
    expect(session.requests.map(({ rest }) => rest[0])).toEqual(['1', '2'])
  })

  it('a key is an observer of values', () => {
    const { store, session } = fakeStore(() => of('1'))
    from([1, 2]).subscribe(store.key('k', number))
    expect(session.requests.map(({ rest }) => rest[0])).toEqual(['1', '2'])
  })
})

describe('an awaited operator', () => {
  it('writes all items and settles with the last result', async () => {
    const { store, session } = fakeStore(() => of('7'))
    const result: unknown = await from([1, 2]).pipe(set(store.key('k', number)))
    expect(result).toMatchObject({ applied: true, item: 2 })
    expect(session.requests).toHaveLength(2)
  })

  it('settles with undefined if the source has no item', async () => {
    const { store } = fakeStore(() => NEVER)
    expect(await EMPTY.pipe(set(store.key('k', number)))).toBe(undefined)
  })
})

type Store = ReturnType<typeof fakeStore>['store']
