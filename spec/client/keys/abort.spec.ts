import { getEventListeners } from 'node:events'
import { NEVER, type Observable, of, Subject, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { AbortError, number, text } from '../../../src/client/index.js'
import { lease } from '../../../src/client/lease/lease.js'
import { record } from '../../support/open-client.js'
import { type Answer, fakeStore } from '../../support/operator-session.js'

type Store = ReturnType<typeof fakeStore>['store']
interface Signalled {
  readonly signal?: AbortSignal
}

const REQUESTS: readonly (readonly [string, string, (store: Store, options: Signalled) => Observable<unknown>])[] = [
  ['key.get', 'GET', (store, options) => store.key('k', text).get(options)],
  ['key.set', 'SET', (store, options) => store.key('k', text).set('v', options)],
  ['key.delete', 'DEL', (store, options) => store.key('k', text).delete(options)],
  ['key.deleteIf', 'VDEL', (store, options) => store.key('k', text).deleteIf('v', options)],
  ['store.get', 'GET', (store, options) => store.get('k', text, options)],
  ['store.set', 'SET', (store, options) => store.set('k', 'v', text, options)],
  ['store.delete', 'DEL', (store, options) => store.delete('k', options)],
  ['store.deleteIf', 'VDEL', (store, options) => store.deleteIf('k', 'v', text, options)],
  ['store.scan', 'SCAN', (store, options) => store.scan('*', text, options)],
  ['lease.tryAcquire', 'SET', (store, options) => lease(store, 'k', { duration: 1_000 }).tryAcquire(options)],
]

const WORDS: Record<string, Answer> = {
  SCAN: { payload: '*1\r\n*1\r\n$1\r\nk\r\n' },
}
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

describe.each(REQUESTS)('%s with a signal', (_, verb, request) => {
  const open = (answers: Observable<string | Answer> = of(WORDS[verb] ?? '1'), aborter = new AbortController()) => {
    const { store, session } = fakeStore(({ verb: asked }) => (asked === verb ? answers : of(':1')))
    return { aborter, session, request$: request(store, { signal: aborter.signal }) }
  }

  it('a request whose signal is never aborted completes and removes its listener', () => {
    const { aborter, request$ } = open()
    const done = record(request$.pipe(toArray()))
    expect(done.completed).toBe(true)
    expect(done.values[0]).toHaveLength(1)
    expect(listeners(aborter.signal)).toBe(0)
  })

  it('a request with an aborted signal sends nothing', () => {
    const aborted = new AbortController()
    const reason = new Error('the panel was closed')
    aborted.abort(reason)
    const { aborter, session, request$ } = open(undefined, aborted)
    const { error } = record(request$)
    expect(error).toBeInstanceOf(AbortError)
    expect(error).toMatchObject({ name: 'AbortError', code: 'aborted', cause: reason })
    expect(session.requests).toEqual([])
    expect(listeners(aborter.signal)).toBe(0)
  })

  it('aborting the signal cancels a request and ignores its late response', () => {
    const answer$ = new Subject<string | Answer>()
    const { aborter, session, request$ } = open(answer$)
    const asked = record(request$)
    expect(session.requests.map(sent => sent.verb)).toEqual([verb])
    aborter.abort()
    expect(asked.error).toMatchObject({ code: 'aborted', cause: aborter.signal.reason })
    answer$.next(WORDS[verb] ?? '1')
    expect(asked.values).toEqual([])
    expect(listeners(aborter.signal)).toBe(0)
  })

  it('unsubscribing a request removes its listener from the signal', () => {
    const { aborter, request$ } = open(NEVER)
    const asked = record(request$)
    expect(listeners(aborter.signal)).toBe(1)
    asked.unsubscribe()
    expect(listeners(aborter.signal)).toBe(0)
  })

  it('a subscription after the end of a request sends another one, without the signal', () => {
    const { aborter, session, request$ } = open()
    for (const _ of [1, 2]) expect(record(request$).completed).toBe(true)
    expect(session.requests.filter(sent => sent.verb === verb)).toHaveLength(2)
    expect(listeners(aborter.signal)).toBe(0)
  })

  it('a request with an invalid signal fails with `argument`', () => {
    const { store } = fakeStore(() => NEVER)
    // @ts-expect-error a controller is no signal
    expect(record(request(store, { signal: new AbortController() })).error).toMatchObject({
      code: 'argument',
      message: expect.stringContaining('`signal`'),
    })
  })
})

describe('abort signals', () => {
  it('aborting a request that waits for the connection prevents it from being sent', () => {
    const { store, session } = fakeStore(() => of('1'))
    const aborter = new AbortController()
    session.disconnect(new AbortError('cut'))
    const waiting = record(store.key('k', number).set(1, { signal: aborter.signal }))
    aborter.abort('too slow')
    session.connect()
    expect(waiting.error).toMatchObject({ code: 'aborted', message: expect.stringContaining('too slow') })
    expect(session.requests).toEqual([])
  })

  it('aborting `tryAcquire` during its request releases the lease', () => {
    const { store, session } = fakeStore(({ verb }) => (verb === 'SET' ? NEVER : of(':1')))
    const aborter = new AbortController()
    record(lease(store, 'k', { duration: 1_000 }).tryAcquire({ signal: aborter.signal }))
    aborter.abort()
    expect(session.requests.map(({ verb }) => verb)).toEqual(['SET', 'VDEL'])
  })
})

describe('the async iterable of a scan', () => {
  const pages: Answer[] = [
    { payload: '*2\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nt\r\n' },
    { payload: '*1\r\n*1\r\n$1\r\nc\r\n' },
  ]

  it.each([
    ['within a page', 'a', ['a']],
    ['between two pages', 'b', ['a', 'b']],
  ])('a loop that is aborted %s throws and requests no further page', async (_, last, expected) => {
    const { store, session } = fakeStore((_, nth) => of(pages[nth] ?? ''))
    const aborter = new AbortController()
    const seen: string[] = []
    const run = async (): Promise<void> => {
      for await (const { name } of store.scan('*', text, { signal: aborter.signal })) {
        seen.push(name)
        if (name === last) aborter.abort()
      }
    }
    await expect(run()).rejects.toMatchObject({ code: 'aborted' })
    expect(seen).toEqual(expected)
    expect(session.requests).toHaveLength(1)
    expect(listeners(aborter.signal)).toBe(0)
  })
})

describe('several requests with one signal', () => {
  it('the requests share one listener, which the last one removes', () => {
    const aborter = new AbortController()
    const answer$ = new Subject<Answer>()
    const { store } = fakeStore(() => answer$)
    const all = Array.from({ length: 12 }, (_, i) => record(store.get(`k${i}`, text, { signal: aborter.signal })))
    expect(listeners(aborter.signal)).toBe(1)
    all[0]?.unsubscribe()
    expect(listeners(aborter.signal)).toBe(1)
    aborter.abort('why')
    expect(all.map(({ error }) => error instanceof AbortError)).toEqual([false, ...Array(11).fill(true)])
    expect(listeners(aborter.signal)).toBe(0)
  })

  it('an error callback may cancel and send other requests with the signal', () => {
    const aborter = new AbortController()
    const { signal } = aborter
    const { store } = fakeStore(() => NEVER)
    const seen: string[] = []
    const second = store.get('b', text, { signal })
    store.get('a', text, { signal }).subscribe({
      error: () => {
        cancelled.unsubscribe()
        store.get('c', text, { signal }).subscribe({ error: () => seen.push('c') })
      },
    })
    const cancelled = second.subscribe({ error: () => seen.push('b') })
    aborter.abort()
    expect(seen).toEqual(['c'])
    expect(listeners(signal)).toBe(0)
  })
})
