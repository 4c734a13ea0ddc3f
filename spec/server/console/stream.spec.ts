import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { linesOf } from '../../../src/node/dump/codec.js'
import type { StreamLine } from '../../../src/server/console/contract.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'
import { type OpenConsole, openConsole } from './open-console.js'

const now = (): string => `${Date.now()}:0:client`

interface Reader {
  next(): Promise<StreamLine>
  /** Disconnects from the stream. */
  leave(): Promise<void>
}

async function read({ callApi }: OpenConsole): Promise<Reader> {
  const response = await callApi('api/stream')
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
  if (response.body === null) throw new Error('no body')
  const reader = response.body.getReader()
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) yield chunk.value
  }
  const lines = linesOf(chunks())
  return {
    next: async () => {
      const { value } = await lines.next()
      if (value === undefined) throw new Error('the stream ended')
      return JSON.parse(value)
    },
    leave: async () => reader.cancel(),
  }
}

/** Returns the socket of a client that requests the stream and does not read it. */
async function neverRead({ server }: OpenConsole): Promise<Socket> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  socket.write(`GET /api/stream HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${server.token}\r\n\r\n`)
  // Some tests wait for the end of the connection, with or without an error.
  const closed = new Promise<void>(resolve => socket.on('error', () => undefined).once('close', () => resolve()))
  await Promise.race([new Promise<void>(resolve => socket.once('data', () => resolve())), closed])
  socket.pause()
  return socket
}

describe('GET /api/stream', () => {
  it('the stream starts with a pulse and the clients', async () => {
    const open = await openConsole()
    const { store, clock } = open
    const at = clock.now()
    await StoreClient.connect(store.url, 'alice')
    const stream = await read(open)
    const counts = { keys: 0, watches: 0, connections: 1, requests: 0, errors: 0, notifications: 0, keyspace: 0 }
    const door = { networkConnections: 1, refusedConnections: 0, refusedLogins: 0 }
    expect(await stream.next()).toEqual({ type: 'pulse', at, startedAt: at, ...counts, ...door })
    expect(await stream.next()).toEqual({ type: 'clients', clients: [{ clientId: 'alice', since: at, watches: 0 }] })
  })

  it('every second, a pulse with the counts of the last second follows', async () => {
    const open = await openConsole()
    const { store, clock } = open
    const start = clock.now()
    const alice = await StoreClient.ready(store.url, 'alice')
    await alice.request(command('SET before v'), { timestamp: now() })
    const stream = await read(open)
    await Promise.all([stream.next(), stream.next()])
    await alice.request(command('KEYNOTIFY k'))
    await alice.request(command('SET k v'), { timestamp: now() })
    await alice.request(command('nonsense'))
    clock.advance(1_000)
    const second = { at: start + 1_000, keys: 2, watches: 1, requests: 4, errors: 1, notifications: 1, keyspace: 2 }
    expect(await stream.next()).toMatchObject({ type: 'pulse', ...second })
    expect(await stream.next()).toEqual({ type: 'clients', clients: [{ clientId: 'alice', since: start, watches: 1 }] })
    clock.advance(1_000)
    // The stream omits the line of clients, which are unchanged.
    expect(await stream.next()).toMatchObject({ type: 'pulse', requests: 0, errors: 0, notifications: 0, keyspace: 2 })
    clock.advance(1_000)
    expect(await stream.next()).toMatchObject({ type: 'pulse', at: start + 3_000 })
  })

  it('after a clock setback, pulses have the version drift until the clock catches up', async () => {
    const open = await openConsole()
    const { store, clock } = open
    await store.load([{ key: 'k', value: '' }])
    clock.jump(-120_000)
    const stream = await read(open)
    expect(await stream.next()).toMatchObject({ type: 'pulse', drift: 120_000 })
    await stream.next()
    clock.jump(60_000)
    clock.advance(1_000)
    const pulse = await stream.next()
    expect(pulse).toMatchObject({ type: 'pulse' })
    expect(pulse).not.toHaveProperty('drift')
  })

  it('every pulse of a node that cannot reach its log reports that', async () => {
    const open = await openConsole()
    const storage = vi.spyOn(open.store, 'storage', 'get')
    storage.mockReturnValue({ state: 'waiting', error: undefined })
    const stream = await read(open)
    expect(await stream.next()).toMatchObject({ type: 'pulse', isWaitingForLog: true })
    storage.mockReturnValue({ state: 'kept', error: undefined })
    open.clock.advance(1_000)
    const [, pulse] = [await stream.next(), await stream.next()]
    expect(pulse).toMatchObject({ type: 'pulse' })
    expect(pulse).not.toHaveProperty('isWaitingForLog')
  })

  it('the stream reports freezes and restarts, and continues', async () => {
    const open = await openConsole()
    const { store, clock } = open
    const start = clock.now()
    await store.load([{ key: 'k', value: '' }])
    const alice = await StoreClient.ready(store.url, 'alice')
    for (let count = 0; count < 5; count++) await alice.settled()
    const stream = await read(open)
    await Promise.all([stream.next(), stream.next()])
    store.freeze(5_000)
    clock.advance(1_000)
    expect(await stream.next()).toMatchObject({ type: 'pulse', frozenUntil: start + 5_000 })
    await store.restart({ keys: 'lost' })
    const bob = await StoreClient.ready(store.url, 'bob')
    await bob.settled()
    clock.advance(1_000)
    const pulse = await stream.next()
    expect(pulse).toMatchObject({ type: 'pulse', startedAt: start + 1_000, keyspace: 0, keys: 0, requests: 1 })
    expect(pulse).not.toHaveProperty('frozenUntil')
    expect(await stream.next()).toMatchObject({ type: 'clients', clients: [{ clientId: 'bob' }] })
  })

  it('a stream starts with the rates of the last two minutes, also if no reader was connected', async () => {
    const open = await openConsole()
    const { store, clock } = open
    const alice = await StoreClient.ready(store.url, 'alice')
    clock.advance(1_000)
    await alice.request(command('SET k v'), { timestamp: now() })
    clock.advance(1_000)
    for (let second = 0; second < 200; second++) clock.advance(1_000)
    await alice.request(command('nonsense'))
    await alice.request(command('nonsense'))
    clock.advance(1_000)
    clock.advance(1_000)
    const stream = await read(open)
    const quiet = Array.from({ length: 118 }, () => 0)
    expect(await stream.next()).toEqual({
      type: 'rates',
      requests: [...quiet, 2],
      errors: [...quiet, 2],
      notifications: [...quiet, 0],
    })
    expect(await stream.next()).toMatchObject({ type: 'pulse', requests: 0, at: clock.now() })
  })

  it('statistics are collected once for all readers, until the console closes', async () => {
    const open = await openConsole()
    const { clock, server } = open
    // The stream's statistics, and the history.
    expect(clock.pending).toBe(2)
    const streams = [await read(open), await read(open), await read(open)]
    await Promise.all(streams.map(async stream => stream.next()))
    expect(clock.pending).toBe(2)
    clock.advance(1_000)
    await Promise.all(streams.map(async stream => stream.leave()))
    await server.close()
    expect(clock.pending).toBe(0)
  })

  it('at most sixteen streams are served', async () => {
    const open = await openConsole()
    const streams = await Promise.all(Array.from({ length: 16 }, async () => read(open)))
    const response = await open.callApi('api/stream')
    expect([response.status, await response.json()]).toEqual([
      503,
      { code: 'busy', message: 'At most 16 streams at a time; try again later' },
    ])
    await streams[0]?.leave()
    let again = await open.callApi('api/stream')
    while (again.status === 503) again = await open.callApi('api/stream')
    expect(again.status).toBe(200)
    await again.body?.cancel()
  })

  it('the stream lists at most a thousand clients', async () => {
    const open = await openConsole()
    const { store } = open
    Object.defineProperty(store, 'clients', {
      value: Array.from({ length: 5_000 }, (_, at) => ({ clientId: `c${at}`, since: 0, watches: 0 })),
    })
    const stream = await read(open)
    await stream.next()
    expect(await stream.next()).toMatchObject({ clients: expect.objectContaining({ length: 1_000 }) })
  })

  it('little is buffered for a slow reader, which later gets the current state', {
    tags: 'slow',
  }, async () => {
    const open = await openConsole()
    const { store, clock } = open
    const reader = await neverRead(open)
    // A hundred thousand pulses take about 20 MB.
    for (let second = 0; second < 100_000; second++) {
      clock.advance(1_000)
      if (second % 20 === 0) await new Promise<void>(resolve => setImmediate(resolve))
    }
    await StoreClient.connect(store.url, 'late')
    let [text, length] = ['', 0]
    reader.on('data', data => {
      length += data.length
      text = (text + data).slice(-10_000)
    })
    reader.resume()
    const includesClient = (): boolean => text.includes('"clientId":"late"')
    while (!includesClient()) {
      clock.advance(1_000)
      await new Promise<void>(resolve => setImmediate(resolve))
    }
    expect(length).toBeLessThan(10_000_000)
  })

  it('a stream is closed if its client does not read it', async () => {
    const open = await openConsole({ idleTimeout: 100 })
    for (let n = 0; n < 16; n++) await neverRead(open)
    // Nothing is written while the clock stands still, as on a blocked connection.
    let next = await open.callApi('api/stream')
    while (next.status === 503) next = await open.callApi('api/stream')
    expect(next.status).toBe(200)
    await next.body?.cancel()
  })

  it('closing the console ends the stream', async () => {
    const open = await openConsole()
    const stream = await read(open)
    await Promise.all([stream.next(), stream.next()])
    await open.server.close()
    await expect(stream.next()).rejects.toThrow()
    expect(open.clock.pending).toBe(0)
  })
})
