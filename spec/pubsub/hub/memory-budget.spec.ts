import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MemoryBudget, type MemoryCharge } from '../../../src/node/limits/memory-budget.js'
import { HubEngine } from '../../../src/pubsub/hub/hub-engine.js'
import { servePubSub } from '../../../src/pubsub/hub/index.js'
import { checkServeOptions } from '../../../src/pubsub/hub/serve-options.js'
import { SharedCodec } from '../../../src/pubsub/hub/shared-codec.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'
import { VirtualLink } from '../support/virtual-link.js'

const MEGABYTE = 'x'.repeat(1024 * 1024)
const KILOBYTE = 'x'.repeat(1024)
const codec = new SharedCodec(jsonHubCodec)

/** Starts a hub with a budget of ten megabytes, and a client that reads and acknowledges everything. */
async function openSmall() {
  const opened = await openHub({ maxWaitingBytes: 10 * 1024 * 1024 })
  const { hub } = opened
  const otherClient = await RawPubSubClient.connect(`${hub.url}`)
  await otherClient.join('otherClient')
  /** Opens a client that reads and never acknowledges. */
  const openHeavyClient = async (group: string): Promise<RawPubSubClient> => {
    const client = await RawPubSubClient.connect(hub.url)
    await client.join(group)
    return client
  }
  const chat = async (): Promise<void> => {
    const before = otherClient.messages.length
    hub.sendToGroup('otherClient', 'hello')
    await otherClient.received(before + 1)
    otherClient.send({ type: 'sequenceAck', sequenceId: before + 1 })
    await otherClient.settled()
  }
  return { ...opened, otherClient, openHeavyClient, chat }
}

describe('the memory budget of a server', () => {
  it('exceeding the budget ends only the session with the most data, with a reason', async () => {
    const { hub, otherClient, openHeavyClient, chat, sessionLog } = await openSmall()
    const heavyClients = [await openHeavyClient('a'), await openHeavyClient('b'), await openHeavyClient('c')]
    for (const [group, count] of [
      ['a', 3],
      ['b', 4],
      ['c', 2],
    ] as const) {
      for (let i = 0; i < count; i++) hub.sendToGroup(group, MEGABYTE)
      await chat()
    }
    expect(sessionLog.filter(line => line.includes('overflow'))).toEqual([])
    hub.sendToGroup('c', MEGABYTE)
    await chat()
    expect(await heavyClients[1]?.closed).toEqual({ code: 1008, reason: 'memory limit reached, mostly by your data' })
    expect(hub.connections).toHaveLength(3)
    for (let i = 0; i < 5; i++) hub.sendToGroup('a', MEGABYTE)
    await chat()
    expect(await heavyClients[0]?.closed).toMatchObject({ code: 1008 })
    expect(hub.connections.map(({ groups }) => groups)).toEqual([['otherClient'], ['c']])
    await chat()
    expect(otherClient.messages).toHaveLength(6)
  })

  it('a message to many members counts only once', async () => {
    const { hub, openHeavyClient, chat, sessionLog } = await openSmall()
    for (let i = 0; i < 20; i++) await openHeavyClient('a')
    for (let i = 0; i < 9; i++) hub.sendToGroup('a', MEGABYTE)
    await chat()
    expect(sessionLog.filter(line => line.includes('overflow'))).toEqual([])
  })

  it('undecided events count towards the budget, at all hubs of the server', async () => {
    const { server, hub, openHeavyClient, chat, sessionLog } = await openSmall()
    hub.events$.subscribe()
    const other = server.hub('other')
    const there = await RawPubSubClient.connect(other.url)
    await there.join('a')
    const asking = await Promise.all(Array.from({ length: 6 }, async () => openHeavyClient('a')))
    for (const client of asking) {
      client.send({ type: 'event', event: 'e', ackId: 10, dataType: 'text', data: MEGABYTE.slice(1_000) })
      await client.settled()
    }
    for (let i = 0; i < 5; i++) other.sendToGroup('a', MEGABYTE)
    expect(await there.closed).toMatchObject({ code: 1008 })
    await chat()
    expect([hub.connections.length, other.connections.length, sessionLog.at(-1)]).toEqual([7, 0, 'connected anonymous'])
  })

  it('undecided events and memberships of one user are limited to an eighth of the budget', async () => {
    const { hub, chat } = await openSmall()
    hub.events$.subscribe()
    const client = await RawPubSubClient.connect(hub.url)
    const event = { type: 'event', event: 'e', dataType: 'text', data: MEGABYTE.slice(1_000) }
    client.send({ ...event, ackId: 10 })
    expect(await client.request(event)).toMatchObject({ success: false, error: { name: 'InternalServerError' } })
    const names = Array.from({ length: 150 }, (_, n) => `${n}${'x'.repeat(1_000)}`)
    for (const [n, group] of names.entries()) client.send({ type: 'joinGroup', group, ackId: 100 + n })
    expect(await client.waitForFrame(({ ackId }) => ackId === 100)).toMatchObject({ success: true })
    expect(await client.waitForFrame(({ ackId }) => ackId === 249)).toMatchObject({ error: { name: 'BadRequest' } })
    await chat()
    expect(hub.addToGroup('by the application', client.connectionId)).toBe(true)
  })

  it('acknowledged, answered and dropped data is released from the budget', () => {
    const budget = new MemoryBudget()
    const settled: (() => void)[] = []
    const engine: HubEngine = new HubEngine({
      retention: 60_000,
      idleTimeout: 100_000,
      generateSecret: bytes => 'x'.repeat(bytes - 1) + engine.sessionIndex.all.size,
      budget,
      onError: error => {
        throw error
      },
      listener: {
        connected: () => undefined,
        disconnected: () => undefined,
        event: request => settled.push(() => engine.events.accept(request, 0)) > 0,
      },
    })
    const links = [new VirtualLink(), new VirtualLink(), new VirtualLink()]
    const sessions = links.map(link => engine.connect(link, codec, { groups: ['g'] }, 0))
    const used: number[] = []
    const note = () => used.push(Math.round(budget.used / 1024))
    for (let i = 0; i < 3; i++) {
      const payload = { dataType: 'text', data: KILOBYTE } as const
      engine.deliver(engine.sessionIndex.ofGroup('g'), { type: 'groupMessage', group: 'g', payload }, 0)
    }
    note()
    const [first, second, third] = sessions
    const [link] = links
    if (!first || !second || !third || !link) throw new Error('there are three')
    engine.receive(first, link, '{"type":"sequenceAck","sequenceId":3}', 0)
    note()
    engine.end(second, 'hub', 1000, '')
    note()
    for (let ackId = 1; ackId <= 2; ackId++) {
      engine.receive(first, link, JSON.stringify({ type: 'event', event: 'e', ackId, data: KILOBYTE }), 0)
    }
    note()
    settled[0]?.()
    note()
    engine.end(first, 'hub', 1000, '')
    engine.end(third, 'hub', 1000, '')
    expect([used, budget.used]).toEqual([[5, 5, 4, 7, 6], 0])
  })

  it('the budget counts the used bytes exactly for any order of additions and removals', () => {
    const anyStep = fc.tuple(fc.nat(4), fc.boolean())
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { minLength: 5, maxLength: 5 }), fc.array(anyStep), (sizes, steps) => {
        const kept: MemoryCharge[] = sizes.map(size => ({ size, holderCount: 0 }))
        const budget = new MemoryBudget()
        for (const [i, isMore] of steps) {
          const one = kept[i]
          if (one === undefined || (!isMore && one.holderCount === 0)) continue
          if (isMore) budget.addHolder(one)
          else budget.removeHolder(one)
        }
        const expected = kept
          .filter(({ holderCount: holders }) => holders > 0)
          .reduce((sum, { size }) => sum + size + 128, 0)
        expect(budget.used).toBe(expected)
      }),
    )
  })

  it('the budget is enforced after every frame, including events', () => {
    let calls = 0
    let id = 0
    const engine = new HubEngine({
      retention: 60_000,
      idleTimeout: 100_000,
      generateSecret: () => String(id++),
      budget: new MemoryBudget(16_000, () => calls++),
      onError: error => {
        throw error
      },
      listener: { connected: () => undefined, disconnected: () => undefined, event: () => true },
    })
    const evictions = Array.from({ length: 11 }, () => {
      const link = new VirtualLink()
      const session = engine.connect(link, codec, {}, 0)
      engine.receive(session, link, JSON.stringify({ type: 'event', event: 'e', ackId: 1, data: KILOBYTE }), 0)
      return calls
    })
    expect(evictions).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
  })

  it('data is weighed by user, so that small sessions weigh as much as a large one', async () => {
    const named = {
      authenticate: ({ query }: { readonly query: URLSearchParams }) => ({ userId: query.get('user') ?? '' }),
    }
    const { hub } = await openHub({ ...named, maxWaitingBytes: 10 * 1024 * 1024 })
    const connect = async (user: string) => RawPubSubClient.connect(`${hub.url}?user=${user}`)
    const [ann] = [
      await connect('ann'),
      ...(await Promise.all(Array.from({ length: 8 }, async () => connect('mallory')))),
    ]
    for (let i = 0; i < 3; i++) hub.sendToUser('ann', MEGABYTE)
    for (const { connectionId, userId } of hub.connections) {
      if (userId === 'mallory') hub.sendToConnection(connectionId, MEGABYTE)
    }
    await ann?.received(3)
    expect(hub.connections.filter(({ userId }) => userId === 'ann')).toHaveLength(1)
    expect(hub.connections.filter(({ userId }) => userId === 'mallory').length).toBeLessThan(8)
  })

  it('the budget divides data for several sessions among these sessions', { tags: 'slow' }, async () => {
    const { hub, openHeavyClient } = await openSmall()
    const many = await Promise.all(Array.from({ length: 10 }, async () => openHeavyClient('many')))
    const one = await openHeavyClient('one')
    for (let i = 0; i < 6; i++) hub.sendToGroup('many', MEGABYTE)
    for (let i = 0; i < 5; i++) hub.sendToGroup('one', MEGABYTE)
    expect(await one.closed).toMatchObject({ code: 1008 })
    await Promise.all(many.map(async client => client.received(6)))
    expect(hub.connections).toHaveLength(11)
  })

  it('the default budget is 256 MiB', () => {
    expect(checkServeOptions({ authenticate: 'anonymous' }).maxWaitingBytes).toBe(268_435_456)
  })

  it('enforcing the budget without sessions to evict ends', () => {
    const budget = new MemoryBudget(10, () => undefined)
    budget.addHolder({ size: 20, holderCount: 0 })
    expect(() => budget.enforce()).not.toThrow()
  })

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('the budget cannot be %s', async maxWaitingBytes => {
    await expect(servePubSub({ port: 0, authenticate: 'anonymous', maxWaitingBytes })).rejects.toThrow(
      'maxWaitingBytes',
    )
  })
})
