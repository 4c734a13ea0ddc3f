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
  const open = (answers: Observable<string | Answer> = of(WORDS[verb] ?? '1')) => {
    const aborter = new AbortController()
    const { store, session } = fakeStore(({ verb: asked }) => (asked === verb ? answers : of(':1')))
    return { aborter, session, request$: request(store, { signal: aborter.signal }) }
  }

  it('ends as without one, and listens no longer', () => {
    const { aborter, request$ } = open()
    const done = record(request$.pipe(toArray()))
    expect(done.completed).toBe(true)
    expect(done.values[0]).toHaveLength(1)
    expect(listeners(aborter.signal)).toBe(0)
  })

  it('sends nothing when it was aborted before', () => {
    const { aborter, session, request$ } = open()
    const reason = new Error('the panel was closed')
    aborter.abort(reason)
    const { error } = record(request$)
    expect(error).toBeInstanceOf(AbortError)
    expect(error).toMatchObject({ name: 'AbortError', code: 'aborted', cause: reason })
    expect(session.requests).toEqual([])
    expect(listeners(aborter.signal)).toBe(0)
  })

  it('is given up when it is aborted, and its answer is too late', () => {
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

  it('listens no longer when it is unsubscribed', () => {
    const { aborter, request$ } = open(NEVER)
    const asked = record(request$)
    expect(listeners(aborter.signal)).toBe(1)
    asked.unsubscribe()
    expect(listeners(aborter.signal)).toBe(0)
  })

  it('gives its result again, a scan begins again, and neither listens to the signal any longer', () => {
    const { aborter, session, request$ } = open()
    for (const _ of [1, 2]) expect(record(request$).completed).toBe(true)
    expect(session.requests.filter(sent => sent.verb === verb)).toHaveLength(verb === 'SCAN' ? 2 : 1)
    expect(listeners(aborter.signal)).toBe(0)
  })

  it('refuses what is no signal', () => {
    const { store } = fakeStore(() => NEVER)
    // @ts-expect-error a controller is no signal
    expect(record(request(store, { signal: new AbortController() })).error).toMatchObject({
      code: 'argument',
      message: expect.stringContaining('`signal`'),
    })
  })
})

describe('A signal', () => {
  it('gives up what waits for the connection, which then is never sent', () => {
    const { store, session } = fakeStore(() => of('1'))
    const aborter = new AbortController()
    session.disconnect(new AbortError('cut'))
    const waiting = record(store.key('k', number).set(1, { signal: aborter.signal }))
    aborter.abort('too slow')
    session.connect()
    expect(waiting.error).toMatchObject({ code: 'aborted', message: expect.stringContaining('too slow') })
    expect(session.requests).toEqual([])
  })

  it('gives back a lease whose answer is under way', () => {
    const { store, session } = fakeStore(({ verb }) => (verb === 'SET' ? NEVER : of(':1')))
    const aborter = new AbortController()
    record(lease(store, 'k', { duration: 1_000 }).tryAcquire({ signal: aborter.signal }))
    aborter.abort()
    expect(session.requests.map(({ verb }) => verb)).toEqual(['SET', 'VDEL'])
  })
})

describe('A loop over the keys of a scan', () => {
  const pages: Answer[] = [
    { payload: '*2\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nt\r\n' },
    { payload: '*1\r\n*1\r\n$1\r\nc\r\n' },
  ]

  it.each([
    ['within a page', 'a', ['a']],
    ['between two pages', 'b', ['a', 'b']],
  ])('throws when it is aborted %s, and asks for no other page', async (_, last, expected) => {
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
