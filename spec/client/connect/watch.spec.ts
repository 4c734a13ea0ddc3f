import { firstValueFrom, Subject, switchMap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { bytes, DecodeError, number, systemClock, text } from '../../../src/client/index.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient, record, words } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

const strict = { notifications: 'subscribed', clock: systemClock } as const

describe('a watched key', () => {
  it('a watch emits the current value, then every change once and in order', async () => {
    const { store } = await openStore(strict)
    const panel = openClient(store.url).key('setPoint', number)
    const thermostat = openClient(store.url).key('setPoint', number)
    await firstValueFrom(panel.set(20))
    const seen = record(thermostat.entries$)
    await seen.until(({ values }) => values.length === 1)
    for (const value of [21, 22, 23]) await firstValueFrom(panel.set(value))
    await firstValueFrom(panel.delete())
    await seen.until(({ values }) => values.length === 5)
    expect(words(seen)).toEqual([
      'set 20 (snapshot)',
      'set 21 (notification)',
      'set 22 (notification)',
      'set 23 (notification)',
      'delete (notification)',
    ])
  })

  it('a watch emits the versions that the writer received, in order', async () => {
    const { store } = await openStore(strict)
    const key = openClient(store.url).key('a', text)
    const seen = record(key.entries$)
    await seen.until(({ values }) => values.length === 1)
    const written = [await firstValueFrom(key.set('1')), await firstValueFrom(key.set('2'))]
    await seen.until(({ values }) => values.length === 3)
    expect(seen.values.slice(1).map(({ version }) => String(version))).toEqual(
      written.map(({ version }) => String(version)),
    )
  })

  it('the value of a missing key is undefined', async () => {
    const { store } = await openStore(strict)
    const key = openClient(store.url).key('a', text)
    const seen = record(key.value$)
    await seen.until(({ values }) => values.length === 1)
    await firstValueFrom(key.set(''))
    await firstValueFrom(key.delete())
    await seen.until(({ values }) => values.length === 3)
    expect(seen.values).toEqual([undefined, '', undefined])
  })

  it('expiry is emitted as a deletion', async () => {
    const clock = new ManualClock(Date.now())
    const { store } = await openStore({ ...strict, clock })
    const key = openClient(store.url).key('a', text)
    await firstValueFrom(key.set('short', { expiresIn: 1_000 }))
    const seen = record(key.entries$)
    await seen.until(({ values }) => values.length === 1)
    clock.advance(1_000)
    await seen.until(({ values }) => values.length === 2)
    expect(words(seen)).toEqual(['set short (snapshot)', 'delete (notification)'])
  })

  it('all subscribers share one registration, which ends with the last subscriber', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url, { stopDelay: 0 })
    const requests = record(store.requests$)
    const first = record(client.key('a', text).value$)
    const second = record(client.key('a', text).entries$)
    const third = record(client.key('a', text).freshness$)
    await third.until(({ values }) => values.at(-1)?.state === 'live')
    expect(store.stats.watches).toBe(1)
    first.unsubscribe()
    second.unsubscribe()
    await firstValueFrom(client.key('marker', text).get())
    expect(store.stats.watches).toBe(1)
    third.unsubscribe()
    await firstValueFrom(client.key('marker', text).get())
    expect(store.stats.watches).toBe(0)
    expect(requests.values.map(({ payload }) => new TextDecoder().decode(payload).split('\r\n')[2])).toEqual([
      'KEYNOTIFY',
      'GET',
      'GET',
      'KEYNOTIFY',
      'GET',
    ])
  })

  it('a watch of a key above 30,000 bytes ends with `argument`, and other requests succeed', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    const longest = record(client.key('k'.repeat(30_000), text).value$)
    const key = client.key('k'.repeat(30_001), text)
    await key.set('1')
    const seen = record(key.value$)
    await seen.until(({ error }) => error !== undefined)
    expect(seen.error).toMatchObject({
      code: 'argument',
      message:
        `Expected a watched key to have at most 30000 bytes, got 30001 in "${'k'.repeat(40)}...": ` +
        'use `get` instead',
      cause: { code: 'quota-exceeded' },
    })
    expect(await key.get()).toMatchObject({ value: '1' })
    await longest.until(({ values }) => values.length === 1)
    expect(store.stats.watches).toBe(1)
  })

  it('a watch that exceeds the quota of watches is retried, and succeeds once there is room', async () => {
    const { store } = await openStore({ ...strict, maxWatches: 1 })
    const client = openClient(store.url)
    const errors = record(client.errors$)
    const first = record(client.key('a', text).value$)
    await first.until(({ values }) => values.length === 1)
    const second = record(client.key('b', text).value$)
    await errors.until(({ values }) => values.length > 0)
    expect([errors.values[0], second.error]).toMatchObject([{ code: 'quota-exceeded' }, undefined])
    first.unsubscribe()
    await second.until(({ values }) => values.length === 1)
  })

  it('a late subscriber receives the latest entry immediately', async () => {
    const { store } = await openStore(strict)
    const key = openClient(store.url).key('a', text)
    const early = record(key.value$)
    await early.until(({ values }) => values.length === 1)
    await firstValueFrom(key.set('x'))
    await early.until(({ values }) => values.length === 2)
    expect(record(key.value$).values).toEqual(['x'])
  })

  it('a page that returns to a key within a second has its value at once', async () => {
    const { store, clock } = await openStore()
    const client = openClient(store.url, { clock })
    const id$ = new Subject<string>()
    const shown = record(id$.pipe(switchMap(id => client.key(id, text).value$)))
    for (const id of ['a', 'b']) {
      await client.set(id, id, text)
      id$.next(id)
      await shown.until(({ values }) => values.at(-1) === id)
    }
    id$.next('a')
    expect(shown.values).toEqual(['a', 'b', 'a'])
    clock.advance(999)
    await client.key('marker', text).get()
    expect(store.stats.watches).toBe(2)
    clock.advance(1)
    await client.key('marker', text).get()
    expect(store.stats.watches).toBe(1)
  })

  it('a watch that is subscribed again after its last subscriber left reads the key again', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url, { stopDelay: 0 })
    const key = client.key('a', text)
    const first = record(key.entries$)
    await first.until(({ values }) => values.length === 1)
    first.unsubscribe()
    await firstValueFrom(client.key('a', text).set('meanwhile'))
    const second = record(key.entries$)
    await second.until(({ values }) => values.length === 1)
    await firstValueFrom(key.set('then'))
    await second.until(({ values }) => values.length === 2)
    expect(words(second)).toEqual(['set meanwhile (snapshot)', 'set then (notification)'])
  })

  it('a watch supports binary keys and values', async () => {
    const { store } = await openStore(strict)
    const name = new Uint8Array([0, 13, 10, 255])
    const key = openClient(store.url).key(name, bytes)
    const seen = record(key.entries$)
    await seen.until(({ values }) => values.length === 1)
    await firstValueFrom(key.set(new Uint8Array([1, 0, 2])))
    await seen.until(({ values }) => values.length === 2)
    expect(seen.values[1]).toMatchObject({ key: '0x000D0AFF', op: 'set', value: new Uint8Array([1, 0, 2]) })
  })

  it('conditional writes, deletions and watches succeed at a store with the documented dialect', async () => {
    const { store } = await openStore({ ...strict, dialect: 'documented' })
    const key = openClient(store.url).key('a', text)
    const seen = record(key.entries$)
    await seen.until(({ values }) => values.length === 1)
    expect(await firstValueFrom(key.set('1', { ifAbsent: true }))).toMatchObject({ applied: true })
    expect(await firstValueFrom(key.set('2', { ifAbsent: true }))).toMatchObject({ applied: false })
    expect(await firstValueFrom(key.deleteIf('2'))).toMatchObject({ deleted: false })
    expect(await firstValueFrom(key.delete())).toMatchObject({ deleted: true })
    await seen.until(({ values }) => values.length === 3)
    expect(words(seen)).toEqual(['absent (snapshot)', 'set 1 (notification)', 'delete (notification)'])
  })

  it('a watch receives changes over WebSocket', async () => {
    const { store } = await openStore(strict)
    const key = openClient(store.wsUrl).key('a', text)
    const seen = record(key.value$)
    await seen.until(({ values }) => values.length === 1)
    await firstValueFrom(key.set('x'))
    await seen.until(({ values }) => values.length === 2)
    expect(seen.values).toEqual([undefined, 'x'])
  })
})

describe('a value that does not decode', () => {
  it('a decode error is emitted and reported, and ends no stream', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    const temperature = client.key('temperature', number)
    const seen = record(temperature.entries$)
    const values = record(temperature.value$)
    const ofKey = record(temperature.errors$)
    const ofClient = record(client.errors$)
    await seen.until(({ values: entries }) => entries.length === 1)
    const bad = await firstValueFrom(client.key('temperature', text).set('warm'))
    await firstValueFrom(temperature.set(20))
    await seen.until(({ values: entries }) => entries.length === 3)
    expect(words(seen)).toEqual(['absent (snapshot)', 'invalid (notification)', 'set 20 (notification)'])
    expect(values.values).toEqual([undefined, 20])
    expect(ofKey.values).toHaveLength(1)
    expect(ofClient.values).toHaveLength(1)
    expect(ofKey.values[0]).toBeInstanceOf(DecodeError)
    expect(ofKey.values[0]).toMatchObject({ code: 'decode', key: 'temperature', version: String(bad.version) })
  })

  it('a decode error fails a single read', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    await firstValueFrom(client.key('a', text).set('warm'))
    await expect(firstValueFrom(client.key('a', number).get())).rejects.toMatchObject({ code: 'decode', key: 'a' })
  })

  it('a codec may return a value instead of throwing', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    await firstValueFrom(client.key('a', text).set('warm'))
    const forgiving = { encode: number.encode, decode: () => Number.NaN }
    expect(await firstValueFrom(client.key('a', forgiving).value$)).toBeNaN()
  })
})
