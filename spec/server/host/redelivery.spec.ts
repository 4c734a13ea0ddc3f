import type { IConnectPacket, IPublishPacket } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import type { StoreServer } from '../../../src/server/index.js'
import { eventually } from '../../support/eventually.js'
import { openStore } from '../../support/open-store.js'
import { requestPacket } from '../../support/packets.js'
import { StoreClient } from '../../support/store-client.js'
import { TestClient } from '../../support/test-client.js'
import { notificationTopicOf, responseTopicOf } from '../../support/topics.js'
import { command, textOf } from '../../support/words.js'

const NOW = '1696374425000:0:CLIENT'
const PERSISTENT: Partial<IConnectPacket> = { clean: false, properties: { sessionExpiryInterval: 60 } }

/** Connects a client that watches `k` and has acknowledged all messages. */
async function connectWatcher(store: StoreServer, options: Partial<IConnectPacket> = PERSISTENT): Promise<TestClient> {
  const client = await TestClient.connect(store.url, 'alice', options)
  await client.subscribe(notificationTopicOf('alice'))
  await client.subscribe(responseTopicOf('alice'))
  client.send(requestPacket('alice', command('KEYNOTIFY k'), 1))
  await client.came('publish')
  client.acknowledge(...client.publishes.splice(0))
  await client.settled()
  client.packets.length = 0
  return client
}

/** Sets `k` to each value and waits for all responses. */
async function write(store: StoreServer, ...values: string[]): Promise<void> {
  const writer = await StoreClient.ready(store.url, 'writer')
  for (const value of values) await writer.request(command(`SET k ${value}`), { timestamp: NOW })
  await writer.disconnect()
}

const writtenValue = ({ payload }: IPublishPacket): string | undefined =>
  textOf(Buffer.from(payload)).split('\r\n').at(-2)
const valuesOf = (client: TestClient): (string | undefined)[] => client.publishes.map(writtenValue)
const awaitDisconnect = async (store: StoreServer): Promise<void> =>
  eventually(() => !store.clientIds.includes('alice'))

/** Connects the client again. Resolves when the client has received everything that the store sends at once. */
async function reconnect(store: StoreServer): Promise<TestClient> {
  const client = await TestClient.connect(store.url, 'alice', PERSISTENT)
  await client.settled()
  return client
}

describe('an unacknowledged message', () => {
  it('is redelivered on reconnect, in order, with DUP and before newer messages', async () => {
    const { store } = await openStore()
    const before = await connectWatcher(store)
    await write(store, 'a', 'b', 'c', 'd')
    const first = await before.came('publish', 4)
    before.acknowledge(...first.slice(1, 2))
    await before.settled()
    await before.cut()
    await awaitDisconnect(store)
    const after = await TestClient.connect(store.url, 'alice', PERSISTENT)
    after.send(requestPacket('alice', command('GET k'), 1))
    const again = await after.came('publish', 4)
    expect(valuesOf(after)).toEqual(['a', 'c', 'd', 'd'])
    expect(again.map(({ dup }) => dup)).toEqual([true, true, true, false])
    expect(again.slice(0, 3).map(({ messageId }) => messageId)).toEqual([0, 2, 3].map(i => first[i]?.messageId))
    expect(again.slice(0, 3).map(({ topic }) => topic)).toEqual(Array(3).fill(notificationTopicOf('alice', 'k')))
    after.acknowledge(...again)
    await after.settled()
    await after.cut()
    await awaitDisconnect(store)
    expect((await reconnect(store)).publishes).toEqual([])
  })

  it('an unacknowledged response or notification is redelivered', async () => {
    const { store } = await openStore()
    const before = await connectWatcher(store)
    before.send(requestPacket('alice', command('SET k v'), 7, { userProperties: { __ts: NOW } }))
    await before.came('publish', 2)
    await before.cut()
    await awaitDisconnect(store)
    const after = await TestClient.connect(store.url, 'alice', PERSISTENT)
    const again = await after.came('publish', 2)
    expect(again.map(({ topic }) => topic)).toEqual([responseTopicOf('alice'), notificationTopicOf('alice', 'k')])
    expect(again[0]?.properties?.correlationData).toEqual(Buffer.from('7'))
    expect(again.map(({ properties }) => properties?.userProperties)).toEqual(
      before.publishes.map(({ properties }) => properties?.userProperties),
    )
  })
})

describe('packet ids', () => {
  it('are unique among messages of the store and of clients, even in a resumed session', async () => {
    const { store } = await openStore()
    const before = await connectWatcher(store)
    await before.subscribe('news')
    const other = await StoreClient.connect(store.url, 'other')
    for (let round = 0; round < 30; round++) {
      await write(store, `${round}`)
      await other.publish('news', `${round}`)
    }
    const first = await before.came('publish', 60)
    await before.cut()
    await awaitDisconnect(store)
    const after = await TestClient.connect(store.url, 'alice', PERSISTENT)
    await write(store, 'not watched any more')
    await other.publish('news', 'more')
    const again = await after.came('publish', 61)
    const idsOf = (packets: IPublishPacket[]) => packets.map(({ messageId }) => messageId)
    for (const packets of [first, again]) expect(new Set(idsOf(packets)).size).toBe(packets.length)
    expect(idsOf(again.slice(0, 60))).toEqual(idsOf(first))
    expect(again.slice(0, 60).map(({ topic, payload }) => [topic, payload])).toEqual(
      first.map(({ topic, payload }) => [topic, payload]),
    )
  })

  it('are reused after any form of acknowledgement', async () => {
    const { store } = await openStore()
    const client = await connectWatcher(store)
    const forms = (id: number): Buffer[] => [
      Buffer.from([0x40, 2, id >> 8, id & 255]),
      Buffer.from([0x40, 3, id >> 8, id & 255, 0]),
      Buffer.from([0x40, 4, id >> 8, id & 255, 0, 0]),
      Buffer.from([0x40, 4, id >> 8, id & 255, 0x10, 0]),
      Buffer.from([0x40, 11, id >> 8, id & 255, 0x80, 7, 0x26, 0, 1, 0x61, 0, 1, 0x62]),
      Buffer.from([0x40, 8, id >> 8, id & 255, 0x97, 4, 0x1f, 0, 1, 0x61]),
    ]
    for (let form = 0; form < forms(0).length; form++) {
      await write(store, `${form}`)
      const [publish] = await client.came('publish', 1)
      client.socket.write(forms(publish?.messageId ?? 0)[form] ?? '')
      await client.settled()
      client.packets.length = 0
    }
    await client.cut()
    await awaitDisconnect(store)
    expect((await reconnect(store)).publishes).toEqual([])
  })
})

describe("a client's receive maximum", () => {
  it('delays the next message until an earlier message is acknowledged', async () => {
    const { store } = await openStore()
    const properties = { sessionExpiryInterval: 60, receiveMaximum: 3 }
    const client = await connectWatcher(store, { clean: false, properties })
    await write(store, 'a', 'b', 'c', 'd', 'e')
    await client.came('publish', 3)
    await client.settled()
    expect(valuesOf(client)).toEqual(['a', 'b', 'c'])
    client.acknowledge(...client.publishes.slice(0, 1))
    await client.came('publish', 4)
    await client.settled()
    expect(valuesOf(client)).toEqual(['a', 'b', 'c', 'd'])
    await client.cut()
    await awaitDisconnect(store)
    const after = await TestClient.connect(store.url, 'alice', { clean: false, properties })
    await after.came('publish', 3)
    await after.settled()
    expect(after.publishes.map(publish => [writtenValue(publish), publish.dup])).toEqual([
      ['b', true],
      ['c', true],
      ['d', true],
    ])
    after.acknowledge(...after.publishes)
    await after.came('publish', 4)
    expect([valuesOf(after).at(-1), after.publishes.at(-1)?.dup]).toEqual(['e', false])
  })
})
