import { describe, expect, it } from 'vitest'
import type { StoreServer } from '../../../src/server/index.js'
import { eventually } from '../../support/eventually.js'
import { openStore } from '../../support/open-store.js'
import { connect, PINGREQ, publish, subscribe } from '../../support/packets.js'
import { RawSocket } from '../../support/raw-socket.js'
import { StoreClient } from '../../support/store-client.js'
import { INVOKE_TOPIC } from '../../support/topics.js'
import { command } from '../../support/words.js'

const NOW = '1696374425000:0:CLIENT'

/** Opens a store with an observer, a client that must not notice anything. */
async function open() {
  const { store } = await openStore()
  const observer = await StoreClient.ready(store.url, 'observer')
  await observer.request(command('KEYNOTIFY key'))
  return { store, observer }
}

/** Checks that the observer is still connected and served, and received nothing unexpected. */
async function expectUnharmed(store: StoreServer, observer: StoreClient): Promise<void> {
  const writer = await StoreClient.ready(store.url, 'writer')
  expect((await writer.request(command('SET key value'), { timestamp: NOW })).text).toBe('+OK\r\n')
  await writer.disconnect()
  expect((await observer.request(command('GET key'))).text).toBe('$5\r\nvalue\r\n')
  expect(observer.inbox.map(({ topic }) => topic.slice(-7))).toEqual(['/6B6579'])
}

const CONNECT = connect('raw')

describe('a client that does not send MQTT', () => {
  const NOT_MQTT: Record<string, readonly Buffer[]> = {
    zeros: [Buffer.alloc(1_000)],
    'the first byte of something else': [Buffer.from('G')],
    'an HTTP request': [Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')],
    'a length that never ends': [Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff, 0xff])],
    'a PUBLISH before CONNECT': [publish('news', 'x')],
    'a CONNECT of another protocol': [Buffer.from(CONNECT.toString('latin1').replace('MQTT', 'AMQP'), 'latin1')],
    'two CONNECTs': [CONNECT, CONNECT],
    'garbage after a CONNECT': [CONNECT, Buffer.from([0xf7, 0xff, 0xff, 0xff, 0xff])],
    'a topic with a wildcard': [CONNECT, publish('news/#', 'x')],
    'a topic of no characters': [CONNECT, publish('', 'x')],
    'a topic of 200 levels': [CONNECT, publish('x/'.repeat(100), 'x')],
    'a filter that is none': [CONNECT, subscribe(['news/#/more'])],
  }

  it.each(Object.entries(NOT_MQTT))('is disconnected, and other clients are not affected: %s', async (_, chunks) => {
    const { store, observer } = await open()
    const raw = await RawSocket.open(store.url)
    for (const chunk of chunks) await raw.send(chunk)
    await raw.closed
    await expectUnharmed(store, observer)
  })

  it('does not affect other clients, regardless of the bytes that it sends', async () => {
    const { store, observer } = await open()
    for (let seed = 1; seed <= 60; seed++) {
      const raw = await RawSocket.open(store.url)
      const garbage = Buffer.from(
        Array.from({ length: 300 }, (_, i) => ((i + 7) * 7_919 * seed + ((i * i) % 11)) % 256),
      )
      await raw.send(seed % 2 === 0 ? garbage : Buffer.concat([CONNECT, garbage]))
    }
    await expectUnharmed(store, observer)
  })

  const PIECES = { CONNECT, 'CONNECT and PUBLISH': Buffer.concat([CONNECT, publish('news', 'hello')]) }

  it.each(Object.entries(PIECES))('does not affect other clients with %s truncated at any byte', async (_, whole) => {
    const { store, observer } = await open()
    for (let length = 0; length <= whole.length; length++) {
      const raw = await RawSocket.open(store.url)
      await raw.send(whole.subarray(0, length))
      raw.reset()
    }
    await expectUnharmed(store, observer)
    await eventually(() => store.clientIds.length === 1)
    expect(store.clientIds).toEqual(['observer'])
  })

  it('a client that never completes a packet does not affect other clients', async () => {
    const { store, observer } = await open()
    for (const piece of [CONNECT.subarray(0, 5), Buffer.concat([CONNECT, publish('news', 'hello').subarray(0, 6)])]) {
      const raw = await RawSocket.open(store.url)
      await raw.send(piece)
    }
    await expectUnharmed(store, observer)
  })
})

describe('a slow client', () => {
  it('may send its packets byte by byte', async () => {
    const { store } = await openStore()
    const reader = await StoreClient.connect(store.url, 'reader')
    await reader.subscribe('news')
    const raw = await RawSocket.open(store.url)
    const whole = Buffer.concat([connect('raw'), publish('news', 'hello'), PINGREQ])
    for (const byte of whole) await raw.send(Buffer.from([byte]))
    const [message] = await reader.arrived(1)
    expect(message?.text).toBe('hello')
  })

  it('that does not read is disconnected, and other clients do not wait for it', async () => {
    const { store } = await openStore()
    const [slow, writer] = [await StoreClient.ready(store.url, 'slow'), await StoreClient.ready(store.url, 'writer')]
    await slow.request(command('KEYNOTIFY key'))
    slow.deafen()
    const megabyte = command(`SET key ${'x'.repeat(1_048_576)}`)
    for (let i = 0; i < 40; i++) {
      expect((await writer.request(megabyte, { timestamp: NOW })).text).toBe('+OK\r\n')
    }
    await eventually(() => !store.clientIds.includes('slow'))
    expect([store.clientIds, store.stats.watches]).toEqual([['writer'], 0])
  })
})

describe('a well-formed but invalid packet', () => {
  it('an invalid packet with a null character in its topic is not forwarded', async () => {
    const { store, observer } = await open()
    await observer.subscribe('#')
    const raw = await RawSocket.open(store.url)
    await raw.send(CONNECT)
    await raw.send(publish('x\0y', 'x'))
    await raw.send(publish('marker', 'end'))
    await Promise.race([raw.closed, observer.arrived(1)])
    expect(observer.inbox.map(({ topic }) => topic)).not.toContain('x\0y')
  })

  it.each([
    ['no characters', ''],
    ['200 levels', 'x/'.repeat(200)],
    ['a null character', 'x\0y'],
    ['a wildcard', 'answers/#'],
    ['another wildcard', 'answers/+'],
  ])('an invalid packet with a response topic of %s causes no invalid publish', async (_, responseTopic) => {
    const { store, observer } = await open()
    await observer.subscribe('#')
    const other = await StoreClient.ready(store.url, 'other')
    await Promise.race([other.sendRequest(command('GET key'), { responseTopic }).catch(() => undefined), other.closed])
    await expectUnharmed(store, observer)
  })

  it('a write to a key that is too long for a notification topic does not disconnect the watcher', async () => {
    const { store, observer } = await open()
    const long = 'x'.repeat(40_000)
    await observer.request(command(`KEYNOTIFY ${long}`))
    const writer = await StoreClient.ready(store.url, 'long')
    expect((await writer.request(command(`SET ${long} value`), { timestamp: NOW })).text).toBe('+OK\r\n')
    await expectUnharmed(store, observer)
  })

  it('an invalid packet does not affect other clients, even if it is sent a thousand times', async () => {
    const { store, observer } = await open()
    const other = await StoreClient.ready(store.url, 'other')
    const junk = Array.from({ length: 1_000 }, (_, i) => Buffer.from(`*${i % 7}\r\n$${i % 5}\r\n`))
    const replies = await Promise.all(junk.map(async payload => other.request(payload)))
    expect(new Set(replies.map(({ text }) => text))).toEqual(new Set(['-ERR syntax error\r\n']))
    await expectUnharmed(store, observer)
  })

  it('a request without properties and with QoS 0 is not forwarded', async () => {
    const { store, observer } = await open()
    await observer.subscribe('#')
    const raw = await RawSocket.open(store.url)
    await raw.send(CONNECT)
    await raw.send(publish(INVOKE_TOPIC, 'x'))
    await raw.send(publish('marker', 'end'))
    expect((await observer.arrived(1)).map(({ topic }) => topic)).toEqual(['marker'])
  })
})
