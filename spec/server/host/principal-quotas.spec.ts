import { describe, expect, it } from 'vitest'
import { type AuditEvent, serve } from '../../../src/server/index.js'
import { as, now, openSecured } from '../../support/secured.js'
import { StoreClient } from '../../support/store-client.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { command, resp3 } from '../../support/words.js'

const REFUSED = '-ERR the quota has been exceeded\r\n'
const QUOTA_EXCEEDED = 0x97
const NO_SUBSCRIBERS = 0x10

/** Connects Alice and Bob to a store with quotas. `usageOf` returns the usage of one of them. */
async function open(options: Parameters<typeof openSecured>[0] = {}) {
  const { store, clock } = await openSecured(options)
  const refusals: AuditEvent[] = []
  store.audit$.subscribe(event => {
    if (event.event === 'refused') refusals.push(event)
  })
  const connectAs = async (name: string, id = name) => {
    const raw = await StoreClient.ready(store.url, id, as(name))
    return { raw, ask: async (line: string) => (await raw.request(command(line), now(clock))).text }
  }
  const usageOf = (name: string) => Array.from(store.usage).find(({ principal }) => principal === `is ${name}`)
  return { store, clock, connectAs, usageOf, refusals }
}

describe('a quota of keys', () => {
  it('applies to all connections of a principal, and to no other principal', async () => {
    const { connectAs, usageOf, refusals } = await open({ maxKeys: 4 })
    const [first, second, bob] = [
      await connectAs('alice', 'a-1'),
      await connectAs('alice', 'a-2'),
      await connectAs('bob'),
    ]
    expect([await first.ask('SET a 1'), await second.ask('SET b 1')]).toEqual(['+OK\r\n', '+OK\r\n'])
    expect(await first.ask('SET c 1')).toBe(REFUSED)
    expect(refusals).toMatchObject([
      { action: 'write', clientId: 'a-1', username: 'alice', target: 'c', reason: 'quota' },
    ])
    expect(await bob.ask('SET c 1')).toBe('+OK\r\n')
    expect([usageOf('alice')?.keys, usageOf('bob')?.keys]).toEqual([2, 1])
    // Existing keys can still be changed and deleted.
    expect(await second.ask('SET a 22')).toBe('+OK\r\n')
    expect(await second.ask('DEL a')).toBe(':1\r\n')
    expect(await first.ask('SET d 1')).toBe('+OK\r\n')
  })

  it('counts each key towards the principal that wrote it last', async () => {
    const { connectAs, usageOf } = await open({ maxKeys: 2 })
    const [alice, bob] = [await connectAs('alice'), await connectAs('bob')]
    await alice.ask('SET a 1')
    expect(await bob.ask('SET a 2')).toBe('+OK\r\n')
    expect([usageOf('alice')?.keys, usageOf('bob')?.keys]).toEqual([0, 1])
    expect(await alice.ask('SET b 1')).toBe('+OK\r\n')
    // The key would become Alice's and exceed her quota.
    expect(await alice.ask('SET a 3')).toBe(REFUSED)
  })

  it('also counts bytes, and never rejects a smaller value', async () => {
    const { connectAs, usageOf } = await open({ maxBytes: 4_000 })
    const { ask } = await connectAs('alice')
    expect(await ask(`SET a ${'x'.repeat(1_000)}`)).toBe('+OK\r\n')
    expect(await ask(`SET a ${'x'.repeat(2_000)}`)).toBe(REFUSED)
    expect(await ask('SET a x')).toBe('+OK\r\n')
    expect(await ask('SET b x')).toBe('+OK\r\n')
    expect(usageOf('alice')?.bytes).toBeGreaterThan(1_200)
    expect(await ask('SET c x')).toBe('+OK\r\n')
    expect(await ask('SET d x')).toBe(REFUSED)
  })

  it('still applies after a restart', async () => {
    const data = temporaryFolder()
    const { store, connectAs } = await open({ maxKeys: 2, data })
    const before = await connectAs('alice')
    expect(await before.ask('SET a 1')).toBe('+OK\r\n')
    await store.restart({ keys: 'kept' })
    expect([...store.usage]).toMatchObject([{ principal: 'is alice', keys: 1, connections: 0 }])
    const after = await connectAs('alice', 'again')
    expect(await after.ask('SET b 1')).toBe(REFUSED)
  })
})

describe('the share of a single principal', () => {
  it('`maxPercentPerPrincipal` limits the share of each total', async () => {
    const { connectAs } = await open({ maxKeys: 4, maxWatches: 4, maxRetained: 4, maxPercentPerPrincipal: 75 })
    const { ask, raw } = await connectAs('alice')
    const commands = (verb: string) =>
      ['a', 'b', 'c', 'd'].map(key => (verb === 'SET' ? `SET ${key} 1` : `${verb} ${key}`))
    for (const verb of ['SET', 'KEYNOTIFY']) {
      const answers = []
      for (const line of commands(verb)) answers.push(await ask(line))
      expect(answers).toEqual(['+OK\r\n', '+OK\r\n', '+OK\r\n', REFUSED])
    }
    const retained = []
    for (const topic of ['a', 'b', 'c', 'd']) retained.push(await raw.publish(topic, '1', { retain: true }))
    expect(retained).toEqual([NO_SUBSCRIBERS, NO_SUBSCRIBERS, NO_SUBSCRIBERS, QUOTA_EXCEEDED])
  })
})

describe('a quota of watches', () => {
  it('covers all connections of a principal, whose watches end with their connection', async () => {
    const { connectAs, usageOf, refusals } = await open({ maxWatches: 8, maxPercentPerPrincipal: 25 })
    const [first, second, bob] = [
      await connectAs('alice', 'a-1'),
      await connectAs('alice', 'a-2'),
      await connectAs('bob'),
    ]
    expect([await first.ask('KEYNOTIFY a'), await second.ask('KEYNOTIFY a')]).toEqual(['+OK\r\n', '+OK\r\n'])
    expect(await first.ask('KEYNOTIFY b')).toBe(REFUSED)
    expect(refusals).toMatchObject([{ action: 'read', target: 'b', reason: 'quota' }])
    // The key is already watched.
    expect(await first.ask('KEYNOTIFY a')).toBe('+OK\r\n')
    expect(await bob.ask('KEYNOTIFY b')).toBe('+OK\r\n')
    expect(usageOf('alice')?.watches).toBe(2)
    await second.raw.disconnect()
    expect(await first.ask('KEYNOTIFY b')).toBe('+OK\r\n')
    expect(await first.ask('KEYNOTIFY b STOP')).toBe('+OK\r\n')
    expect(usageOf('alice')?.watches).toBe(1)
  })

  it('the total watch limit applies across principals', async () => {
    const { connectAs, store } = await open({ maxWatches: 1 })
    const [alice, bob] = [await connectAs('alice'), await connectAs('bob')]
    expect(await alice.ask('KEYNOTIFY a')).toBe('+OK\r\n')
    expect(await bob.ask('KEYNOTIFY a')).toBe(REFUSED)
    expect(store.stats.watches).toBe(1)
  })
})

describe('a quota of subscriptions', () => {
  it('applies to all sessions of a principal', async () => {
    // Each client starts with two subscriptions.
    const { connectAs, usageOf, refusals } = await open({ maxSubscriptions: 50, maxPercentPerPrincipal: 10 })
    const [first, second, bob] = [
      await connectAs('alice', 'a-1'),
      await connectAs('alice', 'a-2'),
      await connectAs('bob'),
    ]
    expect(await first.raw.subscribe('x')).toEqual([1])
    expect(await second.raw.subscribe('x')).toEqual([QUOTA_EXCEEDED])
    expect(refusals).toMatchObject([{ action: 'subscribe', target: 'x', username: 'alice', reason: 'quota' }])
    expect(await bob.raw.subscribe('x')).toEqual([1])
    expect(usageOf('alice')).toMatchObject({ subscriptions: 5, refused: 1 })
    await first.raw.unsubscribe('x')
    expect(await second.raw.subscribe('x')).toEqual([1])
    await second.raw.disconnect()
    expect(usageOf('alice')?.subscriptions).toBe(2)
  })

  it('the total subscription limit applies across principals', async () => {
    const { connectAs, store } = await open({ maxSubscriptions: 4, maxPercentPerPrincipal: 100 })
    const [alice, bob] = [await connectAs('alice'), await connectAs('bob')]
    expect([await alice.raw.subscribe('x'), await bob.raw.subscribe('x')]).toEqual([[QUOTA_EXCEEDED], [QUOTA_EXCEEDED]])
    expect(store.stats.subscriptions).toBe(4)
  })
})

describe('a quota of retained messages', () => {
  const retain = { retain: true } as const

  it('applies to all sessions of a principal', async () => {
    const { connectAs, usageOf, store, refusals } = await open({ maxRetained: 2 })
    const [alice, bob] = [await connectAs('alice'), await connectAs('bob')]
    expect(await alice.raw.publish('a', '1', retain)).toBe(NO_SUBSCRIBERS)
    expect(await alice.raw.publish('b', '1', retain)).toBe(QUOTA_EXCEEDED)
    expect(refusals).toMatchObject([{ action: 'publish', target: 'b', reason: 'quota' }])
    expect(await alice.raw.publish('a', '22', retain)).toBe(NO_SUBSCRIBERS)
    // Bob now owns the message.
    expect(await bob.raw.publish('a', '3', retain)).toBe(NO_SUBSCRIBERS)
    expect([usageOf('alice')?.retained, usageOf('bob')?.retained]).toEqual([0, 1])
    expect(await bob.raw.publish('a', '', retain)).toBe(NO_SUBSCRIBERS)
    expect(usageOf('bob')).toMatchObject({ retained: 0, retainedBytes: 0 })
    expect(store.stats).toMatchObject({ retained: 0, retainedBytes: 0 })
  })

  it('also counts bytes, and a total applies across principals', async () => {
    const { connectAs } = await open({ maxRetained: 2, maxRetainedBytes: 2_000, maxPercentPerPrincipal: 100 })
    const [alice, bob] = [await connectAs('alice'), await connectAs('bob')]
    const large = 'x'.repeat(3_000)
    expect(await alice.raw.publish('a', large, retain)).toBe(QUOTA_EXCEEDED)
    for (const topic of ['a', 'b']) expect(await alice.raw.publish(topic, '1', retain)).toBe(NO_SUBSCRIBERS)
    expect(await bob.raw.publish('c', '1', retain)).toBe(QUOTA_EXCEEDED)
  })
})

describe('a quota of messages queued for offline clients', () => {
  const lasting = { ...as('alice'), clean: false, properties: { sessionExpiryInterval: 60 } }

  /** Publishes messages of 1 KB to an offline client of alice. */
  async function publishToOfflineClient(messages: number) {
    const { connectAs, usageOf, store } = await open({ maxBufferedBytes: 80_000 })
    const away = await StoreClient.connect(store.url, 'away', lasting)
    await away.subscribe('news')
    await away.disconnect()
    const bob = await connectAs('bob')
    for (let i = 0; i < messages; i++) await bob.raw.publish('news', 'x'.repeat(1_000))
    return { usageOf, store }
  }

  it('ends the session that exceeds the quota', async () => {
    const { usageOf, store } = await publishToOfflineClient(20)
    expect(usageOf('alice')).toMatchObject({ refused: 1, waitingBytes: 0, subscriptions: 0 })
    expect(store.stats.sessions).toBe(1)
  })

  it('does not count messages for connected clients', async () => {
    const { usageOf, store } = await publishToOfflineClient(3)
    expect(usageOf('alice')?.waitingBytes).toBeGreaterThan(3_000)
    const back = await StoreClient.connect(store.url, 'away', lasting)
    expect(await back.arrived(3)).toHaveLength(3)
    expect(usageOf('alice')?.waitingBytes).toBe(0)
  })
})

describe('a rate limit', () => {
  it('slows down a client that exceeds the rate, without losing packets', { tags: 'slow' }, async () => {
    const { connectAs, usageOf } = await open({ maxPacketRatePerPrincipal: 40 })
    const [alice, bob] = [await connectAs('alice'), await connectAs('bob')]
    const began = performance.now()
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => alice.ask(`SET k${i % 7} ${i}`)))
    expect(new Set(answers)).toEqual(new Set(['+OK\r\n']))
    expect(usageOf('alice')?.pauses).toBe(0)
    // The initial burst is used up, so from now on a packet is read every 25 ms.
    await Promise.all(Array.from({ length: 60 }, (_, i) => alice.ask(`SET k${i % 7} ${i}`)))
    await alice.ask('GET k0')
    expect(usageOf('alice')?.pauses).toBeGreaterThan(0)
    expect(performance.now() - began).toBeGreaterThan(1_000)
    expect(await bob.ask('SET a 1')).toBe('+OK\r\n')
    expect(usageOf('bob')?.pauses).toBe(0)
  })

  it('of bytes slows down a client that exceeds it', { tags: 'slow' }, async () => {
    const { connectAs, usageOf } = await open({ maxByteRatePerPrincipal: 100_000 })
    const { ask } = await connectAs('alice')
    await Promise.all(Array.from({ length: 8 }, () => ask(`SET a ${'x'.repeat(25_000)}`)))
    await ask('GET b')
    expect(usageOf('alice')?.pauses).toBeGreaterThan(0)
  })

  it('of scans slows down a client with expensive scans', { tags: 'slow' }, async () => {
    const { connectAs, usageOf, store } = await open({ maxByteRatePerPrincipal: 60_000 })
    await store.load(Array.from({ length: 1_000 }, (_, i) => ({ key: `key-${i}`, value: '' })))
    const { ask } = await connectAs('alice')
    expect(await ask('GET key-1')).toBe('$0\r\n\r\n')
    for (let i = 0; i < 3; i++) expect(await ask('SCAN no*')).not.toContain('ERR')
    expect(usageOf('alice')?.pauses).toBe(0)
    // All at once, because the allowance grows while a slow machine scans.
    const scans = await Promise.all(Array.from({ length: 8 }, () => ask('SCAN no*')))
    expect(scans.join()).not.toContain('ERR')
    await ask('GET key-1')
    expect(usageOf('alice')?.pauses).toBeGreaterThan(0)
  })

  it('a total rate limit also applies to clients on this machine', async () => {
    await using store = await serve({ port: 0, wsPort: 0, maxPacketRate: 50 })
    const raw = await StoreClient.ready(store.url, 'c')
    const began = performance.now()
    await Promise.all(Array.from({ length: 70 }, () => raw.request(command('GET a'))))
    await raw.settled()
    expect(performance.now() - began).toBeGreaterThan(300)
  })
})

describe('a quota of user properties', () => {
  it('a packet that exceeds the quota of user properties ends its connection', async () => {
    const { connectAs, clock } = await open({})
    const { raw } = await connectAs('alice')
    const properties = (many: number) => ({ many: Array<string>(many).fill('x') })
    await raw.request(resp3(['GET', 'a']), { ...now(clock), userProperties: properties(990) })
    await expect(
      raw.request(resp3(['GET', 'a']), { ...now(clock), userProperties: properties(1_001) }),
    ).rejects.toThrow('closed')
    expect(await raw.dismissed()).toBe(QUOTA_EXCEEDED)
  })
})

describe('anonymous clients on this machine', () => {
  it('have no quotas except the totals', async () => {
    await using store = await serve({
      port: 0,
      wsPort: 0,
      maxPercentPerPrincipal: 1,
      maxKeys: 100,
      maxWatches: 100,
      maxSubscriptions: 100,
      maxPacketRatePerPrincipal: 1,
    })
    const raw = await StoreClient.ready(store.url, 'c')
    const timestamp = `${Date.now()}:0:CLIENT`
    for (const key of ['a', 'b', 'c']) {
      expect((await raw.request(command(`SET ${key} 1`), { timestamp })).text).toBe('+OK\r\n')
      expect((await raw.request(command(`KEYNOTIFY ${key}`))).text).toBe('+OK\r\n')
    }
    expect([...store.usage]).toEqual([])
  })
})
