import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type Entry, number, type StateStore, systemClock, text } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { listen } from '../../support/diagnostics.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

const strict = { notifications: 'subscribed', clock: systemClock } as const

const entryText = ({ key, op, value }: Entry<unknown>): string =>
  `${key} ${op}${op === 'set' ? ` ${String(value)}` : ''}`
const entryTexts = (entries: readonly Entry<unknown>[]): string[] => entries.map(entryText)

async function write(client: StateStore, ...pairs: readonly [key: string, value: string][]): Promise<void> {
  for (const [key, value] of pairs) await client.set(key, value, text)
}

describe('matching', () => {
  it('the map has an entry for each of two keys with the same display name', async () => {
    const { store } = await openStore(strict)
    const [panel, writer] = [openClient(store.url), openClient(store.url)]
    await writer.set('0xFF', 'text', text)
    await writer.set(Uint8Array.of(0xff), 'bytes', text)
    const maps = record(matching(panel, '*', text).map$)
    await maps.until(({ values }) => values.length > 0)
    expect(new Map(maps.values[0])).toEqual(
      new Map([
        ['0xFF', 'text'],
        ['0xFF\udc00', 'bytes'],
      ]),
    )
    await writer.delete(Uint8Array.of(0xff))
    await maps.until(({ values }) => values.at(-1)?.size === 1)
    expect(maps.values.at(-1)?.get('0xFF')).toBe('text')
  })

  it('a watched glob emits every existing key, then each change once and in order', async () => {
    const { store } = await openStore(strict)
    const [panel, writer] = [openClient(store.url), openClient(store.url)]
    await write(writer, ['sensor/1', 'a'], ['sensor/2', 'b'], ['other', 'x'])
    const keys = matching(panel, 'sensor/*', text)
    const seen = record(keys.entries$)
    const freshness = record(keys.freshness$)
    await freshness.until(({ values }) => values.at(-1)?.state === 'live')
    expect(entryTexts(seen.values).sort()).toEqual(['sensor/1 set a', 'sensor/2 set b'])
    await write(writer, ['sensor/1', 'c'], ['sensor/3', 'd'], ['sensor/3', 'e'], ['other', 'y'])
    await writer.delete('sensor/1')
    await writer.delete('sensor/3')
    await write(writer, ['sensor/3', 'f'])
    await seen.until(({ values }) => values.length === 8)
    expect(entryTexts(seen.values.slice(2))).toEqual([
      'sensor/1 set c',
      'sensor/3 set d',
      'sensor/3 set e',
      'sensor/1 delete',
      'sensor/3 delete',
      'sensor/3 set f',
    ])
    expect(freshness.values.map(({ state }) => state)).toEqual(['connecting', 'live'])
  })

  it('a glob unsubscribed just before the client closes ends its registration as cancelled', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url, { stopDelay: 0 })
    await write(client, ['a/1', '1'])
    const entries = record(matching(client, 'a/*', text).entries$)
    await entries.until(({ values }) => values.length === 1)
    const ended = listen('tracing:rx-statestore:request:asyncEnd')
    entries.unsubscribe()
    await client.close()
    expect(ended.map(({ verb, outcome }) => [verb, outcome])).toEqual([['GLOBNOTIFY', 'cancelled']])
  })

  it('all observables of a glob share one registration, which ends with the last subscriber', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    await write(client, ['sensor/1', 'a'])
    const first = record(matching(client, 'sensor/*', text).map$)
    const second = record(matching(client, 'sensor/*', text).entries$)
    await Promise.all([first.until(({ values }) => values.length > 0), second.until(({ values }) => values.length > 0)])
    expect(store.stats.watches).toBe(100)
    first.unsubscribe()
    second.unsubscribe()
    await expect.poll(() => store.stats.watches).toBe(0)
  })

  it('closing the client during an unregistration reports no error', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url, { stopDelay: 0 })
    const errors = record(client.errors$)
    const freshness = record(matching(client, 'sensor/*', text).freshness$)
    await freshness.until(({ values }) => values.at(-1)?.state === 'live')
    freshness.unsubscribe()
    await client.close()
    expect(errors.values).toEqual([])
  })

  it('map$ emits only the current values that can be decoded', async () => {
    const { store } = await openStore(strict)
    const client = openClient(store.url)
    await write(client, ['n/1', '1'], ['n/2', 'two'], ['n/3', '3'])
    const maps = record(matching(client, 'n/*', number).map$)
    await maps.until(({ values }) => values.length === 1)
    expect(maps.values[0]).toEqual(
      new Map([
        ['n/1', 1],
        ['n/3', 3],
      ]),
    )
    await firstValueFrom(client.key('n/2', number).set(2))
    await client.delete('n/3')
    await maps.until(({ values }) => values.at(-1)?.size === 2 && values.at(-1)?.get('n/2') === 2)
    expect(maps.values[0]).toEqual(
      new Map([
        ['n/1', 1],
        ['n/3', 3],
      ]),
    )
    expect(maps.values.at(-1)).toEqual(
      new Map([
        ['n/1', 1],
        ['n/2', 2],
      ]),
    )
  })
})
