import { describe, expect, it } from 'vitest'
import { isOwnStoreTopic } from '../../../src/server/service/topic-rules.js'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'
import { INVOKE_TOPIC, notificationTopicOf, RESERVED, responseTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'

const FORGED = '*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n'
const NOT_AUTHORIZED = 135

async function open() {
  const { store } = await openStore()
  const [alice, mallory] = [await StoreClient.ready(store.url, 'alice'), await StoreClient.ready(store.url, 'mallory')]
  await alice.request(command('KEYNOTIFY k'))
  return { store, alice, mallory }
}

it('the topics of a client are matched by its id, and the rest of the topic is case-sensitive', () => {
  const own = 'services/statestore/_any_/command/invoke/response'
  expect(isOwnStoreTopic('j', `clients/6a/${own}`)).toBe(true)
  expect(isOwnStoreTopic('j', `clients/6A/${own}`)).toBe(true)
  for (const topic of [`clients/6A/${own.toUpperCase()}`, `clients/6a/${own.replace('s', '\u017f')}`])
    expect(isOwnStoreTopic('j', topic)).toBe(false)
})

describe('PUBLISH to a reserved topic', () => {
  it.each([
    ['a notification topic of another client', notificationTopicOf('alice', 'k')],
    ['a notification topic of the client', notificationTopicOf('mallory', 'k')],
    ['any other topic below the reserved prefix', `${RESERVED}/news`],
    ['the response topic of another client', responseTopicOf('alice')],
    [
      'the response topic of another client, in Base16',
      'clients/616C696365/services/statestore/_any_/command/invoke/response',
    ],
    ['topics of the broker', '$SYS/news'],
  ])('%s is rejected with PUBACK 135 and a reason, and delivered to no client', async (_, topic) => {
    const { alice, mallory } = await open()
    await alice.subscribe('#')
    const { reasonCode, reasonString } = await mallory.publishAcknowledged(topic, FORGED)
    expect(reasonCode).toBe(NOT_AUTHORIZED)
    expect(reasonString).toMatch(/\w/)
    await alice.settled()
    expect(alice.inbox).toEqual([])
    await mallory.settled()
    expect(mallory.inbox).toEqual([])
  })

  it.each([0, 1, 2] as const)('a retained message to a notification topic is not stored with QoS %i', async qos => {
    const { store, alice, mallory } = await open()
    await mallory.publish(notificationTopicOf('alice', 'k'), FORGED, { qos, retain: true })
    await mallory.settled()
    await alice.settled()
    expect(alice.inbox).toEqual([])
    const late = await StoreClient.ready(store.url, 'late')
    await late.subscribe('#')
    await late.settled()
    expect(late.inbox).toEqual([])
  })

  it.each([notificationTopicOf('alice', 'k'), responseTopicOf('alice')])(
    'a last will cannot publish to %s',
    async topic => {
      const { store } = await open()
      const will = { topic, payload: Buffer.from(FORGED), qos: 1, retain: false } as const
      await expect(StoreClient.connect(store.url, 'dying', { will })).rejects.toMatchObject({ code: NOT_AUTHORIZED })
      expect(store.clientIds).not.toContain('dying')
    },
  )
})

describe('SUBSCRIBE to topics of other clients', () => {
  it.each([
    ['the notifications of another client', notificationTopicOf('alice')],
    ['one notification topic of another client', notificationTopicOf('alice', 'k')],
    ['the notifications of all clients', `${RESERVED}/+/command/notify/+`],
    ['everything below the reserved prefix', `${RESERVED}/#`],
    ['the requests', INVOKE_TOPIC],
    ['the responses of another client', responseTopicOf('alice')],
    ['the responses of another client, in Base16', 'clients/616C696365/services/statestore/#'],
    ['the responses of another client, in a group', `$share/g/${responseTopicOf('alice')}`],
    ['the responses of all clients', 'clients/+/services/statestore/#'],
  ])('%s is rejected with SUBACK 135', async (_, filter) => {
    const { mallory } = await open()
    expect(await mallory.subscribe(filter)).toEqual([NOT_AUTHORIZED])
    await mallory.settled()
  })

  it.each(['al', 'alice2', 'alice/x', ''])(
    'subscribing to notifications of the similar client id "%s" is rejected',
    async id => {
      const { store } = await openStore()
      const alice = await StoreClient.connect(store.url, 'alice')
      expect(await alice.subscribe(notificationTopicOf(id))).toEqual([NOT_AUTHORIZED])
    },
  )
})

describe('A client whose id is a prefix of another id', () => {
  it.each(['alice/2', 'alice/services'])('a client may not publish to the response topic of %s', async id => {
    const { store } = await openStore()
    const [alice, other] = [await StoreClient.ready(store.url, 'alice'), await StoreClient.ready(store.url, id)]
    const reasonCode = await alice.publish(responseTopicOf(id), FORGED)
    await other.settled()
    expect([reasonCode, other.inbox.length]).toEqual([NOT_AUTHORIZED, 0])
  })
})

describe('Permitted topics', () => {
  it.each([
    ['all its notifications', notificationTopicOf('alice')],
    ['one of its notification topics', notificationTopicOf('alice', 'k')],
    ['its notifications in lower-case Base16', notificationTopicOf('alice').replace('616C696365', '616c696365')],
    ['its notifications under its plain id, as the .NET client does', `${RESERVED}/alice/command/notify/+`],
    ['its responses', responseTopicOf('alice')],
    ['#', '#'],
  ])('a client may subscribe to %s', async (_, filter) => {
    const { alice } = await open()
    expect(await alice.subscribe(filter)).toEqual([1])
  })

  it('a client may publish to other topics below clients/', async () => {
    const { alice, mallory } = await open()
    await alice.subscribe('clients/alice/#')
    expect(await mallory.publish('clients/alice/inbox', 'hello')).toBe(0)
    await alice.arrived(1)
    expect(alice.inbox.map(({ topic, text }) => [topic, text])).toEqual([['clients/alice/inbox', 'hello']])
  })
})
