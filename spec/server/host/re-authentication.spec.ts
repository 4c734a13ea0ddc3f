import { describe, expect, it } from 'vitest'
import { INVOKE_TOPIC, responseTopic } from '../../../src/core/protocol/topics.js'
import type { Authenticate } from '../../../src/server/index.js'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'
import { TestClient } from '../../support/test-client.js'
import { authWith, connectWith } from '../../support/token-packets.js'
import { command } from '../../support/words.js'

const [NOT_AUTHORIZED, EXPIRED, PROTOCOL_ERROR, ADMINISTRATIVE] = [0x87, 0xa0, 0x82, 0x98]
const HOUR = 3_600_000

/** Accepts tokens that consist of a name, a space and a time to live in milliseconds. */
const authenticate: Authenticate = ({ method, data }) => {
  const [username = '', ttl] = Buffer.from(data ?? [])
    .toString()
    .split(' ')
  if (method !== 'K8S-SAT' || ttl === undefined) return { refused: 'credentials', reason: 'no' }
  return { principal: { username, expiresAt: Date.now() + Number(ttl) } }
}

async function open(token: string) {
  const { store } = await openStore({ authenticate })
  const client = TestClient.to(store.url)
  client.send(connectWith(token))
  return { store, client, welcome: await client.next() }
}

/** Connects a client with the attribute `a` of 1, which may access topics and keys that end with 1. */
async function connectWithTwoRoles(): Promise<TestClient> {
  const { store } = await openStore({
    authenticate: ({ data }) => ({
      principal: { username: 'u', attributes: { a: Buffer.from(data ?? []).toString() } },
    }),
    policy: `
- principals: { attributes: [{ a: '1' }, { a: '2' }] }
  brokerResources: [{ method: Connect }, { method: Subscribe, topics: ['t/{principal.attributes.a}'] }]
  stateStoreResources: [{ method: Read, keyType: String, keys: ['key-{principal.attributes.a}'] }]`,
  })
  const client = TestClient.to(store.url)
  client.send(connectWith('1'))
  await client.next()
  return client
}

describe('credentials', () => {
  it('expiring credentials end the connection at their expiry', async () => {
    const { client, welcome } = await open('alice 30')
    expect(welcome).toMatchObject({ cmd: 'connack', reasonCode: 0 })
    expect(await client.next()).toMatchObject({ cmd: 'disconnect', reasonCode: EXPIRED })
  })

  it('that have already expired end the connection immediately', async () => {
    const { client } = await open('alice -1000')
    expect(await client.next()).toMatchObject({ cmd: 'disconnect', reasonCode: EXPIRED })
  })

  it('can be renewed with a later or an earlier expiry', async () => {
    const { client } = await open('alice 5000')
    client.send(authWith(`alice ${HOUR}`))
    expect(await client.next()).toMatchObject({ cmd: 'auth', reasonCode: 0 })
    client.send(authWith('alice 30'))
    expect(await client.next()).toMatchObject({ cmd: 'auth', reasonCode: 0 })
    expect(await client.next()).toMatchObject({ cmd: 'disconnect', reasonCode: EXPIRED })
  })

  it.each([
    ['of another principal', `bob ${HOUR}`],
    ['that are invalid', 'nonsense'],
  ])('%s end the connection', async (_, token) => {
    const { store, client } = await open(`alice ${HOUR}`)
    const outcomes: unknown[] = []
    store.audit$.subscribe(({ event, outcome }) => outcomes.push([event, outcome]))
    client.send(authWith(token))
    expect(await client.next()).toMatchObject({ cmd: 'disconnect', reasonCode: NOT_AUTHORIZED })
    expect(outcomes).toEqual([['login', 'refused']])
  })

  it('that are sent as an answer without a challenge end the connection', async () => {
    const { client } = await open(`alice ${HOUR}`)
    client.send(authWith(`alice ${HOUR}`, 0x18))
    expect(await client.next()).toMatchObject({ cmd: 'disconnect', reasonCode: PROTOCOL_ERROR })
  })

  it('expired credentials end the connection, and the session remains available to its principal', async () => {
    const { store, client } = await open('alice 30')
    expect(await client.next()).toMatchObject({ cmd: 'disconnect' })
    const other = TestClient.to(store.url)
    other.send(connectWith(`bob ${HOUR}`))
    expect(await other.next()).toMatchObject({ cmd: 'connack', reasonCode: 0 })
  })

  it('renewed credentials change the rights that the policy grants', async () => {
    const { store } = await openStore({
      authenticate: ({ data }) => ({
        principal: { username: 'u', attributes: { a: Buffer.from(data ?? []).toString() } },
      }),
      policy: `[{principals: {usernames: [u]}, brokerResources: [{method: Connect}, {method: Publish, topics: ['t/{principal.attributes.a}']}]}]`,
    })
    const client = TestClient.to(store.url)
    client.send(connectWith('1'))
    await client.next()
    const publish = (topic: string): Promise<void> =>
      client.send({ cmd: 'publish', topic, payload: 'x', qos: 1, messageId: 1, dup: false, retain: false })
    publish('t/2')
    expect(await client.next()).toMatchObject({ cmd: 'puback', reasonCode: NOT_AUTHORIZED })
    client.send(authWith('2'))
    expect(await client.next()).toMatchObject({ cmd: 'auth' })
    publish('t/2')
    expect((await client.next()).cmd).toBe('puback')
    publish('t/1')
    expect(await client.next()).toMatchObject({ cmd: 'puback', reasonCode: NOT_AUTHORIZED })
  })

  it('renewed credentials with fewer rights end a subscription', async () => {
    const client = await connectWithTwoRoles()
    client.send({ cmd: 'subscribe', messageId: 2, subscriptions: [{ topic: 't/1', qos: 1 }] })
    expect(await client.next()).toMatchObject({ cmd: 'suback', granted: [1] })
    client.send(authWith('1'))
    expect(await client.next()).toMatchObject({ cmd: 'auth' })
    client.send(authWith('2'))
    expect(await client.next()).toMatchObject({ cmd: 'disconnect', reasonCode: ADMINISTRATIVE })
  })

  it('renewed credentials with fewer rights end a watch', async () => {
    const client = await connectWithTwoRoles()
    client.send({
      cmd: 'publish',
      topic: INVOKE_TOPIC,
      payload: command('KEYNOTIFY key-1'),
      qos: 1,
      messageId: 3,
      dup: false,
      retain: false,
      properties: { responseTopic: responseTopic('c'), correlationData: Buffer.from('x') },
    })
    expect(await client.next()).toMatchObject({ cmd: 'puback' })
    client.send(authWith('1'))
    while ((await client.next()).cmd !== 'auth');
    client.send(authWith('2'))
    // The watches may be checked after AUTH was sent.
    const answers = [await client.next()]
    if (answers[0]?.cmd === 'auth') answers.push(await client.next())
    expect(answers.at(-1)).toMatchObject({ cmd: 'disconnect', reasonCode: ADMINISTRATIVE })
  })

  it('renewed credentials without the right to connect end the connection', async () => {
    const client = await connectWithTwoRoles()
    client.send(authWith('3'))
    expect(await client.next()).toMatchObject({ cmd: 'disconnect', reasonCode: NOT_AUTHORIZED })
  })

  it('without expiry do not end the connection', async () => {
    const { store } = await openStore({ authenticate: () => ({ principal: {} }) })
    await (await StoreClient.ready(store.url, 'c')).settled()
  })
})
