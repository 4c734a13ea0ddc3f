import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { START } from '../../support/manual-clock.js'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'
import { bytes, command, textOf } from '../../support/words.js'

const NOW = `${START}:0:client`

describe('inspecting a running store', () => {
  it('a running store returns the details of a key without a request', async () => {
    const { store } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    await alice.request(command('KEYNOTIFY k'))
    const { version } = await alice.request(command('SET k v PX 100'), { timestamp: NOW, fencingToken: NOW })
    const { requests } = store.stats
    const expected = { version, expiresAt: START + 100, fencingToken: NOW, watchers: 1 }
    expect(store.peek('k')).toMatchObject(expected)
    expect(store.peek(bytes('k'))).toMatchObject(expected)
    expect(textOf(store.peek('k')?.value ?? bytes(''))).toBe('v')
    expect([store.peek('other'), store.stats.requests]).toEqual([undefined, requests])
  })

  it('a running store returns a copy of the value', async () => {
    const { store } = await openStore()
    await store.load([{ key: 'k', value: 'v' }])
    store.peek('k')?.value.fill(0)
    expect(textOf(store.peek('k')?.value ?? bytes(''))).toBe('v')
  })

  it('a running store returns the times at which clients connected, and their watches', async () => {
    const { store, clock } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    clock.advance(1_000)
    const bob = await StoreClient.ready(store.wsUrl, 'bob')
    for (const line of ['KEYNOTIFY a', 'KEYNOTIFY \xff\x00', 'KEYNOTIFY c', 'KEYNOTIFY a STOP'])
      await bob.request(command(line))
    expect(store.clients).toEqual([
      { clientId: 'alice', since: START, watches: 0 },
      { clientId: 'bob', since: START + 1_000, watches: 2 },
    ])
    expect(Array.from(store.watchedBy('bob'), textOf)).toEqual(['\xff\x00', 'c'])
    expect([[...store.watchedBy('alice')], [...store.watchedBy('nobody')]]).toEqual([[], []])
    await alice.disconnect()
    await eventually(() => store.clients.length === 1)
  })

  it('a running store returns the time at which a client connected after a session takeover', async () => {
    const { store, clock } = await openStore()
    const first = await StoreClient.connect(store.url, 'alice')
    clock.advance(1_000)
    await StoreClient.connect(store.url, 'alice')
    await first.closed
    expect(store.clients).toEqual([{ clientId: 'alice', since: START + 1_000, watches: 0 }])
  })

  it('a running store counts the keys that were created and removed', async () => {
    const { store, clock } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    const keyspaceAfter = async (line: string): Promise<number> => {
      await alice.request(command(line), { timestamp: NOW })
      return store.keyspace
    }
    expect(store.keyspace).toBe(0)
    expect([
      await keyspaceAfter('SET a 1'),
      await keyspaceAfter('SET a 2'),
      await keyspaceAfter('SET a 2 NX'),
      await keyspaceAfter('GET a'),
    ]).toEqual([1, 1, 1, 1])
    expect([await keyspaceAfter('DEL a'), await keyspaceAfter('DEL a'), await keyspaceAfter('SET b 1 PX 10')]).toEqual([
      2, 2, 3,
    ])
    clock.advance(10)
    expect(store.keyspace).toBe(4)
  })
})
