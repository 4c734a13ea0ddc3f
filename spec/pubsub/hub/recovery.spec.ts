import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient, recoveryUrl } from '../support/raw-pubsub-client.js'

async function openReader(options = {}) {
  const opened = await openHub(options)
  const reader = await RawPubSubClient.connect(opened.hub.url)
  await reader.join('g')
  const send = (from: number, to: number): void => {
    for (let i = from; i <= to; i++) opened.hub.sendToGroup('g', i)
  }
  const disconnect = async (): Promise<void> => {
    reader.cut()
    await eventually(() => opened.hub.connections.every(({ attached }) => !attached))
  }
  return { ...opened, reader, send, disconnect }
}

const dataOf = (client: RawPubSubClient) => client.messages.map(message => message['data'])
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)
const GONE = { code: 1008, reason: 'there is no such session' }

describe('a client that lost its connection', () => {
  it('a recovered client receives unacknowledged and missed messages once and in order', async () => {
    const { hub, reader, send, disconnect, sessionLog } = await openReader()
    send(1, 7)
    await reader.received(7)
    reader.send({ type: 'sequenceAck', sequenceId: 2 })
    await reader.settled()
    await disconnect()
    send(8, 10)
    const recovered = await RawPubSubClient.recover(hub.url, reader)
    await recovered.received(8)
    send(11, 11)
    await recovered.received(9)
    expect(dataOf(recovered)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11])
    expect(recovered.sequenceIds).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11])
    expect(recovered.frames.filter(frame => frame['type'] === 'system')).toEqual([])
    expect(sessionLog).toEqual(['connected anonymous'])
  })

  it('a recovered session keeps its groups and the ids of its requests', async () => {
    const { hub, reader, disconnect } = await openReader()
    const frame = { type: 'sendToGroup', group: 'g', dataType: 'text', data: 'once', ackId: 99 }
    reader.send(frame)
    await reader.received(1)
    await disconnect()
    const recovered = await RawPubSubClient.recover(hub.url, reader)
    recovered.send(frame)
    const answer = await recovered.waitForFrame(({ type }) => type === 'ack')
    expect(answer).toMatchObject({ ackId: 99, success: false, error: { name: 'Duplicate' } })
    expect(dataOf(recovered)).toEqual(['once'])
  })

  it('a recovered client may acknowledge messages before the hub resends them', async () => {
    const { hub, reader, send, disconnect } = await openReader()
    send(1, 3)
    await reader.received(3)
    await disconnect()
    const recovered = await RawPubSubClient.recover(hub.url, reader)
    recovered.send({ type: 'sequenceAck', sequenceId: 3 })
    send(4, 4)
    await recovered.waitForFrame(({ sequenceId }) => sequenceId === 4)
    const again = await RawPubSubClient.recover(hub.url, reader)
    await again.received(1)
    expect(again.sequenceIds).toEqual([4])
  })

  it('a recovery replaces a connection that the hub still considers alive', async () => {
    const { hub, reader, send } = await openReader()
    send(1, 3)
    await reader.received(3)
    const recovered = await RawPubSubClient.recover(hub.url, reader)
    send(4, 5)
    await recovered.received(5)
    expect(recovered.sequenceIds).toEqual([1, 2, 3, 4, 5])
    expect((await reader.closed).code).toBe(1006)
    await recovered.settled()
    expect(hub.connections).toMatchObject([{ attached: true, connectionId: reader.connectionId }])
  })

  it('a session can be recovered many times', async () => {
    const { hub, reader, send } = await openReader()
    const received: unknown[] = []
    for (let i = 1; i <= 20; i++) {
      send(i, i)
      const recovered = await RawPubSubClient.recover(hub.url, reader)
      await recovered.received(1)
      received.push(...recovered.sequenceIds)
      recovered.send({ type: 'sequenceAck', sequenceId: i })
      await recovered.settled()
    }
    expect(received).toEqual(upTo(20))
  })

  it('a session can be recovered until it expires', async () => {
    const { hub, reader, disconnect, clock, send } = await openReader({ retention: 5_000 })
    await disconnect()
    clock.advance(4_999)
    const recovered = await RawPubSubClient.recover(hub.url, reader)
    send(1, 1)
    clock.advance(5_000)
    expect(await recovered.received(1)).toHaveLength(1)
  })

  it('a session cannot be recovered with wrong credentials, and is not affected by the attempts', async () => {
    const { server, hub, reader, send } = await openReader()
    const { connectionId: id, reconnectionToken: token } = reader
    const wrong = `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`
    const attempts = [
      recoveryUrl(hub.url, id, wrong),
      recoveryUrl(hub.url, id, ''),
      recoveryUrl(hub.url, id, token.slice(1)),
      recoveryUrl(hub.url, 'somebody', token),
      recoveryUrl(hub.url, '__proto__', token),
      recoveryUrl(server.hub('other').url, id, token),
      recoveryUrl(`${server.url}/client/hubs/unheard`, id, token),
    ]
    for (const url of attempts) expect(await (await RawPubSubClient.open(url)).closed).toEqual(GONE)
    const other = await RawPubSubClient.open(recoveryUrl(hub.url, id, token), 'protobuf.reliable.webpubsub.azure.v1')
    expect(await other.closed).toEqual(GONE)
    send(1, 1)
    expect(await reader.received(1)).toHaveLength(1)
  })

  it('a recovery ignores the case of the hub name and needs no access token', async () => {
    const { server, hub, reader, send, disconnect } = await openReader({
      authenticate: async () => ({ groups: ['g'] }),
    })
    await disconnect()
    const url = recoveryUrl(`${server.url}/client/hubs/CHAT`, reader.connectionId, reader.reconnectionToken)
    const recovered = await RawPubSubClient.open(`${url}&access_token=nonsense`)
    send(1, 1)
    expect(await recovered.received(1)).toHaveLength(1)
    expect(hub.connections).toHaveLength(1)
  })
})

describe('a client that does not acknowledge', () => {
  it('a client that sends no acks loses its session at message 1001, and others keep theirs', async () => {
    const { hub, reader, send, sessionLog } = await openReader()
    const other = await RawPubSubClient.connect(hub.url)
    await other.join('g')
    send(1, 1_000)
    await other.received(1_000)
    other.send({ type: 'sequenceAck', sequenceId: 1_000 })
    await other.settled()
    expect(hub.connections).toHaveLength(2)
    send(1_001, 1_002)
    expect((await reader.closed).code).toBe(1008)
    await other.received(1_002)
    expect(sessionLog.at(-1)).toBe('disconnected anonymous: overflow')
    const recovered = await RawPubSubClient.recover(hub.url, reader)
    expect(await recovered.closed).toEqual(GONE)
  })

  it('a session ends above 16 MiB of unacknowledged messages, even while disconnected', async () => {
    const { hub, disconnect, sessionLog } = await openReader()
    await disconnect()
    const data = 'x'.repeat(1024 * 1024)
    for (let i = 0; i < 15; i++) hub.sendToGroup('g', data)
    expect(sessionLog).toHaveLength(1)
    hub.sendToGroup('g', data)
    expect(sessionLog.at(-1)).toBe('disconnected anonymous: overflow')
    expect(hub.connections).toEqual([])
  })
})

describe('a silent client', () => {
  it('a client that sends no frames stays connected while its socket answers pings', async () => {
    const { reader, clock, hub } = await openReader({ idleTimeout: 10_000 })
    for (let i = 0; i < 10; i++) {
      const asked = new Promise(resolve => reader.socket.once('ping', resolve))
      clock.advance(5_000)
      await asked
      await reader.settled()
    }
    expect(hub.connections).toMatchObject([{ attached: true }])
  })

  it('a client that does not answer pings is disconnected and can recover', async () => {
    const { reader, clock, hub, sessionLog, send } = await openReader({ idleTimeout: 10_000 })
    clock.advance(10_000)
    expect(await reader.closed).toEqual({ code: 1001, reason: 'PingTimeout' })
    expect([hub.connections.map(({ attached }) => attached), sessionLog]).toEqual([[false], ['connected anonymous']])
    send(1, 1)
    const recovered = await RawPubSubClient.recover(hub.url, reader)
    expect(await recovered.received(1)).toHaveLength(1)
  })
})
