import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { UPGRADE } from '../../../harness/web-socket.js'
import { LIMIT } from '../../../src/server/broker/limits/limits.js'
import { eventually } from '../../support/eventually.js'
import { openStore } from '../../support/open-store.js'
import { connect } from '../../support/packets.js'
import { RawSocket } from '../../support/raw-socket.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

const NOW = '1696374425000:0:CLIENT'
const SHUTTING_DOWN = 139
/** The broker closes connections without CONNECT only after ten seconds, which is longer than this timeout. */
const BEFORE_CONNECT_TIMEOUT = { timeout: 9_000 }

// These clients do not close their side. Only the process of this file uses the changed limit.
Object.assign(LIMIT, { closeTimeoutMs: 500 })

const portOf = (url: string): number => Number(new URL(url).port)

describe('closing a store', () => {
  it('sends DISCONNECT 139 to every client over TCP and WebSocket', async () => {
    const { store } = await openStore()
    const clients = [await StoreClient.ready(store.url, 'alice'), await StoreClient.ready(store.wsUrl, 'bob')]
    await store.close()
    for (const client of clients) expect(await client.dismissed()).toBe(SHUTTING_DOWN)
  })

  it('frees both ports', async () => {
    const { store } = await openStore({ port: await freePort(), wsPort: await freePort() })
    await StoreClient.ready(store.url, 'alice')
    await store.close()
    for (const url of [store.url, store.wsUrl]) {
      const server = createServer()
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(portOf(url), '127.0.0.1', resolve)
      })
      await new Promise(resolve => server.close(resolve))
    }
  })

  it('leaves no timers and no sockets behind', { tags: 'slow' }, async () => {
    const held = (): string[] => process.getActiveResourcesInfo().filter(name => /^(Timeout|TCP)/.test(name))
    await eventually(() => held().length === 0)
    const { store, clock } = await openStore()
    const clients = [await StoreClient.ready(store.url, 'alice'), await StoreClient.ready(store.wsUrl, 'bob')]
    for (const client of clients) {
      await client.request(command('KEYNOTIFY k'))
      await client.request(command('SET k v PX 1000'), { timestamp: NOW })
    }
    expect(held()).toContain('TCPServerWrap')
    await store.close()
    for (const client of clients) await client.closed
    await eventually(() => held().length === 0)
    expect(clock.pending).toBe(0)
  })

  it('with requests in flight leaves no timers behind', async () => {
    const { store, clock } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    const sent = Array.from({ length: 500 }, async (_, i) =>
      alice.request(command(`SET k${i} v PX ${9_000 - i}`), { timestamp: NOW }).catch(() => undefined),
    )
    await sent[0]
    await store.close()
    await Promise.all(sent)
    expect(clock.pending).toBe(0)
  })

  it('can be repeated, even concurrently', async () => {
    const { store } = await openStore()
    await StoreClient.ready(store.url, 'alice')
    await Promise.all([store.close(), store.close()])
    await store.close()
    expect(store.clientIds).toEqual([])
  })

  it('leaving the scope of `await using` closes a store', async () => {
    const { store } = await openStore()
    const client = await StoreClient.ready(store.url, 'alice')
    await store[Symbol.asyncDispose]()
    expect(await client.dismissed()).toBe(SHUTTING_DOWN)
  })

  it.each([
    ['has sent nothing', Buffer.alloc(0)],
    ['has sent half a CONNECT', connect('raw').subarray(0, 8)],
  ])('does not wait for a TCP connection that %s', BEFORE_CONNECT_TIMEOUT, async (_, said) => {
    const { store } = await openStore()
    const raw = await RawSocket.open(store.url)
    await raw.send(said)
    await StoreClient.ready(store.url, 'alice')
    await store.close()
    await raw.closed
  })

  it.each([
    ['has sent nothing', ''],
    ['has not finished its HTTP request', 'GET / HTTP/1.1\r\n'],
    ['has only sent the WebSocket upgrade', UPGRADE],
  ])('does not wait for a connection to the WebSocket port that %s', BEFORE_CONNECT_TIMEOUT, async (_, said) => {
    const { store } = await openStore()
    const raw = await RawSocket.open(store.wsUrl)
    await raw.send(said)
    await StoreClient.ready(store.wsUrl, 'alice')
    await store.close()
    await raw.closed
  })
})
