import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { type ServeOptions, serve } from '../../../src/server/index.js'
import { openStore } from '../../support/open-store.js'
import { as, now, openSecured, turnedAway } from '../../support/secured.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

describe('a store with a quota', () => {
  it.each(['with TLS', 'without'])(
    'a quota of connections closes further connections, even before CONNECT, %s',
    async how => {
      const authority = how === 'without' ? undefined : new Authority('/CN=Servers')
      const tls = authority?.issue('/CN=localhost')
      const { store } = await openStore({ maxConnections: 2, tls })
      const raw = await StoreClient.ready(store.url, 'c', authority && { ca: authority.cert })
      const silent = connectTcp(Number(new URL(store.wsUrl).port), '127.0.0.1')
      await once(silent, 'connect')
      // The server has not accepted the connection when the client has opened it.
      await expect.poll(() => store.stats.networkConnections, { interval: 1 }).toBe(2)
      const third = connectTcp(Number(new URL(store.url).port), '127.0.0.1').on('error', () => undefined)
      await once(third, 'close')
      await raw.settled()
      expect(store.stats).toMatchObject({ connections: 1, refusedConnections: 1 })
      silent.destroy()
      await raw.disconnect()
    },
  )

  it('a connection quota rejects further connections, but allows a session takeover', async () => {
    const { store } = await openSecured({ maxConnections: 10, maxPercentPerPrincipal: 20 })
    const refused: unknown[] = []
    store.audit$.subscribe(event => event.event === 'refused' && refused.push(event))
    await StoreClient.ready(store.url, 'a', as('alice'))
    const second = await StoreClient.ready(store.url, 'b', as('alice'))
    expect(await turnedAway(store.url, 'c', as('alice'))).toBe(0x97)
    expect(refused).toMatchObject([{ action: 'connect', username: 'alice', target: 'c', reason: 'quota' }])
    for (let i = 0; i < 3; i++) await StoreClient.ready(store.url, 'a', as('alice'))
    await StoreClient.ready(store.url, 'd', as('bob'))
    await second.disconnect()
    await StoreClient.ready(store.url, 'c', as('alice'))
    expect(await turnedAway(store.url, 'e', as('alice'))).toBe(0x97)
  })

  it('of memory rejects data that exceeds the quota, and keeps running', async () => {
    const { store, clock } = await openStore({ maxMemory: 1_000_000 })
    const raw = await StoreClient.ready(store.url, 'c')
    const value = 'x'.repeat(10_000)
    const answers: string[] = []
    for (let i = 0; i < 70; i++) answers.push((await raw.request(command(`SET k${i} ${value}`), now(clock))).text)
    expect(answers.filter(answer => answer === '+OK\r\n').length).toBeGreaterThan(50)
    expect(answers.at(-1)).toBe('-ERR the quota has been exceeded\r\n')
    // Buffers have a separate share.
    const codes: number[] = []
    for (let i = 0; i < 70; i++) codes.push(await raw.publish(`t/${i}`, value, { retain: true }))
    expect(codes.filter(code => code < 0x80).length).toBeGreaterThan(15)
    expect(codes.at(-1)).toBe(0x97)
    expect((await raw.request(command('DEL k0'))).text).toBe(':1\r\n')
  })

  it.each<[string, ServeOptions]>([
    ['more memory for keys than in total', { maxMemory: 1_000, maxBytes: 1_001 }],
    ['more memory for both than in total', { maxMemory: 1_000, maxBytes: 600, maxBufferedBytes: 500 }],
    ['no memory', { maxMemory: 0 }],
    ['no connections', { maxConnections: 0 }],
    ['half a connection', { maxConnectionsPerAddress: 0.5 }],
  ])('a quota is rejected if it allows %s', async (_, options) => {
    await expect(serve({ port: 0, wsPort: 0, ...options })).rejects.toMatchObject({ code: 'argument' })
  })
})
