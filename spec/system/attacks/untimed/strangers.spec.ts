import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { Authority } from '../../../../harness/certificates.js'
import { certificates, firstOf, type StoreServer } from '../../../../src/server/index.js'
import { openStore } from '../../../support/open-store.js'
import { connect, PINGREQ } from '../../../support/packets.js'
import { as, backwards, now, turnedAway } from '../../../support/secured.js'
import { StoreClient } from '../../../support/store-client.js'
import { command } from '../../../support/words.js'

const rules = (spy: string): string => `
- principals: { usernames: [innocent] }
  brokerResources: [{ method: Connect, clientIds: ["innocent*"] }]
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["line-1/*"] }]
- principals: { usernames: [mallory] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["${spy}"] }]`

let servers: Authority
let clients: Authority

beforeAll(() => {
  servers = new Authority('/CN=Servers')
  clients = new Authority('/CN=Clients')
})

/** Opens a store over TLS with an innocent client. */
async function open() {
  const { store, clock } = await openStore({
    tls: { ...servers.issue('/CN=localhost'), clientCa: clients.cert },
    authenticate: firstOf([certificates(), backwards()]),
    policy: rules('mallory/*'),
  })
  const faults: unknown[] = []
  store.faults$.subscribe(fault => faults.push(fault))
  const secure = (name: string) => ({ ...as(name), ca: servers.cert })
  const innocent = await StoreClient.ready(store.url, 'innocent-1', secure('innocent'))
  await innocent.request(command('KEYNOTIFY line-1/a'))
  let notificationCount = 0
  const isWell = async (): Promise<void> => {
    expect((await innocent.request(command('SET line-1/a v'), now(clock))).text).toBe('+OK\r\n')
    await innocent.arrived(++notificationCount)
    expect(faults).toEqual([])
  }
  return { store, clock, secure, isWell }
}

const ended = async (socket: Socket): Promise<void> => {
  socket.on('error', () => undefined).resume()
  if (!socket.closed) await once(socket, 'close')
}

/** Sends bytes to a listener with or without TLS. With TLS, waits until the listener closes. */
async function sendBytes(
  store: StoreServer,
  wsToo: boolean,
  secure: boolean,
  pieces: readonly Uint8Array[],
): Promise<void> {
  const port = Number(new URL(wsToo ? store.wsUrl : store.url).port)
  const socket = secure
    ? connectTls({ host: '127.0.0.1', port, ca: servers.cert, servername: 'localhost' })
    : connectTcp(port, '127.0.0.1')
  const closed = ended(socket)
  await once(socket, secure ? 'secureConnect' : 'connect')
  for (const piece of pieces) if (socket.writable) socket.write(piece)
  if (secure) socket.end()
  // An unfinished handshake is closed after ten seconds.
  else socket.destroySoon()
  await closed
}

describe('unauthenticated clients', () => {
  it('that send arbitrary bytes to TLS listeners do not affect other clients', async () => {
    const { store, isWell } = await open()
    const hello = Uint8Array.of(22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3)
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom(hello, connect('x'), connect('innocent-1'), PINGREQ),
      fc
        .constantFrom('GET / HTTP/1.1\r\n\r\n', 'GET / HTTP/1.1\r\nUpgrade: websocket\r\n')
        .map(text => Buffer.from(text)),
    )
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.boolean(), fc.array(piece, { maxLength: 5 }), async (ws, secure, pieces) => {
        await sendBytes(store, ws, secure, pieces)
      }),
      { numRuns: 150, interruptAfterTimeLimit: 30_000 },
    )
    await isWell()
    expect(store.clientIds).toEqual(['innocent-1'])
  }, 60_000)

  it('with unfinished handshakes do not affect other clients', async () => {
    const { store, isWell } = await open()
    const port = Number(new URL(store.url).port)
    const sockets = Array.from({ length: 200 }, () => connectTcp(port, '127.0.0.1').on('error', () => undefined))
    await Promise.all(sockets.map(async socket => once(socket, 'connect')))
    for (const socket of sockets) socket.write(Uint8Array.of(22, 3, 1))
    await isWell()
    for (const socket of sockets) socket.destroy()
  })
})

describe('an authenticated attacker', () => {
  it('cannot access the data of another client by any request', async () => {
    const { store, clock, secure, isWell } = await open()
    await store.load([{ key: 'line-1/secret', value: 'v' }])
    const mallory = await StoreClient.ready(store.url, 'mallory-1', secure('mallory'))
    for (const filter of ['#', '+/#', '$SYS/#', 'clients/#', '$share/g/#', 'clients/innocent-1/services/statestore/#'])
      expect(await mallory.subscribe(filter)).toEqual([0x87])
    for (const line of [
      'GET line-1/secret',
      'SET line-1/a x',
      'DEL line-1/secret',
      'VDEL line-1/secret v',
      'KEYNOTIFY line-1/a',
    ])
      expect((await mallory.request(command(line), now(clock))).text).toBe('-ERR not authorized\r\n')
    expect((await mallory.request(command('SCAN *'))).text).not.toContain('line-1')
    expect((await mallory.request(command('SET mallory/a x'), now(clock))).text).toBe('+OK\r\n')
    await isWell()
    await mallory.settled().catch(() => undefined)
    expect(mallory.inbox).toEqual([])
    expect(store.peek('line-1/secret')).toBeDefined()
  })

  it('cannot take over the session of another client by its id or certificate', async () => {
    const { store, secure, isWell } = await open()
    const forged = new Authority('/CN=Clients').issue('/CN=innocent')
    for (let i = 0; i < 20; i++) {
      expect(await turnedAway(store.url, 'innocent-1', secure('mallory'))).toBe(0x87)
      expect(await turnedAway(store.url, 'innocent-1', { ca: servers.cert, ...forged })).toBe(0x87)
    }
    await isWell()
  })

  it('gains and loses rights by policy changes under load without affecting other clients', async () => {
    const { store, clock, secure, isWell } = await open()
    for (let i = 0; i < 10; i++) {
      store.reload({ policy: rules('line-1/*') })
      const mallory = await StoreClient.ready(store.url, `mallory-${i}`, secure('mallory'))
      await mallory.request(command('KEYNOTIFY line-1/a'))
      const burst = Array.from({ length: 20 }, () => mallory.request(command('GET line-1/a')).catch(() => undefined))
      await isWell()
      store.reload({ policy: rules('mallory/*') })
      await Promise.all(burst)
      expect(await mallory.dismissed()).toBe(0x98)
      const told = mallory.inbox.length
      await isWell()
      expect(mallory.inbox.length).toBe(told)
      const again = await StoreClient.ready(store.url, `mallory-${i}`, secure('mallory'))
      expect((await again.request(command('GET line-1/a'), now(clock))).text).toBe('-ERR not authorized\r\n')
      await again.disconnect()
    }
  }, 60_000)
})
