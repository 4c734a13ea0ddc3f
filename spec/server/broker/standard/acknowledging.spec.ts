import { describe, expect, it } from 'vitest'
import { TestClient } from '../../../support/test-client.js'
import { brokerUnderTest } from './broker-under-test.js'

const broker = brokerUnderTest()
const peer = (options = {}): Promise<TestClient> => TestClient.connect(broker.url, broker.name('peer'), options)
const kept = { clean: false, properties: { sessionExpiryInterval: 100 } } as const
const QOS_2 = { nl: false, rap: false, rh: 0, qos: 2 } as const

describe('a response', () => {
  it('to CONNECT is one CONNACK, first, without session present if new [3.1.2-6, 3.1.4-5, 3.2.0-1, 3.2.0-2, 3.2.2-1]', async () => {
    const client = TestClient.to(broker.url)
    const clientId = broker.name('new')
    client.send({ cmd: 'connect', clientId, protocolId: 'MQTT', protocolVersion: 5, keepalive: 0, ...kept })
    expect(await client.next()).toMatchObject({ cmd: 'connack', reasonCode: 0, sessionPresent: false })
    client.send({ cmd: 'pingreq' })
    expect(await client.next()).toMatchObject({ cmd: 'pingresp' })
  })

  it('to a refused CONNECT lacks session present and is the last packet [3.1.4-2, 3.2.2-6, 3.2.2-7, 3.2.2-8, 3.14.0-1]', async () => {
    const [client, connack] = await TestClient.greet(broker.url, broker.name('odd'), {
      ...kept,
      properties: { sessionExpiryInterval: 100, authenticationMethod: 'none-such' },
    })
    expect(connack).toMatchObject({ reasonCode: 0x8c, sessionPresent: false })
    expect(await client.anything()).toBe('closed')
  })

  it('to PINGREQ is PINGRESP [3.12.4-1]', async () => {
    const client = await peer()
    client.send({ cmd: 'pingreq' })
    expect(await client.next()).toMatchObject({ cmd: 'pingresp' })
  })

  it('to SUBSCRIBE has the packet id of the SUBSCRIBE and a code for each filter in order [2.2.1-6, 3.8.4-1, 3.8.4-2, 3.8.4-5, 3.8.4-6, 3.9.3-1, 3.9.3-2]', async () => {
    const [client, name] = [await peer(), broker.name('many')]
    const topics = [`${name}/0`, `${name}/1`, `${name}/2`]
    const subscriptions = topics.map(
      (topic, at) => ({ ...QOS_2, topic, qos: at === 0 ? 0 : at === 1 ? 1 : 2 }) as const,
    )
    client.send({ cmd: 'subscribe', messageId: 4711, subscriptions })
    expect(await client.next('suback')).toMatchObject({ messageId: 4711, granted: [0, 1, 2] })
  })

  it('to UNSUBSCRIBE has the packet id of the UNSUBSCRIBE and a code for each filter in order [2.2.1-6, 3.10.4-4, 3.10.4-5, 3.10.4-6, 3.11.3-1, 3.11.3-2]', async () => {
    const [client, name] = [await peer(), broker.name('few')]
    await client.subscribe(`${name}/there`)
    client.send({ cmd: 'unsubscribe', messageId: 4712, unsubscriptions: [`${name}/not`, `${name}/there`] })
    expect(await client.next('unsuback')).toMatchObject({ messageId: 4712, granted: [0x11, 0] })
  })

  it('to PUBLISH has the packet id of the PUBLISH, at QoS 1 and in each step of QoS 2 [2.2.1-5, 3.3.4-1, 4.3.2-4, 4.3.3-8, 4.3.3-11]', async () => {
    const [client, topic] = [await peer(), broker.name('t')]
    const message = { cmd: 'publish', topic, payload: 'x', dup: false, retain: false } as const
    client.send({ ...message, qos: 1, messageId: 21 })
    expect(await client.next()).toMatchObject({ cmd: 'puback', messageId: 21 })
    client.send({ ...message, qos: 2, messageId: 22 })
    expect(await client.next()).toMatchObject({ cmd: 'pubrec', messageId: 22 })
    client.send({ cmd: 'pubrel', messageId: 22, reasonCode: 0 })
    expect(await client.next()).toMatchObject({ cmd: 'pubcomp', messageId: 22 })
  })
})

describe('a packet without properties', () => {
  it('has a property length of zero [2.2.2-1]', async () => {
    const client = await peer()
    const topic = broker.name('plain')
    await client.subscribe({ topic, qos: 0 })
    await client.publish(topic, 'x')
    await client.unsubscribe(topic)
    const came = (await client.first()).toString('hex')
    expect(came).toContain('9004' + '0001' + '00' + '00')
    expect(came).toContain(`${Buffer.from(topic).toString('hex')}00${Buffer.from('x').toString('hex')}`)
    expect(came).toContain('b004' + '0003' + '00' + '00')
  })
})

describe('a topic and a filter', () => {
  it('may be up to 65,535 bytes long [4.7.3-3]', async () => {
    const [writer, reader] = [await peer(), await peer()]
    const topic = broker.name('long').padEnd(65_535, 'x')
    await reader.subscribe({ topic, qos: 1 })
    await writer.publish(topic, 'x', { qos: 1 })
    expect((await reader.takePublishes()).map(each => each.topic === topic)).toEqual([true])
  })
})

describe('a message from the broker', () => {
  it('with QoS 0 has no packet id and no DUP flag [2.2.1-2, 4.3.1-1]', async () => {
    const [writer, reader, topic] = [await peer(), await peer(), broker.name('t')]
    await reader.subscribe(topic)
    await writer.publish(topic, 'x')
    const { qos, dup, messageId } = await reader.next('publish')
    expect({ qos, dup, messageId }).toEqual({ qos: 0, dup: false, messageId: undefined })
  })

  it("with QoS 1 or 2 has a unique packet id and no publisher's DUP [3.3.1-3, 4.3.2-1, 4.3.2-2, 4.3.3-1, 4.3.3-2]", async () => {
    const [writer, reader, topic] = [await peer(), await peer(), broker.name('t')]
    await reader.subscribe(topic)
    await writer.publish(topic, 'one', { qos: 1, dup: true })
    await writer.publish(topic, 'two', { qos: 2 })
    const came = await reader.takePublishes()
    expect(came.map(({ qos, dup }) => [qos, dup])).toEqual([
      [1, false],
      [2, false],
    ])
    const ids = came.map(({ messageId = 0 }) => messageId)
    expect(new Set(ids.filter(id => id > 0)).size).toBe(2)
  })

  it('with QoS 1 is not retransmitted after an acknowledgement, even with an error [4.3.2-3, 4.4.0-2]', async () => {
    const [writer, id] = [await peer(), broker.name('taker')]
    const reader = await TestClient.connect(broker.url, id, kept)
    await reader.subscribe(`${id}/t`)
    await writer.publish(`${id}/t`, 'taken', { qos: 1 })
    await writer.publish(`${id}/t`, 'refused', { qos: 1 })
    const [taken, refused] = await reader.takePublishes()
    reader.send({ cmd: 'puback', messageId: taken?.messageId ?? 0, reasonCode: 0 })
    reader.send({ cmd: 'puback', messageId: refused?.messageId ?? 0, reasonCode: 0x80 })
    await reader.disconnect(0, 100)
    expect(await (await TestClient.connect(broker.url, id, kept)).texts()).toEqual([])
  })

  it('with QoS 2 is followed by PUBREL with its packet id, and PUBCOMP [3.6.1-1, 4.3.3-3, 4.3.3-4, 4.3.3-5]', async () => {
    const [writer, id] = [await peer(), broker.name('exact')]
    const reader = await TestClient.connect(broker.url, id, kept)
    await reader.subscribe(`${id}/t`)
    await writer.publish(`${id}/t`, 'x', { qos: 2 })
    const { messageId = 0 } = await reader.next('publish')
    reader.send({ cmd: 'pubrec', messageId, reasonCode: 0 })
    expect(await reader.next()).toMatchObject({ cmd: 'pubrel', messageId })
    reader.send({ cmd: 'pubcomp', messageId, reasonCode: 0 })
    await reader.disconnect(0, 100)
    expect(await (await TestClient.connect(broker.url, id, kept)).texts()).toEqual([])
  })

  it('arrives in the order in which its publisher sent it, even with unacknowledged messages [4.2-1, 4.6.0-5, 4.6.0-6, 4.9.0-3, 3.3.4-10]', async () => {
    const [writer, topic] = [await peer(), broker.name('t')]
    const reader = await peer({ properties: { receiveMaximum: 2 } })
    await reader.subscribe(topic)
    for (const text of ['a', 'b', 'c', 'd']) await writer.publish(topic, text, { qos: 1 })
    const first = await reader.came('publish', 2)
    expect(first.map(({ payload }) => `${payload}`)).toEqual(['a', 'b'])
    reader.send({ cmd: 'pingreq' })
    await reader.next('pingresp')
    reader.packets.length = 0
    reader.acknowledge(...first)
    const rest = await reader.came('publish', 2)
    expect(rest.map(({ payload }) => `${payload}`)).toEqual(['c', 'd'])
  })

  it('has a topic that matches the filter, with every character as published [3.3.2-3, 4.7.3-4]', async () => {
    const [writer, reader, name] = [await peer(), await peer(), broker.name('t')]
    await reader.subscribe(`${name}/+`)
    for (const topic of [`${name}/Å`, `${name}/A\u030a`, `${name}/a/b`, `other/${name}`])
      await writer.publish(topic, 'x')
    expect((await reader.takePublishes()).map(({ topic }) => topic)).toEqual([`${name}/Å`, `${name}/A\u030a`])
  })
})

describe('a retained message', () => {
  it('is kept when a message without the retain flag follows [3.3.1-8]', async () => {
    const [writer, reader, topic] = [await peer(), await peer(), broker.name('kept')]
    await writer.publish(topic, 'kept', { retain: true, qos: 1 })
    await writer.publish(topic, 'passing', { qos: 1 })
    await reader.subscribe(topic)
    expect(await reader.texts()).toEqual(['kept'])
  })
})
