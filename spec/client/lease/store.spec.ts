import { firstValueFrom, from, lastValueFrom, NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { ArgumentError, number, set, systemClock, text } from '../../../src/client/index.js'
import { fenced, leadership, withLock } from '../../../src/client/lease/index.js'
import { lease, watchHolder } from '../../../src/client/lease/lease.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { fakeStore } from '../../support/operator-session.js'

const OPTIONS = { duration: 10_000 }

describe('tryAcquire', () => {
  it('acquires a free lease once and does not renew it', async () => {
    const { store, clock } = await openStore()
    const client = openClient(store.url, { clock })
    const before = clock.monotonic()
    const got = await firstValueFrom(lease(client, 'line', { ...OPTIONS, holder: 'a' }).tryAcquire())
    const entry = await firstValueFrom(client.get('line', text))
    expect(got).toMatchObject({ acquired: true, holder: 'a', token: entry.version })
    expect(got.acquired && got.expiresAtMonotonic).toBe(before + 10_000)
    expect(entry.value).toBe('a')
    clock.advance(10_000)
    expect(await firstValueFrom(client.get('line', text))).toMatchObject({ op: 'absent' })
  })

  it('emits the holder of a lease that is not free', async () => {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    await firstValueFrom(client.set('line', 'b', text))
    const line = lease(client, 'line', { ...OPTIONS, holder: 'a' })
    expect(await firstValueFrom(line.tryAcquire())).toEqual({ acquired: false, holder: 'b' })
  })

  it.each([
    ['an empty value', (client: ReturnType<typeof openClient>) => client.set('line', '', text)],
    [
      'a fencing token',
      (client: ReturnType<typeof openClient>) => client.set('line', 'b', text, { fencingToken: '1:0:x' }),
    ],
  ])('errors for a key with %s, and leaves the key unchanged', async (_, prepare) => {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    const { version } = await firstValueFrom(prepare(client))
    const attempt = firstValueFrom(lease(client, 'line', OPTIONS).tryAcquire())
    await expect(attempt).rejects.toMatchObject({ code: 'lock-key', key: 'line' })
    expect((await firstValueFrom(client.get('line', text))).version).toEqual(version)
  })
})

describe('watchHolder', () => {
  it('emits the holder to any client and does not acquire the lease', async () => {
    const { store } = await openStore({ clock: systemClock })
    const [a, observer] = [openClient(store.url), openClient(store.url)]
    const seen = record(watchHolder(observer, 'line'))
    await seen.until(({ values }) => values.length === 1)
    const held = record(lease(a, 'line', { ...OPTIONS, holder: 'a' }))
    await seen.until(({ values }) => values.length === 2)
    held.unsubscribe()
    await seen.until(({ values }) => values.length === 3)
    expect(seen.values).toEqual([undefined, 'a', undefined])
  })

  it('errors with `lock-key` for a key that is not a lock', async () => {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    await firstValueFrom(client.set('line', '', text))
    await expect(firstValueFrom(watchHolder(client, 'line'))).rejects.toMatchObject({ code: 'lock-key', key: 'line' })
  })

  it('throws for anything but a store, and for an empty name', () => {
    const { store } = fakeStore(() => NEVER)
    // @ts-expect-error a lease is not a store
    expect(() => watchHolder(lease(store, 'line', OPTIONS), 'line')).toThrow('Expected a store, got `[object Object]`')
    expect(() => watchHolder(store, '')).toThrow(expect.objectContaining({ code: 'argument' }))
  })
})

describe('fenced', () => {
  it('view adds the token to writes by keys, the store and operators, but not to reads', async () => {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    const view = fenced(client, '100:0:S')
    await firstValueFrom(view.key('a', number).set(1))
    await firstValueFrom(view.set('b', 1, number))
    await lastValueFrom(from([1]).pipe(set(view, () => 'c', number)))
    for (const key of ['a', 'b', 'c']) {
      await expect(firstValueFrom(client.set(key, 2, number))).rejects.toMatchObject({ code: 'fencing-token-required' })
      expect((await firstValueFrom(view.get(key, number))).value).toBe(1)
    }
    expect(await firstValueFrom(view.delete('a'))).toMatchObject({ deleted: true })
    expect(await firstValueFrom(view.deleteIf('b', 1, number))).toMatchObject({ deleted: true })
  })

  it('a write with a stale token errors with `fencing-token-stale`', async () => {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    await firstValueFrom(fenced(client, '200:0:S').set('a', 1, number))
    const late = firstValueFrom(fenced(client, '100:0:S').set('a', 2, number))
    await expect(late).rejects.toMatchObject({ code: 'fencing-token-stale', key: 'a' })
  })

  it('a token in the options of a write takes precedence over the token of the view', async () => {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    await firstValueFrom(fenced(client, '100:0:S').set('a', 1, number, { fencingToken: '300:0:S' }))
    const late = firstValueFrom(fenced(client, '200:0:S').set('a', 2, number))
    await expect(late).rejects.toMatchObject({ code: 'fencing-token-stale' })
  })

  it('throws without a token, as nothing would be fenced', async () => {
    const { store } = await openStore({ clock: systemClock })
    // @ts-expect-error as in untyped code that forgot the token
    expect(() => fenced(openClient(store.url), undefined)).toThrow(ArgumentError)
    // @ts-expect-error no store
    expect(() => fenced({}, '1:0:a')).toThrow(ArgumentError)
  })

  it('throws for a malformed token before anything is sent', async () => {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    expect(() => fenced(client, 'yesterday')).toThrow(ArgumentError)
  })
})

describe('two clients competing for a lease', () => {
  it('two clients hold the lease one after the other, with increasing tokens', async () => {
    const { store } = await openStore({ clock: systemClock })
    const [a, b] = [openClient(store.url), openClient(store.url)]
    const first = record(lease(a, 'line', { ...OPTIONS, holder: 'a' }))
    await first.until(({ values }) => values.length === 1)
    const second = record(lease(b, 'line', { ...OPTIONS, holder: 'b' }))
    await second.until(({ values }) => values.length === 1)
    expect(second.values).toEqual([{ status: 'waiting', holder: 'a' }])
    first.unsubscribe()
    await second.until(({ values }) => values.length === 2)
    const [before, after] = [first.values[0], second.values[1]]
    if (before?.status !== 'held' || after?.status !== 'held') throw new Error('not held')
    expect(after.token.compareTo(before.token)).toBeGreaterThan(0)
  })

  it('closing the client of the holder hands the lease over immediately', async () => {
    const { store } = await openStore({ clock: systemClock })
    const [a, b] = [openClient(store.url), openClient(store.url)]
    const leader = record(leadership(a, 'plant', { ...OPTIONS, holder: 'a' }))
    await leader.until(({ values }) => values.at(-1)?.role === 'leader')
    const follower = record(leadership(b, 'plant', { ...OPTIONS, holder: 'b' }))
    await follower.until(({ values }) => values.at(-1)?.leader === 'a')
    await a.close()
    await follower.until(({ values }) => values.at(-1)?.role === 'leader')
    expect(leader.values.map(({ role }) => role)).toEqual(['follower', 'leader', 'follower'])
    expect(leader.completed).toBe(true)
    expect(follower.values).toMatchObject([
      { role: 'follower', leader: undefined },
      { role: 'follower', leader: 'a' },
      { role: 'leader', leader: 'b' },
    ])
  })

  it('another client acquires an expired lease', async () => {
    const { store, clock } = await openStore()
    const client = openClient(store.url, { clock })
    await firstValueFrom(lease(client, 'line', { ...OPTIONS, holder: 'gone' }).tryAcquire())
    const next = record(lease(client, 'line', { ...OPTIONS, holder: 'b' }))
    await next.until(({ values }) => values.length === 1)
    const asked = record(client.key('line', text).entries$)
    await asked.until(({ values }) => values.length === 1)
    clock.advance(10_000)
    await asked.until(({ values }) => values.at(-1)?.op === 'delete')
    clock.advance(100)
    await next.until(({ values }) => values.length === 2)
    expect(next.values).toMatchObject([{ status: 'waiting', holder: 'gone' }, { status: 'held' }])
  })

  it('two clients write the protected key one after the other', async () => {
    const { store } = await openStore({ clock: systemClock })
    const [a, b] = [openClient(store.url), openClient(store.url)]
    const work = (client: typeof a, value: string) =>
      withLock(lease(client, 'line', OPTIONS), token => fenced(client, token).set('recipe', value, text))
    const results = await Promise.all([lastValueFrom(work(a, 'a')), lastValueFrom(work(b, 'b'))])
    expect(results.map(({ applied }) => applied)).toEqual([true, true])
    expect(await firstValueFrom(a.get('line', text))).toMatchObject({ op: 'absent' })
  })
})
