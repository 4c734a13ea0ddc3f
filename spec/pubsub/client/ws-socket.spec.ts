import dns from 'node:dns'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import net from 'node:net'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type WebSocket as Peer, WebSocketServer } from 'ws'
import { type Socket, webSocketOpener } from '../../../src/pubsub/client/ws-socket.js'
import type { FrameData } from '../../../src/pubsub/wire/frames.js'
import { eventually } from '../../support/eventually.js'

let http: Server
let server: WebSocketServer
let peers: Peer[]
let received: unknown[]
let log: (string | FrameData)[]

beforeEach(async () => {
  peers = []
  received = []
  // Late events of earlier tests go to their own log.
  const own: (string | FrameData)[] = []
  log = own
  http = createServer((_, response) => response.writeHead(502).end())
  server = new WebSocketServer({ server: http, path: '/hub' })
  server.on('connection', peer => {
    peers.push(peer)
    peer.on('message', (data, isBinary) => received.push(isBinary ? data : String(data)))
    peer.on('close', code => own.push(`server: ${code}`))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
})

afterEach(async () => {
  for (const peer of peers) peer.terminate()
  server.close()
  http.close()
  await once(http, 'close')
})

function urlOf(path: string): string {
  const address = http.address()
  return typeof address === 'object' ? `ws://127.0.0.1:${address?.port}${path}` : ''
}

function open(url: string): Socket {
  const own = log
  return webSocketOpener(10_000)(url, 'json.reliable.webpubsub.azure.v1', {
    opened: () => own.push('opened'),
    message: data => own.push(data),
    closed: (code, reason) => own.push(`closed ${code} ${reason}`),
  })
}

describe('a host name with several addresses', () => {
  it('each address gets a part of `connectTimeout`, which shrinks after failed attempts', async () => {
    const connecting = vi.spyOn(net, 'connect')
    onTestFinished(() => connecting.mockRestore())
    const open = webSocketOpener(20_000)
    const attempt = (path: string): Promise<void> =>
      new Promise(resolve => {
        const socket = open(urlOf(path), 'json.reliable.webpubsub.azure.v1', {
          opened: () => socket.close(),
          message: () => undefined,
          closed: () => resolve(),
        })
      })
    for (const path of ['/', '/', '/hub', '/']) await attempt(path)
    const times = connecting.mock.calls.map(([options]) => Object(options).autoSelectFamilyAttemptTimeout)
    expect(times).toEqual([10_000, 5_000, 2_500, 10_000])
  })
})

const logged = (count: number): Promise<void> => eventually(() => log.length >= count)

/** The built-in WebSocket of Node 22 and later is tested where Node is not detected. */
const KINDS = 'WebSocket' in globalThis ? ['that of ws', "the platform's own"] : ['that of ws']

describe.each(KINDS)('a WebSocket, %s', kind => {
  const isNative = kind !== 'that of ws'

  beforeEach(() => {
    if (isNative) vi.stubGlobal('navigator', undefined)
  })

  afterEach(() => {
    vi.unstubAllGlobals()
  })

  it('the socket offers its subprotocol and reports when it is open', async () => {
    open(urlOf('/hub'))
    expect(log).toEqual([])
    await logged(1)
    expect(log).toEqual(['opened'])
    expect(peers[0]?.protocol).toBe('json.reliable.webpubsub.azure.v1')
  })

  it('the socket carries text and bytes in both directions', async () => {
    const socket = open(urlOf('/hub'))
    await logged(1)
    peers[0]?.send('text')
    peers[0]?.send(new Uint8Array([1, 2]))
    socket.send('text')
    socket.send(new Uint8Array([0, 3, 4]).subarray(1))
    await eventually(() => log.length === 3 && received.length === 2)
    expect(log).toEqual(['opened', 'text', new Uint8Array([1, 2])])
    expect(received).toEqual(['text', Buffer.from([3, 4])])
    expect(socket.bufferedAmount).toBe(0)
  })

  it.each([
    [1008, 'gone', 'closed 1008 gone'],
    [1000, '', 'closed 1000 '],
  ])('the socket reports the close code and the reason of the hub: %i', async (code, reason, expected) => {
    open(urlOf('/hub'))
    await logged(1)
    peers[0]?.close(code, reason)
    await eventually(() => log.includes(expected))
  })

  it.each([
    [1000, 'server: 1000'],
    [undefined, 'server: 1005'],
  ])('the socket closes with the code %s', async (code, expected) => {
    const socket = open(urlOf('/hub'))
    await logged(1)
    socket.close(code)
    await eventually(() => log.includes(expected) && log.some(line => String(line).startsWith('closed')))
  })

  it.skipIf(isNative)('a socket whose close frame gets no answer can be terminated', async () => {
    const socket = open(urlOf('/hub'))
    await logged(1)
    peers[0]?.pause()
    socket.close(1000)
    socket.terminate()
    await logged(2)
    expect(log).toEqual(['opened', expect.stringMatching(/^closed 1006/)])
  })

  it('a socket can be terminated before it is created', () => {
    expect(() => open(urlOf('/hub')).terminate()).not.toThrow()
  })

  it('a socket that is closed before it is open reports only its close', async () => {
    open(urlOf('/hub')).close(1000)
    await logged(1)
    expect(log).toEqual([expect.stringMatching(/^closed 1006/)])
  })

  it('the socket reports a failed upgrade', async () => {
    open(urlOf('/other'))
    await logged(1)
    expect(log).toEqual([expect.stringMatching(/^closed 1006/)])
  })

  it.skipIf(isNative)('the socket reports each address of a host that refused the connection', async () => {
    const addresses = ['127.0.0.1', '127.0.0.2'].map(address => ({ address, family: 4 }))
    vi.spyOn(dns, 'lookup').mockImplementation((...args: unknown[]) => {
      const done = args.at(-1)
      if (typeof done === 'function') process.nextTick(done, null, addresses)
    })
    const url = urlOf('/hub').replace('127.0.0.1', 'two.test')
    http.close()
    open(url)
    await logged(1)
    vi.restoreAllMocks()
    expect(log).toEqual([expect.stringMatching(/^closed 1006 .*REFUSED 127\.0\.0\.1:\d+; .*REFUSED 127\.0\.0\.2:\d+$/)])
  })

  it('the socket reports a refused connection', async () => {
    const url = urlOf('/hub')
    http.close()
    open(url)
    await logged(1)
    expect(log).toEqual([expect.stringMatching(/^closed 1006/)])
    http.listen(0, '127.0.0.1')
    await once(http, 'listening')
  })

  it('an invalid URL is reported and does not throw', async () => {
    open('wss://exa mple')
    await logged(1)
    expect(log).toEqual([expect.stringMatching(/^closed 1006 ./)])
  })
})

describe('a platform WebSocket that fails to open', () => {
  afterEach(() => {
    vi.unstubAllGlobals()
  })

  class Failing {
    onerror: ((event: object) => void) | undefined
    onclose: ((event: { code: number; reason: string }) => void) | undefined

    constructor() {
      setImmediate(() => this.fail())
    }

    protected fail(): void {
      this.onerror?.({ message: 'non-101 status code' })
    }
  }

  class FailingTwice extends Failing {
    protected override fail(): void {
      super.fail()
      this.onclose?.({ code: 1006, reason: '' })
    }
  }

  it.each([
    ['emits only an error', Failing],
    ['emits an error and a close', FailingTwice],
  ])('the socket reports one close if the platform WebSocket %s', async (_, WebSocket) => {
    vi.stubGlobal('navigator', { userAgent: 'Another/1' })
    vi.stubGlobal('WebSocket', WebSocket)
    open('ws://127.0.0.1/')
    await logged(1)
    expect(log).toEqual(['closed 1006 non-101 status code'])
  })

  it('the platform WebSocket is not used in Node', async () => {
    vi.stubGlobal('navigator', { userAgent: 'Node.js/22' })
    vi.stubGlobal('WebSocket', Failing)
    open(urlOf('/hub'))
    await logged(1)
    expect(log).toEqual(['opened'])
  })
})
