import { connect, createServer } from 'node:net'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { ArgumentError } from '../../../src/core/util/errors.js'
import { type ServeOptions, serve } from '../../../src/server/index.js'
import { eventually } from '../../support/eventually.js'
import { listen } from '../../support/listen.js'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

const portOf = (url: string): number => Number(new URL(url).port)

/** Returns a port on which another server listens. */
const takenPort = async (): Promise<number> => listen(createServer())

describe('serve', () => {
  it('listens only on this machine, and on free ports for port 0', async () => {
    const { store } = await openStore()
    expect(store.url).toMatch(/^mqtt:\/\/127\.0\.0\.1:[1-9]\d+$/)
    expect(store.wsUrl).toMatch(/^ws:\/\/127\.0\.0\.1:[1-9]\d+$/)
    expect(portOf(store.url)).not.toBe(portOf(store.wsUrl))
  })

  it('listens on the given ports', async () => {
    const [port, wsPort] = [await freePort(), await freePort()]
    const { store } = await openStore({ port, wsPort })
    expect([store.url, store.wsUrl].map(portOf)).toEqual([port, wsPort])
  })

  it('puts brackets around an IPv6 address in its URLs', async () => {
    const { store } = await openStore({ host: '::1' })
    expect(store.url).toMatch(/^mqtt:\/\/\[::1\]:\d+$/)
    const client = await StoreClient.ready(store.url, 'alice')
    expect((await client.request(command('GET k'))).text).toBe('$-1\r\n')
  })

  it.each(['port', 'wsPort'] as const)(
    "rejects with the system's error if %s is in use, and frees the other port",
    async name => {
      const port = await takenPort()
      const free = await freePort()
      const other = name === 'port' ? 'wsPort' : 'port'
      await expect(serve({ [name]: port, [other]: free })).rejects.toMatchObject({ code: 'EADDRINUSE' })
      const { store } = await openStore({ port: free })
      expect(portOf(store.url)).toBe(free)
    },
  )

  const WRONG: readonly (readonly [string, ServeOptions])[] = [
    ['port', { port: -1 }],
    ['port', { port: 65_536 }],
    ['port', { port: 1.5 }],
    ['port', { port: Number.NaN }],
    ['wsPort', { wsPort: 65_536 }],
    ['maxKeys', { maxKeys: 0 }],
    ['maxKeys', { maxKeys: 1.5 }],
    ['maxBytes', { maxBytes: 0 }],
    ['maxBytes', { maxBytes: Number.NaN }],
    ['maxKeys', { maxKeys: Number.POSITIVE_INFINITY }],
    ['maxPacketSize', { maxPacketSize: 0 }],
    ['maxPacketSize', { maxPacketSize: -1 }],
    ['maxPacketSize', { maxPacketSize: 2 ** 32 }],
    ['port', JSON.parse('{ "port": "1883" }')],
    ['maxKeys', JSON.parse('{ "maxKeys": null }')],
    ['dialect', JSON.parse('{ "dialect": "klingon" }')],
    ['notifications', JSON.parse('{ "notifications": "always" }')],
  ]

  it.each(WRONG)('rejects an invalid %s with an argument error that names the option: %o', async (name, wrong) => {
    const failure = await serve({ port: 0, wsPort: 0, ...wrong }).then(
      async store => store.close().then(() => 'It was accepted'),
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(ArgumentError)
    expect(failure).toMatchObject({ code: 'argument', message: expect.stringMatching(`Expected \`${name}\` to be`) })
  })
})

describe('TCP_NODELAY', () => {
  afterEach(() => vi.restoreAllMocks())

  it.each(['url', 'wsUrl'] as const)('is set on every accepted connection (%s)', async transport => {
    const { store } = await openStore()
    const socket = connect(portOf(store[transport]), '127.0.0.1')
    onTestFinished(() => {
      socket.destroy()
    })
    // An accepted socket starts as a handle, before `setNoDelay` of the socket can be observed.
    const own = Reflect.get(socket, '_handle')
    const handle: { setNoDelay(on: boolean): number } = Object.getPrototypeOf(own)
    const setNoDelay = vi.spyOn(handle, 'setNoDelay')
    await eventually(() => setNoDelay.mock.calls.length > 0)
    expect(setNoDelay.mock.calls.every(([on]) => on)).toBe(true)
    expect(setNoDelay.mock.contexts).not.toContain(own)
  })
})
