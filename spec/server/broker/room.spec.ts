import { describe, expect, it } from 'vitest'
import { openBroker } from '../../support/open-broker.js'
import { TestClient } from '../../support/test-client.js'

const urlOf = ({ port }: { readonly port: number }): string => `mqtt://127.0.0.1:${port}`
const LARGE = 'x'.repeat(60_000)
const SMALL_BUDGET = 300_000

describe('a large CONNECT', () => {
  const properties = { userProperties: { a: LARGE } }

  it('is charged to the memory budget until its connection ends', async () => {
    const broker = await openBroker()
    const peer = await TestClient.connect(urlOf(broker), 'large', { properties })
    expect(broker.stats.bufferedBytes).toBeGreaterThan(LARGE.length)
    await peer.disconnect()
    await peer.closed
    expect(broker.stats.bufferedBytes).toBe(0)
  })

  it('is rejected when the memory budget is exhausted', async () => {
    const broker = await openBroker({ memoryBudget: SMALL_BUDGET })
    await TestClient.connect(urlOf(broker), 'first', { properties })
    const [, { reasonCode }] = await TestClient.greet(urlOf(broker), 'second', { properties })
    expect(reasonCode).toBe(0x97)
    await TestClient.connect(urlOf(broker), 'small')
  })
})

describe('a PUBLISH that exceeds the memory budget', () => {
  it('is not acknowledged over MQTT 3.1.1, because an acknowledgement would confirm the message', async () => {
    const broker = await openBroker({ memoryBudget: 1_000 })
    const peer = await TestClient.connect(urlOf(broker), 'old', { protocolVersion: 4 })
    const payload = 'x'.repeat(2_000)
    peer.send({ cmd: 'publish', topic: 'a', payload, qos: 1, messageId: 1, retain: true, dup: false })
    await peer.closed
    expect(peer.packets).toEqual([])
  })
})

describe('DISCONNECT', () => {
  it('is processed while many messages are unacknowledged, and discards the will', async () => {
    const broker = await openBroker()
    const observer = await TestClient.connect(urlOf(broker), 'observer')
    await observer.subscribe('will')
    const will = { topic: 'will', payload: Buffer.from('gone'), qos: 1, retain: false } as const
    const peer = await TestClient.connect(urlOf(broker), 'slow', { will, properties: { receiveMaximum: 1 } })
    await peer.subscribe('a')
    const writer = await TestClient.connect(urlOf(broker), 'writer')
    for (let id = 1; id <= 6_000; id++)
      writer.send({ cmd: 'publish', topic: 'a', payload: 'x', qos: 1, messageId: id, retain: false, dup: false })
    await writer.settled()
    // The client does not close its side of the connection.
    peer.send({ cmd: 'disconnect', reasonCode: 0 })
    await peer.closed
    await observer.settled()
    expect(observer.publishes).toEqual([])
  })
})
