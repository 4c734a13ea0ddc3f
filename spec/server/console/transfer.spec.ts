import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'
import { type OpenConsole, openConsole } from './open-console.js'

const now = (): string => `${Date.now()}:0:client`

describe('GET /api/dump', () => {
  it('a dump contains every key and reproduces the store when it is loaded', async () => {
    const { store, clock, callApi } = await openConsole()
    const alice = await StoreClient.ready(store.url, 'alice')
    await alice.request(command('SET k v PX 60000'), { timestamp: now(), fencingToken: now() })
    await alice.request(command('SET \xff\x00 \xfe'), { timestamp: now() })
    const response = await callApi('api/dump')
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="dump.ndjson"')
    const dump = await response.text()
    expect(
      dump
        .split('\n')
        .slice(1, -2)
        .map(line => JSON.parse(line)),
    ).toEqual([...store.dump()])
    const copy = await openConsole()
    copy.clock.jump(clock.now() - copy.clock.now())
    const loaded = await copy.callApi('api/load', dump)
    expect([loaded.status, await loaded.json()]).toEqual([200, { loaded: 2, versionsKept: 2, expired: 0, deleted: 0 }])
    expect([...copy.store.dump()]).toEqual([...store.dump()])
  })

  it('a dump of an empty store has no keys', async () => {
    const { callApi } = await openConsole()
    const dump = '{"dump":1}\n{"end":{"keys":0,"crc32":"00000000"}}\n'
    expect(await (await callApi('api/dump')).text()).toBe(dump)
    expect(await (await callApi('api/load', dump)).json()).toEqual({
      loaded: 0,
      versionsKept: 0,
      expired: 0,
      deleted: 0,
    })
    const empty = await callApi('api/load', '')
    const message = 'the input is empty: even an empty dump has a first line; nothing was loaded'
    expect([empty.status, await empty.json()]).toEqual([400, { code: 'argument', message }])
  })

  it('a large dump is streamed completely', { tags: 'slow' }, async () => {
    const { store, callApi } = await openConsole()
    const lines = Array.from({ length: 20_000 }, (_, at) => ({ key: `key/${at}`, value: 'x'.repeat(at % 500) }))
    await store.load(lines)
    const dump = await (await callApi('api/dump')).text()
    expect(dump.length).toBeGreaterThan(6_000_000)
    expect(await (await callApi('api/load', dump)).json()).toMatchObject({ loaded: 20_000 })
    expect([...store.dump()].map(({ key, value }) => ({ key, value }))).toEqual(lines)
  })

  /** A client that requests a dump and reads only the beginning. */
  interface IdleReader {
    readonly socket: Socket
    /** Reads the rest. Resolves with the number of bytes when the connection has ended. */
    readOn(): Promise<number>
  }

  async function readIdly({ hostname, port }: URL, token: string): Promise<IdleReader> {
    const socket = connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    // The test waits for the end of the connection, with or without an error.
    const closed = new Promise<void>(resolve => socket.on('error', () => undefined).once('close', () => resolve()))
    let length = 0
    socket.on('data', data => {
      length += data.length
    })
    const headers = [`host: ${hostname}`, `authorization: Bearer ${token}`, 'connection: close']
    socket.write(`GET /api/dump HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`)
    const begun = new Promise<void>(resolve => socket.once('data', () => resolve(void socket.pause())))
    await Promise.race([begun, closed])
    const readOn = async (): Promise<number> => {
      socket.resume()
      await closed
      return length
    }
    return { socket, readOn }
  }

  /** Opens as many readers as the console accepts. */
  async function readersOf({ store, server }: OpenConsole): Promise<readonly IdleReader[]> {
    await store.load(Array.from({ length: 20_000 }, (_, at) => ({ key: `key/${at}`, value: 'x'.repeat(1_000) })))
    return Promise.all([1, 2, 3, 4].map(async () => readIdly(new URL(server.url), server.token)))
  }

  /** Retries until a request is accepted. */
  async function nextDump({ callApi }: OpenConsole): Promise<Response> {
    let response = await callApi('api/dump')
    while (response.status === 503) response = await callApi('api/dump')
    return response
  }

  it('a dump ends when its reader disconnects, and concurrent dumps are limited', { tags: 'slow' }, async () => {
    const open = await openConsole()
    const [first] = await readersOf(open)
    const refused = await open.callApi('api/dump')
    const problem = { code: 'busy', message: 'At most 4 dumps at a time; try again later' }
    expect([refused.status, await refused.json()]).toEqual([503, problem])
    first?.socket.destroy()
    expect((await (await nextDump(open)).text()).split('\n')).toHaveLength(20_003)
  })

  it('a dump is closed if its client does not read it', { tags: 'slow' }, async () => {
    const open = await openConsole({ idleTimeout: 200 })
    const readers = await readersOf(open)
    await (await nextDump(open)).body?.cancel()
    const sizes = await Promise.all(readers.map(async reader => reader.readOn()))
    expect(Math.min(...sizes)).toBeLessThan(20_000_000)
  })
})

describe('POST /api/load', () => {
  it('a load is atomic, and its error names the invalid line', async () => {
    const { store, callApi } = await openConsole()
    const good = '{"key":"k","value":"v"}\n'
    for (const [bad, words] of [
      ['{"key":', 'it is not valid JSON'],
      ['{"key":"k"}', 'it needs either `value` or `bytes`'],
      ['{"key":"k","value":"v"', 'it is not valid JSON'],
      ['[]', 'it is not a JSON object'],
      ['\u0000', 'it is not valid JSON'],
    ]) {
      const response = await callApi('api/load', `${good}\n${bad}\n${good.repeat(10_000)}`)
      const message = `line 3: ${words}; nothing was loaded`
      expect([response.status, await response.json()]).toEqual([400, { code: 'argument', message }])
    }
    expect(store.stats.keys).toBe(0)
  })

  it('a load rejects invalid UTF-8', async () => {
    const { store, callApi } = await openConsole()
    const response = await callApi(
      'api/load',
      Buffer.from('{"key":"k","value":"v"}\n{"key":"\xff","value":"v"}', 'latin1'),
    )
    expect([response.status, await response.json()]).toEqual([
      400,
      { code: 'argument', message: 'line 2: it is not valid UTF-8; nothing was loaded' },
    ])
    expect(store.stats.keys).toBe(0)
  })

  it('a load that exceeds the key limit is rejected', async () => {
    const { store, callApi } = await openConsole({ serve: { maxKeys: 2 } })
    const lines = ['a', 'b', 'c'].map(key => JSON.stringify({ key, value: '' })).join('\n')
    const response = await callApi('api/load', lines)
    expect([response.status, await response.json()]).toMatchObject([409, { code: 'quota-exceeded' }])
    expect(store.stats.keys).toBe(0)
  })

  it('an aborted load changes nothing, and the next load is accepted', async () => {
    const { store, server, callApi } = await openConsole()
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    const headers = [`host: ${hostname}`, `authorization: Bearer ${server.token}`, 'transfer-encoding: chunked']
    const line = '{"key":"half","value":"v"}\n'
    const chunk = `${line.length.toString(16)}\r\n${line}\r\n`
    await new Promise<void>(resolve => {
      socket.write(`POST /api/load HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${chunk}`, () => resolve())
    })
    let second = await callApi('api/load', '')
    while (second.status !== 503) second = await callApi('api/load', '')
    expect(await second.json()).toEqual({ code: 'busy', message: 'At most 1 load at a time; try again later' })
    socket.resetAndDestroy()
    while (second.status === 503) second = await callApi('api/load', '{"key":"k","value":"v"}')
    expect([second.status, [...store.dump()].map(({ key }) => key)]).toEqual([200, ['k']])
  })

  it('a load notifies watchers', async () => {
    const { store, callApi } = await openConsole()
    const alice = await StoreClient.ready(store.url, 'alice')
    await alice.request(command('KEYNOTIFY k'))
    await callApi('api/load', '{"key":"k","value":"v"}')
    expect((await alice.arrived(1))[0]?.text).toContain('v')
  })
})

describe('POST /api/reset', () => {
  const seed = [
    { key: 'a', value: '1' },
    { key: 'b', value: '2' },
  ]

  it('a reset restores the seed', async () => {
    const { store, callApi } = await openConsole({ seed })
    await store.load([
      { key: 'a', value: 'changed' },
      { key: 'more', value: '' },
    ])
    const response = await callApi('api/reset', {})
    expect([response.status, await response.json()]).toEqual([200, { deleted: 1, set: 2 }])
    expect([...store.dump()].map(({ key, value }) => ({ key, value }))).toEqual(seed)
  })

  it('a reset without a seed is rejected', async () => {
    const { store, callApi } = await openConsole()
    await store.load(seed)
    const response = await callApi('api/reset', {})
    expect([response.status, await response.json()]).toMatchObject([409, { code: 'no-seed' }])
    expect(store.stats.keys).toBe(2)
  })
})
