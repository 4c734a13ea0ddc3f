import { describe, expect, it } from 'vitest'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'
import { type OpenConsole, openConsole, rawRequest } from './open-console.js'

const now = (): string => `${Date.now()}:0:client`
const hex = (text: string): string => Buffer.from(text, 'latin1').toString('hex').toUpperCase()

/** Returns the status and the JSON of a response. */
const answerOf = async (response: Promise<Response>): Promise<readonly [number, unknown]> => {
  const answer = await response
  return [answer.status, await answer.json()]
}

describe('GET /api/store', () => {
  it('the store response contains the addresses of the store and whether it has a seed', async () => {
    const { store, callApi } = await openConsole()
    const facts = { url: store.url, wsUrl: store.wsUrl, seeded: false, version: '1.2.3' }
    expect(await answerOf(callApi('api/store'))).toEqual([200, facts])
    const seeded = await openConsole({ seed: [] })
    expect(await (await seeded.callApi('api/store')).json()).toMatchObject({ seeded: true })
  })
})

describe('POST /api/keys', () => {
  it('details are returned only for existing keys', async () => {
    const { store, callApi } = await openConsole()
    const [alice, fencingToken] = [await StoreClient.ready(store.url, 'alice'), now()]
    await alice.request(command('KEYNOTIFY k'))
    await alice.request(command('SET k value PX 1000'), { timestamp: now(), fencingToken })
    await alice.request(command('SET \xff\x00 v'), { timestamp: now() })
    const expected = store.peek('k')
    const ids = [hex('k'), hex('nothing'), hex('\xff\x00').toLowerCase()]
    const [status, answer] = await answerOf(callApi('api/keys', { ids }))
    expect([status, answer]).toEqual([
      200,
      {
        keys: [
          { id: '6B', version: expected?.version, size: 5, expiresAt: expected?.expiresAt, fencingToken, watchers: 1 },
          { id: 'FF00', version: store.peek(Uint8Array.of(0xff, 0))?.version, size: 1, watchers: 0 },
        ],
      },
    ])
  })

  it('a request for more than a thousand keys is rejected', { tags: 'slow' }, async () => {
    const { callApi } = await openConsole()
    const ids = (count: number) => ({ ids: Array.from({ length: count }, (_, at) => hex(`key${at}`)) })
    expect(await answerOf(callApi('api/keys', ids(1_000)))).toEqual([200, { keys: [] }])
    expect(await answerOf(callApi('api/keys', ids(1_001)))).toMatchObject([400, { code: 'argument' }])
  })

  it.each([{}, { ids: 'k' }, { ids: [7] }, { ids: ['k'] }, { ids: ['ABC'] }, { ids: [null] }, [], 'text', null, 7])(
    'the body %j is rejected',
    async body => {
      const { callApi } = await openConsole()
      expect(await answerOf(callApi('api/keys', JSON.stringify(body)))).toMatchObject([400, { code: 'argument' }])
    },
  )
})

describe('Clients', () => {
  it('a client response lists at most a thousand watched keys', async () => {
    const { store, callApi } = await openConsole()
    const alice = await StoreClient.ready(store.wsUrl, 'alice')
    await alice.request(command('KEYNOTIFY \xff\x00'))
    expect(await answerOf(callApi('api/client', { clientId: 'alice' }))).toEqual([
      200,
      { clientId: 'alice', watches: 1, ids: ['FF00'] },
    ])
    await Promise.all(Array.from({ length: 1_000 }, async (_, at) => alice.request(command(`KEYNOTIFY k${at}`))))
    const answer: unknown = await (await callApi('api/client', { clientId: 'alice' })).json()
    expect(answer).toMatchObject({ watches: 1_001, ids: expect.objectContaining({ length: 1_000 }) })
  })

  it('POST /api/cut drops the connection of a client', async () => {
    const { store, callApi } = await openConsole({ faults: true })
    const alice = await StoreClient.ready(store.url, 'alice')
    expect(await answerOf(callApi('api/cut', { clientId: 'alice' }))).toEqual([200, {}])
    expect(await alice.dismissed()).toBeUndefined()
    expect(await answerOf(callApi('api/cut', { clientId: 'alice' }))).toMatchObject([404, { code: 'not-found' }])
  })

  it('a request to show or cut an unknown client is answered with 404', async () => {
    const { callApi } = await openConsole({ faults: true })
    for (const clientId of ['nobody', '', '__proto__']) {
      expect(await answerOf(callApi('api/client', { clientId }))).toMatchObject([404, { code: 'not-found' }])
      expect(await answerOf(callApi('api/cut', { clientId }))).toMatchObject([404, { code: 'not-found' }])
    }
    expect(await answerOf(callApi('api/cut', { clientId: 7 }))).toMatchObject([400, { code: 'argument' }])
  })
})

describe('Freezing and restarting', () => {
  it('a freeze of 0 ms ends the current freeze', async () => {
    const { store, clock, callApi } = await openConsole({ faults: true })
    expect(await answerOf(callApi('api/freeze', { ms: 600_000 }))).toEqual([200, {}])
    expect(store.frozenUntil).toBe(clock.now() + 600_000)
    expect(await answerOf(callApi('api/freeze', { ms: 0 }))).toEqual([200, {}])
    expect(store.frozenUntil).toBeUndefined()
  })

  it('the console remains available while the store restarts', async () => {
    const { store, clock, callApi } = await openConsole({ faults: true })
    await store.load([{ key: 'k', value: 'v' }])
    const alice = await StoreClient.ready(store.url, 'alice')
    clock.advance(1_000)
    expect(await answerOf(callApi('api/restart', { keys: 'kept' }))).toEqual([200, {}])
    await alice.closed
    expect([store.startedAt, store.stats.keys]).toEqual([clock.now(), 1])
    expect(await answerOf(callApi('api/restart', { keys: 'lost' }))).toEqual([200, {}])
    expect(store.stats.keys).toBe(0)
    expect((await (await StoreClient.ready(store.url, 'bob')).request(command('GET k'))).text).toBe('$-1\r\n')
  })

  it.each([{ ms: -1 }, { ms: 600_001 }, { ms: 1.5 }, { ms: '5' }, {}])('a freeze with %j is rejected', async body => {
    const { store, callApi } = await openConsole({ faults: true })
    expect(await answerOf(callApi('api/freeze', body))).toMatchObject([400, { code: 'argument' }])
    expect(store.frozenUntil).toBeUndefined()
  })

  it.each([{ keys: 'some' }, { keys: ['kept'] }, {}])('a restart with %j is rejected', async body => {
    const { store, callApi } = await openConsole({ faults: true })
    const alice = await StoreClient.ready(store.url, 'alice')
    expect(await answerOf(callApi('api/restart', body))).toMatchObject([400, { code: 'argument' }])
    await alice.settled()
  })

  it('operations on a closed store are answered with 503', async () => {
    const { store, callApi } = await openConsole({ faults: true })
    await store.close()
    expect(await answerOf(callApi('api/freeze', { ms: 1 }))).toMatchObject([503, { code: 'closed' }])
    expect(await answerOf(callApi('api/restart', { keys: 'kept' }))).toMatchObject([503, { code: 'closed' }])
    expect(await answerOf(callApi('api/store'))).toMatchObject([200, {}])
  })
})

describe('Requests', () => {
  const authorized = ({ server }: OpenConsole) => ({ headers: { authorization: `Bearer ${server.token}` } })

  it.each([
    '/api/',
    '/api/nothing',
    '/api/store/',
    '/api/Store',
    '/api/__proto__',
    '/api/constructor',
    '/api/../api/store',
  ])('the unknown path %s is answered with 404', async path => {
    const open = await openConsole()
    const { status, text } = await rawRequest(open, path, authorized(open))
    expect([status, JSON.parse(text).code]).toEqual([404, 'not-found'])
  })

  it.each([
    ['POST', '/api/store', 'GET'],
    ['GET', '/api/keys', 'POST'],
    ['HEAD', '/api/dump', 'GET'],
    ['PUT', '/api/load', 'POST'],
    ['DELETE', '/api/reset', 'POST'],
    ['OPTIONS', '/api/restart', 'POST'],
  ])('the method %s is rejected for %s', async (method, path, allow) => {
    const open = await openConsole()
    const answer = await rawRequest(open, path, { method, ...authorized(open) })
    expect(answer).toMatchObject({ status: 405, headers: { allow } })
  })

  it.each(['{', '', 'null', '\xff', '{"clientId":'])('the invalid body %j is rejected', async body => {
    const { callApi } = await openConsole()
    expect(await answerOf(callApi('api/client', Buffer.from(body, 'latin1')))).toMatchObject([
      400,
      { code: 'argument' },
    ])
  })

  it('a body over 4 MiB is rejected, and the connection serves the next request', { tags: 'slow' }, async () => {
    const { callApi } = await openConsole()
    expect(await answerOf(callApi('api/client', ' '.repeat(4 * 1024 * 1024 + 1)))).toMatchObject([
      413,
      { code: 'payload' },
    ])
    expect(await answerOf(callApi('api/client', ' '.repeat(64 * 1024 * 1024)))).toMatchObject([
      413,
      { code: 'payload' },
    ])
    expect(await answerOf(callApi('api/store'))).toMatchObject([200, {}])
  })
})
