import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ConsoleServer } from '../../../src/server/console/console-server.js'
import { listen } from '../../support/listen.js'
import { RawSocket } from '../../support/raw-socket.js'
import { type OpenConsole, openConsole } from './open-console.js'

/** That the console still does what it is there for. */
async function expectUnharmed({ ask }: OpenConsole): Promise<void> {
  expect((await ask('api/store')).status).toBe(200)
}

const say = async ({ server }: OpenConsole, text: string): Promise<string> => {
  const raw = await RawSocket.open(server.url)
  await raw.send(text)
  await raw.closed
  return String(await raw.first())
}

describe('Whoever does not speak HTTP', () => {
  it.each([
    ['nothing known', 'hello\r\n\r\n'],
    ['MQTT', '\x10\x0c\x00\x04MQTT\x05\x02\x00\x00\x00\x00\x00'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['a head without an end', `GET / HTTP/1.1\r\nx: ${'x'.repeat(100_000)}`],
    ['two lengths', 'POST /api/load HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
    [
      'length and chunks',
      'POST /api/load HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    ],
  ])('is turned away, and nobody else is: %s', async (_, text) => {
    const open = await openConsole()
    expect(await say(open, text)).toMatch(/^HTTP\/1\.1 4\d\d /)
    await expectUnharmed(open)
  })

  it('gets no further without a host in HTTP/1.0 either', async () => {
    const open = await openConsole()
    expect(await say(open, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 403 /)
  })

  it('is no proxy and no WebSocket', async () => {
    const open = await openConsole()
    await say(open, 'CONNECT evil.example:80 HTTP/1.1\r\nhost: localhost\r\n\r\n')
    const upgrade =
      'connection: upgrade, close\r\nupgrade: websocket\r\nsec-websocket-key: x\r\nsec-websocket-version: 13\r\n'
    expect(await say(open, `GET /api/stream HTTP/1.1\r\nhost: localhost\r\n${upgrade}\r\n`)).toMatch(/^HTTP\/1\.1 401 /)
    await expectUnharmed(open)
  })
})

describe('Whoever has no token', () => {
  it('may send what it wants: it is read and forgotten', async () => {
    const open = await openConsole()
    const { hostname } = new URL(open.server.url)
    const raw = await RawSocket.open(open.server.url)
    await raw.send(`POST /api/load HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: 50000000\r\n\r\n`)
    for (let sent = 0; sent < 50; sent++) await raw.send(Buffer.alloc(1_000_000, '{'))
    // The answer to a second request on the same connection tells that the first is over.
    await raw.send(`GET /api/store HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\n\r\n`)
    await raw.closed
    const answer = String(await raw.first())
    expect(answer.match(/HTTP\/1\.1 401 /g)).toHaveLength(2)
    expect(open.store.stats.keys).toBe(0)
    await expectUnharmed(open)
  })

  it('and hangs up at any moment harms nobody', async () => {
    const open = await openConsole()
    const { token } = open.server
    const requests = [
      'GET /',
      'GET /api/store',
      'GET /api/stream',
      'GET /api/dump',
      'POST /api/load',
      'POST /api/restart',
    ]
    for (const request of requests) {
      const head = `${request} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-length: 9\r\n\r\n{"keys":`
      for (const length of [0, 1, head.length - 9, head.length - 8, head.length]) {
        const raw = await RawSocket.open(open.server.url)
        await raw.send(head.slice(0, length))
        raw.socket.resetAndDestroy()
      }
    }
    await expectUnharmed(open)
  })
})

describe('A console', () => {
  it('says that its port is taken', async () => {
    const port = await listen(createServer())
    const { store } = await openConsole()
    const options = { host: '127.0.0.1', port, seed: undefined, version: '' }
    await expect(ConsoleServer.start(store, options)).rejects.toMatchObject({ code: 'EADDRINUSE', port })
  })

  it('frees its port when it is closed, twice if need be, and leaves the store alone', async () => {
    const open = await openConsole()
    const { server, store } = open
    await expectUnharmed(open)
    await Promise.all([server.close(), server.close()])
    await server.close()
    await expect(expectUnharmed(open)).rejects.toThrow()
    const next = await ConsoleServer.start(store, {
      host: '127.0.0.1',
      port: Number(new URL(open.server.url).port),
      seed: undefined,
      version: '',
    })
    await next.close()
    expect(store.stats.connections).toBe(0)
  })
})
