import { BehaviorSubject, EMPTY, firstValueFrom, NEVER, of, Subject, take, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { json, type Key, number, systemClock, text } from '../../../src/client/index.js'
import { fenced } from '../../../src/client/lease/index.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

const strict = { notifications: 'subscribed', clock: systemClock } as const

describe('watchAll', () => {
  it('emits only the entries of the keys in the set', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    const keys$ = new Subject<string[]>()
    const seen = record(client.watchAll(keys$, text))
    const words = (): string[] => seen.values.map(({ key, value }) => `${key}=${value}`)
    keys$.next(['a', 'b'])
    await seen.until(({ values }) => values.length === 2)
    keys$.next(['b', 'c', 'c'])
    await seen.until(({ values }) => values.length === 3)
    await expect.poll(() => store.stats.watches).toBe(2)
    for (const key of ['a', 'b', 'c']) await firstValueFrom(client.key(key, text).set('1'))
    await seen.until(({ values }) => values.length === 5)
    expect(words().sort()).toEqual(['a=undefined', 'b=1', 'b=undefined', 'c=1', 'c=undefined'])
    keys$.next([])
    await expect.poll(() => store.stats.watches).toBe(0)
  })

  it('shares the registration of a key with other watches of that key', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    const alone = record(client.key('a', text).value$)
    const all = record(client.watchAll(of(['a']), text))
    await all.until(({ values }) => values.length === 1)
    expect(store.stats.watches).toBe(1)
    all.unsubscribe()
    await firstValueFrom(client.key('a', text).set('1'))
    await alone.until(({ values }) => values.length === 2)
  })

  it('applies a set that arrives in the handler of an entry while it applies another set', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    const known = record(client.watchAll(of(['a', 'b', 'c']), text))
    await known.until(({ values }) => values.length === 3)
    const keys$ = new BehaviorSubject(['a', 'b', 'c'])
    const seen: string[] = []
    const subscription = client.watchAll(keys$, text).subscribe(({ key }) => {
      seen.push(key)
      if (key === 'a') keys$.next(['c'])
    })
    expect(seen).toEqual(['a', 'c'])
    known.unsubscribe()
    await expect.poll(() => store.stats.watches).toBe(1)
    subscription.unsubscribe()
    await expect.poll(() => store.stats.watches).toBe(0)
  })

  it('emits nothing more after its subscriber unsubscribes in the handler of an entry', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    const known = record(client.watchAll(of(['a', 'b']), text))
    await known.until(({ values }) => values.length === 2)
    const first = record(client.watchAll(of(['a', 'b']), text).pipe(take(1)))
    expect(first.values.map(({ key }) => key)).toEqual(['a'])
    await firstValueFrom(client.key('a', text).set('1'))
    await known.until(({ values }) => values.length === 3)
    expect(first.values).toHaveLength(1)
  })

  it('ends all its watches on unsubscribe', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    const names = Array.from({ length: 300 }, (_, i) => `k${i}`)
    const seen = record(client.watchAll(of(names), text))
    await seen.until(({ values }) => values.length === 300)
    expect(store.stats.watches).toBe(300)
    seen.unsubscribe()
    await expect.poll(() => store.stats.watches).toBe(0)
  })

  it('continues after its source has completed, and completes with the client', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    const seen = record(client.watchAll(of(['a']), text))
    await seen.until(({ values }) => values.length === 1)
    expect(seen.completed).toBe(false)
    await client.close()
    expect(seen.completed).toBe(true)
  })

  it('completes with a source of empty sets, and stays open while its source emits nothing', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    expect(record(client.watchAll(EMPTY, text)).completed).toBe(true)
    expect(record(client.watchAll(of([]), text)).completed).toBe(true)
    expect(record(client.watchAll(NEVER, text)).completed).toBe(false)
  })

  it('passes on an error of the source, and errors for an invalid key', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    expect(
      record(
        client.watchAll(
          throwError(() => 'gone'),
          text,
        ),
      ).error,
    ).toBe('gone')
    expect(record(client.watchAll(of(['a', '']), text)).error).toMatchObject({ code: 'argument' })
    await firstValueFrom(client.key('marker', text).get())
    expect(store.stats.watches).toBe(0)
  })

  it('rejects the key of another store, and accepts a key of a fenced view', async () => {
    const { store } = await openStore(strict)
    const [client, other] = [openClient(store.url), openClient(store.url)]
    const mixed = record(client.watchAll([client.key('a', text), other.key('a', text)]))
    expect(mixed.error).toMatchObject({ code: 'argument', message: expect.stringContaining('"a" of another store') })
    const fencedKey = fenced(client, '1:0:S').key('a', text)
    const seen = record(client.watchAll([fencedKey]))
    await seen.until(({ values }) => values.length === 1)
  })

  it('accepts names and handles with different codecs in one set', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    await firstValueFrom(client.key('n', number).set(7))
    await firstValueFrom(client.key('t', text).set('8'))
    const seen = record(client.watchAll<number | string>([client.key('n', number), 't'], text))
    await seen.until(({ values }) => values.length === 2)
    expect(new Map(seen.values.map(({ key, value }) => [key, value]))).toEqual(
      new Map<string, unknown>([
        ['n', 7],
        ['t', '8'],
      ]),
    )
    expect(seen.completed).toBe(false)
    const handles = record(client.watchAll(new Set([client.key('n', number)])))
    await handles.until(({ values }) => values[0]?.value === 7)
  })

  it('decodes a key by the codec of the latest set, and keeps its registration', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    await firstValueFrom(client.key('a', text).set('7'))
    const keys$ = new BehaviorSubject<readonly Key<unknown>[]>([client.key('a', text)])
    const seen = record(client.watchAll(keys$))
    await seen.until(({ values }) => values.length === 1)
    const requests = store.stats.requests
    keys$.next([client.key('a', number)])
    expect(seen.values.map(({ value }) => value)).toEqual(['7', 7])
    await firstValueFrom(client.key('a', text).set('8'))
    await seen.until(({ values }) => values.length === 3)
    expect(seen.values.at(-1)).toMatchObject({ op: 'set', value: 8 })
    // The only request since then is the SET.
    expect(store.stats.requests - requests).toBe(1)
    seen.unsubscribe()
    await expect.poll(() => store.stats.watches).toBe(0)
  })

  it('does not repeat the entry of a key whose JSON codec has the same schema', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    const keys$ = new BehaviorSubject([client.key('a', json())])
    const seen = record(client.watchAll(keys$))
    await seen.until(({ values }) => values.length === 1)
    keys$.next([client.key('a', json())])
    expect(seen.values).toHaveLength(1)
  })

  it('applies a set that changes the codec in the handler of an entry', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    await firstValueFrom(client.key('a', text).set('7'))
    const [asText, asNumber] = [client.key('a', text), client.key('a', number)]
    const keys$ = new BehaviorSubject<readonly Key<unknown>[]>([asText])
    const seen: unknown[] = []
    const subscription = client.watchAll(keys$).subscribe(({ value }) => {
      seen.push(value)
      if (seen.length === 1) keys$.next([asNumber])
      if (seen.length === 2) keys$.next([])
    })
    await expect.poll(() => seen).toEqual(['7', 7])
    await expect.poll(() => store.stats.watches).toBe(0)
    subscription.unsubscribe()
  })

  it.each(['sensor/1', 7, undefined, {}])('throws for %j instead of keys', async wrong => {
    const { store } = await openStore(strict)
    expect(() => Reflect.apply(openClient(store.url).watchAll, undefined, [wrong, text])).toThrow('Expected keys')
  })
})
