import { describe, expect, it } from 'vitest'
import { createWebSocketStream, WebSocket } from 'ws'
import { type StateStore, text } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { connect, publish } from '../../support/packets.js'
import { RawSocket } from '../../support/raw-socket.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'
import { openMetrics, scrape } from '../metrics/exposition.js'

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

describe('the maximum packet size of a client', () => {
  const MAX_BYTES = 1_000
  const LARGE = 'x'.repeat(MAX_BYTES)

  async function openSmall() {
    const { store } = await openStore({ clock: systemClock })
    await store.load([
      { key: 'large', value: LARGE },
      { key: 'small', value: 'v' },
    ])
    return { store, client: openClient(store.url, { maxPacketSize: MAX_BYTES }) }
  }

  it.each([
    ['a value', 'GET large', 1_009],
    ['a page of keys', 'SCAN *', 2_000],
  ])('%s that exceeds it is answered with an error that says so', async (_, words, replyBytes) => {
    const { store } = await openSmall()
    await store.load(Array.from({ length: 400 }, (_, i) => ({ key: `k${i}`, value: '' })))
    const client = await StoreClient.ready(store.url, 'client', { properties: { maximumPacketSize: MAX_BYTES } })
    const { text: reply, packet } = await client.request(command(words), { timestamp: NOW })
    const [, bytes] =
      /^-ERR the reply of (\d+) bytes exceeds the maximum packet size of the client, 1000 bytes\r\n$/.exec(reply) ?? []
    expect(Number(bytes)).toBeGreaterThanOrEqual(replyBytes)
    expect(packet.properties?.userProperties).toMatchObject({ __stat: '200' })
    expect((await client.request(command('GET small'))).text).toBe('$1\r\nv\r\n')
  })

  it('a response of exactly this size is received', async () => {
    const { store } = await openSmall()
    const client = await StoreClient.ready(store.url, 'client', { properties: { maximumPacketSize: MAX_BYTES } })
    let received = 0
    for (let length = MAX_BYTES - 250; length < MAX_BYTES; length++) {
      await store.load([{ key: 'a', value: 'x'.repeat(length) }])
      const { text: reply, packet } = await client.request(command('GET a'), { timestamp: NOW })
      if (reply.startsWith('-ERR')) break
      received = 3 + (packet.length ?? 0)
    }
    expect(received).toBe(MAX_BYTES)
  })

  it('a client that reads a larger value learns both sizes', async () => {
    const { client } = await openSmall()
    await expect(client.key('large', text).get()).rejects.toMatchObject({
      code: 'service-unknown',
      text: 'the reply of 1009 bytes exceeds the maximum packet size of the client, 1000 bytes',
    })
  })

  it('a message that exceeds it is dropped and counted', async () => {
    const { store } = await openSmall()
    const metrics = await openMetrics(store)
    const [receiver, sender] = await Promise.all([
      StoreClient.ready(store.url, 'receiver', { properties: { maximumPacketSize: MAX_BYTES } }),
      StoreClient.ready(store.url, 'sender'),
    ])
    await receiver.subscribe('news')
    await sender.publishAcknowledged('news', LARGE)
    await sender.publishAcknowledged('news', 'small')
    await receiver.arrived(1)
    expect(receiver.inbox.map(({ text }) => text)).toEqual(['small'])
    expect((await scrape(metrics)).value('rx_statestore_too_large_messages_total')).toBe(1)
  })

  it('a notification that exceeds it has no value, while other watchers get the value', async () => {
    const { store } = await openSmall()
    const [limited, unlimited] = await Promise.all([
      StoreClient.ready(store.url, 'limited', { properties: { maximumPacketSize: MAX_BYTES } }),
      StoreClient.ready(store.url, 'unlimited'),
    ])
    for (const watcher of [limited, unlimited]) await watcher.request(command('KEYNOTIFY small'))
    await unlimited.request(command(`SET small ${LARGE}`), { timestamp: NOW })
    await unlimited.request(command('DEL small'))
    for (const watcher of [limited, unlimited]) await watcher.arrived(2)
    const wordsOf = ({ inbox }: StoreClient): string[] => inbox.map(message => message.text.replaceAll('\r\n', ' '))
    expect(wordsOf(limited)).toEqual(['*2 $6 NOTIFY $3 SET ', '*2 $6 NOTIFY $6 DELETE '])
    expect(wordsOf(unlimited)).toEqual([`*4 $6 NOTIFY $3 SET $5 VALUE $1000 ${LARGE} `, '*2 $6 NOTIFY $6 DELETE '])
  })

  it.each([
    ['a watch of a key', (client: StateStore) => client.key('small', text)],
    ['a watch of a glob', (client: StateStore) => matching(client, 'small', text)],
  ])('%s reports a value that exceeds it, and is not live until it has a smaller value', async (_, watch) => {
    const { store, client } = await openSmall()
    const errors = record(client.errors$)
    const { entries$, freshness$ } = watch(client)
    const [entries, freshness] = [record(entries$), record(freshness$)]
    await freshness.until(({ values }) => values.at(-1)?.state === 'live')
    await store.load([{ key: 'small', value: LARGE }])
    await errors.until(({ values }) => values.length > 0)
    expect(errors.values[0]).toMatchObject({ code: 'service-unknown', text: expect.stringMatching(/ 1000 bytes$/) })
    expect([freshness.values.at(-1)?.state, entries.values.length]).toEqual(['resyncing', 1])
    await store.load([{ key: 'small', value: 'w' }])
    await freshness.until(({ values }) => values.at(-1)?.state === 'live')
    expect(entries.values.map(({ value }) => value)).toEqual(['v', 'w'])
  })
})

describe('the maximum packet size', () => {
  it('is announced in CONNACK', async () => {
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

  it('includes the header, so a packet of exactly this size is accepted', async () => {
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

  it('an oversized packet ends the connection at its header, before the body', async () => {
    const { store, observer } = await open()
    const raw = await RawSocket.open(store.url)
    await raw.send(connect('raw'))
    await raw.send(publish('news', payloadFor(200_000)).subarray(0, 10))
    await raw.closed
    await expectUnharmed(observer)
  })

  it('applies before CONNECT', async () => {
    const { store, observer } = await open()
    const raw = await RawSocket.open(store.url)
    await raw.send(connect('x'.repeat(2_000)).subarray(0, 10))
    await raw.closed
    await expectUnharmed(observer)
  })

  it('does not apply to WebSocket frames, which may contain several packets', async () => {
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
