import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { RawSocket } from '../../support/raw-socket.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'
import { upgradeTo } from '../support/upgrade.js'

/** Starts a hub with a well-behaved client that must not be affected. */
async function open(options = {}) {
  const opened = await openHub(options)
  const observer = await RawPubSubClient.connect(opened.hub.url)
  await observer.join('observer')
  return { ...opened, observer }
}

async function expectUnharmed(observer: RawPubSubClient): Promise<void> {
  const publish = { type: 'sendToGroup', group: 'observer', dataType: 'text', data: 'still here' }
  expect(await observer.request(publish)).toMatchObject({ success: true })
  expect(observer.messages.map(message => message['data'])).toEqual(['still here'])
}

const UPGRADE = upgradeTo('/client/hubs/chat')

describe('malformed frames', () => {
  it.each<[string, string | Buffer, number]>([
    ['nothing', '', 1007],
    ['no JSON', 'hello', 1007],
    ['a number', '7', 1007],
    ['null', 'null', 1007],
    ['an array', '[]', 1007],
    ['a frame without a type', '{}', 1007],
    ['a blank group', '{"type":"joinGroup","group":" "}', 1007],
    ['a long group', `{"type":"joinGroup","group":"${'x'.repeat(1_025)}"}`, 1007],
    ['a negative ackId', '{"type":"joinGroup","group":"g","ackId":-1}', 1007],
    ['a deep value', `{"type":"sendToGroup","group":"g","data":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 1007],
    ['binary', Buffer.from('{"type":"ping"}'), 1003],
    ['more than 1 MiB', `{"type":"ping","x":"${'x'.repeat(1024 * 1024)}"}`, 1009],
  ])('a malformed frame ends only the session of its sender: %s', async (_, frame, code) => {
    const { hub, observer, sessionLog } = await open()
    const client = await RawPubSubClient.connect(hub.url)
    client.socket.send(frame)
    expect((await client.closed).code).toBe(code)
    expect(sessionLog.at(-1)).toBe('disconnected anonymous: violation')
    const recovered = await RawPubSubClient.recover(hub.url, client)
    expect((await recovered.closed).code).toBe(1008)
    await expectUnharmed(observer)
  })

  it.each<[string, Buffer]>([
    ['an unknown kind', Buffer.from([0x8f, 0x80, 0, 0, 0, 0])],
    ['no mask', Buffer.from([0x81, 0x01, 0x7b])],
    ['no UTF-8', Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0xff])],
    ['a length beyond any limit', Buffer.from([0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])],
  ])('a WebSocket violation ends only the session of its sender: %s', async (_, bytes) => {
    const { server, observer, sessionLog } = await open()
    const raw = await RawSocket.open(server.url)
    await raw.send(UPGRADE)
    await raw.send(bytes)
    await raw.closed
    await eventually(() => sessionLog.length === 3)
    expect(sessionLog.at(-1)).toBe('disconnected anonymous: violation')
    await expectUnharmed(observer)
  })

  it('thousands of malformed frames do not affect another client', async () => {
    const { hub, observer } = await open()
    const clients = await Promise.all(Array.from({ length: 10 }, async () => RawPubSubClient.connect(hub.url)))
    for (const client of clients) for (let i = 0; i < 1_000; i++) client.send(`{"type":"joinGroup","group":${i}`)
    await expectUnharmed(observer)
    const codes = await Promise.all(clients.map(async ({ closed }) => (await closed).code))
    expect(new Set(codes)).toEqual(new Set([1007]))
  })

  it('incomplete handshakes do not affect another client', async () => {
    const { server, observer } = await open()
    for (let length = 0; length < UPGRADE.length; length += 7) {
      const raw = await RawSocket.open(server.url)
      await raw.send(UPGRADE.slice(0, length))
      raw.reset()
    }
    await expectUnharmed(observer)
  })
})

describe('a client that sends a lot of data', () => {
  it('a flood of joins does not starve another client', { tags: 'slow' }, async () => {
    const { hub, observer } = await open()
    const client = await RawPubSubClient.connect(hub.url)
    for (let i = 1; i <= 20_000; i++) client.send({ type: 'joinGroup', group: `g${i}`, ackId: i })
    await expectUnharmed(observer)
    await client.waitForFrame(frame => frame['ackId'] === 20_000)
    const done = client.frames.filter(frame => frame['success'] === true)
    expect([done.length, hub.connections.at(-1)?.groups.length]).toEqual([1_000, 1_000])
  })

  it('the hub stops reading from a client that does not read: a flood of pings', { tags: 'slow' }, async () => {
    const { hub, observer } = await open({ idleTimeout: 10_000 })
    const client = await RawPubSubClient.connect(hub.url)
    client.socket.pause()
    const ping = `{"type":"ping","x":"${'x'.repeat(10_000)}"}`
    for (let i = 0; i < 3_000; i++) client.send(ping)
    await expectUnharmed(observer)
    client.socket.resume()
    await client.waitForFrame(() => client.frames.length === 3_001)
  })
})

describe('a client that does not read', () => {
  it('the hub answers a flood of WebSocket pings with a limited number of pongs', { tags: 'slow' }, async () => {
    const { server, observer } = await open()
    const raw = await RawSocket.open(server.url)
    await raw.send(UPGRADE)
    await raw.first(100)
    raw.socket.pause()
    const pings = Buffer.concat(Array(8_000).fill(Buffer.from([0x89, 0x82, 0, 0, 0, 0, 0x68, 0x69])))
    let unread = 0
    raw.socket.on('data', data => {
      unread += data.length
    })
    raw.socket.pause()
    for (let i = 0; i < 100; i++) raw.socket.write(pings)
    await expectUnharmed(observer)
    raw.socket.resume()
    await eventually(() => unread > 0 && raw.socket.writableLength === 0)
    // A pong is shorter than a ping, and one pong answers many pings.
    expect(unread).toBeLessThan((100 * pings.length) / 10)
  })

  it('a slow member does not affect other members and loses its session at message 1001', async () => {
    const { hub, observer, sessionLog } = await open()
    const [slow, quick] = [await RawPubSubClient.connect(hub.url), await RawPubSubClient.connect(hub.url)]
    await Promise.all([slow.join('g'), quick.join('g')])
    slow.socket.pause()
    const data = 'x'.repeat(10_000)
    for (let i = 1; i <= 1_100; i++) {
      hub.sendToGroup('g', data)
      if (i % 100 > 0) continue
      await quick.received(i)
      quick.send({ type: 'sequenceAck', sequenceId: i })
      await quick.settled()
    }
    expect(sessionLog.filter(line => line.startsWith('disconnected'))).toEqual(['disconnected anonymous: overflow'])
    expect(hub.connections.map(({ connectionId }) => connectionId)).not.toContain(slow.connectionId)
    slow.socket.resume()
    expect((await slow.closed).code).toBe(1008)
    await expectUnharmed(observer)
  })

  it('a client receives all messages when it reads again', async () => {
    const { hub } = await open()
    const slow = await RawPubSubClient.connect(hub.url)
    await slow.join('g')
    slow.socket.pause()
    for (let i = 1; i <= 900; i++) hub.sendToGroup('g', 'x'.repeat(10_000))
    await new Promise(resolve => setImmediate(resolve))
    slow.socket.resume()
    await slow.received(900)
    expect(slow.sequenceIds).toEqual(Array.from({ length: 900 }, (_, i) => i + 1))
  })
})
