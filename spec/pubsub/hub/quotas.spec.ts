import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AuditEvent } from '../../../src/pubsub/hub/index.js'
import { eventually } from '../../support/eventually.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'
import { upgradeStatus, upgradeTo } from '../support/upgrade.js'

const NAMED = ({ query }: { readonly query: URLSearchParams }) => {
  const userId = query.get('user')
  return userId === null ? false : { userId, roles: ['webpubsub.joinLeaveGroup', 'webpubsub.sendToGroup'] }
}

async function open(options: Parameters<typeof openHub>[0] = {}) {
  const all = await openHub({ authenticate: NAMED, ...options })
  const events: AuditEvent[] = []
  all.server.audit$.subscribe(event => events.push(event))
  const connectAs = async (user?: string) =>
    RawPubSubClient.connect(`${all.hub.url}${user === undefined ? '' : `?user=${user}`}`)
  return { ...all, connectAs, events }
}

/** Connects from another machine and returns the response's status. */
const connectRemotely =
  ({ port }: { readonly port: number }) =>
  async (query: string): Promise<number | undefined> => {
    const url = `ws://127.0.0.1:${port}/client/hubs/chat${query}`
    return upgradeStatus(url, { 'x-forwarded-for': '192.0.2.1' })
  }

describe('limits of a hub', () => {
  it('the number of sessions of a user is limited', async () => {
    const { connectAs } = await open({ maxConnectionsPerUser: 2 })
    await connectAs('ann')
    await connectAs('ann')
    await expect(connectAs('ann')).rejects.toThrow('503 Too many connections of this user')
    await connectAs('bob')
  })

  it('the hub reads more slowly from a user above the rate limit, and loses no messages', async () => {
    const { connectAs, clock, hub, server } = await open({ maxFrameRatePerUser: 10 })
    const received: unknown[] = []
    hub.events$.subscribe(event => {
      received.push(event.event)
      event.accept()
    })
    const [ann, bob] = [await connectAs('ann'), await connectAs('bob')]
    for (let i = 0; i < 25; i++) ann.send({ type: 'event', event: 'e', dataType: 'text', data: '', ackId: i + 1 })
    await ann.waitForFrame(({ type, ackId }) => type === 'ack' && ackId === 11)
    bob.send({ type: 'event', event: 'b', dataType: 'text', data: '', ackId: 1 })
    await bob.waitForFrame(({ type, ackId }) => type === 'ack' && ackId === 1)
    expect(received).toHaveLength(12)
    expect(server.pauses).toBe(1)
    for (let i = 12; i <= 25; i++) {
      clock.advance(100)
      await ann.waitForFrame(({ type, ackId }) => type === 'ack' && ackId === i)
    }
    expect(received).toHaveLength(26)
  })

  it('logins are audited, and an address with repeated failures is throttled', async () => {
    const { server, events, clock } = await open({ publicUrl: 'wss://hub.example' })
    const knock = connectRemotely(server)
    expect(await knock('?user=ann')).toBe(101)
    for (let i = 0; i < 5; i++) expect(await knock('')).toBe(401)
    expect(await knock('?user=bob')).toBe(429)
    clock.advance(1_000)
    expect(await knock('?user=bob')).toBe(101)
    expect(events[0]).toMatchObject({
      event: 'login',
      outcome: 'accepted',
      username: 'ann',
      address: '192.0.2.1',
      listener: 'hub',
      target: 'chat',
    })
    expect(events.filter(({ outcome }) => outcome === 'refused')).toHaveLength(6)
  })

  it.each(['key', 'verify'])('failed logins refused by { %s } do not throttle other clients', async way => {
    const key = 'a secret of no less than 32 bytes'
    const { server, hub } = await open({
      publicUrl: 'wss://hub.example',
      authenticate: way === 'key' ? { key } : { verify: NAMED },
    })
    const good = way === 'key' ? new URL((await hub.token({ userId: 'ann' })).url).search : '?user=ann'
    const knock = connectRemotely(server)
    for (let i = 0; i < 10; i++) expect(await knock('?access_token=x')).toBe(401)
    expect(await knock(good)).toBe(101)
  })

  it('failed logins from this machine do not throttle its other logins', async () => {
    const { connectAs } = await open()
    for (let i = 0; i < 10; i++) await expect(connectAs()).rejects.toThrow('401')
    await connectAs('ann')
  })

  it.each(['silent', 'recovering no session', 'beginning a request'])(
    'the hub evicts sockets without a session that are %s when clients connect',
    { tags: 'slow' },
    async kind => {
      const { connectAs, server, events } = await open({ maxConnections: 10 })
      const ann = await connectAs('ann')
      const { port } = server
      const lost = '&awps_connection_id=c&awps_reconnection_token=t'
      const sockets = Array.from({ length: 500 }, async () => {
        const socket = connectTcp(port, '127.0.0.1').on('error', () => undefined)
        onTestFinished(() => void socket.destroy())
        await once(socket, 'connect')
        if (kind === 'beginning a request') socket.write('GET /client/hubs/chat HTTP/1.1\r\nHost: ')
        if (kind === 'recovering no session') socket.write(upgradeTo(`/client/hubs/chat?user=bob${lost}`))
        return socket
      })
      await Promise.all(sockets)
      await eventually(() => server.stats.networkConnections <= 101)
      await connectAs('bob')
      await ann.join('still-here')
      expect(events.filter(({ event }) => event === 'cut').length).toBeGreaterThan(0)
    },
  )

  it('statistics count sessions and refusals', async () => {
    const { connectAs, server, hub } = await open({ maxConnectionsPerUser: 1 })
    const nothing = { sessions: 0, connections: 0, handshakes: 0, networkConnections: 0, waitingBytes: 0, pauses: 0 }
    expect(server.stats).toEqual({ ...nothing, refusedHandshakes: 0, refusedConnections: 0 })
    await connectAs('ann')
    await expect(connectAs('ann')).rejects.toThrow('503')
    await expect(connectAs()).rejects.toThrow('401')
    expect(server.stats).toMatchObject({ sessions: 1, connections: 1, refusedHandshakes: 2, refusedConnections: 0 })
    expect(server.stats.networkConnections).toBeGreaterThan(0)
    hub.sendToAll('x'.repeat(1_000))
    expect(server.stats.waitingBytes).toBeGreaterThan(1_000)
  })

  it('clients receive no errors of the application, and the audit log contains only their names', async () => {
    const error = new RangeError('postgres://auth:s3cret@db')
    const { hub, server, events } = await open({ authenticate: async () => Promise.reject(error) })
    const faults: unknown[] = []
    server.faults$.subscribe(fault => faults.push(fault))
    await expect(RawPubSubClient.connect(hub.url)).rejects.toThrow(/^500 Authentication failed\s*$/)
    expect(faults).toEqual([error])
    expect(events.at(-1)).toMatchObject({ outcome: 'refused', reason: 'Authentication failed: RangeError' })
  })

  it.each(['maxConnectionsPerUser', 'maxConnectionsPerAddress', 'maxFrameRatePerUser', 'maxByteRatePerUser'] as const)(
    'servePubSub rejects 0 for %s',
    async name => {
      await expect(openHub({ [name]: 0 })).rejects.toThrow(`\`${name}\``)
    },
  )

  it.each(['https://panel.example', 'wss://panel.example/path', 'panel'])(
    'servePubSub rejects the publicUrl %s',
    async publicUrl => {
      await expect(openHub({ publicUrl })).rejects.toThrow('`publicUrl`')
    },
  )
})
