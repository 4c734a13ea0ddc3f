import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type Credentials, systemClock, text } from '../../../src/client/index.js'
import { layLink } from '../../support/link.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

const real = { clock: systemClock }
const NOWHERE = 'mqtt://127.0.0.1:1'

describe('a reconnect strategy', () => {
  it('the strategy receives the number of the attempt and the cause', async () => {
    const calls: string[] = []
    const client = openClient(NOWHERE, {
      reconnectStrategy: (attempt, cause) => {
        calls.push(`${attempt} ${cause.code}`)
        return attempt < 3 ? 1 : false
      },
    })
    const status = record(client.status$)
    await status.until(({ completed }) => completed)
    expect(calls).toEqual(['1 connection-lost', '2 connection-lost', '3 connection-lost'])
    expect(status.values.at(-1)).toMatchObject({ state: 'closed', cause: { code: 'connection-lost' } })
  })

  it('a strategy that gives up ends watches and requests', async () => {
    const client = openClient(NOWHERE, { reconnectStrategy: () => false })
    const seen = record(client.key('a', text).value$)
    await expect(firstValueFrom(client.key('a', text).get())).rejects.toMatchObject({ code: 'closed' })
    expect(seen.error).toMatchObject({ code: 'closed', cause: { code: 'connection-lost' } })
  })
})

describe('store.retryNow()', () => {
  it('a client that waits for its next attempt connects at once', async () => {
    const { store } = await openStore(real)
    const link = await layLink(store.url)
    const client = openClient(link.url, { clock: new ManualClock(), reconnectStrategy: () => 60_000 })
    const status = record(client.status$)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    client.retryNow()
    link.cut()
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    link.restore()
    client.retryNow()
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(status.values.map(({ state }) => state)).toEqual(['connecting', 'connected', 'reconnecting', 'connected'])
  })
})

describe('faulty callbacks', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('oops')
      },
    ],
    ['gives NaN', () => Number.NaN],
    ['gives a negative number', () => -1],
  ])(
    'a reconnect strategy that %s closes the client and does not end the process',
    async (_name, reconnectStrategy) => {
      const status = record(openClient(NOWHERE, { reconnectStrategy }).status$)
      await status.until(({ completed }) => completed)
      expect(status.values.at(-1)).toMatchObject({ state: 'closed', cause: { code: 'argument' } })
    },
  )

  it('the client requests credentials again when they are invalid', async () => {
    const { store } = await openStore(real)
    let calls = 0
    const credentials = (): Promise<Credentials> => Promise.resolve(++calls < 3 ? JSON.parse('null') : {})
    const status = record(openClient(store.url, { credentials }).status$)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(calls).toBe(3)
  })
})

describe('options out of range', () => {
  it.each([
    { keepAlive: -5 },
    { keepAlive: 1e9 },
    { sessionExpiry: -1 },
    { connectTimeout: 0 },
    { reconnect: { initial: 0 } },
    { reconnect: { max: Number.NaN } },
    { clientId: 'a'.repeat(2_049) },
  ])('`connect` throws for invalid options: %j', options => {
    expect(() => openClient(NOWHERE, options)).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it('`connect` accepts an unlimited session expiry', async () => {
    const { store } = await openStore(real)
    const client = openClient(store.url, { sessionExpiry: Number.POSITIVE_INFINITY })
    expect(await firstValueFrom(client.key('a', text).get())).toMatchObject({ op: 'absent' })
  })
})

describe('credentials', () => {
  it('are requested before every attempt', async () => {
    const { store } = await openStore(real)
    const link = await layLink(store.url)
    let calls = 0
    const client = openClient(link.url, { credentials: () => ({ username: 'me', password: `token ${++calls}` }) })
    const status = record(client.status$)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(calls).toBe(1)
    link.cut()
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    link.restore()
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(calls).toBeGreaterThanOrEqual(2)
  })

  it('a password without a user name reaches the broker', async () => {
    const names: unknown[] = []
    const { store } = await openStore({
      ...real,
      authenticate: ({ username, password }) => {
        names.push([username, new TextDecoder().decode(password)])
        return { principal: { id: 'me' } }
      },
    })
    for (const url of [store.url, store.wsUrl ?? ''])
      for (const options of [{ password: 'a' }, { credentials: () => ({ password: 'a' }) }])
        await openClient(url, options).key('k', text).get()
    expect(names).toEqual(Array(4).fill(['', 'a']))
  })

  it('the client accepts credentials that resolve late, and retries when they fail temporarily', async () => {
    const { store } = await openStore(real)
    let calls = 0
    const credentials = async (): Promise<Credentials> => {
      if (++calls < 3) throw new Error('the token is being written')
      return { username: 'me' }
    }
    const client = openClient(store.url, { credentials })
    const status = record(client.status$)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(status.values.map(({ state }) => state)).toEqual(['connecting', 'reconnecting', 'reconnecting', 'connected'])
    expect(status.values[1]).toMatchObject({ cause: { message: expect.stringContaining('being written') } })
  })

  it('the status reports credentials that never settle, and the next ones connect', async () => {
    const { store } = await openStore(real)
    let calls = 0
    const credentials = (): Promise<Credentials> =>
      ++calls === 1 ? new Promise(() => undefined) : Promise.resolve({ username: 'me' })
    const status = record(openClient(store.url, { credentials, connectTimeout: 500 }).status$)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(status.values[1]).toMatchObject({
      state: 'reconnecting',
      attempt: 1,
      cause: { code: 'connection-lost', message: expect.stringContaining('has not settled within 500 ms') },
    })
  })

  it('close does not wait for pending credentials', async () => {
    const client = openClient(NOWHERE, { credentials: () => new Promise(() => undefined) })
    const status = record(client.status$)
    await client.close()
    expect(status.values.map(({ state }) => state)).toEqual(['connecting', 'closed'])
  })
})

describe('a silently dead connection', () => {
  it('the client detects a dead connection by keep-alive', { tags: 'slow', timeout: 20_000 }, async () => {
    const { store } = await openStore(real)
    const link = await layLink(store.url)
    const client = openClient(link.url, { keepAlive: 1_000 })
    const status = record(client.status$)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    link.stall('down')
    await status.until(({ values }) => values.some(({ state }) => state === 'reconnecting'))
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(status.values.find(({ state }) => state === 'reconnecting')).toMatchObject({
      cause: { message: expect.stringContaining('Keepalive') },
    })
  })

  it.each(['url', 'wsUrl'] as const)(
    'a value that takes several keep-alive intervals does not end a connection: %s',
    {
      tags: 'slow',
      timeout: 60_000,
    },
    async kind => {
      const { store } = await openStore(real)
      await openClient(store.url).key('a', text).set('x'.repeat(800_000))
      const link = await layLink(store[kind] ?? '')
      const client = openClient(`${kind === 'url' ? 'mqtt' : 'ws'}://${new URL(link.url).host}`, { keepAlive: 2_000 })
      const status = record(client.status$)
      await status.until(({ values }) => values.at(-1)?.state === 'connected')
      link.setConditions('down', { bytesPerTick: 2_000 })
      const entry = await client.key('a', text).get({ timeout: 60_000 })
      expect(entry.value).toHaveLength(800_000)
      expect(status.values.map(({ state }) => state)).toEqual(['connecting', 'connected'])
    },
  )

  it('the client detects a dead connection soon after system sleep', async () => {
    const { store } = await openStore(real)
    const link = await layLink(store.url)
    const clock = new ManualClock(Date.now())
    const client = openClient(link.url, { clock })
    const status = record(client.status$)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    link.stall('down')
    clock.jump(3_600_000)
    clock.advance(5_000)
    clock.advance(3_000)
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    expect(status.values.at(-1)).toMatchObject({ cause: { message: expect.stringContaining('system sleep') } })
    clock.advance(100)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
  })

  it('the client keeps a connection that responds after system sleep', async () => {
    const { store } = await openStore(real)
    const clock = new ManualClock(Date.now())
    const client = openClient(store.url, { clock })
    const status = record(client.status$)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    clock.jump(50_000)
    clock.advance(5_000)
    await firstValueFrom(client.key('a', text).get())
    await firstValueFrom(client.key('a', text).get())
    clock.advance(4_000)
    expect(status.values.map(({ state }) => state)).toEqual(['connecting', 'connected'])
  })
})

describe('a client that waits for its next attempt', () => {
  it('connects immediately after system sleep', async () => {
    const { store } = await openStore(real)
    const link = await layLink(store.url)
    link.cut()
    const clock = new ManualClock(Date.now())
    const client = openClient(link.url, { clock, reconnectStrategy: () => 3_600_000 })
    const status = record(client.status$)
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    link.restore()
    clock.jump(60_000)
    clock.advance(5_000)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
  })
})
