import { describe, expect, it } from 'vitest'
import { createWebSocketStream, WebSocket } from 'ws'
import { openStore } from '../../support/open-store.js'
import { connect, publish } from '../../support/packets.js'
import { RawSocket } from '../../support/raw-socket.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

const NOW = '1696374425000:0:CLIENT'
const TOO_LARGE = 149
const LARGE_SET = command(`SET key ${'x'.repeat(1_000)}`)

/** Returns a payload that makes a PUBLISH to `news` exactly this size. */
const payloadFor = (size: number): string => {
  const header = publish('news', 'x'.repeat(900)).length - 900
  return 'x'.repeat(size - header)
}

async function open() {
  const { store } = await openStore({ maxPacketSize: 1_000 })
  const observer = await StoreClient.ready(store.url, 'observer')
  await observer.subscribe('news')
  return { store, observer }
}

async function expectUnharmed(observer: StoreClient): Promise<void> {
  expect((await observer.request(command('GET key'))).text).toBe('$-1\r\n')
}

describe('the maximum packet size', () => {
  it('the maximum packet size is announced in CONNACK', async () => {
    const { store } = await open()
    const raw = await RawSocket.open(store.url)
    await raw.send(connect('raw'))
    const maximumPacketSize = Buffer.from([0x27, 0, 0, 0x03, 0xe8])
    expect((await raw.first(10)).includes(maximumPacketSize)).toBe(true)
  })

  it('a packet over the maximum packet size ends only its connection, with reason code 149', async () => {
    const { store, observer } = await open()
    const large = await StoreClient.ready(store.url, 'large')
    large.request(LARGE_SET, { timestamp: NOW }).catch(() => undefined)
    expect(await large.dismissed()).toBe(TOO_LARGE)
    await expectUnharmed(observer)
  })

  it('a packet over the maximum packet size ends only its WebSocket connection', async () => {
    const { store, observer } = await open()
    const large = await StoreClient.ready(store.wsUrl, 'large')
    large.request(LARGE_SET, { timestamp: NOW }).catch(() => undefined)
    await large.closed
    await expectUnharmed(observer)
  })

  it('the maximum packet size includes the header, so a packet of exactly this size is accepted', async () => {
    const { store, observer } = await open()
    expect(publish('news', payloadFor(1_000))).toHaveLength(1_000)
    const raw = await RawSocket.open(store.url)
    await raw.send(connect('raw'))
    await raw.send(publish('news', payloadFor(1_000)))
    await observer.arrived(1)
    await raw.send(publish('news', payloadFor(1_001)))
    await raw.closed
    await observer.settled()
    expect(observer.inbox).toHaveLength(1)
  })

  it('a packet over the maximum packet size ends the connection when its header arrives, before the body', async () => {
    const { store, observer } = await open()
    const raw = await RawSocket.open(store.url)
    await raw.send(connect('raw'))
    await raw.send(publish('news', payloadFor(200_000)).subarray(0, 10))
    await raw.closed
    await expectUnharmed(observer)
  })

  it('the maximum packet size applies before CONNECT', async () => {
    const { store, observer } = await open()
    const raw = await RawSocket.open(store.url)
    await raw.send(connect('x'.repeat(2_000)).subarray(0, 10))
    await raw.closed
    await expectUnharmed(observer)
  })

  it('the maximum packet size does not apply to WebSocket frames, which may contain several packets', async () => {
    const { store, observer } = await open()
    const socket = new WebSocket(store.wsUrl, ['mqtt'])
    const closed = new Promise(resolve => socket.once('close', resolve))
    const stream = createWebSocketStream(socket).on('error', () => undefined)
    const burst = Array.from({ length: 10 }, (_, i) => publish('news', `${i}${payloadFor(200)}`))
    stream.write(Buffer.concat([connect('raw'), ...burst]))
    await Promise.race([closed, observer.arrived(10)])
    socket.terminate()
    await closed
    expect(observer.inbox.map(({ text }) => text.slice(0, 1))).toEqual([...'0123456789'])
  })
})
