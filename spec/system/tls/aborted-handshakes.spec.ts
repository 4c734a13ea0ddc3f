import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import type { TlsMaterial } from '../../../src/node/net/tls.js'
import { servePubSub } from '../../../src/pubsub/hub/index.js'
import { ConsoleServer } from '../../../src/server/console/console-server.js'
import { certificates, firstOf, serve } from '../../../src/server/index.js'
import { listen } from '../../support/diagnostics.js'

/** The number of connections of each kind at each listener. */
const COUNT = 10
/** The number of incomplete handshakes at the store. */
const MANY = 1_010
/** The timeout of a handshake and of the head of a request, in ms. */
const TIMEOUT_MS = 10_000
/** The timeout plus the interval at which a server checks, and the delays of a busy machine, in ms. */
const LONGEST = 30_000
/** The head of a handshake record of 200 bytes, none of which follow (RFC 8446, section 5.1). */
const HEAD_OF_HELLO = Uint8Array.of(22, 3, 1, 0, 200)
/** The first bytes of a ClientHello. */
const HALF_HELLO = Uint8Array.of(22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3, 1, 2, 3)

let tls: TlsMaterial
let clientCa: string

beforeAll(() => {
  tls = new Authority('/CN=Servers').issue('/CN=localhost')
  clientCa = new Authority('/CN=Clients').cert
})

/** Opens all listeners. Returns their ports and a function that closes them. */
async function open(secure: boolean) {
  const material = secure ? { tls } : {}
  const store = await serve({
    port: 0,
    wsPort: 0,
    ...(secure && { tls: { ...tls, clientCa } }),
    authenticate: firstOf([certificates()]),
  })
  const page = await ConsoleServer.start(store, {
    host: '127.0.0.1',
    port: 0,
    ...material,
    seed: undefined,
    version: '',
  })
  const hub = await servePubSub({ port: 0, ...material, authenticate: 'anonymous' })
  const close = async (): Promise<unknown> => Promise.all([hub.close(), page.close(), store.close()])
  onTestFinished(async () => void (await close()))
  return { ports: [Number(new URL(store.url).port), Number(new URL(store.wsUrl).port), page.port, hub.port], close }
}

/** Returns the number of sockets of this process, including those of clients. */
const sockets = (): number => {
  let count = 0
  for (const descriptor of readdirSync('/proc/self/fd')) {
    try {
      if (readlinkSync(`/proc/self/fd/${descriptor}`).startsWith('socket:')) count++
    } catch {
      // The descriptor was that of the folder being read.
    }
  }
  return count
}

const expectNoneLeft = async (before: number): Promise<void> =>
  expect.poll(sockets, { timeout: LONGEST, interval: 50 }).toBeLessThanOrEqual(before)

const tcp = async (port: number): Promise<Socket> => {
  const socket = connectTcp(port, '127.0.0.1').on('error', () => undefined)
  await once(socket, 'connect')
  return socket.resume()
}

const secured = async (port: number): Promise<Socket> => {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false }).on('error', () => undefined)
  await once(socket, 'secureConnect')
  return socket.resume()
}

/** Resolves when a handshake has failed. */
const failed = async (socket: Socket): Promise<void> =>
  new Promise(resolve => socket.on('error', () => undefined).once('close', () => resolve()))

const ABORTED: Readonly<Record<string, (port: number) => Promise<unknown>>> = {
  'closes the connection before sending data': async port => (await tcp(port)).end(),
  'resets the connection before sending data': async port => (await tcp(port)).resetAndDestroy(),
  'closes the connection during the handshake': async port => (await tcp(port)).end(HALF_HELLO),
  'resets the connection during the handshake': async port => {
    const socket = await tcp(port)
    socket.write(HEAD_OF_HELLO, () => socket.resetAndDestroy())
  },
  'rejects the certificate of the server': async port => failed(connectTls({ host: '127.0.0.1', port })),
  'shares no cipher with the server': async port =>
    failed(connectTls({ host: '127.0.0.1', port, maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-SHA' })),
  'sends random bytes': async port => (await tcp(port)).write(Buffer.alloc(1_000, 7)),
  'sends HTTP without TLS': async port => (await tcp(port)).write('GET / HTTP/1.1\r\n\r\n'),
}
const beginHandshake = async (port: number): Promise<Socket> => {
  const socket = await tcp(port)
  socket.write(HALF_HELLO)
  return socket
}
const UNFINISHED: Readonly<Record<string, (port: number) => Promise<Socket>>> = {
  'sends nothing': tcp,
  'stops sending during the handshake': beginHandshake,
}
const HEAD = 'GET /client/hubs/chat HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n'

/** Opens connections that begin the head of a request and repeatedly add a byte, which must not extend the deadline. */
async function dripHead(connect: (port: number) => Promise<Socket>, port: number): Promise<readonly Socket[]> {
  return Promise.all(
    ['', HEAD].map(async head => {
      const socket = await connect(port)
      socket.write(head)
      const dripping = setInterval(() => socket.writable && socket.write('X'), 500)
      socket.once('close', () => clearInterval(dripping))
      return socket
    }),
  )
}

/** Connections of one kind at all listeners. */
interface Waiting {
  readonly kind: string
  readonly sockets: readonly Socket[]
}

const isOpen = ({ sockets: all }: Waiting): boolean => all.some(socket => !socket.closed)

describe('A client that begins a TLS handshake and', { timeout: 2 * LONGEST }, () => {
  it.each(Object.entries(ABORTED))('%s leaves no socket at any listener', async (_, abort) => {
    const { ports } = await open(true)
    const before = sockets()
    await Promise.all(ports.flatMap(port => Array.from({ length: COUNT }, async () => abort(port))))
    await expectNoneLeft(before)
  })

  it.each(Object.entries(ABORTED))('%s causes an event at each listener', async (_, abort) => {
    const { ports } = await open(true)
    const events = listen('rx-statestore:server:connection')
    await Promise.all(ports.map(async port => abort(port)))
    const listeners = (): string[] =>
      events.flatMap(event => (event.type === 'handshake-failed' ? [event.listener] : [])).sort()
    await expect.poll(listeners, { timeout: LONGEST, interval: 50 }).toEqual(['console', 'hub', 'mqtts', 'wss'])
  })

  it.each(Object.entries(UNFINISHED))('%s does not keep a server from closing', async (_, begin) => {
    const { ports, close } = await open(true)
    await Promise.all(ports.map(async port => begin(port)))
    const began = performance.now()
    await close()
    expect(performance.now() - began).toBeLessThan(TIMEOUT_MS)
  })

  it.each(Object.entries(UNFINISHED))('%s causes no event when the server closes', async (_, begin) => {
    const { ports, close } = await open(true)
    const before = sockets()
    const events = listen('rx-statestore:server:connection')
    await Promise.all(ports.map(async port => begin(port)))
    await close()
    await expectNoneLeft(before - ports.length)
    expect(events).toEqual([])
  })
})

describe('A client that completes neither its handshake nor the head of its request', { timeout: 3 * LONGEST }, () => {
  // All kinds share one test, because each takes the whole ten seconds.
  it('the client is disconnected after ten seconds at each listener', async () => {
    const [safe, plain] = await Promise.all([open(true), open(false)])
    const before = sockets()
    const begin = async (
      kind: string,
      ports: readonly number[],
      start: (port: number) => Promise<readonly Socket[]>,
    ) => ({
      kind,
      sockets: (await Promise.all(ports.map(start))).flat(),
    })
    const several = (connect: (port: number) => Promise<Socket>, count: number) => async (port: number) =>
      Promise.all(Array.from({ length: count }, async () => connect(port)))
    const waiting = await Promise.all([
      ...Object.entries(UNFINISHED).map(([kind, connect]) => begin(kind, safe.ports, several(connect, COUNT))),
      begin('a thousand handshakes', safe.ports.slice(0, 1), several(beginHandshake, MANY)),
      begin('head with TLS', safe.ports, async port => dripHead(secured, port)),
      begin('head without TLS', plain.ports, async port => dripHead(tcp, port)),
    ])
    expect(waiting.map(one => [one.kind, isOpen(one)])).toEqual(waiting.map(({ kind }) => [kind, true]))
    await expect
      .poll(() => waiting.filter(isOpen).map(({ kind }) => kind), { timeout: LONGEST, interval: 50 })
      .toEqual([])
    await expectNoneLeft(before)
  })
})
