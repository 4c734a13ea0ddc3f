import { connect, type MqttClient } from 'mqtt'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LIMIT } from '../../../src/server/broker/limits/limits.js'
import { eventually } from '../../support/eventually.js'
import { openStore } from '../../support/open-store.js'
import { TestClient } from '../../support/test-client.js'

async function connectPlain(url: string, clientId: string, options: object = {}): Promise<MqttClient> {
  const client = connect(url, { protocolVersion: 5, clientId, reconnectPeriod: 0, ...options })
  onTestFinished(async () => {
    await client.endAsync(true)
  })
  await new Promise<void>((resolve, reject) => {
    client.once('connect', () => resolve())
    client.once('error', reject)
  })
  return client
}

describe('names of JavaScript object properties', () => {
  const NAMES = ['constructor', 'toString', 'hasOwnProperty', '__proto__']

  it.each(NAMES)('are valid client ids: %s', async name => {
    const { store } = await openStore()
    const first = await connectPlain(store.url, name)
    expect(first.connected).toBe(true)
    expect(store.clientIds).toEqual([name])
    await connectPlain(store.url, 'other')
    await eventually(() => store.clientIds.length === 2)
    expect(store.clientIds).toEqual([name, 'other'])
  })

  it.each(NAMES)('are either valid topics or rejected: %s', async name => {
    const { store } = await openStore()
    for (const topics of [[name], [name, 'ordinary'], ['ordinary', name, 'other']]) {
      const client = await lazyClient(store.url)
      client.send({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: topics })
      client.send({ cmd: 'subscribe', messageId: 2, subscriptions: topics.map(topic => ({ topic, qos: 1 })) })
      client.send({ cmd: 'unsubscribe', messageId: 3, unsubscriptions: topics })
      client.send({ cmd: 'pingreq' })
      await client.until(() => client.all('pingresp').length > 0)
    }
    const observer = await connectPlain(store.url, 'observer')
    await observer.subscribeAsync('ordinary')
    expect(observer.connected).toBe(true)
  })
})

describe('a client with too many subscriptions', () => {
  it('stays connected, and its further subscriptions are rejected', async () => {
    const { store } = await openStore()
    const client = await connectPlain(store.url, 'alice')
    for (let batch = 0; batch < 10; batch++) {
      await client.subscribeAsync(
        Array.from({ length: 100 }, (_, i) => `t/${batch}/${i}`),
        { qos: 0 },
      )
    }
    await expect(client.subscribeAsync('one/more')).rejects.toThrow()
    expect(client.connected).toBe(true)
  })
})

const KEPT = { clean: false, properties: { sessionExpiryInterval: 3_600 } } as const

/** Connects a client with a session of an hour that acknowledges nothing. */
const lazyClient = async (url: string): Promise<TestClient> => TestClient.connect(url, 'lazy', KEPT)

const HOT = { topic: 'hot', qos: 1 } as const

describe('a session that was ended', () => {
  it('leaves no messages to the next session of its client id, even an immediate one', async () => {
    const { store } = await openStore()
    const first = await lazyClient(store.url)
    await first.subscribe(HOT)
    const writer = await connectPlain(store.url, 'writer')
    await Promise.all(Array.from({ length: 3_000 }, () => writer.publishAsync('hot', 'x', { qos: 1 })))
    first.send({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 0 } })
    const [second, { sessionPresent }] = await TestClient.greet(store.url, 'lazy', KEPT)
    expect(sessionPresent).toBe(false)
    expect(await second.takePublishes()).toEqual([])
  })
})

describe('a session that never acknowledges', () => {
  it('ends with reason code 151 above the queue limit, without effect on other clients', {
    timeout: 60_000,
  }, async () => {
    const { store } = await openStore()
    const lazy = await lazyClient(store.url)
    await lazy.subscribe(HOT)
    const writer = await connectPlain(store.url, 'writer')
    // Large messages reach the byte limit quickly.
    const large = Buffer.alloc(LIMIT.queuedBytes / 8)
    for (let sent = 0; sent < 10; sent++) await writer.publishAsync('hot', large, { qos: 1 })
    expect(await lazy.dismissed()).toBe(151)
    await eventually(() => !store.clientIds.includes('lazy'))
    await writer.publishAsync('other', 'x', { qos: 1 })
    expect(store.clientIds).toEqual(['writer'])
  })
})
