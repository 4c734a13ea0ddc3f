import { describe, expect, it } from 'vitest'
import { TestClient } from '../../../support/test-client.js'
import { brokerUnderTest } from './broker-under-test.js'

const broker = brokerUnderTest()
const peer = (options = {}): Promise<TestClient> => TestClient.connect(broker.url, broker.name('peer'), options)

describe('CONNECT', () => {
  it.each(['0', 'abcdefghijklmnopqrstuvw', 'XYZ0123456789ABCDEFGHIJ'])(
    'accepts any client id of 1 to 23 letters and digits: %s [3.1.3-5]',
    async id => {
      expect((await TestClient.greet(broker.url, id))[1].reasonCode).toBe(0)
    },
  )

  it('without an authentication method receives no method in CONNACK and no AUTH [4.12.0-6]', async () => {
    const client = TestClient.to(broker.url)
    const clientId = broker.name('plain')
    client.send({ cmd: 'connect', clientId, protocolId: 'MQTT', protocolVersion: 5, clean: true, keepalive: 0 })
    const answer = await client.next()
    expect(answer.cmd).toBe('connack')
    expect(answer).not.toHaveProperty('properties.authenticationMethod')
  })

  it('with a will has the user properties of the will published in order [3.1.3-10]', async () => {
    const [topic, reader] = [broker.name('will'), await peer()]
    await reader.subscribe(topic)
    const userProperties = { b: ['2', '1'], a: '3' }
    const will = { topic, payload: Buffer.from('gone'), qos: 1, retain: false, properties: { userProperties } } as const
    await (await peer({ will })).cut()
    const received = (await reader.next('publish')).properties?.userProperties
    expect(Object.entries({ ...received })).toEqual(Object.entries(userProperties))
  })
})

describe('a DISCONNECT of the broker', () => {
  it('has no session expiry interval, is the last packet and ends the connection [3.14.2-2, 3.14.4-1, 3.14.4-2]', async () => {
    const [id, writer] = [broker.name('taken'), await peer()]
    const first = await TestClient.connect(broker.url, id)
    await first.subscribe(`${id}/t`)
    await TestClient.connect(broker.url, id)
    await writer.publish(`${id}/t`, 'late', { qos: 1 })
    const last = await first.next()
    expect(last).toMatchObject({ cmd: 'disconnect', reasonCode: 0x8e })
    expect(last).not.toHaveProperty('properties.sessionExpiryInterval')
    expect(await first.anything()).toBe('closed')
  })
})

describe('UNSUBSCRIBE', () => {
  it('does not abort unacknowledged QoS 2 messages [3.10.4-3]', async () => {
    const [writer, reader, topic] = [await peer(), await peer(), broker.name('t')]
    await reader.subscribe(topic)
    await writer.publish(topic, 'x', { qos: 2 })
    const { messageId = 0 } = await reader.next('publish')
    await reader.unsubscribe(topic)
    reader.send({ cmd: 'pubrec', messageId, reasonCode: 0 })
    expect(await reader.next()).toMatchObject({ cmd: 'pubrel', messageId })
  })
})

describe('a packet id that was released', () => {
  it.each([1, 2] as const)(
    'may be reused for another message of QoS %i, regardless of the DUP flag [4.3.2-5, 4.3.3-12]',
    async qos => {
      const [writer, reader, topic] = [await peer(), await peer(), broker.name('t')]
      await reader.subscribe({ topic, qos: 0 })
      await writer.publish(topic, 'one', { qos, messageId: 5 })
      await writer.publish(topic, 'two', { qos, messageId: 5, dup: true })
      expect(await reader.texts()).toEqual(['one', 'two'])
    },
  )
})

describe('a shared subscription', () => {
  it('delivers with at most the QoS granted to the receiving member [4.8.2-3]', async () => {
    const [writer, member, topic] = [await peer(), await peer(), broker.name('t')]
    await member.subscribe({ topic: `$share/group/${topic}`, qos: 0 })
    await writer.publish(topic, 'x', { qos: 2 })
    expect((await member.takePublishes()).map(({ qos }) => qos)).toEqual([0])
  })

  it('completes a QoS 2 message with the same member after the member reconnects [4.8.2-4]', async () => {
    const [writer, topic] = [await peer(), broker.name('t')]
    const kept = { clean: false, properties: { sessionExpiryInterval: 100 } } as const
    const ids = [broker.name('member'), broker.name('member')]
    const members = await Promise.all(ids.map(id => TestClient.connect(broker.url, id, kept)))
    for (const member of members) await member.subscribe({ topic: `$share/group/${topic}`, qos: 2 })
    await writer.publish(topic, 'x', { qos: 2 })
    const received = await Promise.all(members.map(member => member.takePublishes()))
    expect(received.flat()).toHaveLength(1)
    const chosen = received.findIndex(({ length }) => length === 1)
    await members[chosen]?.cut()
    expect(await members[1 - chosen]?.texts()).toEqual([])
    const back = await TestClient.connect(broker.url, ids[chosen] ?? '', kept)
    const { payload, messageId = 0, dup } = await back.next('publish')
    expect([`${payload}`, messageId, dup]).toEqual(['x', received[chosen]?.[0]?.messageId, true])
    back.send({ cmd: 'pubrec', messageId, reasonCode: 0 })
    await back.next('pubrel')
    back.send({ cmd: 'pubcomp', messageId, reasonCode: 0 })
    expect([await back.texts(), await members[1 - chosen]?.texts()]).toEqual([[], []])
  })

  it('does not pass to another member after the first member rejected it [4.8.2-6]', async () => {
    const [writer, one, other, topic] = [await peer(), await peer(), await peer(), broker.name('t')]
    for (const member of [one, other]) await member.subscribe({ topic: `$share/group/${topic}`, qos: 1 })
    await writer.publish(topic, 'x', { qos: 1 })
    const [atOne, atOther] = [await one.takePublishes(), await other.takePublishes()]
    expect(atOne.length + atOther.length).toBe(1)
    const [taker, message] = atOne[0] ? [one, atOne[0]] : [other, atOther[0]]
    taker.send({ cmd: 'puback', messageId: message?.messageId ?? 0, reasonCode: 0x80 })
    await taker.end()
    expect([await one.texts().catch(() => []), await other.texts().catch(() => [])].flat()).toEqual([])
  })
})
