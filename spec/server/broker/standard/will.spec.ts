import { describe, expect, it } from 'vitest'
import { TestClient } from '../../../support/test-client.js'
import { brokerUnderTest } from './broker-under-test.js'

const broker = brokerUnderTest()

interface Scene {
  readonly id: string
  readonly owner: TestClient
  readonly reader: TestClient
}

/** Connects a client that has a will, and a subscriber to the topic of the will. */
async function scene({
  delay,
  expiry,
  retain = false,
}: {
  delay?: number
  expiry?: number
  retain?: boolean
} = {}): Promise<Scene> {
  const id = broker.name('mortal')
  const reader = await TestClient.connect(broker.url, broker.name('heir'))
  await reader.subscribe({ topic: id, qos: 1 })
  const owner = await TestClient.connect(broker.url, id, {
    ...(expiry === undefined ? {} : { clean: false, properties: { sessionExpiryInterval: expiry } }),
    will: {
      topic: id,
      payload: 'last',
      qos: 1,
      retain,
      properties: {
        ...(delay === undefined ? {} : { willDelayInterval: delay }),
        contentType: 'text/plain',
        userProperties: { of: id },
      },
    },
  })
  return { id, owner, reader }
}

describe('a will', () => {
  it('is published when the connection ends without DISCONNECT, without the delay [3.1.2-7, 3.1.2-8]', async () => {
    const { id, owner, reader } = await scene()
    await owner.end()
    const { payload, qos, retain, properties } = await reader.next('publish')
    expect([payload.toString(), qos, retain]).toEqual(['last', 1, false])
    expect(properties?.contentType).toBe('text/plain')
    expect({ ...properties?.userProperties }).toEqual({ of: id })
    expect(properties).not.toHaveProperty('willDelayInterval')
  })

  it('is not published after DISCONNECT 0x00 [3.1.2-10, 3.14.4-3]', async () => {
    const { owner, reader } = await scene()
    await owner.disconnect()
    await broker.elapse(1)
    expect(await reader.texts()).toEqual([])
  })

  it('is published after DISCONNECT 0x04 [3.14.2.1]', async () => {
    const { owner, reader } = await scene()
    await owner.disconnect(4)
    expect((await reader.next('publish')).payload.toString()).toBe('last')
  })

  it('is published after a protocol error of the client [3.1.2.5]', async () => {
    const { owner, reader } = await scene()
    owner.send(Buffer.from([0x00, 0x00]))
    expect((await reader.next('publish')).payload.toString()).toBe('last')
  })

  it('is published after a keep-alive timeout [3.1.2.5]', async () => {
    const id = broker.name('sleeper')
    const reader = await TestClient.connect(broker.url, broker.name('heir'))
    await reader.subscribe(id)
    await TestClient.connect(broker.url, id, { keepalive: 1, will: { topic: id, payload: 'overslept' } })
    await broker.elapse(3)
    expect((await reader.next('publish')).payload.toString()).toBe('overslept')
  })

  it('is retained if it has the retain flag [3.1.2-15]', async () => {
    const { id, owner, reader } = await scene({ retain: true })
    await owner.end()
    await reader.next('publish')
    const late = await TestClient.connect(broker.url, broker.name('late'))
    await late.subscribe(id)
    expect((await late.takePublishes()).map(({ retain, payload }) => [retain, payload.toString()])).toEqual([
      [true, 'last'],
    ])
  })

  it('is published after its delay [3.1.3.2.2]', async () => {
    const { owner, reader } = await scene({ delay: 3, expiry: 100 })
    await owner.end()
    await broker.elapse(1)
    expect(await reader.texts()).toEqual([])
    await broker.elapse(3)
    expect((await reader.next('publish')).payload.toString()).toBe('last')
  })

  it('is published when the session ends before the delay has elapsed [3.1.3.2.2]', async () => {
    const { owner, reader } = await scene({ delay: 100, expiry: 1 })
    await owner.end()
    await broker.elapse(2)
    expect((await reader.next('publish')).payload.toString()).toBe('last')
  })

  it('is not published when the client reconnects before the delay ends [3.1.3-9]', async () => {
    const { id, owner, reader } = await scene({ delay: 2, expiry: 100 })
    await owner.end()
    await TestClient.connect(broker.url, id, { clean: false, properties: { sessionExpiryInterval: 100 } })
    await broker.elapse(4)
    expect(await reader.texts()).toEqual([])
  })

  it('is published when a clean start ends its session during the delay [3.1.4-4]', async () => {
    const { id, owner, reader } = await scene({ delay: 100, expiry: 100 })
    await owner.end()
    await TestClient.connect(broker.url, id, { clean: true })
    expect((await reader.next('publish')).payload.toString()).toBe('last')
  })

  it('without delay is published on a session takeover [3.1.4]', async () => {
    const { id, owner, reader } = await scene({ expiry: 100 })
    await TestClient.connect(broker.url, id, { clean: false, properties: { sessionExpiryInterval: 100 } })
    expect(await owner.dismissed()).toBe(0x8e)
    expect((await reader.next('publish')).payload.toString()).toBe('last')
  })

  it('with a delay is not published on a takeover that resumes the session [3.1.3-9]', async () => {
    const { id, reader } = await scene({ delay: 2, expiry: 100 })
    await TestClient.connect(broker.url, id, { clean: false, properties: { sessionExpiryInterval: 100 } })
    await broker.elapse(4)
    expect(await reader.texts()).toEqual([])
  })

  it("is not delivered to the client that left it if the client's subscription has No Local [3.8.3-3]", async () => {
    const id = broker.name('own')
    const kept = { clean: false, properties: { sessionExpiryInterval: 100 } } as const
    const owner = await TestClient.connect(broker.url, id, { ...kept, will: { topic: id, payload: 'last', qos: 1 } })
    await owner.subscribe({ topic: id, qos: 1, nl: true })
    await owner.end()
    const again = await TestClient.connect(broker.url, id, kept)
    expect(await again.texts()).toEqual([])
  })

  it('of an MQTT 3.1.1 client is published when the connection ends without DISCONNECT', async () => {
    const id = broker.name('old')
    const reader = await TestClient.connect(broker.url, broker.name('heir'))
    await reader.subscribe(id)
    const owner = await TestClient.connect(broker.url, id, {
      protocolVersion: 4,
      will: { topic: id, payload: 'old last' },
    })
    await owner.end()
    expect((await reader.next('publish')).payload.toString()).toBe('old last')
  })
})
