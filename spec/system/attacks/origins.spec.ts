import { describe, expect, it } from 'vitest'
import type { ServeOptions } from '../../../src/server/index.js'
import { openStore } from '../../support/open-store.js'
import { RawSocket } from '../../support/raw-socket.js'

/** What the broker answers a request for a WebSocket: 101 when it agrees. */
async function ask(headers: Readonly<Record<string, string>>, options: ServeOptions = {}): Promise<number> {
  const { store } = await openStore(options)
  const { host } = new URL(store.wsUrl)
  const all: Record<string, string> = {
    Host: host,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Protocol': 'mqtt',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  }
  const raw = await RawSocket.open(store.wsUrl.replace('0.0.0.0', '127.0.0.1'))
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  await raw.send(`${['GET / HTTP/1.1', ...lines].join('\r\n')}\r\n\r\n`)
  const [, status] = /^HTTP\/1\.1 (\d+)/.exec(String(await raw.first(12))) ?? []
  return Number(status)
}

const PANEL: ServeOptions = { allowedOrigins: ['https://panel.example'] }

describe('A page in a browser may connect over WebSocket', () => {
  it.each<[string, Record<string, string>, ServeOptions]>([
    ['of this machine: the console, on another port', { Origin: 'http://127.0.0.1:8080' }, {}],
    ['of this machine, by name', { Host: 'localhost:8083', Origin: 'http://localhost:5173' }, {}],
    ['of this machine, whatever it calls it', { Host: 'localhost:8083', Origin: 'http://[::1]:8080' }, {}],
    [
      'of the address that it asks for',
      { Host: '192.0.2.7:8083', Origin: 'http://192.0.2.7' },
      { host: '0.0.0.0', allowAnonymous: true },
    ],
    ['of an origin on the list', { Origin: 'https://panel.example' }, PANEL],
    ['of an origin on the list, in other letters', { Origin: 'https://Panel.Example' }, PANEL],
  ])('%s', async (_, headers, options) => {
    expect(await ask(headers, options)).toBe(101)
  })
})

describe('A page in a browser is refused', () => {
  it.each<[string, Record<string, string>, ServeOptions]>([
    ['of another site', { Origin: 'https://evil.example' }, {}],
    ['of another site, which is not on the list', { Origin: 'https://evil.example' }, PANEL],
    ['below a name on the list', { Origin: 'https://evil.panel.example' }, PANEL],
    ['that begins like one on the list', { Origin: 'https://panel.example.evil.example' }, PANEL],
    ['of the host on the list, by another scheme', { Origin: 'http://panel.example' }, PANEL],
    ['of the host on the list, on another port', { Origin: 'https://panel.example:8443' }, PANEL],
    ['of a name that somebody made point here', { Host: 'evil.example:8083', Origin: 'http://evil.example:8083' }, {}],
    ['of such a name, in other letters', { Host: 'EVIL.example', Origin: 'http://evil.EXAMPLE' }, {}],
    [
      'of such a name, though the broker listens everywhere',
      { Host: 'evil.example', Origin: 'http://evil.example' },
      { host: '0.0.0.0', allowAnonymous: true },
    ],
    ['of this machine, by a foreign name', { Host: 'evil.example', Origin: 'http://localhost' }, {}],
    ['that does not say where it is from', { Origin: 'null' }, {}],
    ['from a file, or in a sandbox', { Origin: 'file://' }, {}],
    ['of an address on the network', { Origin: 'http://192.0.2.7' }, {}],
    ['whose origin is none', { Origin: 'http://' }, {}],
    ['whose origin is a trick', { Origin: 'http://localhost@evil.example' }, {}],
    ['whose host is a trick', { Host: 'localhost@evil.example', Origin: 'http://localhost' }, {}],
    [
      'whose host only looks like ours',
      { Host: 'localhost.evil.example', Origin: 'http://localhost.evil.example' },
      {},
    ],
    [
      'whose host only looks like an address',
      { Host: '127.0.0.1.evil.example', Origin: 'http://127.0.0.1.evil.example' },
      {},
    ],
    ['without a host', { Host: '', Origin: 'http://localhost' }, {}],
  ])('%s', async (_, headers, options) => {
    expect(await ask(headers, options)).toBe(403)
  })
})

describe('A program that is no browser', () => {
  it.each([
    ['by address', {}],
    ['by any name', { Host: 'store.factory.example' }],
  ])('sends no origin, and may connect: %s', async (_, headers) => {
    expect(await ask(headers)).toBe(101)
  })
})
