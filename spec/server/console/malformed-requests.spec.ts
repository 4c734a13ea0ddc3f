import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { channelOf } from '../../../src/core/diagnostics/channel.js'
import { ConsoleServer } from '../../../src/server/console/console-server.js'
import { listen } from '../../support/listen.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openStore } from '../../support/open-store.js'
import { RawSocket } from '../../support/raw-socket.js'
import { type OpenConsole, openConsole } from './open-console.js'

/** Checks that the console still works. */
async function expectUnharmed({ callApi }: OpenConsole): Promise<void> {
  expect((await callApi('api/store')).status).toBe(200)
}

const send = async ({ server }: OpenConsole, text: string): Promise<string> => {
  const raw = await RawSocket.open(server.url)
  await raw.send(text)
  await raw.closed
  return String(await raw.first())
}

describe('Malformed HTTP', () => {
  it.each([
    ['nothing known', 'hello\r\n\r\n'],
    ['MQTT', '\x10\x0c\x00\x04MQTT\x05\x02\x00\x00\x00\x00\x00'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['an unterminated header section', `GET / HTTP/1.1\r\nx: ${'x'.repeat(100_000)}`],
    ['two lengths', 'POST /api/load HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
    [
      'both a length and chunks',
      'POST /api/load HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    ],
  ])('%s is rejected, and other clients are not affected', async (_, text) => {
    const open = await openConsole()
    expect(await send(open, text)).toMatch(/^HTTP\/1\.1 4\d\d /)
    await expectUnharmed(open)
  })

  it('two Host headers are rejected with 400, even if they are equal', async () => {
    const open = await openConsole()
    const hosts = 'host: localhost\r\nhost: localhost\r\n'
    const token = `authorization: Bearer ${open.server.token}\r\n`
    for (const path of ['/', '/api/store'])
      expect(await send(open, `GET ${path} HTTP/1.1\r\n${hosts}${token}connection: close\r\n\r\n`)).toMatch(
        /^HTTP\/1\.1 400 /,
      )
  })

  it('HTTP/1.0 without a host is rejected', async () => {
    const open = await openConsole()
    expect(await send(open, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 403 /)
  })

  it('proxy and WebSocket requests are rejected', async () => {
    const open = await openConsole()
    await send(open, 'CONNECT evil.example:80 HTTP/1.1\r\nhost: localhost\r\n\r\n')
    const upgrade =
      'connection: upgrade, close\r\nupgrade: websocket\r\nsec-websocket-key: x\r\nsec-websocket-version: 13\r\n'
    expect(await send(open, `GET /api/stream HTTP/1.1\r\nhost: localhost\r\n${upgrade}\r\n`)).toMatch(
      /^HTTP\/1\.1 401 /,
    )
    await expectUnharmed(open)
  })
})

describe('Clients without the token', () => {
  it('a body that is sent without the token is read and discarded', async () => {
    const open = await openConsole()
    const { hostname } = new URL(open.server.url)
    const raw = await RawSocket.open(open.server.url)
    await raw.send(`POST /api/load HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: 50000000\r\n\r\n`)
    for (let sent = 0; sent < 50; sent++) await raw.send(Buffer.alloc(1_000_000, '{'))
    // The response to a second request on the connection shows that the first request is complete.
    await raw.send(`GET /api/store HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\n\r\n`)
    await raw.closed
    const answer = String(await raw.first())
    expect(answer.match(/HTTP\/1\.1 401 /g)).toHaveLength(2)
    expect(open.store.stats.keys).toBe(0)
    await expectUnharmed(open)
  })

  it('a client that disconnects at any moment does not affect other clients', async () => {
    const open = await openConsole({ faults: true })
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
        raw.reset()
      }
    }
    await expectUnharmed(open)
  })
})

describe('ConsoleServer', () => {
  it('start rejects when the port is in use, and then samples nothing', async () => {
    const port = await listen(createServer())
    const { store } = await openStore()
    const clock = new ManualClock()
    const options = { host: '127.0.0.1', port, seed: undefined, version: '', clock }
    await expect(ConsoleServer.start(store, options)).rejects.toMatchObject({ code: 'EADDRINUSE', port })
    expect(clock.pending).toBe(0)
    expect(channelOf('rx-statestore:log').hasSubscribers).toBe(false)
  })

  it('close frees the port, can be called twice, and does not stop the store', async () => {
    const port = await freePort()
    const open = await openConsole({ port })
    const { server, store } = open
    await expectUnharmed(open)
    await Promise.all([server.close(), server.close()])
    await server.close()
    await expect(expectUnharmed(open)).rejects.toThrow()
    const next = await ConsoleServer.start(store, {
      host: '127.0.0.1',
      port,
      seed: undefined,
      version: '',
    })
    await next.close()
    expect(store.stats.connections).toBe(0)
  })
})
