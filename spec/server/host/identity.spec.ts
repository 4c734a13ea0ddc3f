import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as mqttConnect } from 'mqtt'
import { firstValueFrom, take, toArray } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect, text } from '../../../src/client/index.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { type Authenticate, firstOf, type LoginRequest, serve } from '../../../src/server/index.js'
import { eventually } from '../../support/eventually.js'
import { openStore } from '../../support/open-store.js'
import { connect as connectPacket, publish } from '../../support/packets.js'
import { RawClient } from '../../support/raw-client.js'
import { RawSocket } from '../../support/raw-socket.js'
import { as, openSecured, turnedAway } from '../../support/secured.js'
import { command } from '../../support/words.js'

const [BAD_CREDENTIALS, NOT_AUTHORIZED, BAD_METHOD, UNAVAILABLE, RATE] = [0x86, 0x87, 0x8c, 0x88, 0x9f]

const QUOTA_EXCEEDED = 151

describe('A store that asks who one is', () => {
  it('lets in who proves it, and tells the function all there is to know', async () => {
    const requests: LoginRequest[] = []
    const authenticate: Authenticate = request => {
      requests.push(request)
      return { principal: { username: 'alice' } }
    }
    const { store } = await openStore({ authenticate })
    await RawClient.ready(store.url, 'c', as('alice'))
    await RawClient.ready(store.wsUrl, '', { ...as('bob'), protocolVersion: 4 }).catch(() => undefined)
    const [first, second] = requests
    expect(first).toMatchObject({ clientId: 'c', username: 'alice', listener: 'mqtt', remoteAddress: '127.0.0.1' })
    expect(Buffer.from(first?.password ?? []).toString()).toBe('ecila')
    expect(first).toMatchObject({ method: undefined, data: undefined, state: undefined, certificate: undefined })
    expect(second).toMatchObject({ username: 'bob', listener: 'ws' })
    expect(second?.clientId).not.toBe('')
  })

  it.each([
    ['a wrong password', { username: 'alice', password: 'wrong' }, BAD_CREDENTIALS],
    ['nothing', {}, NOT_AUTHORIZED],
    ['a method there is not', { properties: { authenticationMethod: 'riddles' } }, BAD_METHOD],
  ])('turns away who shows %s', async (_, options, code) => {
    const { store } = await openSecured()
    expect(await turnedAway(store.url, 'c', options)).toBe(code)
    expect(store.clientIds).toEqual([])
  })

  it('tells MQTT 3.1.1 in its own codes', async () => {
    const { store } = await openSecured()
    expect(await turnedAway(store.url, 'c', { protocolVersion: 4, username: 'alice', password: 'wrong' })).toBe(4)
    expect(await turnedAway(store.url, 'c', { protocolVersion: 4 })).toBe(5)
  })

  it('lets in who shows nothing, if that is wanted, but nobody with a wrong password', async () => {
    const { store } = await openSecured({ allowAnonymous: true })
    await RawClient.ready(store.url, 'c')
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
    ['says nothing', () => JSON.parse('null')],
    ['says nonsense', () => JSON.parse('{ "principal": { "username": 7 } }')],
    ['gives attributes to somebody without a name', () => ({ principal: { attributes: { role: 'admin' } } })],
    ['says nothing', () => JSON.parse('null')],
  ])('lets nobody in when the function %s, and lives', async (_, authenticate) => {
    const { store } = await openStore({ authenticate })
    for (let i = 0; i < 10; i++) expect(await turnedAway(store.url, 'c', as('alice'))).toBe(UNAVAILABLE)
  })

  it('asks one method after the other, and the first that has something to say decides', async () => {
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

  it('lets an address wait from which logins fail, with a right password, too', async () => {
    const { store } = await openSecured()
    for (let i = 0; i < 5; i++)
      expect(await turnedAway(store.url, 'c', { username: 'alice', password: `${i}` })).toBe(BAD_CREDENTIALS)
    expect(await turnedAway(store.url, 'c', as('alice'))).toBe(RATE)
  })

  it('lets who came in from there before wait for guesses at its own password alone', async () => {
    const { store } = await openSecured()
    for (const name of ['alice', 'bob']) await (await RawClient.connect(store.url, name, as(name))).end()
    for (let i = 0; i < 5; i++) await turnedAway(store.url, 'c', { username: 'carol', password: `${i}` })
    expect(await turnedAway(store.url, 'c', as('carol'))).toBe(RATE)
    await (await RawClient.connect(store.url, 'alice', as('alice'))).end()
    for (let i = 0; i < 5; i++)
      expect(await turnedAway(store.url, 'c', { username: 'alice', password: `${i}` })).toBe(BAD_CREDENTIALS)
    expect(await turnedAway(store.url, 'alice', as('alice'))).toBe(RATE)
    await (await RawClient.connect(store.url, 'bob', as('bob'))).end()
  })

  it('counts who is connected and who failed to log in, in all and by address', async () => {
    const { store } = await openSecured()
    const alice = await RawClient.ready(store.url, 'c', as('alice'))
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
    await alice.end()
    await eventually(() => store.stats.networkConnections === 0)
    // Who is gone is remembered for its failures.
    expect([...store.addresses]).toMatchObject([{ ...here, connections: 0 }])
  })

  it('looks at few guesses that come all at once, and at no more once they have failed', async () => {
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

  it('tells its operator what went wrong with its function, the record what kind of error, and strangers nothing', async () => {
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

  it('keeps a record of which no stranger makes much', async () => {
    const { store } = await openSecured()
    const event = firstValueFrom(store.audit$)
    await turnedAway(store.url, 'c'.repeat(2_000), { username: 'u'.repeat(60_000), password: 'x' })
    expect(JSON.stringify(await event).length).toBeLessThan(1_000)
  })

  it('keeps a record without secrets', async () => {
    const { store } = await openSecured()
    const events = firstValueFrom(store.audit$.pipe(take(2), toArray()))
    await RawClient.connect(store.url, 'c', as('alice'))
    await turnedAway(store.url, 'c', { username: 'alice', password: 'guess' })
    const who = { event: 'login', clientId: 'c', username: 'alice', address: '127.0.0.1', listener: 'mqtt' }
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)
    expect(await events).toEqual([
      { time, ...who, outcome: 'accepted' },
      { time, ...who, outcome: 'refused', reason: 'user name or password is wrong' },
    ])
  })
})

describe("A client's id", () => {
  it('is not for another principal while its session lives', async () => {
    const { store } = await openSecured()
    const alice = await RawClient.ready(store.url, 'panel', as('alice'))
    const outcomes: unknown[] = []
    store.audit$.subscribe(({ username, outcome, reason }) => outcomes.push([username, outcome, reason]))
    expect(await turnedAway(store.url, 'panel', as('mallory'))).toBe(NOT_AUTHORIZED)
    expect(await turnedAway(store.url, 'panel', { ...as('mallory'), clean: true })).toBe(NOT_AUTHORIZED)
    await alice.settled()
    expect(outcomes).toEqual(Array(2).fill(['mallory', 'refused', 'the client id belongs to another principal']))
  })

  it('nor while the client is away, and nobody gets what waits', async () => {
    const { store } = await openSecured()
    const kept = { ...as('alice'), clean: false, properties: { sessionExpiryInterval: 60 } }
    const alice = await RawClient.connect(store.url, 'panel', kept)
    await alice.subscribe('news')
    await alice.end()
    const other = await RawClient.ready(store.url, 'other', as('bob'))
    await other.publish('news', 'secret')
    expect(await turnedAway(store.url, 'panel', { ...kept, ...as('mallory') })).toBe(NOT_AUTHORIZED)
    const again = await RawClient.connect(store.url, 'panel', kept)
    expect((await again.received(1))[0]?.text).toBe('secret')
  })

  it('is free when its session is over, and its own principal may take it over', async () => {
    const { store } = await openSecured()
    const first = await RawClient.ready(store.url, 'panel', as('alice'))
    await RawClient.ready(store.url, 'panel', as('alice'))
    expect(await first.closed).toBe(0x8e)
    const last = await RawClient.ready(store.url, 'other', as('bob'))
    await last.end()
    await RawClient.ready(store.url, 'other', as('mallory'))
  })
})

describe('A store that asks nobody', () => {
  it.each(['0.0.0.0', '::', '192.0.2.1', 'store.example'])('does not listen at %s unless it is told to', async host => {
    await expect(serve({ host, port: 0, wsPort: 0 })).rejects.toThrow(/allowAnonymous: true/)
  })

  it.each(['127.0.0.1', 'localhost', '::1'])('listens at %s', async host => {
    const { store } = await openStore({ host })
    await RawClient.ready(store.url, 'c')
  })

  it('listens where it is told to, and warns of it', async () => {
    const warnings: string[] = []
    const { store } = await openStore({ host: '0.0.0.0', allowAnonymous: true, warn: words => warnings.push(words) })
    await RawClient.ready(store.url.replace('0.0.0.0', '127.0.0.1'), 'c')
    expect(warnings).toEqual(['everybody who reaches 0.0.0.0 is let in without being asked who it is'])
  })

  it('warns by the process unless somebody listens to it', async () => {
    const warned = once(process, 'warning')
    await openStore({ host: '0.0.0.0', allowAnonymous: true })
    expect(await warned).toMatchObject([{ code: 'RX_STATESTORE_ANONYMOUS', message: expect.stringMatching('0.0.0.0') }])
  })

  it('warns of strangers it lets in beside those it asks, and of nothing else', async () => {
    const warnings: string[] = []
    const warn = (words: string): void => void warnings.push(words)
    await openStore({ warn })
    await openStore({ warn, allowAnonymous: true })
    await openSecured({ warn })
    expect(warnings).toEqual([])
    await openSecured({ warn, allowAnonymous: true })
    expect(warnings).toHaveLength(1)
  })

  it('takes no policy later', async () => {
    const { store } = await openStore()
    expect(() => store.reload({ policy: '[]' })).toThrow(/without a policy/)
  })
})

describe('Our client', () => {
  it('is let in with its user name and password', async () => {
    const { store } = await openSecured({ clock: systemClock })
    await using client = connect(store.url, { clientId: 'panel', ...as('alice') })
    expect(await firstValueFrom(client.key('k', text).get())).toMatchObject({ op: 'absent' })
  })

  it('ends, and says why, with a wrong one', async () => {
    const { store } = await openSecured()
    await using client = connect(store.url, { username: 'alice', password: 'wrong' })
    await expect(firstValueFrom(client.key('k', text).get())).rejects.toMatchObject({ code: 'connection-refused' })
  })
})

// The first packet after CONNECT may come before it is decided.
it('What comes before a client is let in waits, and is not done for who is not', async () => {
  const { store } = await openStore({
    authenticate: async ({ username }) => {
      await new Promise(resolve => setImmediate(resolve))
      return username === 'alice' ? { principal: { username } } : { refused: 'credentials', reason: 'no' }
    },
  })
  const alice = await RawClient.ready(store.url, 'c', as('alice'))
  expect((await alice.request(command('GET k'))).text).toBe('$-1\r\n')
  expect(await turnedAway(store.url, 'd', as('mallory'))).toBe(BAD_CREDENTIALS)
})

it('What comes before a client is let in is 1 MiB at most, one large packet as well as many', async () => {
  const { store } = await openStore({ authenticate: async () => new Promise(() => undefined) })
  const stranger = await RawSocket.open(store.url)
  await stranger.send(connectPacket('c'), publish('t', Buffer.alloc(2 * 1024 * 1024)))
  await stranger.hears()
  expect([stranger.last[0], stranger.last[3]]).toEqual([0x20, QUOTA_EXCEEDED])
  await stranger.closed
})
