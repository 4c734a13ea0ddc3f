import { describe, expect, it } from 'vitest'
import type { StoreServer } from '../../../src/server/index.js'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'
import { INVOKE_TOPIC, responseTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'

const NOW = '1696374425000:0:CLIENT'
const PERSISTENT = { clean: false, properties: { sessionExpiryInterval: 60 } }
const MQTT_3_1_1 = { protocolVersion: 4 } as const

const textsOf = (client: StoreClient): string[] => client.inbox.map(({ text }) => text)

/** Ends a client without DISCONNECT, so that the broker publishes its last will. */
async function disconnectAbruptly(client: StoreClient): Promise<void> {
  await client.cut()
}

async function read(store: StoreServer, key: string): Promise<string> {
  const reader = await StoreClient.ready(store.url, 'reader')
  const { text } = await reader.request(command(`GET ${key}`))
  await reader.disconnect()
  return text
}

describe('the broker of a store', () => {
  it.each([0, 1, 2] as const)('delivers messages with QoS %i over TCP and WebSocket in order', async qos => {
    const { store } = await openStore()
    const [tcp, ws] = [await StoreClient.connect(store.url, 'tcp'), await StoreClient.connect(store.wsUrl, 'ws')]
    for (const client of [tcp, ws]) await client.subscribe({ topic: 'from/+', qos })
    const numbers = Array.from({ length: 20 }, (_, i) => String(i))
    for (const number of numbers) {
      for (const client of [tcp, ws]) await client.publish(`from/${client.id}`, number, { qos })
    }
    for (const client of [tcp, ws]) {
      await client.arrived(40)
      for (const from of ['from/tcp', 'from/ws']) {
        expect(client.inbox.filter(({ topic }) => topic === from).map(({ text }) => text)).toEqual(numbers)
      }
      expect(client.inbox.every(({ packet }) => packet.qos === qos)).toBe(true)
    }
  })

  it('loses neither messages nor responses when both arrive together', async () => {
    const { store } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    await alice.subscribe('noise/+')
    const publishers = [await StoreClient.connect(store.url, 'zero'), await StoreClient.connect(store.url, 'one')]
    const noise = publishers.flatMap((publisher, qos) =>
      Array.from({ length: 200 }, async () =>
        publisher.publish(`noise/${publisher.id}`, 'x', { qos: qos === 0 ? 0 : 1 }),
      ),
    )
    const requests = Array.from({ length: 200 }, async () => alice.request(command('SET k v'), { timestamp: NOW }))
    await Promise.all([...noise, ...requests])
    await alice.arrived(400)
    const counts = ['noise/zero', 'noise/one'].map(topic => alice.inbox.filter(one => one.topic === topic).length)
    expect(counts).toEqual([200, 200])
  })
})

describe('MQTT 3.1.1 clients', () => {
  it('cannot send requests, and their attempts are not forwarded', async () => {
    const { store } = await openStore()
    const old = await StoreClient.connect(store.url, 'old', MQTT_3_1_1)
    const modern = await StoreClient.ready(store.url, 'modern')
    await modern.subscribe('#')
    old.publish(INVOKE_TOPIC, command('SET key value')).catch(() => undefined)
    await old.closed
    await modern.settled()
    expect([textsOf(modern), store.stats.keys]).toEqual([[], 0])
  })
})

describe('a request of a disconnected client', () => {
  it('is answered when its session resumes, even if the connection broke right after the request', async () => {
    const { store } = await openStore()
    const before = await StoreClient.ready(store.url, 'alice', PERSISTENT)
    const watching = store.requests$.subscribe(({ clientId }) => store.cut(clientId))
    before
      .sendRequest(command('SET key value'), { timestamp: NOW, correlationData: Buffer.from('7') })
      .catch(() => undefined)
    await before.closed
    watching.unsubscribe()
    const after = await StoreClient.connect(store.url, 'alice', PERSISTENT)
    const [response] = await after.arrived(1)
    expect([response?.topic, response?.text]).toEqual([responseTopicOf('alice'), '+OK\r\n'])
    expect(response?.packet.properties?.correlationData).toEqual(Buffer.from('7'))
    expect(response?.property('__stat')).toBe('200')
    await after.settled()
    expect(after.inbox).toHaveLength(1)
  })

  it('is executed if the request is its last will', async () => {
    const { store } = await openStore()
    const subscriber = await StoreClient.ready(store.url, 'heir')
    await subscriber.request(command('KEYNOTIFY key'))
    const request = {
      topic: INVOKE_TOPIC,
      payload: command('SET key value'),
      qos: 1,
      retain: false,
      properties: {
        responseTopic: responseTopicOf('dying'),
        correlationData: Buffer.from('7'),
        userProperties: { __ts: NOW },
      },
    } as const
    await disconnectAbruptly(await StoreClient.connect(store.url, 'dying', { will: request }))
    expect((await subscriber.arrived(1)).map(({ text }) => text)).toEqual([
      '*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$5\r\nvalue\r\n',
    ])
    expect(await read(store, 'key')).toBe('$5\r\nvalue\r\n')
  })

  it('registers no watch if the request is its last will', async () => {
    const { store } = await openStore()
    const subscriber = await StoreClient.connect(store.url, 'heir')
    await subscriber.subscribe('answers')
    const request = {
      topic: INVOKE_TOPIC,
      payload: command('KEYNOTIFY key'),
      qos: 1,
      retain: false,
      properties: { responseTopic: 'answers', correlationData: Buffer.from('7') },
    } as const
    await disconnectAbruptly(await StoreClient.connect(store.url, 'dying', { will: request }))
    expect((await subscriber.arrived(1)).map(({ text }) => text)).toEqual(['+OK\r\n'])
    expect(store.stats.watches).toBe(0)
  })
})
