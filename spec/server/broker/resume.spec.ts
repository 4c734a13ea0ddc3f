import type { IConnectPacket } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { openStore } from '../../support/open-store.js'
import { requestPacket } from '../../support/packets.js'
import { StoreClient } from '../../support/store-client.js'
import { TestClient } from '../../support/test-client.js'
import { notificationTopicOf, responseTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'

const NOW = '1696374425000:0:CLIENT'
const PERSISTENT: Partial<IConnectPacket> = {
  clean: false,
  properties: { sessionExpiryInterval: 60, receiveMaximum: 1 },
}

async function acknowledgeAll(client: TestClient): Promise<void> {
  const acknowledged = new Set<number>()
  await eventually(() => {
    for (const [at, publish] of client.publishes.entries()) {
      if (acknowledged.has(at)) continue
      acknowledged.add(at)
      client.acknowledge(publish)
    }
    return client.publishes.some(({ topic }) => topic === responseTopicOf('alice'))
  })
}

describe('a resumed session', () => {
  it('processes acknowledgements and requests during a large retransmission of QoS 2 messages', async () => {
    const { store } = await openStore()
    const before = await TestClient.connect(store.url, 'alice', {
      ...PERSISTENT,
      properties: { sessionExpiryInterval: 60 },
    })
    await before.subscribe('news')
    await before.subscribe(notificationTopicOf('alice'))
    await before.subscribe(responseTopicOf('alice'))
    before.send(requestPacket('alice', command('KEYNOTIFY k'), 1))
    before.acknowledge(...(await before.came('publish')))
    await before.settled()
    const writer = await StoreClient.ready(store.url, 'writer')
    for (const value of ['a', 'b', 'c', 'd', 'e']) await writer.request(command(`SET k ${value}`), { timestamp: NOW })
    await before.came('publish', 6)
    await before.cut()
    await eventually(() => !store.clientIds.includes('alice'))
    for (let i = 0; i < 300; i++) await writer.publish('news', `${i}`)
    const after = await TestClient.connect(store.url, 'alice', PERSISTENT)
    after.send(requestPacket('alice', command('GET k'), 7))
    await acknowledgeAll(after)
    const told = after.publishes.filter(({ topic }) => topic === notificationTopicOf('alice', 'k'))
    expect(told).toHaveLength(5)
  })
})
