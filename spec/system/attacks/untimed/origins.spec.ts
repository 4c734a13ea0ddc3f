import { describe, expect, it } from 'vitest'
import type { AuditEvent, ServeOptions, StoreServer } from '../../../../src/server/index.js'
import { record } from '../../../support/open-client.js'
import { openStore } from '../../../support/open-store.js'
import { RawSocket } from '../../../support/raw-socket.js'

/** Returns the status of a WebSocket upgrade, which is 101 if the upgrade is accepted. */
async function ask(headers: Readonly<Record<string, string>>, options: ServeOptions = {}): Promise<number> {
  return askAt((await openStore(options)).store, headers)
}

async function askAt(store: StoreServer, headers: Readonly<Record<string, string>>): Promise<number> {
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

describe('A web page may connect over WebSocket if it is', () => {
  it.each<[string, Record<string, string>, ServeOptions]>([
    ['on this machine: the console, on another port', { Origin: 'http://127.0.0.1:8080' }, {}],
    ['on this machine, by name', { Host: 'localhost:8083', Origin: 'http://localhost:5173' }, {}],
    ['on this machine, by another name or address', { Host: 'localhost:8083', Origin: 'http://[::1]:8080' }, {}],
    [
      'at the address that it connects to',
      { Host: '192.0.2.7:8083', Origin: 'http://192.0.2.7' },
      { host: '0.0.0.0', allowAnonymous: true },
    ],
    ['at an origin on the list', { Origin: 'https://panel.example' }, PANEL],
    ['at an origin on the list, spelled in another case', { Origin: 'https://Panel.Example' }, PANEL],
  ])('%s', async (_, headers, options) => {
    expect(await ask(headers, options)).toBe(101)
  })
})

describe('A web page is rejected if it is', () => {
  it.each<[string, Record<string, string>, ServeOptions]>([
    ['of another site', { Origin: 'https://evil.example' }, {}],
    ['of another site that is not on the list', { Origin: 'https://evil.example' }, PANEL],
    ['at a subdomain of a name on the list', { Origin: 'https://evil.panel.example' }, PANEL],
    ['at a name that begins with a name on the list', { Origin: 'https://panel.example.evil.example' }, PANEL],
    ['at a host on the list, with another scheme', { Origin: 'http://panel.example' }, PANEL],
    ['at a host on the list, on another port', { Origin: 'https://panel.example:8443' }, PANEL],
    [
      'at a foreign name that resolves to this machine',
      { Host: 'evil.example:8083', Origin: 'http://evil.example:8083' },
      {},
    ],
    [
      'at a foreign name that resolves to this machine, spelled in another case',
      { Host: 'EVIL.example', Origin: 'http://evil.EXAMPLE' },
      {},
    ],
    [
      'at a foreign name that resolves to this machine, if the broker listens on all addresses',
      { Host: 'evil.example', Origin: 'http://evil.example' },
      { host: '0.0.0.0', allowAnonymous: true },
    ],
    ['on this machine, but connected to a foreign name', { Host: 'evil.example', Origin: 'http://localhost' }, {}],
    ['of the origin null', { Origin: 'null' }, {}],
    ['from a file, or in a sandbox', { Origin: 'file://' }, {}],
    ['at another address on the network', { Origin: 'http://192.0.2.7' }, {}],
    ['of an invalid origin', { Origin: 'http://' }, {}],
    ['of an origin with a deceptive user name', { Origin: 'http://localhost@evil.example' }, {}],
    [
      'connected to a host with a deceptive user name',
      { Host: 'localhost@evil.example', Origin: 'http://localhost' },
      {},
    ],
    [
      'connected to a name that has the name of this server as its prefix',
      { Host: 'localhost.evil.example', Origin: 'http://localhost.evil.example' },
      {},
    ],
    [
      'connected to a name that looks like an address',
      { Host: '127.0.0.1.evil.example', Origin: 'http://127.0.0.1.evil.example' },
      {},
    ],
    ['without a host', { Host: '', Origin: 'http://localhost' }, {}],
  ])('%s', async (_, headers, options) => {
    expect(await ask(headers, options)).toBe(403)
  })
})

describe('A client outside a browser', () => {
  it.each([
    ['by address', {}],
    ['under any name', { Host: 'store.factory.example' }],
  ])('sends no origin and may connect %s', async (_, headers) => {
    expect(await ask(headers)).toBe(101)
  })
})

describe('A rejected web page', () => {
  it('is written to the audit log with its origin, the host and its address', async () => {
    const { store } = await openStore()
    const audit = record<AuditEvent>(store.audit$)
    await askAt(store, { Origin: 'https://evil.example' })
    const { host } = new URL(store.wsUrl)
    expect(audit.values).toMatchObject([
      { event: 'cut', listener: 'ws', address: '127.0.0.1', reason: `page of https://evil.example at ${host}` },
    ])
  })
})
