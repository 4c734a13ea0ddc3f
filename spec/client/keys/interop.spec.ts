import { firstValueFrom, NEVER, type Observable, observable, of, Subject, switchMap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { number, set, systemClock } from '../../../src/client/index.js'
import { lease, withLock } from '../../../src/client/lease/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { optimistic } from '../../../src/client/optimistic/index.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { fakeStore } from '../../support/operator-session.js'

/** An observable of another library or copy of RxJS, which only has the interop method. */
const foreign = (source: Observable<unknown>): object =>
  Object.fromEntries([[observable, () => ({ subscribe: source.subscribe.bind(source) })]])

describe('a key as an observable', () => {
  it('emits every entry, and leaves its watch with its subscriber', async () => {
    const { store } = await openStore({ notifications: 'subscribed', clock: systemClock })
    const client = openClient(store.url, { stopDelay: 0 })
    const id$ = new Subject<string>()
    const seen = record(id$.pipe(switchMap(id => client.key(id, number))))
    for (const id of ['a', 'b', 'c']) {
      id$.next(id)
      await seen.until(({ values }) => values.at(-1)?.key === id)
    }
    for (let value = 1; value <= 20; value++) void client.key('c', number).set(value)
    await seen.until(({ values }) => values.at(-1)?.value === 20)
    expect(seen.values.map(({ value }) => value).slice(-20)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1))
    seen.unsubscribe()
    await expect.poll(() => store.stats.watches).toBe(0)
  })

  it.each(['key', 'glob'] as const)('is the entries of a %s', name => {
    const { store } = fakeStore(() => NEVER)
    const handle = name === 'key' ? store.key('a', number) : matching(store, 'a/*', number)
    expect(Reflect.apply(Reflect.get(handle, observable), handle, [])).toBe(handle.entries$)
  })
})

describe('an observable of another copy of RxJS', () => {
  it('is a source of operators', async () => {
    const { store } = await openStore({ notifications: 'subscribed', clock: systemClock })
    const key = openClient(store.url).key('a', number)
    await Reflect.apply(set(key), undefined, [foreign(of(1, 2))])
    expect((await key.get()).value).toBe(2)
  })

  it.each(['observable', 'promise'])('is a set of keys of watchAll, as is a %s', async kind => {
    const { store } = await openStore({ notifications: 'subscribed', clock: systemClock })
    const client = openClient(store.url)
    const keys$ = kind === 'promise' ? Promise.resolve(['a']) : foreign(of(['a']))
    const entries$ = Reflect.apply(client.watchAll<number>, client, [keys$, number])
    expect(await firstValueFrom(entries$)).toMatchObject({ key: 'a', op: 'absent' })
  })

  it('fails watchAll if its items are not sets of keys', async () => {
    const { store } = fakeStore(() => NEVER)
    const entries$ = Reflect.apply(store.watchAll<number>, store, [of(7), number])
    await expect(firstValueFrom(entries$)).rejects.toMatchObject({ code: 'argument' })
  })

  it('is a lease of withLock', async () => {
    const { store } = await openStore({ notifications: 'subscribed', clock: systemClock })
    const lock = lease(openClient(store.url), 'lock', { duration: 10_000 })
    expect(await Reflect.apply(withLock, undefined, [foreign(lock), () => of('done')])).toBe('done')
  })

  it('is no lease of withLock if it is a key', () => {
    const { store } = fakeStore(() => NEVER)
    const call = (): unknown => Reflect.apply(withLock, undefined, [store.key('a', number), () => of(1)])
    expect(call).toThrow(/^Expected a lease, .*, got a key$/)
  })
})

describe('a method without its object', () => {
  const { store } = fakeStore(() => NEVER)

  it.each(['get', 'set', 'next', 'delete', 'deleteIf', 'entries'] as const)('key.%s names the call', name => {
    const method: unknown = Reflect.get(store.key('a', number), name)
    expect(method).toBeInstanceOf(Function)
    const call = (): unknown => (typeof method === 'function' ? method() : undefined)
    expect(() => call()).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringContaining(`\`(...args) => key.${name}(`) }),
    )
  })

  it.each(['key', 'scan', 'get', 'set', 'delete', 'deleteIf'] as const)('store.%s names the call', name => {
    const method: unknown = Reflect.get(store, name)
    expect(method).toBeInstanceOf(Function)
    const call = (): unknown => (typeof method === 'function' ? Reflect.apply(method, globalThis, ['a', number]) : 0)
    expect(() => call()).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it('an optimistic view keeps its set and next', () => {
    const { set, next } = optimistic(store.key('a', number))
    next(1)
    expect(set(2)).toBeDefined()
  })
})

describe('work of withLock that returns nothing', () => {
  it('fails with what the work must return', async () => {
    const { store } = await openStore({ notifications: 'subscribed', clock: systemClock })
    const lock = lease(openClient(store.url), 'lock', { duration: 10_000 })
    await expect(Reflect.apply(withLock, undefined, [lock, () => undefined])).rejects.toMatchObject({
      code: 'argument',
      message: expect.stringContaining('return the work'),
    })
  })
})
