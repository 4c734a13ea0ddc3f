import { describe, expect, it } from 'vitest'
import { connect, PROPERTY, properties } from '../../../support/packets.js'
import { TestClient } from '../../../support/test-client.js'
import { brokerUnderTest } from './broker-under-test.js'

const broker = brokerUnderTest()
const persistent = { clean: false, properties: { sessionExpiryInterval: 100 } } as const

/** Creates the session of an offline client with a QoS 2 subscription to all topics below its client id. */
async function createOfflineSession(options: Parameters<typeof TestClient.connect>[2] = persistent): Promise<string> {
  const id = broker.name('away')
  const peer = await TestClient.connect(broker.url, id, options)
  await peer.subscribe(`${id}/#`)
  await peer.disconnect()
  return id
}

describe('CONNACK', () => {
  it('assigns a client id only to a client that has none [3.2.2.3.7]', async () => {
    const [, anonymous] = await TestClient.greet(broker.url, '')
    const [, named] = await TestClient.greet(broker.url, broker.name('named'))
    expect(anonymous.properties?.assignedClientIdentifier).toMatch(/./)
    expect(named.properties?.assignedClientIdentifier).toBeUndefined()
  })

  it('assigns each client a unique id, with which it can resume its session [3.2.2-16]', async () => {
    const connectPacket = connect('', { clean: false, properties: properties(PROPERTY.sessionExpiry(100)) })
    const connectWithoutId = async (): Promise<[TestClient, string]> => {
      const peer = TestClient.to(broker.url)
      peer.send(connectPacket)
      return [peer, (await peer.next('connack')).properties?.assignedClientIdentifier ?? '']
    }
    const [[first, name], [, other]] = [await connectWithoutId(), await connectWithoutId()]
    expect(other).not.toBe(name)
    await first.disconnect()
    const [, again] = await TestClient.greet(broker.url, name, persistent)
    expect(again.sessionPresent).toBe(true)
  })

  it('accepts an MQTT 3.1.1 client without an id if it requests a clean session [3.1.3-6]', async () => {
    const [, { returnCode }] = await TestClient.greet(broker.url, '', { protocolVersion: 4 })
    expect(returnCode).toBe(0)
  })

  it('contains response information only on request [3.1.2-28]', async () => {
    const [, connack] = await TestClient.greet(broker.url, broker.name('asks'), {
      properties: { requestResponseInformation: false },
    })
    expect(connack.properties?.responseInformation).toBeUndefined()
  })
})

describe('a session', () => {
  it('with an expiry interval is resumed with its subscriptions [3.1.2-5]', async () => {
    const id = await createOfflineSession()
    const [peer, { sessionPresent }] = await TestClient.greet(broker.url, id, persistent)
    await peer.publish(`${id}/t`, 'still', { qos: 1 })
    expect([sessionPresent, await peer.texts()]).toEqual([true, ['still']])
  })

  it('is identified by the client id and is independent of other sessions [3.1.3-2]', async () => {
    const [mine, other] = [await createOfflineSession(), await createOfflineSession()]
    const writer = await TestClient.connect(broker.url, broker.name('writer'))
    for (const id of [mine, other]) await writer.publish(`${id}/t`, `for ${id}`, { qos: 1 })
    const [peer, { sessionPresent }] = await TestClient.greet(broker.url, mine, persistent)
    expect([sessionPresent, await peer.texts()]).toEqual([true, [`for ${mine}`]])
  })

  it('lasts at least as long as its connection, even with a shorter interval [4.1.0-1]', async () => {
    const id = broker.name('open')
    const shortExpiry = { clean: false, properties: { sessionExpiryInterval: 1 } }
    const peer = await TestClient.connect(broker.url, id, shortExpiry)
    await peer.subscribe(`${id}/#`)
    await broker.elapse(5)
    await peer.publish(`${id}/t`, 'still', { qos: 1 })
    expect(await peer.texts()).toEqual(['still'])
    await peer.end()
    expect((await TestClient.greet(broker.url, id, persistent))[1].sessionPresent).toBe(true)
  })

  it('is resumed even if it is empty [3.2.2-3]', async () => {
    const id = broker.name('bare')
    await (await TestClient.connect(broker.url, id, persistent)).disconnect()
    const [, { sessionPresent }] = await TestClient.greet(broker.url, id, persistent)
    expect(sessionPresent).toBe(true)
  })

  it('ends with a clean start [3.1.2-4, 3.2.2-2]', async () => {
    const id = await createOfflineSession()
    const [peer, { sessionPresent }] = await TestClient.greet(broker.url, id, { ...persistent, clean: true })
    await peer.publish(`${id}/t`, 'gone', { qos: 1 })
    expect([sessionPresent, await peer.texts()]).toEqual([false, []])
  })

  it('without an expiry interval ends with the connection [3.1.2.11.2]', async () => {
    const id = await createOfflineSession({ clean: false })
    expect((await TestClient.greet(broker.url, id, persistent))[1].sessionPresent).toBe(false)
  })

  it('ends after its interval and not before [3.1.2.11.2, 4.1.0-2]', async () => {
    const shortExpiry = { clean: false, properties: { sessionExpiryInterval: 3 } }
    const [early, late] = [await createOfflineSession(shortExpiry), await createOfflineSession(shortExpiry)]
    await broker.elapse(1)
    expect((await TestClient.greet(broker.url, early, persistent))[1].sessionPresent).toBe(true)
    await broker.elapse(3)
    expect((await TestClient.greet(broker.url, late, persistent))[1].sessionPresent).toBe(false)
  })

  it('ends earlier or later if DISCONNECT changes its interval [3.14.2.2.2]', async () => {
    const [now, later] = [broker.name('now'), broker.name('later')]
    await (await TestClient.connect(broker.url, now, persistent)).disconnect(0, 0)
    const short = { clean: false, properties: { sessionExpiryInterval: 1 } }
    await (await TestClient.connect(broker.url, later, short)).disconnect(0, 100)
    await broker.elapse(2)
    expect((await TestClient.greet(broker.url, now, persistent))[1].sessionPresent).toBe(false)
    expect((await TestClient.greet(broker.url, later, persistent))[1].sessionPresent).toBe(true)
  })

  it('of an MQTT 3.1.1 client without clean session outlives the connection [3.1.1, 3.1.2.4]', async () => {
    const old = { protocolVersion: 4, clean: false } as const
    const id = await createOfflineSession(old)
    await broker.elapse(2)
    expect((await TestClient.greet(broker.url, id, old))[1].sessionPresent).toBe(true)
  })

  it('queues QoS 1 and 2 messages for an offline client in order [3.1.2-23, 4.5.0-1, 4.6.0-6]', async () => {
    const id = await createOfflineSession()
    const writer = await TestClient.connect(broker.url, broker.name('writer'))
    for (const n of [1, 2, 3, 4]) await writer.publish(`${id}/t`, `${n}`, { qos: 1 })
    await writer.publish(`${id}/u`, 'twice checked', { qos: 2 })
    const peer = await TestClient.connect(broker.url, id, persistent)
    const came = await peer.takePublishes()
    expect(came.map(({ payload, qos, dup }) => [payload.toString(), qos, dup])).toEqual([
      ['1', 1, false],
      ['2', 1, false],
      ['3', 1, false],
      ['4', 1, false],
      ['twice checked', 2, false],
    ])
  })

  it('retransmits unacknowledged messages after a takeover, with DUP and the same packet ids [4.4.0-1, 3.3.1-1, 3.1.4-3]', async () => {
    const id = broker.name('moves')
    const first = await TestClient.connect(broker.url, id, persistent)
    await first.subscribe(`${id}/#`)
    await first.publish(`${id}/t`, 'one', { qos: 1 })
    await first.publish(`${id}/t`, 'two', { qos: 2 })
    const before = await first.takePublishes()
    const second = await TestClient.connect(broker.url, id, persistent)
    expect(await first.dismissed()).toBe(0x8e)
    const after = await second.takePublishes()
    expect(after.map(({ payload, messageId, dup }) => [payload.toString(), messageId, dup])).toEqual(
      before.map(({ payload, messageId }) => [payload.toString(), messageId, true]),
    )
  })

  it('continues a QoS 2 delivery at its last step: with PUBREL after PUBREC [4.3.3-6, 4.3.3-8, 4.4.0-1]', async () => {
    const id = broker.name('half')
    const first = await TestClient.connect(broker.url, id, persistent)
    await first.subscribe(`${id}/#`)
    await first.publish(`${id}/t`, 'once', { qos: 2 })
    const { messageId = 0 } = await first.next('publish')
    first.send({ cmd: 'pubrec', messageId, reasonCode: 0 })
    await first.next('pubrel')
    await first.end()
    const second = await TestClient.connect(broker.url, id, persistent)
    expect((await second.next('pubrel')).messageId).toBe(messageId)
    second.send({ cmd: 'pubcomp', messageId, reasonCode: 0 })
    expect(await second.texts()).toEqual([])
    await second.end()
    const third = await TestClient.connect(broker.url, id, persistent)
    await third.settled()
    expect(third.packets).toEqual([])
  })

  it('delivers a message once even if its publisher retransmits it at QoS 2 [4.3.3-10]', async () => {
    const id = broker.name('repeats')
    const reader = await TestClient.connect(broker.url, broker.name('reader'))
    await reader.subscribe(`${id}/#`)
    const message = { cmd: 'publish', qos: 2, retain: false, topic: `${id}/t`, payload: 'once', messageId: 7 } as const
    const first = await TestClient.connect(broker.url, id, persistent)
    first.send({ ...message, dup: false })
    await first.next('pubrec')
    await first.end()
    const second = await TestClient.connect(broker.url, id, persistent)
    second.send({ ...message, dup: true })
    await second.next('pubrec')
    second.send({ cmd: 'pubrel', messageId: 7, reasonCode: 0 })
    expect((await second.next('pubcomp')).reasonCode).toBe(0)
    expect(await reader.texts()).toEqual(['once'])
  })

  it('retransmits a QoS 2 message even if the message has expired [4.3.3-7]', async () => {
    const id = broker.name('brief')
    const first = await TestClient.connect(broker.url, id, persistent)
    await first.subscribe(`${id}/#`)
    await first.publish(`${id}/t`, 'sent', { qos: 2, properties: { messageExpiryInterval: 1 } })
    const { messageId } = await first.next('publish')
    await first.end()
    await broker.elapse(3)
    const again = await (await TestClient.connect(broker.url, id, persistent)).takePublishes()
    expect(again.map(({ payload, messageId: same, dup }) => [`${payload}`, same, dup])).toEqual([
      ['sent', messageId, true],
    ])
  })

  it('completes the QoS 2 exchange for a message that has expired for its receivers [4.3.3-13]', async () => {
    const [id, writer] = [await createOfflineSession(), await TestClient.connect(broker.url, broker.name('writer'))]
    const properties = { messageExpiryInterval: 1 }
    const message = { cmd: 'publish', qos: 2, dup: false, retain: false, topic: `${id}/t`, payload: 'x' } as const
    writer.send({ ...message, messageId: 3, properties })
    await writer.next('pubrec')
    await broker.elapse(3)
    expect(await (await TestClient.connect(broker.url, id, persistent)).texts()).toEqual([])
    writer.send({ cmd: 'pubrel', messageId: 3, reasonCode: 0 })
    expect(await writer.next('pubcomp')).toMatchObject({ messageId: 3, reasonCode: 0 })
  })

  it('responds to PUBREL for an unknown packet id with "packet identifier not found" [3.7.2.1]', async () => {
    const peer = await TestClient.connect(broker.url, broker.name('confused'))
    peer.send({ cmd: 'pubrel', messageId: 99, reasonCode: 0 })
    expect((await peer.next('pubcomp')).reasonCode).toBe(0x92)
  })

  it('accepts a packet id again after the first message with that id is complete [2.2.1]', async () => {
    const id = broker.name('again')
    const peer = await TestClient.connect(broker.url, id)
    await peer.subscribe({ topic: `${id}/#`, qos: 0 })
    await peer.publish(`${id}/t`, 'one', { qos: 2, messageId: 5 })
    await peer.publish(`${id}/t`, 'two', { qos: 2, messageId: 5 })
    expect(await peer.texts()).toEqual(['one', 'two'])
  })
})

describe('keep-alive', () => {
  it('ends a connection after a silence of one and a half times the keep-alive [3.1.2-22, 3.2.2-22]', async () => {
    const peer = await TestClient.connect(broker.url, broker.name('silent'), { keepalive: 2 })
    await broker.elapse(2)
    await peer.settled()
    await broker.elapse(2)
    await peer.settled()
    await broker.elapse(4)
    expect(await peer.dismissed()).toBe(0x8d)
  })

  it('of 0 sets no limit [3.1.2.10]', async () => {
    const peer = await TestClient.connect(broker.url, broker.name('patient'), { keepalive: 0 })
    await broker.elapse(4)
    await peer.settled()
  })
})
