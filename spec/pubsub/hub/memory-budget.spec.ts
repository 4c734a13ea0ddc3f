import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HubEngine } from '../../../src/pubsub/hub/hub-engine.js'
import { type Kept, MemoryBudget } from '../../../src/pubsub/hub/memory-budget.js'
import { checkServeOptions } from '../../../src/pubsub/hub/serve-options.js'
import { SharedCodec } from '../../../src/pubsub/hub/shared-codec.js'
import { servePubSub } from '../../../src/pubsub/server.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'
import { VirtualLink } from '../support/virtual-link.js'

const MEGABYTE = 'x'.repeat(1024 * 1024)
const KILOBYTE = 'x'.repeat(1024)
const codec = new SharedCodec(jsonHubCodec)

/** A hub whose clients may leave ten megabytes together, and one that reads and acknowledges all it gets. */
async function openSmall() {
  const opened = await openHub({ maxWaitingBytes: 10 * 1024 * 1024 })
  const { hub } = opened
  const innocent = await RawPubSubClient.connect(`${hub.url}`)
  await innocent.join('innocent')
  /** A client that reads what it is sent and acknowledges none of it. */
  const glutton = async (group: string): Promise<RawPubSubClient> => {
    const client = await RawPubSubClient.connect(hub.url)
    await client.join(group)
    return client
  }
  const chat = async (): Promise<void> => {
    const before = innocent.messages.length
    hub.sendToGroup('innocent', 'hello')
    await innocent.received(before + 1)
    innocent.send({ type: 'sequenceAck', sequenceId: before + 1 })
    await innocent.settled()
  }
  return { ...opened, innocent, glutton, chat }
}

describe('What waits for all clients of a server together', () => {
  it('ends the session that most waits for when it is too much, and says why; nobody else notices', async () => {
    const { hub, innocent, glutton, chat, story } = await openSmall()
    const gluttons = [await glutton('a'), await glutton('b'), await glutton('c')]
    for (const [group, count] of [
      ['a', 3],
      ['b', 4],
      ['c', 2],
    ] as const) {
      for (let i = 0; i < count; i++) hub.sendToGroup(group, MEGABYTE)
      await chat()
    }
    expect(story.filter(line => line.includes('overflow'))).toEqual([])
    hub.sendToGroup('c', MEGABYTE)
    await chat()
    expect(await gluttons[1]?.closed).toEqual({ code: 1008, reason: 'the server keeps too much, most of it for you' })
    expect(hub.connections).toHaveLength(3)
    for (let i = 0; i < 5; i++) hub.sendToGroup('a', MEGABYTE)
    await chat()
    expect(await gluttons[0]?.closed).toMatchObject({ code: 1008 })
    expect(hub.connections.map(({ groups }) => groups)).toEqual([['innocent'], ['c']])
    await chat()
    expect(innocent.messages).toHaveLength(6)
  })

  it('counts once however many wait for it', async () => {
    const { hub, glutton, chat, story } = await openSmall()
    for (let i = 0; i < 20; i++) await glutton('a')
    for (let i = 0; i < 9; i++) hub.sendToGroup('a', MEGABYTE)
    await chat()
    expect(story.filter(line => line.includes('overflow'))).toEqual([])
  })

  it('counts events that the application has not answered, and at other hubs of the server', async () => {
    const { server, hub, glutton, chat, story } = await openSmall()
    hub.events$.subscribe()
    const other = server.hub('other')
    const there = await RawPubSubClient.connect(other.url)
    await there.join('a')
    const asking = await glutton('a')
    for (let ackId = 10; ackId < 16; ackId++) {
      asking.send({ type: 'event', event: 'e', ackId, dataType: 'text', data: MEGABYTE.slice(100) })
    }
    await asking.settled()
    for (let i = 0; i < 5; i++) other.sendToGroup('a', MEGABYTE)
    expect(await asking.closed).toMatchObject({ code: 1008 })
    await chat()
    expect([hub.connections.length, other.connections.length]).toEqual([1, 1])
    expect(story.at(-1)).toBe('disconnected anonymous: overflow')
  })

  it('is let go of when it is acknowledged, answered, or nobody is left to get it', () => {
    const budget = new MemoryBudget(Number.POSITIVE_INFINITY, () => false)
    const settled: (() => void)[] = []
    const engine: HubEngine = new HubEngine({
      retention: 60_000,
      idleTimeout: 100_000,
      secret: bytes => 'x'.repeat(bytes - 1) + engine.roster.all.size,
      budget,
      listener: {
        connected: () => undefined,
        disconnected: () => undefined,
        event: request => settled.push(() => engine.events.accept(request)) > 0,
      },
    })
    const links = [new VirtualLink(), new VirtualLink(), new VirtualLink()]
    const sessions = links.map(link => engine.connect(link, codec, { groups: ['g'] }, 0))
    const used: number[] = []
    const note = () => used.push(Math.round(budget.used / 1024))
    for (let i = 0; i < 3; i++) {
      const payload = { dataType: 'text', data: KILOBYTE } as const
      engine.deliver(engine.roster.ofGroup('g'), { type: 'groupMessage', group: 'g', payload })
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
    expect([used, budget.used]).toEqual([[4, 4, 4, 6, 5], 0])
  })

  it('is counted right whoever keeps and lets go of what', () => {
    const anyStep = fc.tuple(fc.nat(4), fc.boolean())
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { minLength: 5, maxLength: 5 }), fc.array(anyStep), (sizes, steps) => {
        const kept: Kept[] = sizes.map(size => ({ size, holders: 0 }))
        const budget = new MemoryBudget(Number.POSITIVE_INFINITY, () => false)
        for (const [i, isMore] of steps) {
          const one = kept[i]
          if (one === undefined || (!isMore && one.holders === 0)) continue
          if (isMore) budget.keep(one)
          else budget.release(one)
        }
        const expected = kept.filter(({ holders }) => holders > 0).reduce((sum, { size }) => sum + size + 128, 0)
        expect(budget.used).toBe(expected)
      }),
    )
  })

  it('is looked at with every frame: events alone may be too much', () => {
    let calls = 0
    const engine = new HubEngine({
      retention: 60_000,
      idleTimeout: 100_000,
      secret: bytes => 'x'.repeat(bytes),
      budget: new MemoryBudget(2_000, () => ++calls < 0),
      listener: { connected: () => undefined, disconnected: () => undefined, event: () => true },
    })
    const link = new VirtualLink()
    const session = engine.connect(link, codec, {}, 0)
    const told = [1, 2].map(ackId => {
      engine.receive(session, link, JSON.stringify({ type: 'event', event: 'e', ackId, data: KILOBYTE }), 0)
      return calls
    })
    expect(told).toEqual([0, 1])
  })

  it('is 256 MiB unless told otherwise', () => {
    expect(checkServeOptions({ authenticate: 'anonymous' }).maxWaitingBytes).toBe(268_435_456)
  })

  it('gives up when there is nobody to blame', () => {
    const budget = new MemoryBudget(10, () => false)
    budget.keep({ size: 20, holders: 0 })
    expect(() => budget.enforce()).not.toThrow()
  })

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('cannot be limited to %s', async maxWaitingBytes => {
    await expect(servePubSub({ port: 0, authenticate: 'anonymous', maxWaitingBytes })).rejects.toThrow(
      'maxWaitingBytes',
    )
  })
})
