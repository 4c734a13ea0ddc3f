import { describe, expect, it } from 'vitest'
import { servePubSub, type UserEvent } from '../../../src/pubsub/hub/index.js'
import { eventually } from '../../support/eventually.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'

async function openThree() {
  const opened = await openHub({ authenticate: ({ query }) => ({ userId: query.get('user') ?? undefined }) })
  const connect = async (user: string) => RawPubSubClient.connect(`${opened.hub.url}?user=${user}`)
  return { ...opened, ann: await connect('ann'), ann2: await connect('ann'), bob: await connect('bob') }
}

const dataOf = async (client: RawPubSubClient) => {
  await client.settled()
  return client.messages.map(message => message['data'])
}

describe("the application's hub", () => {
  it('the application can send messages to all, to a group, to a user and to a connection', async () => {
    const { hub, ann, ann2, bob } = await openThree()
    expect(hub.addToGroup('g', ann.connectionId)).toBe(true)
    expect(hub.addToGroup('g', bob.connectionId)).toBe(true)
    expect(hub.sendToAll('all')).toBe(3)
    expect(hub.sendToGroup('g', 'group')).toBe(2)
    expect(hub.sendToUser('ann', 'user')).toBe(2)
    expect(hub.sendToConnection(ann2.connectionId, 'connection')).toBe(true)
    expect(hub.sendToAll('others', { exclude: [ann.connectionId, 'nobody'] })).toBe(2)
    expect(hub.removeFromGroup('g', ann.connectionId)).toBe(true)
    expect(hub.sendToGroup('g', 'left', { exclude: [bob.connectionId] })).toBe(0)
    expect(await dataOf(ann)).toEqual(['all', 'group', 'user'])
    expect(await dataOf(ann2)).toEqual(['all', 'user', 'connection', 'others'])
    expect(await dataOf(bob)).toEqual(['all', 'group', 'others'])
    expect(bob.messages).toMatchObject([{ from: 'server' }, { from: 'group', group: 'g' }, { from: 'server' }])
    expect(bob.sequenceIds).toEqual([1, 2, 3])
  })

  it('the application can send data of any type', async () => {
    const { hub, ann } = await openThree()
    hub.sendToUser('ann', null)
    hub.sendToUser('ann', 'x', { dataType: 'text' })
    hub.sendToUser('ann', new Uint8Array([1, 2, 3]))
    hub.sendToUser('ann', new Uint8Array(), { dataType: 'protobuf' })
    await ann.received(4)
    expect(ann.messages.map(({ dataType, data }) => [dataType, data])).toEqual([
      ['json', null],
      ['text', 'x'],
      ['binary', 'AQID'],
      ['protobuf', ''],
    ])
  })

  it('sending invalid data throws and sends nothing', async () => {
    const { hub, ann } = await openThree()
    const cyclic: unknown[] = []
    cyclic.push(cyclic)
    for (const send of [
      () => hub.sendToAll(undefined),
      () => hub.sendToAll(cyclic),
      () => hub.sendToAll(1n),
      () => hub.sendToAll(7, { dataType: 'text' }),
      () => hub.sendToAll('x', { dataType: 'binary' }),
      () => hub.sendToAll('x'.repeat(16 * 1024 * 1024)),
      () => hub.sendToGroup(' ', 1),
      () => hub.addToGroup('', ann.connectionId),
    ]) {
      expect(send).toThrow(expect.objectContaining({ code: 'argument' }))
    }
    expect(await dataOf(ann)).toEqual([])
  })

  it('adding a connection to more than 1000 groups throws', async () => {
    const { hub, ann } = await openThree()
    for (let i = 0; i < 1_000; i++) hub.addToGroup(`g${i}`, ann.connectionId)
    expect(() => hub.addToGroup('more', ann.connectionId)).toThrow(expect.objectContaining({ code: 'overflow' }))
  })

  it('calls for unknown recipients have no effect', async () => {
    const { hub } = await openHub()
    expect(hub.sendToAll(1) + hub.sendToGroup('g', 1) + hub.sendToUser('u', 1)).toBe(0)
    const id = '__proto__'
    expect([
      hub.sendToConnection(id, 1),
      hub.addToGroup('g', id),
      hub.removeFromGroup('g', id),
      hub.closeConnection(id),
      hub.grant(id, 'sendToGroup'),
      hub.revoke(id, 'sendToGroup'),
    ]).toEqual(Array(6).fill(false))
  })

  it('the application can grant and revoke permissions', async () => {
    const { hub, ann } = await openThree()
    const answers: unknown[] = []
    const join = async () => answers.push((await ann.request({ type: 'joinGroup', group: 'g' }))['success'])
    await join()
    hub.grant(ann.connectionId, 'joinLeaveGroup', 'g')
    await join()
    hub.revoke(ann.connectionId, 'joinLeaveGroup', 'g')
    await join()
    hub.grant(ann.connectionId, 'joinLeaveGroup')
    await join()
    hub.revoke(ann.connectionId, 'joinLeaveGroup')
    await join()
    expect(answers).toEqual([false, true, false, true, false])
  })

  it('closing a connection ends its session and sends the reason', async () => {
    const { hub, ann, sessionLog } = await openThree()
    const reason = `go away ${'€'.repeat(100)}`
    expect(hub.closeConnection(ann.connectionId, reason)).toBe(true)
    const { code, reason: text } = await ann.closed
    expect([code, reason.startsWith(text), text.length]).toEqual([1000, true, 46])
    expect(ann.frames.at(-1)).toEqual({ type: 'system', event: 'disconnected', message: reason })
    expect(sessionLog.at(-1)).toBe('disconnected ann: hub')
    const recovered = await RawPubSubClient.recover(hub.url, ann)
    expect((await recovered.closed).code).toBe(1008)
  })

  it('a listener of connections$ may call the hub', async () => {
    const { hub } = await openHub()
    hub.connections$.subscribe(({ type, connection }) => {
      if (type === 'connected') hub.addToGroup('g', connection.connectionId)
      hub.sendToGroup('g', type)
    })
    const [first, second] = [await RawPubSubClient.connect(hub.url), await RawPubSubClient.connect(hub.url)]
    second.socket.close(1000)
    await first.received(3)
    expect(await dataOf(first)).toEqual(['connected', 'connected', 'disconnected'])
  })

  it('the application can accept, answer and reject events', async () => {
    const { hub, ann } = await openThree()
    const received: UserEvent[] = []
    hub.events$.subscribe(event => received.push(event))
    const answer = ann.request({ type: 'event', event: 'add', dataType: 'json', data: [1, 2] })
    await eventually(() => received.length === 1)
    const [event] = received
    expect(event).toMatchObject({ event: 'add', userId: 'ann', connectionId: ann.connectionId })
    expect(event?.payload).toEqual({ dataType: 'json', data: [1, 2] })
    expect(() => event?.reply(undefined)).toThrow(expect.objectContaining({ code: 'argument' }))
    expect(() => event?.refuse('')).toThrow(expect.objectContaining({ code: 'argument' }))
    event?.reply(3)
    event?.refuse('Late')
    expect(await answer).toMatchObject({ success: true })
    expect(ann.messages).toMatchObject([{ from: 'server', data: 3 }])
    const refused = ann.request({ type: 'event', event: 'add', dataType: 'json', data: [] })
    await eventually(() => received.length === 2)
    received[1]?.refuse('Forbidden', 'not today')
    expect(await refused).toMatchObject({ success: false, error: { name: 'Forbidden', message: 'not today' } })
    hub.events$.subscribe(one => one.accept())
    expect(await ann.request({ type: 'event', event: 'x', dataType: 'text', data: '' })).toMatchObject({
      success: true,
    })
  })

  it('the hubs of a server are separate', async () => {
    const { server, hub } = await openHub()
    const [here, there] = [await RawPubSubClient.connect(hub.url), await RawPubSubClient.connect(server.hub('B').url)]
    await Promise.all([here.join('g'), there.join('g')])
    hub.sendToAll(1)
    server.hub('b').sendToGroup('g', 2)
    expect([await dataOf(here), await dataOf(there)]).toEqual([[1], [2]])
    expect(server.hub('CHAT').connections).toEqual(hub.connections)
  })
})

describe('a server', () => {
  it.each([
    { port: -1 },
    { port: 1.5 },
    { path: 'client' },
    { path: '/' },
    { hubs: ['a b'] },
    { retention: -1 },
    { retention: Number.NaN },
    { idleTimeout: 0 },
    { maxConnections: 0 },
    { authenticate: { key: 'too short' } },
  ])('servePubSub rejects the options %o', async options => {
    await expect(servePubSub({ authenticate: 'anonymous', port: 0, ...options })).rejects.toMatchObject({
      code: 'argument',
    })
  })

  it('servePubSub rejects a port in use', async () => {
    const { server } = await openHub()
    await expect(servePubSub({ authenticate: 'anonymous', port: server.port })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    })
  })

  it('only the listed hubs can be opened', async () => {
    const { server } = await openHub({ hubs: ['chat'] })
    expect(() => server.hub('other')).toThrow(expect.objectContaining({ code: 'argument' }))
    expect(() => server.hub('')).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it('closing a server notifies clients and completes observables', async () => {
    const { server, hub, clock, sessionLog } = await openHub()
    const client = await RawPubSubClient.connect(hub.url)
    let complete = 0
    hub.connections$.subscribe({ complete: () => complete++ })
    hub.events$.subscribe({ complete: () => complete++ })
    await server.close()
    expect(await client.closed).toEqual({ code: 1001, reason: 'the server is shutting down' })
    expect([sessionLog.at(-1), complete, clock.pending]).toEqual(['disconnected anonymous: shutdown', 2, 0])
    await expect(RawPubSubClient.open(hub.url)).rejects.toThrow()
    await server[Symbol.asyncDispose]()
  })

  it('a hub that only clients have opened is dropped with its last session', async () => {
    const { server, clock } = await openHub()
    const pending = clock.pending
    const client = await RawPubSubClient.connect(`${server.url}/client/hubs/passing`)
    expect(clock.pending).toBe(pending + 1)
    client.socket.close(1000)
    await eventually(() => clock.pending === pending)
  })
})
