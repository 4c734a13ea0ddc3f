import { describe, expect, it } from 'vitest'
import { TestClient } from '../../../support/test-client.js'
import { brokerUnderTest } from './broker-under-test.js'

const broker = brokerUnderTest()
const peer = (options = {}): Promise<TestClient> => TestClient.connect(broker.url, broker.name('peer'), options)
const persistent = { clean: false, properties: { sessionExpiryInterval: 100 } } as const

describe('a retained message', () => {
  it('is sent to later subscribers with the retain flag, but only the last message of its topic [3.3.1-5, 3.3.1-9]', async () => {
    const [topic, writer, reader] = [broker.name('kept'), await peer(), await peer()]
    await writer.publish(topic, 'old', { retain: true })
    await writer.publish(topic, 'new', { retain: true, qos: 1 })
    await reader.subscribe(topic)
    expect((await reader.takePublishes()).map(({ payload, retain }) => [`${payload}`, retain])).toEqual([['new', true]])
  })

  it('is deleted by a retained message with an empty payload [3.3.1-6, 3.3.1-7]', async () => {
    const [topic, writer, reader] = [broker.name('kept'), await peer(), await peer()]
    await writer.publish(topic, 'old', { retain: true })
    await writer.publish(topic, '', { retain: true })
    await reader.subscribe(topic)
    expect(await reader.texts()).toEqual([])
  })

  it.each([
    [0, [1, 1]],
    [1, [1, 0]],
    [2, [0, 0]],
  ] as const)(
    'is sent according to retain handling %i, for new and existing subscriptions [3.3.1-9 to 3.3.1-11, 3.8.4-4]',
    async (rh, counts) => {
      const [topic, writer, reader] = [broker.name('kept'), await peer(), await peer()]
      await writer.publish(topic, 'kept', { retain: true })
      for (const count of counts) {
        await reader.subscribe({ topic, qos: 1, rh })
        expect(await reader.texts()).toHaveLength(count)
      }
    },
  )

  it('keeps the retain flag for existing subscribers only if they request it [3.3.1-12, 3.3.1-13]', async () => {
    const [topic, writer, plain, published] = [broker.name('kept'), await peer(), await peer(), await peer()]
    await plain.subscribe({ topic, qos: 1, rap: false })
    await published.subscribe({ topic, qos: 1, rap: true })
    await writer.publish(topic, 'kept', { retain: true })
    expect([(await plain.next('publish')).retain, (await published.next('publish')).retain]).toEqual([false, true])
  })

  it('is sent with the rest of its expiry interval, and is not sent after it expires [3.3.2-5, 3.3.2-6]', async () => {
    const [topic, writer] = [broker.name('brief'), await peer()]
    await writer.publish(topic, 'brief', { retain: true, properties: { messageExpiryInterval: 5 } })
    await broker.elapse(2)
    const early = await peer()
    await early.subscribe(topic)
    const { properties } = await early.next('publish')
    expect(properties?.messageExpiryInterval).toBeLessThanOrEqual(3)
    await broker.elapse(4)
    const late = await peer()
    await late.subscribe(topic)
    expect(await late.texts()).toEqual([])
  })
})

describe('a message', () => {
  it('that expires while its receiver is offline is not delivered, others have the rest [3.3.2-5]', async () => {
    const [id, writer] = [broker.name('away'), await peer()]
    const before = await TestClient.connect(broker.url, id, persistent)
    await before.subscribe(id)
    await before.disconnect()
    await writer.publish(id, 'short', { qos: 1, properties: { messageExpiryInterval: 1 } })
    await writer.publish(id, 'long', { qos: 1, properties: { messageExpiryInterval: 50 } })
    await broker.elapse(3)
    const [message, ...more] = await (await TestClient.connect(broker.url, id, persistent)).takePublishes()
    expect([message?.payload.toString(), more]).toEqual(['long', []])
    expect(message?.properties?.messageExpiryInterval).toBeLessThanOrEqual(47)
  })

  it('keeps its properties, and its user properties keep their order [3.3.2-4, 3.3.2-15 to 3.3.2-18, 3.3.2-20]', async () => {
    const [topic, writer, reader] = [broker.name('props'), await peer(), await peer()]
    await reader.subscribe(topic)
    const properties = {
      payloadFormatIndicator: true,
      contentType: 'text/plain',
      responseTopic: 'answers',
      correlationData: Buffer.from([0, 255]),
      userProperties: { a: ['1', '2'], b: '' },
    }
    await writer.publish(topic, 'x', { qos: 1, properties })
    const came = (await reader.next('publish')).properties
    expect({ ...came, userProperties: { ...came?.userProperties } }).toEqual(properties)
  })

  it('without subscribers is acknowledged with "no matching subscribers" [3.4.2.1]', async () => {
    const writer = await peer()
    expect(await writer.publish(broker.name('unheard'), 'x', { qos: 1 })).toBe(0x10)
    expect(await writer.publish(broker.name('unheard'), 'x', { qos: 2 })).toBe(0x10)
  })

  it('is also delivered to its publisher, unless the subscription has No Local [3.8.3-3]', async () => {
    const [topic, both] = [broker.name('own'), await peer()]
    await both.subscribe({ topic, qos: 1, nl: false })
    await both.publish(topic, 'heard', { qos: 1 })
    await both.subscribe({ topic, qos: 1, nl: true })
    await both.publish(topic, 'unheard', { qos: 1 })
    expect(await both.texts()).toEqual(['heard'])
  })

  it('whose topic begins with $ does not match filters that begin with a wildcard [4.7.2-1]', async () => {
    const [writer, reader] = [await peer(), await peer()]
    await reader.subscribe([
      { topic: '#', qos: 0 },
      { topic: '+/dollar', qos: 0 },
    ])
    await writer.publish('$own/dollar', 'x')
    expect((await reader.takePublishes()).filter(({ topic }) => topic === '$own/dollar')).toEqual([])
  })
})

describe('a subscription', () => {
  it('is granted the requested QoS, which messages do not exceed [3.8.4-7, 3.8.4-8]', async () => {
    const [topic, writer, reader] = [broker.name('grant'), await peer(), await peer()]
    for (const granted of [0, 1, 2] as const) {
      expect(await reader.subscribe({ topic, qos: granted })).toEqual([granted])
      for (const qos of [0, 1, 2] as const) {
        await writer.publish(topic, 'x', { qos })
        expect((await reader.next('publish')).qos).toBe(Math.min(qos, granted))
      }
    }
  })

  it('that overlaps others yields one message with all identifiers and the highest QoS [3.3.4-2 to 3.3.4-4]', async () => {
    const [topic, writer, reader] = [broker.name('many'), await peer(), await peer()]
    await reader.subscribe({ topic: `${topic}/#`, qos: 0 }, { subscriptionIdentifier: 1 })
    await reader.subscribe({ topic: `${topic}/+`, qos: 2 }, { subscriptionIdentifier: 268_435_455 })
    await reader.subscribe({ topic: `${topic}/a`, qos: 1 })
    await writer.publish(`${topic}/a`, 'x', { qos: 2 })
    const came = await reader.takePublishes()
    const identifiers = came.flatMap(({ properties }) => [properties?.subscriptionIdentifier ?? []].flat())
    expect(Math.max(...came.map(({ qos }) => qos))).toBe(2)
    expect(identifiers.sort()).toEqual([1, 268_435_455])
  })

  it('that yields a separate copy has its own identifier in that copy [3.3.4-5]', async () => {
    const [topic, writer, reader] = [broker.name('copies'), await peer(), await peer()]
    await reader.subscribe({ topic, qos: 1 }, { subscriptionIdentifier: 1 })
    await reader.subscribe({ topic: `$share/g/${topic}`, qos: 1 }, { subscriptionIdentifier: 2 })
    await writer.publish(topic, 'x', { qos: 1 })
    const came = await reader.takePublishes()
    expect(came.map(({ properties }) => properties?.subscriptionIdentifier).sort()).toEqual([1, 2])
  })

  it('is replaced by another subscription with the same filter [3.8.4-3]', async () => {
    const [topic, writer, reader] = [broker.name('again'), await peer(), await peer()]
    await reader.subscribe({ topic, qos: 2, rap: true }, { subscriptionIdentifier: 5 })
    await reader.subscribe({ topic, qos: 1, rap: false })
    await writer.publish(topic, 'x', { qos: 2, retain: true })
    await reader.next('publish')
    await writer.publish(topic, 'y', { qos: 2, retain: true })
    const [message, ...more] = await reader.takePublishes()
    expect([message?.qos, message?.retain, message?.properties?.subscriptionIdentifier, more]).toEqual([
      1,
      false,
      undefined,
      [],
    ])
  })

  it('ends with UNSUBSCRIBE, and UNSUBACK reports whether it existed [3.10.4-1, 3.10.4-2, 3.11.3]', async () => {
    const [topic, writer, reader] = [broker.name('ends'), await peer(), await peer()]
    await reader.subscribe(topic)
    expect(await reader.unsubscribe(topic, `${topic}/other`)).toEqual([0x00, 0x11])
    await writer.publish(topic, 'x', { qos: 1 })
    expect(await reader.texts()).toEqual([])
  })

  it('of a group delivers each message to one member, and delivers no retained messages [4.8.2]', async () => {
    const [topic, writer] = [broker.name('jobs'), await peer()]
    await writer.publish(topic, 'retained', { retain: true })
    const members = [await peer(), await peer(), await peer()]
    for (const member of members) await member.subscribe({ topic: `$share/g/${topic}`, qos: 1 })
    const outsider = await peer()
    await outsider.subscribe(topic)
    await outsider.texts()
    const jobs = Array.from({ length: 12 }, (_, n) => `${n}`)
    for (const job of jobs) await writer.publish(topic, job, { qos: 1 })
    const done = await Promise.all(members.map(member => member.texts()))
    expect(done.flat().sort()).toEqual([...jobs].sort())
    expect(done.filter(({ length }) => length === 0)).toEqual([])
    expect(await outsider.texts()).toEqual(jobs)
  })

  it('of a group continues with the remaining members after a member leaves [4.8.2]', async () => {
    const [topic, writer, leaver, stayer] = [broker.name('jobs'), await peer(), await peer(), await peer()]
    for (const member of [leaver, stayer]) await member.subscribe({ topic: `$share/g/${topic}`, qos: 1 })
    await leaver.disconnect()
    for (const job of ['a', 'b']) await writer.publish(topic, job, { qos: 1 })
    expect(await stayer.texts()).toEqual(['a', 'b'])
  })
})

describe('flow control', () => {
  it('limits unacknowledged messages to the receive maximum, except those with QoS 0 [3.3.4-9, 4.9.0-1, 4.9.0-2]', async () => {
    const [topic, writer, reader] = [
      broker.name('flow'),
      await peer(),
      await peer({ properties: { receiveMaximum: 2 } }),
    ]
    await reader.subscribe(topic)
    for (const n of [1, 2, 3, 4]) await writer.publish(topic, `${n}`, { qos: 1 })
    await writer.publish(topic, 'at once')
    const [first, second, third, ...more] = await reader.takePublishes()
    expect([first, second, third].map(message => `${message?.payload}`)).toEqual(['1', '2', 'at once'])
    expect(more).toEqual([])
    reader.send({ cmd: 'puback', messageId: first?.messageId ?? 0, reasonCode: 0 })
    expect(await reader.texts()).toEqual(['3'])
  })

  it('counts a message with QoS 2 until PUBCOMP [4.9.0-2]', async () => {
    const [topic, writer, reader] = [
      broker.name('flow'),
      await peer(),
      await peer({ properties: { receiveMaximum: 1 } }),
    ]
    await reader.subscribe(topic)
    for (const n of [1, 2]) await writer.publish(topic, `${n}`, { qos: 2 })
    const { messageId = 0 } = await reader.next('publish')
    reader.send({ cmd: 'pubrec', messageId, reasonCode: 0 })
    await reader.next('pubrel')
    expect(await reader.texts()).toEqual([])
    reader.send({ cmd: 'pubcomp', messageId, reasonCode: 0 })
    expect(await reader.texts()).toEqual(['2'])
  })

  it('drops a message that exceeds the maximum packet size of the client [3.1.2-24, 3.1.2-25]', async () => {
    const [topic, writer, reader] = [
      broker.name('small'),
      await peer(),
      await peer({ properties: { maximumPacketSize: 100 } }),
    ]
    await reader.subscribe(topic)
    for (const qos of [0, 1, 2] as const) await writer.publish(topic, Buffer.alloc(200, 'x'), { qos })
    await writer.publish(topic, 'fits', { qos: 1 })
    expect(await reader.texts()).toEqual(['fits'])
  })
})

describe('a topic alias', () => {
  it('of a client represents its topic until the connection ends [3.3.2-7, 3.3.2-12]', async () => {
    const [one, other, reader] = [broker.name('alias'), broker.name('alias'), await peer()]
    await reader.subscribe([
      { topic: one, qos: 0 },
      { topic: other, qos: 0 },
    ])
    const [writer, { properties }] = await TestClient.greet(broker.url, broker.name('peer'))
    expect(properties?.topicAliasMaximum).toBeGreaterThan(0)
    const alias = { properties: { topicAlias: 1 } }
    await writer.publish(one, 'set', alias)
    await writer.publish('', 'used', alias)
    await writer.publish(other, 'moved', alias)
    await writer.publish('', 'used again', alias)
    const came = (await reader.takePublishes()).map(({ topic, payload }) => [topic, `${payload}`])
    expect(came).toEqual([
      [one, 'set'],
      [one, 'used'],
      [other, 'moved'],
      [other, 'used again'],
    ])
  })

  it('of the server does not exceed the topic alias maximum of the client [3.1.2-26, 3.1.2-27, 3.3.2-11]', async () => {
    const [topic, writer, none, two] = [
      broker.name('alias'),
      await peer(),
      await peer(),
      await peer({ properties: { topicAliasMaximum: 2 } }),
    ]
    for (const reader of [none, two]) await reader.subscribe({ topic: `${topic}/#`, qos: 0 })
    const topics = ['a', 'b', 'c', 'a', 'b', 'c'].map(level => `${topic}/${level}`)
    for (const each of topics) await writer.publish(each, 'x')
    expect((await none.takePublishes()).map(each => [each.topic, each.properties?.topicAlias])).toEqual(
      topics.map(each => [each, undefined]),
    )
    const known = new Map<number, string>()
    const resolved = (await two.takePublishes()).map(({ topic: name, properties }) => {
      const alias = properties?.topicAlias
      if (alias === undefined) return name
      expect([1, 2]).toContain(alias)
      if (name !== '') known.set(alias, name)
      return known.get(alias)
    })
    expect(resolved).toEqual(topics)
  })
})
