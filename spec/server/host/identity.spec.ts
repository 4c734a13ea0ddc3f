import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as mqttConnect } from 'mqtt'
import { firstValueFrom, take, toArray } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { freePort } from '../../../harness/free-port.js'
import { connect, text } from '../../../src/client/index.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { type Authenticate, firstOf, type LoginRequest, serve } from '../../../src/server/index.js'
import { eventually } from '../../support/eventually.js'
import { openStore } from '../../support/open-store.js'
import { connect as connectPacket, publish } from '../../support/packets.js'
import { RawSocket } from '../../support/raw-socket.js'
import { as, openSecured, turnedAway } from '../../support/secured.js'
import { stopMonotonicTime } from '../../support/stop-time.js'
import { StoreClient } from '../../support/store-client.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { command } from '../../support/words.js'

const [BAD_CREDENTIALS, NOT_AUTHORIZED, BAD_METHOD, UNAVAILABLE, RATE] = [0x86, 0x87, 0x8c, 0x88, 0x9f]

const QUOTA_EXCEEDED = 151

describe('a store with authentication', () => {
  it('accepts valid credentials, and passes all their details to `authenticate`', async () => {
    const requests: LoginRequest[] = []
    const authenticate: Authenticate = request => {
      requests.push(request)
      return { principal: { username: 'alice' } }
    }
    const { store } = await openStore({ authenticate })
    await StoreClient.ready(store.url, 'c', as('alice'))
    await StoreClient.ready(store.wsUrl, '', { ...as('bob'), protocolVersion: 4 }).catch(() => undefined)
    const [first, second] = requests
    expect(first).toMatchObject({ clientId: 'c', username: 'alice', listener: 'mqtt', remoteAddress: '127.0.0.1' })
    expect(Buffer.from(first?.password ?? []).toString()).toBe('ecila')
    expect(first).toMatchObject({ method: undefined, data: undefined, state: undefined, certificate: undefined })
    expect(second).toMatchObject({ username: 'bob', listener: 'ws' })
    expect(second?.clientId).not.toBe('')
  })

  it('rejects a user name of more than 4,096 characters', async () => {
    const { store } = await openStore({ authenticate: ({ username = '' }) => ({ principal: { username } }) })
    await StoreClient.ready(store.url, 'c', as('x'.repeat(4_096)))
    expect(await turnedAway(store.url, 'd', as('x'.repeat(4_097)))).toBe(BAD_CREDENTIALS)
  })

  it.each([
    ['a wrong password', { username: 'alice', password: 'wrong' }, BAD_CREDENTIALS],
    ['a client without credentials', {}, NOT_AUTHORIZED],
    ['an unknown authentication method', { properties: { authenticationMethod: 'riddles' } }, BAD_METHOD],
  ])('rejects %s', async (_, options, code) => {
    const { store } = await openSecured()
    expect(await turnedAway(store.url, 'c', options)).toBe(code)
    expect(store.clientIds).toEqual([])
  })

  it('rejects MQTT 3.1.1 clients with the return codes of MQTT 3.1.1', async () => {
    const { store } = await openSecured()
    expect(await turnedAway(store.url, 'c', { protocolVersion: 4, username: 'alice', password: 'wrong' })).toBe(4)
    expect(await turnedAway(store.url, 'c', { protocolVersion: 4 })).toBe(5)
  })

  it('accepts clients without credentials if configured, but no client with a wrong password', async () => {
    const { store } = await openSecured({ allowAnonymous: true })
    await StoreClient.ready(store.url, 'c')
    expect(await turnedAway(store.url, 'd', { username: 'alice', password: 'wrong' })).toBe(BAD_CREDENTIALS)
  })

  it.each<[string, Authenticate]>([
    [
      'throws',
      () => {
        throw new Error('out of order')
      },
    ],
    ['rejects', async () => Promise.reject(new Error('out of order'))],
    ['returns null', () => JSON.parse('null')],
    ['returns an invalid principal', () => JSON.parse('{ "principal": { "username": 7 } }')],
    ['returns attributes without a name', () => ({ principal: { attributes: { role: 'admin' } } })],
  ])('rejects the client and keeps running if `authenticate` %s', async (_, authenticate) => {
    const { store } = await openStore({ authenticate })
    for (let i = 0; i < 10; i++) expect(await turnedAway(store.url, 'c', as('alice'))).toBe(UNAVAILABLE)
  })

  it('the first applicable authentication method decides', async () => {
    const asked: number[] = []
    const method = (number: number, speaks: boolean) => () => {
      asked.push(number)
      return speaks ? ({ refused: 'banned', reason: 'no' } as const) : undefined
    }
    const authenticate = firstOf([method(1, false), method(2, true), method(3, true)])
    const { store } = await openStore({ authenticate })
    expect(await turnedAway(store.url, 'c')).toBe(0x8a)
    expect(asked).toEqual([1, 2])
  })

  it('throttles an address with failed logins, even for the correct password', async () => {
    stopMonotonicTime()
    const { store } = await openSecured()
    for (let i = 0; i < 5; i++)
      expect(await turnedAway(store.url, 'c', { username: 'alice', password: `${i}` })).toBe(BAD_CREDENTIALS)
    expect(await turnedAway(store.url, 'c', as('alice'))).toBe(RATE)
  })

  it('a name that has logged in from an address is throttled only by guesses at its password', async () => {
    stopMonotonicTime()
    const { store } = await openSecured()
    for (const name of ['alice', 'bob']) await (await StoreClient.connect(store.url, name, as(name))).disconnect()
    for (let i = 0; i < 5; i++) await turnedAway(store.url, 'c', { username: 'carol', password: `${i}` })
    expect(await turnedAway(store.url, 'c', as('carol'))).toBe(RATE)
    await (await StoreClient.connect(store.url, 'alice', as('alice'))).disconnect()
    for (let i = 0; i < 5; i++)
      expect(await turnedAway(store.url, 'c', { username: 'alice', password: `${i}` })).toBe(BAD_CREDENTIALS)
    expect(await turnedAway(store.url, 'alice', as('alice'))).toBe(RATE)
    await (await StoreClient.connect(store.url, 'bob', as('bob'))).disconnect()
  })

  it('counts connections and failed logins, both in total and by address', async () => {
    stopMonotonicTime()
    const { store } = await openSecured()
    const alice = await StoreClient.ready(store.url, 'c', as('alice'))
    const { hostname, port } = new URL(store.url)
    const silent = connectTcp(Number(port), hostname)
    onTestFinished(() => void silent.destroy())
    await eventually(() => store.stats.networkConnections === 2)
    expect(store.stats).toMatchObject({ connections: 1, refusedLogins: 0 })
    for (let i = 0; i < 6; i++) await turnedAway(store.url, 'd', { username: 'alice', password: 'wrong' })
    await eventually(() => store.stats.networkConnections === 2)
    expect(store.stats).toMatchObject({ connections: 1, refusedLogins: 6, refusedConnections: 0 })
    const here = { address: '127.0.0.1', connections: 2, refusedConnections: 0, failedLogins: 5 }
    expect([...store.addresses]).toEqual([{ ...here, pause: expect.any(Number) }])
    expect([...store.addresses][0]?.pause).toBeGreaterThan(0)
    silent.destroy()
    await alice.disconnect()
    await eventually(() => store.stats.networkConnections === 0)
    // The failures are kept after the client disconnects.
    expect([...store.addresses]).toMatchObject([{ ...here, connections: 0 }])
  })

  it('checks few concurrent guesses, and checks none after those have failed', async () => {
    let guesses = 0
    const { store } = await openStore({
      authenticate: async () => {
        guesses++
        await new Promise(resolve => setImmediate(resolve))
        return { refused: 'credentials', reason: 'no' }
      },
    })
    const all = Array.from({ length: 100 }, (_, i) => turnedAway(store.url, `c${i}`, as('alice')))
    const codes = await Promise.all(all)
    expect(codes.filter(code => code === RATE).length).toBe(100 - guesses)
    expect(guesses).toBeLessThanOrEqual(32)
  })

  it('an `authenticate` error is reported to the operator, its kind audited, clients told none', async () => {
    const error = Object.assign(new Error('no answer of db.internal'), { code: 'ECONNREFUSED' })
    const authenticate: Authenticate = () => {
      throw error
    }
    const { store } = await openStore({ authenticate })
    const [recorded, fault] = [firstValueFrom(store.audit$), firstValueFrom(store.faults$)]
    const stranger = mqttConnect(store.url, { protocolVersion: 5, reconnectPeriod: 0, ...as('alice') })
    stranger.on('error', () => undefined)
    const connack = await new Promise(resolve => stranger.once('packetreceive', resolve))
    await stranger.endAsync(true)
    expect(connack).toMatchObject({ cmd: 'connack', reasonCode: UNAVAILABLE })
    expect(JSON.stringify(connack)).not.toContain('db.internal')
    expect((await recorded).reason).toBe('clients cannot be authenticated at the moment: Error ECONNREFUSED')
    expect((await fault).error).toBe(error)
  })

  it('limits audit entries that anonymous clients cause', async () => {
    const { store } = await openSecured()
    const event = firstValueFrom(store.audit$)
    await turnedAway(store.url, 'c'.repeat(2_000), { username: 'u'.repeat(60_000), password: 'x' })
    expect(JSON.stringify(await event).length).toBeLessThan(1_000)
  })

  it('writes no secrets to the audit log', async () => {
    const { store } = await openSecured()
    const events = firstValueFrom(store.audit$.pipe(take(2), toArray()))
    await StoreClient.connect(store.url, 'c', as('alice'))
    await turnedAway(store.url, 'c', { username: 'alice', password: 'guess' })
    const who = { event: 'login', clientId: 'c', username: 'alice', address: '127.0.0.1', listener: 'mqtt' }
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)
    expect(await events).toEqual([
      { time, ...who, outcome: 'accepted' },
      { time, ...who, outcome: 'refused', reason: 'user name or password is wrong' },
    ])
  })
})

describe('a client id', () => {
  it('is reserved for its principal while the session exists', async () => {
    const { store } = await openSecured()
    const alice = await StoreClient.ready(store.url, 'panel', as('alice'))
    const outcomes: unknown[] = []
    store.audit$.subscribe(({ username, outcome, reason }) => outcomes.push([username, outcome, reason]))
    expect(await turnedAway(store.url, 'panel', as('mallory'))).toBe(NOT_AUTHORIZED)
    expect(await turnedAway(store.url, 'panel', { ...as('mallory'), clean: true })).toBe(NOT_AUTHORIZED)
    await alice.settled()
    expect(outcomes).toEqual(Array(2).fill(['mallory', 'refused', 'the client id belongs to another principal']))
  })

  it('is reserved while its client is offline, also its queued messages', async () => {
    const { store } = await openSecured()
    const kept = { ...as('alice'), clean: false, properties: { sessionExpiryInterval: 60 } }
    const alice = await StoreClient.connect(store.url, 'panel', kept)
    await alice.subscribe('news')
    await alice.disconnect()
    const other = await StoreClient.ready(store.url, 'other', as('bob'))
    await other.publish('news', 'secret')
    expect(await turnedAway(store.url, 'panel', { ...kept, ...as('mallory') })).toBe(NOT_AUTHORIZED)
    const again = await StoreClient.connect(store.url, 'panel', kept)
    expect((await again.arrived(1))[0]?.text).toBe('secret')
  })

  it('is free after its session ends, and the same principal can take it over at any time', async () => {
    const { store } = await openSecured()
    const first = await StoreClient.ready(store.url, 'panel', as('alice'))
    await StoreClient.ready(store.url, 'panel', as('alice'))
    expect(await first.dismissed()).toBe(0x8e)
    const last = await StoreClient.ready(store.url, 'other', as('bob'))
    await last.disconnect()
    await StoreClient.ready(store.url, 'other', as('mallory'))
  })
})

describe('anonymous access', () => {
  it.each(['0.0.0.0', '::', '192.0.2.1', 'store.example'])(
    'a store without authentication does not listen on %s by default',
    async host => {
      await expect(serve({ host, port: 0, wsPort: 0 })).rejects.toThrow(/allowAnonymous: true/)
    },
  )

  it.each(['127.0.0.1', 'localhost', '::1'])('a store without authentication listens on %s', async host => {
    const { store } = await openStore({ host })
    await StoreClient.ready(store.url, 'c')
  })

  it('a store without authentication listens on other addresses if configured, with a warning', async () => {
    const warnings: string[] = []
    const { store } = await openStore({ host: '0.0.0.0', allowAnonymous: true, warn: words => warnings.push(words) })
    await StoreClient.ready(store.url.replace('0.0.0.0', '127.0.0.1'), 'c')
    expect(warnings).toEqual(['anonymous clients on 0.0.0.0 have full access'])
  })

  it('a store without authentication emits a process warning unless `warn` is set', async () => {
    const warned = once(process, 'warning')
    await openStore({ host: '0.0.0.0', allowAnonymous: true })
    expect(await warned).toMatchObject([{ code: 'RX_STATESTORE_SECURITY', message: expect.stringMatching('0.0.0.0') }])
  })

  it('a store with authentication warns if it also accepts anonymous clients', async () => {
    const warnings: string[] = []
    const warn = (words: string): void => void warnings.push(words)
    await openStore({ warn })
    await openStore({ warn, allowAnonymous: true })
    await openSecured({ warn })
    expect(warnings).toEqual([])
    await openSecured({ warn, allowAnonymous: true })
    expect(warnings).toHaveLength(1)
  })

  it('logins from other machines without TLS cause a warning', async () => {
    const warnings: string[] = []
    const warn = (words: string): void => void warnings.push(words)
    const { cert, key } = new Authority('/CN=Contoso Root CA').issue('/CN=localhost')
    await openSecured({ warn, host: '0.0.0.0', tls: { cert, key } })
    await openSecured({ warn })
    expect(warnings).toEqual([])
    await openSecured({ warn, host: '0.0.0.0' })
    expect(warnings).toEqual([
      'clients on 0.0.0.0 send passwords and tokens without encryption: set up TLS, unless the network is trusted',
    ])
  })

  it('a certificate outside of its validity causes a warning at the start and when replaced', async () => {
    const warnings: string[] = []
    const warn = (words: string): void => void warnings.push(words)
    const authority = new Authority('/CN=Contoso Root CA')
    const [expired, valid] = [authority.issue('/CN=localhost', { days: -1 }), authority.issue('/CN=localhost')]
    const { validTo } = new X509Certificate(expired.cert)
    const warning = `the TLS certificate expired at ${new Date(validTo).toISOString()}`
    const { store } = await openStore({ warn, tls: expired })
    expect(warnings).toEqual([warning])
    store.reload({ tls: expired })
    store.reload({ tls: valid })
    expect(warnings).toEqual([warning])
    store.reload({ tls: expired })
    expect(warnings).toEqual([warning, warning])
  })

  it('a store is not started if `warn` throws, and its directory and ports stay free', async () => {
    const warn = (words: string): void => {
      throw new Error(words)
    }
    const options = { host: '0.0.0.0', allowAnonymous: true, data: temporaryFolder(), port: await freePort() }
    await expect(openStore({ ...options, warn })).rejects.toThrow('anonymous clients on 0.0.0.0 have full access')
    await openStore({ ...options, warn: () => undefined })
  })

  it('a reload changes nothing if `warn` throws', async () => {
    const warn = (words: string): void => {
      throw new Error(words)
    }
    const authority = new Authority('/CN=Contoso Root CA')
    const [expired, valid] = [authority.issue('/CN=localhost', { days: -1 }), authority.issue('/CN=localhost')]
    const { store } = await openStore({ warn, tls: valid })
    const before = store.certificateExpiresAt
    expect(() => store.reload({ tls: expired })).toThrow(/expired/)
    expect(store.certificateExpiresAt).toBe(before)
    expect(() => store.reload({ tls: expired })).toThrow(/expired/)
  })

  it('a store without authentication does not accept a policy later', async () => {
    const { store } = await openStore()
    expect(() => store.reload({ policy: '[]' })).toThrow(/without a policy/)
  })
})

describe("the library's client", () => {
  it('connects with its user name and password', async () => {
    const { store } = await openSecured({ clock: systemClock })
    await using client = connect(store.url, { clientId: 'panel', ...as('alice') })
    expect(await firstValueFrom(client.key('k', text).get())).toMatchObject({ op: 'absent' })
  })

  it('fails with the reason when its password is wrong', async () => {
    const { store } = await openSecured()
    await using client = connect(store.url, { username: 'alice', password: 'wrong' })
    await expect(firstValueFrom(client.key('k', text).get())).rejects.toMatchObject({ code: 'connection-refused' })
  })
})

// Packets may arrive before the login is decided.
it('packets before the login decision are queued, and dropped if it is rejected', async () => {
  const { store } = await openStore({
    authenticate: async ({ username }) => {
      await new Promise(resolve => setImmediate(resolve))
      return username === 'alice' ? { principal: { username } } : { refused: 'credentials', reason: 'no' }
    },
  })
  const alice = await StoreClient.ready(store.url, 'c', as('alice'))
  expect((await alice.request(command('GET k'))).text).toBe('$-1\r\n')
  expect(await turnedAway(store.url, 'd', as('mallory'))).toBe(BAD_CREDENTIALS)
})

it('packets before the login are limited to 1 MiB, as one large or many small ones', async () => {
  const { store } = await openStore({ authenticate: async () => new Promise(() => undefined) })
  const stranger = await RawSocket.open(store.url)
  await stranger.send(connectPacket('c'), publish('t', Buffer.alloc(2 * 1024 * 1024)))
  await stranger.hears()
  expect([stranger.last[0], stranger.last[3]]).toEqual([0x20, QUOTA_EXCEEDED])
  await stranger.closed
})
