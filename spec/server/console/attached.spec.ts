import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { linesOf } from '../../../src/node/dump/codec.js'
import type { StreamLine } from '../../../src/server/console/contract.js'
import { serveConsole } from '../../../src/server/console/index.js'
import { type AttachedStore, type AttachOptions, attach } from '../../../src/server/index.js'
import { ManualClock } from '../../support/manual-clock.js'
import { untilState } from '../../support/open-attached.js'
import { openBroker } from '../../support/open-broker.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'
import { openConsoleOf } from './open-console.js'

const QUICK: AttachOptions = { reconnect: { initial: 20, max: 200 } }
const now = (): string => `${Date.now()}:0:client`

/** Returns the status and the JSON of a response. */
const answerOf = async (response: Promise<Response>): Promise<readonly [number, unknown]> => {
  const answer = await response
  return [answer.status, await answer.json()]
}

/** Opens a store that is attached to an external broker, and its console. */
async function openAttachedConsole(options: Parameters<typeof openConsoleOf>[1] = {}) {
  const broker = await openBroker({ port: await freePort() })
  const url = `mqtt://127.0.0.1:${broker.port}`
  const store = await attach(url, QUICK)
  onTestFinished(async () => store.close())
  const brokerUrl = `ws://127.0.0.1:${broker.wsPort}/`
  return { broker, url, brokerUrl, store, ...(await openConsoleOf(store, { brokerUrl, ...options })) }
}

/** Returns a console's pulses in order. */
async function pulsesOf(store: AttachedStore, clock: ManualClock, callApi: (path: string) => Promise<Response>) {
  const { body } = await callApi('api/stream')
  if (body === null) throw new Error('no body')
  const reader = body.getReader()
  onTestFinished(async () => reader.cancel())
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) yield chunk.value
  }
  const lines = linesOf(chunks())
  return {
    /** Resolves when the store is in the given state. */
    until: async (state: AttachedStore['state']['state']) => {
      if (store.state.state !== state) await untilState(store, state)
      clock.advance(1_000)
      for (;;) {
        const { value } = await lines.next()
        if (value === undefined) throw new Error('the stream ended')
        const line: StreamLine = JSON.parse(value)
        if (line.type === 'pulse' && line.attached?.state === state) return line
      }
    },
  }
}

describe('The console of an attached store', () => {
  it('the store response says that it is attached, and has the broker URL for browsers', async () => {
    const { url, brokerUrl, callApi, server } = await openAttachedConsole()
    const facts = { url, wsUrl: brokerUrl, attached: true, seeded: false, version: '1.2.3' }
    expect(await answerOf(callApi('api/store'))).toEqual([200, facts])
    const { headers } = await fetch(server.url)
    expect(headers.get('content-security-policy')).toContain(`connect-src 'self' ${brokerUrl};`)
  })

  it('the broker login is returned only to requests with the token', async () => {
    const brokerLogin = { username: 'page', password: 'seven words' }
    const { callApi, server } = await openAttachedConsole({ brokerLogin })
    expect(await (await callApi('api/store')).json()).toMatchObject({ brokerLogin })
    for (const path of ['', 'api/store', 'api/stream']) {
      const anonymous = await fetch(new URL(path, server.url))
      expect(`${JSON.stringify([...anonymous.headers])}${await anonymous.text()}`).not.toMatch(/seven|page"/)
    }
  })

  it('the console returns keys, clients and the keys that the clients watch', async () => {
    const { url, store, callApi } = await openAttachedConsole()
    await untilState(store, 'serving')
    const alice = await StoreClient.ready(url, 'alice')
    await alice.request(command('KEYNOTIFY k'))
    await alice.request(command('SET k value PX 60000'), { timestamp: now() })
    const { version, expiresAt } = store.peek('k') ?? {}
    expect(await answerOf(callApi('api/keys', { ids: ['6B', '6C'] }))).toEqual([
      200,
      { keys: [{ id: '6B', version, size: 5, expiresAt, watchers: 1 }] },
    ])
    expect(await answerOf(callApi('api/client', { clientId: 'alice' }))).toEqual([
      200,
      { clientId: 'alice', watches: 1, ids: ['6B'] },
    ])
    expect(await answerOf(callApi('api/client', { clientId: 'bob' }))).toMatchObject([404, { code: 'not-found' }])
  })

  it.each([
    ['cut', { clientId: 'alice' }],
    ['freeze', { ms: 100 }],
    ['restart', { keys: 'kept' }],
    ['usage', undefined],
  ])('%s is rejected for an attached store', async (path, body) => {
    const { callApi } = await openAttachedConsole()
    expect(await answerOf(callApi(`api/${path}`, body))).toMatchObject([409, { code: 'attached' }])
  })

  it('`faults` is rejected for an attached store', async () => {
    await expect(openAttachedConsole({ faults: true })).rejects.toMatchObject({ code: 'argument' })
  })

  it('an attached store can be dumped, loaded and reset', async () => {
    const { store, callApi } = await openAttachedConsole({ seed: [{ key: 's', value: '1' }] })
    await untilState(store, 'serving')
    expect(await answerOf(callApi('api/reset', {}))).toEqual([200, { deleted: 0, set: 1 }])
    const dump = '{"key":"k","value":"v","version":"1696374425000:1:StateStore"}\n'
    expect(await answerOf(callApi('api/load', dump))).toEqual([
      200,
      { loaded: 1, versionsKept: 0, expired: 0, deleted: 0 },
    ])
    const keys = (await (await callApi('api/dump')).text()).trim().split('\n').slice(1, -1)
    expect(keys.map(line => JSON.parse(line).key)).toEqual(['s', 'k'])
  })

  it('every pulse contains the state of the attached store and the reason why it is not active', async () => {
    const clock = new ManualClock()
    const { broker, store, url, callApi } = await openAttachedConsole({ clock })
    const pulses = await pulsesOf(store, clock, callApi)
    const { startedAt, connections } = await pulses.until('serving')
    expect([startedAt, connections]).toEqual([store.startedAt, 0])
    await StoreClient.ready(url, 'alice').then(async alice => alice.request(command('KEYNOTIFY k')))
    await broker.close()
    const away = await pulses.until('reconnecting')
    expect(away).toMatchObject({
      startedAt,
      attached: { why: expect.stringMatching(/^Cannot reach the broker: ./) },
    })
    expect(away).toMatchObject({ connections: 1, watches: 1 })
    await openBroker({ port: Number(new URL(url).port) })
    expect(await pulses.until('serving')).not.toHaveProperty('attached.why')
    await store.close()
    expect(await pulses.until('closed')).toMatchObject({ attached: { why: 'The store has stopped' } })
  })

  it('a standby rejects dump and load, which would lose keys', { tags: 'slow' }, async () => {
    const { url, store: first } = await openAttachedConsole()
    await untilState(first, 'serving')
    const second = await attach(url, QUICK)
    onTestFinished(async () => second.close())
    const clock = new ManualClock()
    const { callApi } = await openConsoleOf(second, { clock, brokerUrl: 'ws://127.0.0.1:1' })
    await first.load([{ key: 'k', value: 'v' }])
    const pulses = await pulsesOf(second, clock, callApi)
    // The page of a standby reads the keys of the active store, whose log may work.
    vi.spyOn(second, 'storage', 'get').mockReturnValue({ state: 'waiting', error: undefined })
    const waiting = await pulses.until('standby')
    expect(waiting).toMatchObject({ keys: 0, watches: 0, connections: 0, requests: 0, keyspace: 0 })
    expect(waiting).not.toHaveProperty('startedAt')
    expect(waiting).not.toHaveProperty('isWaitingForLog')
    expect(await answerOf(callApi('api/keys', { ids: ['6B'] }))).toEqual([200, { keys: [] }])
    expect(await answerOf(callApi('api/dump'))).toMatchObject([
      503,
      { code: 'closed', message: expect.stringMatching(/dump the active one/) },
    ])
    expect(await answerOf(callApi('api/load', '{"key":"k","value":"w"}'))).toMatchObject([
      503,
      { code: 'closed', message: 'This store is on standby; load the keys through the active store' },
    ])
    await first.close()
    expect(await pulses.until('serving')).toMatchObject({ startedAt: second.startedAt })
  })
})

describe('Options of the console of an attached store', () => {
  const WRONG: readonly (readonly [options: object, message: RegExp])[] = [
    [{}, /`brokerUrl` for an attached store/],
    [{ brokerUrl: 'mqtt://127.0.0.1' }, /`brokerUrl` to be a URL with ws:/],
    [{ brokerUrl: 'ws://user:secret@127.0.0.1' }, /`brokerUrl` without user name and password/],
    [{ brokerUrl: 'ws://127.0.0.1', brokerLogin: {} }, /`brokerLogin` to have a non-empty `username`/],
    [{ brokerUrl: 'ws://127.0.0.1', brokerLogin: { username: 'a', password: 7 } }, /`brokerLogin`/],
    [{ brokerUrl: 'ws://127.0.0.1', brokerLogin: { userName: 'a' } }, /did you mean `username`/],
  ]

  it.each(WRONG)('the options %j are rejected', async (options, message) => {
    const store = await attach('mqtt://127.0.0.1:1', QUICK)
    onTestFinished(async () => store.close())
    await expect(serveConsole(store, { port: 0, ...options })).rejects.toMatchObject({
      code: 'argument',
      message: expect.stringMatching(message),
    })
  })

  it('the console starts without a reachable broker and reports why the store is not active', async () => {
    const store = await attach('mqtt://127.0.0.1:1', QUICK)
    onTestFinished(async () => store.close())
    const clock = new ManualClock()
    const { callApi } = await openConsoleOf(store, { clock, brokerUrl: 'ws://127.0.0.1:2' })
    const { attached } = await (await pulsesOf(store, clock, callApi)).until('reconnecting')
    expect(attached?.why).toMatch(/ECONNREFUSED/)
    expect(await answerOf(callApi('api/load', ''))).toMatchObject([
      503,
      { message: expect.stringMatching(/is not serving yet/) },
    ])
  })
})
