import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { firstValueFrom } from 'rxjs'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Authority, type Pair } from '../../../harness/certificates.js'
import { connect, text } from '../../../src/client/index.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { certificates, firstOf, type ServeOptions, serve } from '../../../src/server/index.js'
import { openStore } from '../../support/open-store.js'
import { as, backwards, turnedAway } from '../../support/secured.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

let servers: Authority
let clients: Authority
let between: Authority
let others: Authority
let pair: Pair

beforeAll(() => {
  servers = new Authority('/CN=Servers')
  clients = new Authority('/CN=Contoso Root CA Cert/OU=Engineering/C=US')
  between = new Authority('/CN=Contoso Intermediate CA', clients)
  others = new Authority('/CN=Contoso Root CA Cert/OU=Engineering/C=US')
  pair = servers.issue('/CN=localhost')
})

const ATTRIBUTES = [{ subject: 'CN = Contoso Intermediate CA', attributes: { city: 'seattle' } }]
const POLICY = `
- principals: { usernames: [panel] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["*"] }]
- principals: { attributes: [{ city: seattle }] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: Read, keyType: Pattern, keys: ["city/*"] }]`

const open = async (options: ServeOptions = {}) => openStore({ tls: pair, ...options })

const openWithCertificates = async (options: ServeOptions = {}) =>
  open({
    tls: { ...pair, clientCa: clients.cert },
    authenticate: firstOf([certificates(ATTRIBUTES), backwards()]),
    ...options,
  })

describe('a store with TLS', () => {
  it.each(['url', 'wsUrl'] as const)('a client is served over %s', async name => {
    const { store } = await open()
    expect(store[name]).toMatch(/^(mqtt|ws)s:\/\/127\.0\.0\.1:\d+$/)
    const raw = await StoreClient.ready(store[name], 'c', { ca: servers.cert })
    await raw.settled()
    await using client = connect(store[name], { ca: servers.cert, clock: systemClock })
    expect(await client.key('k', text).get()).toMatchObject({ op: 'absent' })
  })

  it('a client that does not trust the authority does not connect', async () => {
    const { store } = await open()
    await expect(StoreClient.connect(store.url, 'c', { ca: others.cert })).rejects.toThrow(/certificate/)
  })

  it('a client without TLS is not served', async () => {
    const { store } = await open()
    for (const url of [store.url, store.wsUrl]) {
      const { hostname, port } = new URL(url)
      const socket = connectTcp(Number(port), hostname)
      socket
        .on('error', () => undefined)
        .write(Buffer.from('\x10\x0d\x00\x04MQTT\x05\x02\x00\x00\x00\x00\x00', 'latin1'))
      await once(socket, 'close')
    }
    expect(store.clientIds).toEqual([])
  })

  it.each(['TLSv1', 'TLSv1.1'] as const)('the protocol %s is rejected as outdated', async version => {
    const { store } = await open()
    const { hostname: host, port } = new URL(store.url)
    const options = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0', ca: servers.cert }
    const socket = connectTls({ host, port: Number(port), ...options })
    const [error] = await once(socket, 'error')
    expect(String(error.code)).toMatch(/PROTOCOL|VERSION|SSL/)
  })

  it('freezes, resumes, disconnects clients and restarts as without TLS', async () => {
    const { store } = await open()
    const raw = await StoreClient.ready(store.url, 'c', { ca: servers.cert })
    store.freeze(60_000)
    const waiting = raw.request(command('GET k'))
    const late = StoreClient.connect(store.url, 'late', { ca: servers.cert })
    expect(await Promise.race([waiting, late, new Promise(resolve => setImmediate(resolve, 'nothing'))])).toBe(
      'nothing',
    )
    store.freeze(0)
    expect((await waiting).text).toBe('$-1\r\n')
    await late
    store.cut('c')
    await raw.closed
    await store.restart({ keys: 'kept' })
    await StoreClient.ready(store.url, 'c', { ca: servers.cert })
  })

  it('a store closes immediately despite incomplete TLS handshakes', async () => {
    const store = await serve({ port: 0, wsPort: 0, tls: pair })
    onTestFinished(async () => store.close())
    const told = await StoreClient.ready(store.url, 'c', { ca: servers.cert })
    const sockets = [store.url, store.wsUrl].map(url => connectTcp(Number(new URL(url).port), '127.0.0.1'))
    await Promise.all(
      sockets.map(async socket =>
        once(
          socket.on('error', () => undefined),
          'connect',
        ),
      ),
    )
    await store.close()
    expect(await told.dismissed()).toBe(0x8b)
  })

  it('a replaced certificate is used for new connections only', async () => {
    const { store } = await open()
    const before = await StoreClient.ready(store.url, 'before', { ca: servers.cert })
    store.reload({ tls: others.issue('/CN=localhost') })
    await expect(StoreClient.connect(store.url, 'old', { ca: servers.cert })).rejects.toThrow(/certificate/)
    for (const url of [store.url, store.wsUrl]) await StoreClient.ready(url, `new-${url.length}`, { ca: others.cert })
    await before.settled()
  })

  it.each([
    ['an empty key', (): ServeOptions['tls'] => ({ ...pair, key: '' })],
    ['the key of another certificate', (): ServeOptions['tls'] => ({ ...pair, key: clients.key })],
    ['an invalid certificate', (): ServeOptions['tls'] => ({ ...pair, cert: 'cert' })],
    ['an invalid authority', (): ServeOptions['tls'] => ({ ...pair, clientCa: 'ca' })],
  ])('TLS material with %s is rejected when the store starts and later', async (_, tls) => {
    await expect(open({ tls: tls() })).rejects.toMatchObject({ code: 'argument' })
    const { store } = await openWithCertificates()
    const wrong = tls()
    expect(() => store.reload(wrong ? { tls: { clientCa: clients.cert, ...wrong } } : {})).toThrow()
    await StoreClient.ready(store.url, 'c', { ca: servers.cert, ...as('alice') })
  })
})

describe('a client certificate', () => {
  const connecting = (issued: Pair) => ({ ca: servers.cert, cert: issued.cert, key: issued.key })

  it('authenticates by its name, with the attributes of its issuers', async () => {
    const { store } = await openWithCertificates({ policy: POLICY })
    await store.load([{ key: 'city/a', value: 'v' }])
    const panel = await StoreClient.ready(store.url, 'panel', connecting(clients.issue('/CN=panel')))
    expect((await panel.request(command('GET other'))).text).toBe('$-1\r\n')
    const lock = between.issue('/CN=smart-lock')
    const chain = { ...lock, cert: lock.cert + between.cert }
    for (const url of [store.url, store.wsUrl]) {
      const raw = await StoreClient.ready(url, `lock-${url.length}`, connecting(chain))
      expect((await raw.request(command('GET city/a'))).text).toBe('$1\r\nv\r\n')
      expect((await raw.request(command('GET other'))).text).toBe('-ERR not authorized\r\n')
    }
  })

  it('of an untrusted authority is rejected, even with the same names', async () => {
    const { store } = await openWithCertificates({ policy: POLICY })
    const forged = connecting(others.issue('/CN=panel'))
    expect(await turnedAway(store.url, 'c', forged)).toBe(0x87)
    // The certificate is rejected even with a correct password, because a client with a forged certificate is not
    // trusted.
    expect(await turnedAway(store.url, 'c', { ...forged, ...as('panel') })).toBe(0x87)
  })

  it('that is self-signed is rejected', async () => {
    const { store } = await openWithCertificates()
    const own = new Authority('/CN=panel')
    expect(await turnedAway(store.url, 'c', connecting(own))).toBe(0x87)
  })

  it('is not required from a client with a password', async () => {
    const { store } = await openWithCertificates({ policy: POLICY })
    await StoreClient.ready(store.url, 'c', { ca: servers.cert, ...as('panel') })
    expect(await turnedAway(store.url, 'd', { ca: servers.cert })).toBe(0x87)
  })

  it('of an authority that is no longer trusted is rejected', async () => {
    const { store } = await openWithCertificates()
    const mine = connecting(clients.issue('/CN=panel'))
    const before = await StoreClient.ready(store.url, 'c', mine)
    store.reload({ tls: { ...pair, clientCa: others.cert } })
    expect(await turnedAway(store.url, 'd', mine)).toBe(0x87)
    await StoreClient.ready(store.url, 'e', connecting(others.issue('/CN=panel')))
    await before.settled()
  })

  it('protects its session from other certificates', async () => {
    const { store } = await openWithCertificates()
    await StoreClient.ready(store.url, 'c', connecting(clients.issue('/CN=panel')))
    expect(await turnedAway(store.url, 'c', connecting(clients.issue('/CN=mallory')))).toBe(0x87)
    // A renewed certificate is the same principal.
    await StoreClient.ready(store.url, 'c', connecting(clients.issue('/CN=panel')))
  })

  it('the client of this library sends its certificate', async () => {
    const { store } = await openWithCertificates({ policy: POLICY, clock: systemClock })
    const { cert, key } = clients.issue('/CN=panel')
    await using client = connect(store.url, { ca: servers.cert, cert, key })
    await firstValueFrom(client.key('k', text).set('v'))
    expect(await firstValueFrom(client.key('k', text).get())).toMatchObject({ value: 'v' })
  })
})
