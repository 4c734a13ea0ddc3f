import { firstValueFrom, Subject, Subscription } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ClientSettings } from '../../../src/client/connect/client.js'
import { json, text } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { optimistic } from '../../../src/client/optimistic/index.js'
import { shadow } from '../../../src/client/shadow/index.js'
import { ObedientStore } from '../../support/obedient-store.js'

function open(settings: Partial<ClientSettings> = {}): ObedientStore {
  const store = new ObedientStore(settings)
  onTestFinished(() => void store.client.close())
  return store
}

/** Returns the requests with a verb from index `from` on. */
const since = (store: ObedientStore, from: number, verb: string): string[] =>
  store.requests.slice(from).filter(request => request.startsWith(verb))

describe('a handler that subscribes during a reconnect', () => {
  it('a key first subscribed in the freshness$ handler of another key is registered once', () => {
    const store = open()
    store.connect()
    const key = store.client.key('a', text)
    key.freshness$.subscribe(({ state }) => {
      if (state === 'resyncing') store.client.key('b', text).entries$.subscribe()
    })
    store.answer()
    store.disconnect()
    const from = store.requests.length
    store.connect()
    store.answer()
    expect(since(store, from, 'KEYNOTIFY')).toEqual(['KEYNOTIFY a', 'KEYNOTIFY b'])
  })

  it('a glob subscribed by a freshness$ handler registers once and leaves nothing behind', () => {
    const store = open({ verifyEvery: 60_000 })
    store.connect()
    const others: { unsubscribe(): void }[] = []
    const glob = matching(store.client, 'a/*', text).freshness$.subscribe(({ state }) => {
      if (state === 'resyncing') others.push(matching(store.client, 'b/*', text).entries$.subscribe())
    })
    store.answer()
    store.disconnect()
    const from = store.requests.length
    store.connect()
    store.answer()
    expect(since(store, from, 'GLOBNOTIFY')).toEqual(['GLOBNOTIFY a/*', 'GLOBNOTIFY b/*'])
    for (const each of [glob, ...others]) each.unsubscribe()
    store.answer()
    const left = store.requests.length
    store.clock.advance(600_000)
    expect(store.requests.slice(left)).toEqual([])
  })

  it('a glob first subscribed in the freshness$ handler of a key is registered once', () => {
    const store = open()
    store.connect()
    store.client.key('a', text).freshness$.subscribe(({ state }) => {
      if (state === 'resyncing') matching(store.client, 'b/*', text).entries$.subscribe()
    })
    store.answer()
    store.disconnect()
    const from = store.requests.length
    store.connect()
    store.answer()
    expect(since(store, from, 'GLOBNOTIFY')).toEqual(['GLOBNOTIFY b/*'])
  })

  it('a key that a handler unsubscribes before its registration is not registered', () => {
    const store = open()
    store.connect()
    const keys = ['a', 'b', 'c'].map(name => store.client.key(name, text))
    const last = keys.slice(1).map(key => key.entries$.subscribe())
    const first = store.client.key('0', text)
    last.unshift(first.entries$.subscribe())
    keys[0]?.freshness$.subscribe(() => undefined)
    keys[1]?.freshness$.subscribe(({ state }) => {
      if (state === 'resyncing') for (const subscription of last) subscription.unsubscribe()
    })
    store.answer()
    store.disconnect()
    const from = store.requests.length
    store.connect()
    store.answer()
    const asked = since(store, from, 'KEYNOTIFY')
    expect(asked.filter(request => /^KEYNOTIFY [0c]/.test(request))).toEqual([])
  })
})

describe('a watch that a handler changes', () => {
  /** Opens a store whose client holds changes until its read completes and then emits them together. */
  function several(): ObedientStore {
    const store = open()
    store.connect()
    store.answer()
    return store
  }

  it('a late subscriber in the handler of an entry receives no older entries', () => {
    const store = several()
    const key = store.client.key('a', text)
    const late: (string | undefined)[] = []
    const seen: (string | undefined)[] = []
    const versions = [1, 2, 3].map(n => store.put('a', `v${n}`))
    store.disconnect()
    store.connect({ sessionPresent: true, hasSubscriptionIds: false })
    key.entries$.subscribe(({ value }) => {
      if (seen.length === 0) key.value$.subscribe(now => late.push(now))
      seen.push(value)
    })
    store.answer(1)
    // Queued notifications are held during the read; only its response can confirm the first.
    for (const [i, version] of versions.entries()) store.notify('a', `v${i + 1}`, version)
    store.rewind('a', 'v1', versions[0] ?? 0)
    store.answer()
    expect(seen).toEqual(['v1', 'v2', 'v3'])
    expect(late.at(-1)).toBe('v3')
    expect(late).toEqual(Array.from(late).sort())
  })

  it('a change of freshness while an entry is emitted follows the entry', () => {
    const store = several()
    const states: string[] = []
    const key = store.client.key('a/1', text)
    const glob = matching(store.client, 'a/*', text).entries$.subscribe(({ value }) => {
      if (value === 'second') glob.unsubscribe()
    })
    store.answer()
    store.changeAndNotify('a/1', 'first')
    key.freshness$.subscribe(({ state }) => states.push(state))
    store.answer()
    store.changeAndNotify('a/1', 'second')
    expect(states).toEqual(['live', 'resyncing'])
    store.answer()
    expect(states).toEqual(['live', 'resyncing', 'live'])
  })

  it('a key that is watched again from stats$ after its last unsubscribe is registered', () => {
    const store = several()
    const key = store.client.key('a', text)
    const watching = key.value$.subscribe()
    store.answer()
    let isBack = false
    const seen: (string | undefined)[] = []
    store.client.stats$.subscribe(({ keys }) => {
      if (isBack || keys > 0) return
      isBack = true
      key.value$.subscribe(value => seen.push(value))
    })
    watching.unsubscribe()
    store.answer()
    expect(since(store, 0, 'KEYNOTIFY')).toEqual(['KEYNOTIFY a', 'KEYNOTIFY a STOP', 'KEYNOTIFY a'])
  })

  it('a watch that is unsubscribed on a request error sends no further requests', () => {
    const store = several()
    const watching = store.client.key('a', text).value$.subscribe()
    store.client.errors$.subscribe(() => watching.unsubscribe())
    store.clock.advance(1_000)
    const before = store.requests.length
    store.clock.advance(60_000)
    expect(since(store, before, 'KEYNOTIFY a').filter(request => !request.endsWith('STOP'))).toEqual([])
  })
})

describe('status$', () => {
  it('every subscriber receives all states in order, even if one causes another', () => {
    const store = open()
    const [first, second]: [string[], string[]] = [[], []]
    store.client.status$.subscribe(({ state }) => {
      first.push(state)
      if (state === 'connected') store.disconnect()
    })
    store.client.status$.subscribe(({ state }) => second.push(state))
    store.connect()
    expect(second).toEqual(first)
    expect(second).toEqual(['connecting', 'connected', 'reconnecting'])
  })

  it('completes after closed, even if a subscriber closes the client', () => {
    const store = open()
    const states: string[] = []
    store.client.status$.subscribe(({ state }) => {
      if (state === 'connected') void store.client.close()
    })
    store.client.status$.subscribe({ next: ({ state }) => states.push(state), complete: () => states.push('complete') })
    store.connect()
    expect(states).toEqual(['connecting', 'connected', 'closed', 'complete'])
  })
})

describe('stats$', () => {
  it('every subscriber receives the latest counts, even if one causes another change', () => {
    const store = open()
    store.connect()
    const [first, second]: [number[], number[]] = [[], []]
    store.client.stats$.subscribe(({ keys }) => {
      first.push(keys)
      if (keys === 1) store.client.key('b', text).value$.subscribe()
    })
    store.client.stats$.subscribe(({ keys }) => second.push(keys))
    store.client.key('a', text).value$.subscribe()
    expect(first).toEqual([0, 1, 2])
    expect(second).toEqual([0, 2, 2])
  })

  it('counts keys that are watched before the connection, and completes after closed', async () => {
    const store = open()
    const seen: unknown[] = []
    store.client.stats$.subscribe({ next: stats => seen.push(stats), complete: () => seen.push('complete') })
    store.client.status$.subscribe({ complete: () => seen.push('closed') })
    store.client.key('a', text).value$.subscribe()
    await store.client.close()
    expect(seen).toEqual([{ keys: 0, synced: 0 }, { keys: 1, synced: 0 }, 'closed', { keys: 0, synced: 0 }, 'complete'])
  })
})

describe('an optimistic view', () => {
  it.each(['optimistic', 'shadow'])('taking a single state of a view leaves no watch (%s)', async kind => {
    const store = open()
    store.connect()
    const view = optimistic(store.client.key('a', text))
    const pump = shadow<{ speed: number }>(store.client, 'pump')
    if (kind === 'optimistic') await firstValueFrom(view.state$)
    else await firstValueFrom(pump.state$)
    store.answer()
    store.disconnect()
    const from = store.requests.length
    store.connect()
    store.answer()
    expect(store.requests.slice(from)).toEqual([])
    expect(store.clock.pending).toBe(0)
  })

  it('a view that is unsubscribed while its watch starts leaves no watch', () => {
    const store = open()
    store.connect()
    const view = optimistic(store.client.key('a', text))
    const watching = new Subscription()
    store.client.stats$.subscribe(({ keys }) => {
      if (keys > 0) watching.unsubscribe()
    })
    watching.add(view.state$.subscribe())
    store.answer()
    expect(since(store, 0, 'KEYNOTIFY a').length % 2).toBe(0)
    expect(store.clock.pending).toBe(0)
  })

  it('a view emits its written value once when the store returns equal content', () => {
    const store = open()
    store.connect()
    const view = optimistic(store.client.key('a', json<{ on: boolean; by: string[] }>()))
    const seen: unknown[] = []
    view.value$.subscribe(value => seen.push(value))
    store.answer()
    view.next({ on: true, by: ['me'] })
    store.answer()
    store.changeAndNotify('a', '{"by":["me"],"on":true}')
    store.changeAndNotify('a', '{"on":false,"by":[]}')
    expect(seen).toEqual([undefined, { on: true, by: ['me'] }, { on: false, by: [] }])
  })
})

describe('a set of keys', () => {
  it('a key set that is replaced reentrantly watches only the keys of the last set', () => {
    const store = open()
    store.connect()
    const keys$ = new Subject<readonly string[]>()
    const seen = new Map<string, string | undefined>()
    store.client.watchAll(keys$, text).subscribe(({ key, value }) => seen.set(key, value))
    keys$.next(['a', 'b', 'c'])
    store.answer()
    // While the first set is unsubscribed, a handler supplies the next.
    let isReplaced = false
    store.client.stats$.subscribe(({ keys }) => {
      if (isReplaced || keys > 2) return
      isReplaced = true
      keys$.next(['c', 'd'])
    })
    keys$.next(['e'])
    store.answer()
    for (const key of ['a', 'b', 'c', 'd', 'e']) store.changeAndNotify(key, 'new')
    expect(Array.from(seen).filter(([, value]) => value === 'new')).toEqual([
      ['c', 'new'],
      ['d', 'new'],
    ])
  })
})

describe('an optimistic view that a handler uses', () => {
  it('a view that is subscribed again when its watch ends emits the value of the key', () => {
    const store = open()
    store.connect()
    store.put('a', 'v1')
    const view = optimistic(store.client.key('a', text))
    const looking = view.state$.subscribe()
    store.answer()
    const shown: string[] = []
    const again = store.client.stats$.subscribe(({ keys }) => {
      if (keys > 0) return
      again.unsubscribe()
      view.state$.subscribe(({ state, value }) => shown.push(`${state} ${value}`))
    })
    looking.unsubscribe()
    store.answer()
    store.changeAndNotify('a', 'v2')
    expect(shown.at(-1)).toBe('confirmed v2')
  })

  it('a write in a handler of status$ sees the connection state of that status', () => {
    const store = open()
    const view = optimistic(store.client.key('a', text), { offline: 'drop' })
    const codes: string[] = []
    store.client.status$.subscribe(({ state }) => {
      if (state === 'reconnecting') view.set('x').subscribe({ error: ({ code }) => codes.push(code) })
    })
    view.state$.subscribe()
    store.connect()
    store.answer()
    store.disconnect()
    expect(codes).toEqual(['offline'])
  })
})

describe('a watch that ends', () => {
  it('a subscription added as the teardown of another one receives the last freshness', async () => {
    const store = open()
    store.connect()
    const key = store.client.key('a', text)
    const states: string[] = []
    const entries = key.entries$.subscribe()
    entries.add(key.freshness$.subscribe(({ state }) => states.push(state)))
    store.answer()
    expect(states.at(-1)).toBe('live')
    await store.client.close()
    expect(states.at(-1)).toBe('stale')
  })
})
