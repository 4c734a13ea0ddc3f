import { describe, expect, it } from 'vitest'
import { RawClient } from '../../support/raw-client.js'
import { command } from '../../support/words.js'
import { type OpenConsole, openConsole, rawRequest } from './open-console.js'

const now = (): string => `${Date.now()}:0:client`
const hex = (text: string): string => Buffer.from(text, 'latin1').toString('hex').toUpperCase()

/** Status and JSON of an answer. */
const answerOf = async (response: Promise<Response>): Promise<readonly [number, unknown]> => {
  const answer = await response
  return [answer.status, await answer.json()]
}

describe('The store', () => {
  it('says where it is, and whether there is a seed', async () => {
    const { store, ask } = await openConsole()
    const facts = { url: store.url, wsUrl: store.wsUrl, seeded: false, version: '1.2.3' }
    expect(await answerOf(ask('api/store'))).toEqual([200, facts])
    const seeded = await openConsole({ seed: [] })
    expect(await (await seeded.ask('api/store')).json()).toMatchObject({ seeded: true })
  })
})

describe('Keys', () => {
  it('have facts, those that are there', async () => {
    const { store, ask } = await openConsole()
    const [alice, fencingToken] = [await RawClient.ready(store.url, 'alice'), now()]
    await alice.request(command('KEYNOTIFY k'))
    await alice.request(command('SET k value PX 1000'), { timestamp: now(), fencingToken })
    await alice.request(command('SET \xff\x00 v'), { timestamp: now() })
    const expected = store.peek('k')
    const ids = [hex('k'), hex('nothing'), hex('\xff\x00').toLowerCase()]
    const [status, answer] = await answerOf(ask('api/keys', { ids }))
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

  it('are a thousand at most', { tags: 'slow' }, async () => {
    const { ask } = await openConsole()
    const ids = (count: number) => ({ ids: Array.from({ length: count }, (_, at) => hex(`key${at}`)) })
    expect(await answerOf(ask('api/keys', ids(1_000)))).toEqual([200, { keys: [] }])
    expect(await answerOf(ask('api/keys', ids(1_001)))).toMatchObject([400, { code: 'argument' }])
  })

  it.each([{}, { ids: 'k' }, { ids: [7] }, { ids: ['k'] }, { ids: ['ABC'] }, { ids: [null] }, [], 'text', null, 7])(
    'are not %j',
    async body => {
      const { ask } = await openConsole()
      expect(await answerOf(ask('api/keys', JSON.stringify(body)))).toMatchObject([400, { code: 'argument' }])
    },
  )
})

describe('A client', () => {
  it('has the keys it watches, a thousand at most', async () => {
    const { store, ask } = await openConsole()
    const alice = await RawClient.ready(store.wsUrl, 'alice')
    await alice.request(command('KEYNOTIFY \xff\x00'))
    expect(await answerOf(ask('api/client', { clientId: 'alice' }))).toEqual([
      200,
      { clientId: 'alice', watches: 1, ids: ['FF00'] },
    ])
    await Promise.all(Array.from({ length: 1_000 }, async (_, at) => alice.request(command(`KEYNOTIFY k${at}`))))
    const answer: unknown = await (await ask('api/client', { clientId: 'alice' })).json()
    expect(answer).toMatchObject({ watches: 1_001, ids: expect.objectContaining({ length: 1_000 }) })
  })

  it('can be cut off', async () => {
    const { store, ask } = await openConsole()
    const alice = await RawClient.ready(store.url, 'alice')
    expect(await answerOf(ask('api/cut', { clientId: 'alice' }))).toEqual([200, {}])
    expect(await alice.closed).toBeUndefined()
    expect(await answerOf(ask('api/cut', { clientId: 'alice' }))).toMatchObject([404, { code: 'not-found' }])
  })

  it('is somebody who is connected', async () => {
    const { ask } = await openConsole()
    for (const clientId of ['nobody', '', '__proto__']) {
      expect(await answerOf(ask('api/client', { clientId }))).toMatchObject([404, { code: 'not-found' }])
      expect(await answerOf(ask('api/cut', { clientId }))).toMatchObject([404, { code: 'not-found' }])
    }
    expect(await answerOf(ask('api/cut', { clientId: 7 }))).toMatchObject([400, { code: 'argument' }])
  })
})

describe('Freezing and restarting', () => {
  it('freezes for a while, and lets go on', async () => {
    const { store, clock, ask } = await openConsole()
    expect(await answerOf(ask('api/freeze', { ms: 600_000 }))).toEqual([200, {}])
    expect(store.frozenUntil).toBe(clock.now() + 600_000)
    expect(await answerOf(ask('api/freeze', { ms: 0 }))).toEqual([200, {}])
    expect(store.frozenUntil).toBeUndefined()
  })

  it('restarts, and is there all the while', async () => {
    const { store, clock, ask } = await openConsole()
    await store.load([{ key: 'k', value: 'v' }])
    const alice = await RawClient.ready(store.url, 'alice')
    clock.advance(1_000)
    expect(await answerOf(ask('api/restart', { keys: 'kept' }))).toEqual([200, {}])
    await alice.closed
    expect([store.startedAt, store.stats.keys]).toEqual([clock.now(), 1])
    expect(await answerOf(ask('api/restart', { keys: 'lost' }))).toEqual([200, {}])
    expect(store.stats.keys).toBe(0)
    expect((await (await RawClient.ready(store.url, 'bob')).request(command('GET k'))).text).toBe('$-1\r\n')
  })

  it.each([{ ms: -1 }, { ms: 600_001 }, { ms: 1.5 }, { ms: '5' }, {}])('refuses to freeze for %j', async body => {
    const { store, ask } = await openConsole()
    expect(await answerOf(ask('api/freeze', body))).toMatchObject([400, { code: 'argument' }])
    expect(store.frozenUntil).toBeUndefined()
  })

  it.each([{ keys: 'some' }, { keys: ['kept'] }, {}])('refuses to restart with %j', async body => {
    const { store, ask } = await openConsole()
    const alice = await RawClient.ready(store.url, 'alice')
    expect(await answerOf(ask('api/restart', body))).toMatchObject([400, { code: 'argument' }])
    await alice.settled()
  })

  it('says so when the store is closed', async () => {
    const { store, ask } = await openConsole()
    await store.close()
    expect(await answerOf(ask('api/freeze', { ms: 1 }))).toMatchObject([503, { code: 'closed' }])
    expect(await answerOf(ask('api/restart', { keys: 'kept' }))).toMatchObject([503, { code: 'closed' }])
    expect(await answerOf(ask('api/store'))).toMatchObject([200, {}])
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
  ])('that do not exist are not found: %s', async path => {
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
  ])('with %s are not for %s', async (method, path, allow) => {
    const open = await openConsole()
    const answer = await rawRequest(open, path, { method, ...authorized(open) })
    expect(answer).toMatchObject({ status: 405, headers: { allow } })
  })

  it.each(['{', '', 'null', '\xff', '{"clientId":'])('need a body that is JSON: %j', async body => {
    const { ask } = await openConsole()
    expect(await answerOf(ask('api/cut', Buffer.from(body, 'latin1')))).toMatchObject([400, { code: 'argument' }])
  })

  it('have bodies of 4 MiB at most, and the connection serves the next one', { tags: 'slow' }, async () => {
    const { ask } = await openConsole()
    expect(await answerOf(ask('api/cut', ' '.repeat(4 * 1024 * 1024 + 1)))).toMatchObject([413, { code: 'payload' }])
    expect(await answerOf(ask('api/cut', ' '.repeat(64 * 1024 * 1024)))).toMatchObject([413, { code: 'payload' }])
    expect(await answerOf(ask('api/store'))).toMatchObject([200, {}])
  })
})
