import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UPGRADE, webSocketFrame } from '../../../harness/web-socket.js'
import { LIMIT } from '../../../src/server/broker/limits/limits.js'
import { openStore } from '../../support/open-store.js'
import { connect } from '../../support/packets.js'
import { RawSocket } from '../../support/raw-socket.js'
import { openSecured, turnedAway } from '../../support/secured.js'
import { stopMonotonicTime } from '../../support/stop-time.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

// Some of these clients do not close their side.
const { closeTimeoutMs } = LIMIT
beforeAll(() => void Object.assign(LIMIT, { closeTimeoutMs: 500 }))
afterAll(() => void Object.assign(LIMIT, { closeTimeoutMs }))

async function open() {
  const { store } = await openStore()
  const observer = await StoreClient.ready(store.wsUrl, 'observer')
  return { store, observer }
}

async function expectUnharmed(observer: StoreClient): Promise<void> {
  expect((await observer.request(command('GET key'))).text).toBe('$-1\r\n')
}

const CONNECT = connect('raw')

describe('the WebSocket port', () => {
  it('answers a plain HTTP request with status 426', async () => {
    const { store, observer } = await open()
    const raw = await RawSocket.open(store.wsUrl)
    await raw.send('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    await raw.closed
    expect((await raw.first()).toString()).toMatch(/^HTTP\/1\.1 426 /)
    await expectUnharmed(observer)
  })

  it('rejects a request with two Host headers', async () => {
    const { store } = await open()
    const raw = await RawSocket.open(store.wsUrl)
    await raw.send(UPGRADE.replace('Host: localhost\r\n', '$&$&'))
    await raw.closed
    expect((await raw.first()).toString()).toMatch(/^HTTP\/1\.1 400 /)
  })

  const NONSENSE: Record<string, readonly (string | Buffer)[]> = {
    'bytes that are no HTTP': [Buffer.from(Array.from({ length: 200 }, (_, i) => (i * 37 + 128) % 256))],
    'MQTT without WebSocket': [CONNECT],
    'a frame of an unknown kind': [UPGRADE, webSocketFrame(CONNECT, 15)],
    'a frame that is not masked': [UPGRADE, Buffer.concat([Buffer.from([0x82, CONNECT.length]), CONNECT])],
    'a frame longer than any packet': [UPGRADE, Buffer.from([0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])],
    'a close frame without a CONNECT': [UPGRADE, webSocketFrame(Buffer.alloc(0), 8)],
    'a CONNECT of another protocol': [
      UPGRADE,
      webSocketFrame(Buffer.from(CONNECT.toString('latin1').replace('MQTT', 'AMQP'))),
    ],
    'MQTT garbage after a CONNECT': [UPGRADE, webSocketFrame(Buffer.concat([CONNECT, Buffer.alloc(20, 0xff)]))],
  }

  it.each(Object.entries(NONSENSE))('ends only the connection that sends %s', async (_, chunks) => {
    const { store, observer } = await open()
    const raw = await RawSocket.open(store.wsUrl)
    for (const chunk of chunks) await raw.send(chunk)
    await raw.closed
    await expectUnharmed(observer)
  })
})

describe('a trusted proxy on this machine', () => {
  const [GUESSER, PANEL] = ['203.0.113.1', '203.0.113.2']
  const from = (address: string, username: string, password: string) => ({
    username,
    password,
    headers: { 'x-forwarded-for': `10.0.0.1, ${address}` },
  })
  const guess = async (url: string): Promise<void> => {
    for (let n = 0; n < 5; n++) expect(await turnedAway(url, 'c', from(GUESSER, 'alice', `${n}`))).toBe(0x86)
  }

  it('a trusted proxy reports client addresses, each throttled by its own failed logins', async () => {
    stopMonotonicTime()
    const { store } = await openSecured({ trustProxy: true })
    await guess(store.wsUrl)
    expect([...store.addresses].map(({ address }) => address)).toContain(GUESSER)
    expect(await turnedAway(store.wsUrl, 'c', from(GUESSER, 'alice', 'ecila'))).toBe(0x9f)
    await StoreClient.ready(store.wsUrl, 'c', from(PANEL, 'alice', 'ecila'))
  })

  it('the option `trustProxy` is a boolean', async () => {
    await expect(openSecured(JSON.parse('{"trustProxy":"yes"}'))).rejects.toThrow(
      'Expected `trustProxy` to be true or false',
    )
  })

  it('a proxy is trusted only if configured, and only over WebSocket', async () => {
    stopMonotonicTime()
    const { store } = await openSecured()
    await guess(store.wsUrl)
    expect([...store.addresses].map(({ address }) => address)).toEqual(['127.0.0.1'])
    expect(await turnedAway(store.wsUrl, 'c', from(PANEL, 'alice', 'ecila'))).toBe(0x9f)
  })
})
