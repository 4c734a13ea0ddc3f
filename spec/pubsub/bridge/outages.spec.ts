import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { json, systemClock } from '../../../src/client/index.js'
import { serve } from '../../../src/server/index.js'
import { eventually } from '../../support/eventually.js'
import { layLink } from '../../support/link.js'
import { openClient } from '../../support/open-client.js'
import { bridgeTo, Follower, FULL_ACCESS, openBridge, openBrowser } from './support/open-bridge.js'

const through = (hubUrl: string, linkUrl: string): string => {
  const url = new URL(`${hubUrl}?user=ann`)
  url.port = new URL(linkUrl).port
  return url.href
}

describe('a browser that loses its connection', () => {
  it('a recovered session receives all changes made during the outage', async () => {
    const { plant, hub } = await openBridge()
    const link = await layLink(hub.url.replace(/\/client.*/, ''))
    const client = openBrowser(through(hub.url, link.url))
    const follower = new Follower(client, 'a')
    await follower.until('is live')
    link.cut()
    const key = plant.key('a', json<number>())
    for (let i = 1; i <= 20; i++) await firstValueFrom(key.set(i))
    link.restore()
    await follower.until('set 20 (notification)')
    expect(follower.entries).toEqual([
      'absent (snapshot)',
      ...Array.from({ length: 20 }, (_, i) => `set ${i + 1} (notification)`),
    ])
  })

  it('a new session receives the current entry, and the key is watched once', async () => {
    const { plant, hub, store } = await openBridge(FULL_ACCESS, 20)
    const link = await layLink(hub.url.replace(/\/client.*/, ''))
    const client = openBrowser(through(hub.url, link.url))
    const follower = new Follower(client, 'a')
    const gaps: unknown[] = []
    client.group('key:a').gaps$.subscribe(gap => gaps.push(gap))
    await follower.until('is live')
    link.cut()
    await eventually(() => hub.connections.length === 0 && store.stats.watches === 0)
    await firstValueFrom(plant.set('a', 1, json()))
    await firstValueFrom(plant.set('a', 2, json()))
    link.restore()
    await follower.until('set 2 (snapshot)')
    expect(follower.entries).toEqual(['absent (snapshot)', 'set 2 (snapshot)'])
    await eventually(() => gaps.length === 1)
    expect(store.stats.watches).toBe(1)
  })
})

describe('a bridge that loses the store', () => {
  it('members are notified that their entries are stale, and later of the changes', async () => {
    const { store, plant, bridged, browser, raw } = await openBridge()
    await firstValueFrom(plant.set('a', 1, json()))
    const follower = new Follower(browser(), 'a')
    await follower.until('is live')
    store.cut(bridged.clientId)
    await firstValueFrom(plant.set('a', 2, json()))
    await follower.until('set 2 (resync)')
    await eventually(() => follower.received.at(-1) === 'is live')
    expect(follower.received).toEqual([
      'set 1 (snapshot)',
      'is live',
      'is stale',
      'is resyncing',
      'set 2 (resync)',
      'is live',
    ])
    const late = await raw('late')
    await late.join('key:a')
    expect(late.messages.map(({ data }) => Object(data).source ?? Object(data).state)).toEqual(['resync', 'live'])
  })

  it('the bridge continues after the store restarted without its data', async () => {
    const port = await freePort()
    const first = await serve({ port, wsPort: 0, clock: systemClock })
    const { browser } = await bridgeTo(openClient(first.url))
    const ann = browser()
    const follower = new Follower(ann, 'a')
    await follower.until('is live')
    await firstValueFrom(ann.sendEvent('key:set', { key: 'a', value: 1 }))
    await follower.until('set 1 (notification)')
    await first.close()
    await follower.until('is stale')
    await using second = await serve({ port, wsPort: 0, clock: systemClock })
    await follower.until('absent (resync)')
    await firstValueFrom(ann.sendEvent('key:set', { key: 'a', value: 2 }))
    await follower.until('set 2 (notification)')
    expect(second.stats.watches).toBe(1)
  })

  it('members receive an error when the watch ends, and the next join starts a new watch', async () => {
    const { bridged, browser, errors, keys, raw } = await openBridge()
    const follower = new Follower(browser(), 'a')
    await follower.until('is live')
    await bridged.close()
    await follower.until('error closed')
    expect([errors, keys.keys]).toEqual([['closed'], []])
    const bob = await raw('bob')
    await bob.join('key:a')
    expect(bob.messages).toMatchObject([{ data: { type: 'error', error: { code: 'closed' } } }])
    expect(keys.keys).toEqual([])
  })
})

describe('a bridge that loses the hub', () => {
  it('the bridge closes when the hub closes', async () => {
    const { server, store, keys, browser } = await openBridge()
    let ended = false
    keys.errors$.subscribe({ complete: () => (ended = true) })
    await new Follower(browser(), 'a').until('is live')
    await server.close()
    await eventually(() => store.stats.watches === 0)
    expect([ended, keys.keys]).toEqual([true, []])
  })
})
