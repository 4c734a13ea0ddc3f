import { firstValueFrom, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type ConnectOptions, type Key, number, systemClock, text } from '../../../src/client/index.js'
import { serve } from '../../../src/server/index.js'
import { layLink } from '../../support/link.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient, record, words } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

const strict = { notifications: 'subscribed', clock: systemClock } as const

describe.each([
  ['a kept MQTT session', { sessionExpiry: 3_600_000 }],
  ['a lost MQTT session', { sessionExpiry: 0 }],
  ['a session that is discarded', { cleanStart: true }],
])('a watch through a reconnect with %s', (_name, options) => {
  it('a watch emits the latest change and does not repeat earlier ones', async () => {
    const { store } = await openStore(strict)
    const link = await layLink(store.url)
    const panel = openClient(store.url).key('setPoint', number)
    const thermostat = openClient(link.url, options).key('setPoint', number)
    const seen = record(thermostat.entries$)
    const freshness = record(thermostat.freshness$)
    await firstValueFrom(panel.set(21))
    await seen.until(({ values }) => values.at(-1)?.value === 21)
    const before = seen.values.length
    link.cut()
    await freshness.until(({ values }) => values.at(-1)?.state === 'stale')
    await firstValueFrom(panel.set(18))
    await firstValueFrom(panel.set(24))
    link.restore()
    await freshness.until(({ values }) => values.at(-1)?.state === 'live')
    await firstValueFrom(panel.set(25))
    await seen.until(({ values }) => values.at(-1)?.value === 25)
    expect(words(seen).slice(before)).toEqual(['set 24 (resync)', 'set 25 (notification)'])
    expect(freshness.values.map(({ state }) => state)).toEqual(['connecting', 'live', 'stale', 'resyncing', 'live'])
  })

  it('a watch emits a deletion from the time of the disconnect, and nothing older', async () => {
    const { store } = await openStore(strict)
    const link = await layLink(store.url)
    const panel = openClient(store.url).key('a', text)
    const watcher = openClient(link.url, options).key('a', text)
    await firstValueFrom(panel.set('1'))
    const seen = record(watcher.entries$)
    await seen.until(({ values }) => values.length === 1)
    link.cut()
    await firstValueFrom(panel.set('2'))
    await firstValueFrom(panel.delete())
    link.restore()
    await seen.until(({ values }) => values.length === 2)
    await firstValueFrom(panel.set('3'))
    await seen.until(({ values }) => values.length === 3)
    expect(words(seen)).toEqual(['set 1 (snapshot)', 'absent (resync)', 'set 3 (notification)'])
  })

  it('a watch does not emit an unchanged value again, and has one registration', async () => {
    const { store } = await openStore(strict)
    const link = await layLink(store.url)
    const watcher = openClient(link.url, options).key('a', text)
    const seen = record(watcher.entries$)
    const freshness = record(watcher.freshness$)
    await freshness.until(({ values }) => values.at(-1)?.state === 'live')
    link.cut()
    await freshness.until(({ values }) => values.at(-1)?.state === 'stale')
    link.restore()
    await freshness.until(({ values }) => values.at(-1)?.state === 'live')
    expect({ seen: words(seen), watches: store.stats.watches }).toEqual({ seen: ['absent (snapshot)'], watches: 1 })
  })
})

describe('a watch', () => {
  it('follows a store that restarted without its data', async () => {
    const first = await serve({ port: 0, wsPort: 0, ...strict })
    const link = await layLink(first.url)
    const client = openClient(link.url)
    const key = client.key('a', text)
    const seen = record(key.entries$)
    await seen.until(({ values }) => values.length === 1)
    await firstValueFrom(key.set('1'))
    await seen.until(({ values }) => values.length === 2)
    await first.close()
    const second = await openStore({ ...strict, clock: new ManualClock(Date.now() - 50_000) })
    link.redirect(second.store.url)
    await seen.until(({ values }) => values.at(-1)?.op === 'absent')
    // The clock of the new store is behind, so the versions of its values are lower.
    await firstValueFrom(openClient(second.store.url).key('a', text).set('2'))
    await seen.until(({ values }) => values.at(-1)?.value === '2')
    expect(words(seen).slice(-3)).toEqual(['set 1 (notification)', 'absent (resync)', 'set 2 (notification)'])
  })

  it('that starts before its broker emits once the broker is reachable', async () => {
    const { store } = await openStore(strict)
    const link = await layLink(store.url)
    link.cut()
    const client = openClient(link.url)
    const seen = record(client.key('a', text).entries$)
    const status = record(client.status$)
    await status.until(({ values }) => values.filter(({ state }) => state === 'reconnecting').length >= 2)
    expect(seen.values).toEqual([])
    link.restore()
    await seen.until(({ values }) => values.length === 1)
    expect(words(seen)).toEqual(['absent (snapshot)'])
  })

  it('a client registers and reads many keys again after a reconnect', { tags: 'slow' }, async () => {
    const { store } = await openStore(strict)
    const link = await layLink(store.url)
    const client = openClient(link.url)
    const panel = openClient(store.url)
    const keys = Array.from({ length: 1_000 }, (_, i) => `key/${i}`)
    const seen = keys.map(name => record(client.key(name, text).value$))
    await Promise.all(seen.map(recording => recording.until(({ values }) => values.length === 1)))
    expect(store.stats.watches).toBe(1_000)
    link.cut()
    await Promise.all(keys.map(name => firstValueFrom(panel.key(name, text).set('new'))))
    link.restore()
    await Promise.all(seen.map(recording => recording.until(({ values }) => values.at(-1) === 'new')))
    expect(store.stats.watches).toBe(1_000)
    for (const recording of seen) recording.unsubscribe()
    await expect.poll(() => store.stats.watches).toBe(0)
  })
})

describe('stats$', () => {
  it('counts the keys that have been read after a reconnect, and status$ emits nothing for them', async () => {
    const { store } = await openStore(strict)
    const link = await layLink(store.url)
    const client = openClient(link.url)
    for (const name of ['a', 'b', 'c']) record(client.key(name, text).value$)
    const [status, stats] = [record(client.status$), record(client.stats$)]
    const synced = (): Promise<void> => stats.until(({ values }) => values.at(-1)?.synced === 3)
    await synced()
    link.cut()
    await stats.until(({ values }) => values.at(-1)?.synced === 0)
    const before = stats.values.length
    link.restore()
    await synced()
    expect(stats.values.slice(before - 1)).toMatchObject([
      { keys: 3, synced: 0 },
      { keys: 3, synced: 1 },
      { keys: 3, synced: 2 },
      { keys: 3, synced: 3 },
    ])
    expect(status.values.filter(({ state }) => state === 'connected')).toEqual([
      { state: 'connected', url: link.url },
      { state: 'connected', url: link.url },
    ])
  })
})

describe('a request', () => {
  it('waits for the reconnect', async () => {
    const { store } = await openStore(strict)
    const link = await layLink(store.url)
    const client = openClient(link.url)
    const key = client.key('a', text)
    const status = record(client.status$)
    await firstValueFrom(key.set('1'))
    link.cut()
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    const write = firstValueFrom(key.set('2'))
    link.restore()
    expect(await write).toMatchObject({ applied: true })
  })

  /** Reconnects after a request was sent, and before its response is received. */
  async function reconnectBeforeResponse<T>(options: ConnectOptions, request: (key: Key<string>) => Observable<T>) {
    const { store } = await openStore(strict)
    const link = await layLink(store.url)
    const key = openClient(link.url, options).key('a', text)
    await key.set('1')
    link.stall('down')
    const requests = record(store.requests$)
    const response = firstValueFrom(request(key))
    await requests.until(({ values }) => values.length === 1)
    link.cut()
    link.restore()
    return { key, requests, response }
  }

  it('a sent write gets its response in the resumed session', async () => {
    const { requests, response } = await reconnectBeforeResponse({}, key => key.set('2'))
    expect(await response).toMatchObject({ applied: true })
    expect(requests.values).toHaveLength(1)
  })

  it('a sent write is outcome-unknown after a lost session, and is not resent', async () => {
    const { key, requests, response } = await reconnectBeforeResponse({ sessionExpiry: 0 }, sent => sent.set('2'))
    await expect(response).rejects.toMatchObject({ code: 'outcome-unknown', key: 'a' })
    expect(await key.get()).toMatchObject({ value: '2' })
    expect(requests.values.map(({ outcome }) => outcome)).toEqual(['ok', 'value'])
  })

  it('a sent read is resent on the next connection', async () => {
    const { requests, response } = await reconnectBeforeResponse({ sessionExpiry: 0 }, key => key.get())
    expect(await response).toMatchObject({ value: '1' })
    expect(requests.values).toHaveLength(2)
  })
})
