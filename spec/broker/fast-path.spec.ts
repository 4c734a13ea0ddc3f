import fc from 'fast-check'
import type { IPublishPacket, Packet } from 'mqtt-packet'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FastPath } from '../../src/broker/fast-path.js'
import { Lane } from '../../src/broker/lane.js'
import type { RunningStore } from '../../src/standalone.js'
import { openStore } from '../support/open-store.js'
import { INVOKE_TOPIC, notificationTopicOf, responseTopicOf } from '../support/raw-client.js'
import { bytesOf, requestPacket, WireClient } from '../support/wire-client.js'
import { command, resp3 } from '../support/words.js'

const NOW = '1696374425000:0:CLIENT'
const RUNS = 100

const word = fc.constantFrom('k', 'l', '', 'v', 'NX', 'NEX', 'PX', '5', '0', 'STOP', 'x'.repeat(40))
const verb = fc.constantFrom('SET', 'SET', 'SET', 'GET', 'GET', 'DEL', 'VDEL', 'KEYNOTIFY', 'SCAN', 'get', 'NOPE')
const payload = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(verb, fc.array(word, { maxLength: 5 })).map(([name, rest]) => resp3([name, ...rest])),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes)) },
)
// aedes forgets the first of two values when it is empty.
const twice = fc.tuple(fc.constantFrom(NOW, 'nonsense'), fc.constantFrom(NOW, '0:0:x', ''))
const clock = fc.constantFrom(NOW, NOW, NOW, '0:0:x', '1696374425001:3:y', '1696374485001:0:z', 'nonsense', '', ':0:')
const userProperties = fc.record(
  {
    __ts: fc.oneof({ weight: 5, arbitrary: clock }, { weight: 1, arbitrary: twice }),
    __ft: clock,
    __protVer: fc.constantFrom('1.0', '1.7', '2.0', ''),
    // MQTT texts have no zero.
    grüße: fc.string({ unit: 'grapheme', maxLength: 30 }),
  },
  { requiredKeys: ['__ts'] },
)
const responseTopic = (clientId: string) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(responseTopicOf(clientId)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'answers',
        responseTopicOf('other'),
        notificationTopicOf(clientId, 'k'),
        INVOKE_TOPIC,
        'a/+',
        'a/#',
        '',
        'x/'.repeat(150),
      ),
    },
  )

const anyRequest = (clientId: string) =>
  fc.record({
    payload,
    userProperties,
    responseTopic: responseTopic(clientId),
    correlationData: fc.uint8Array({ maxLength: 30 }),
    lacking: fc.constantFrom('', '', '', '', '', '', 'responseTopic', 'correlationData', 'userProperties'),
    retain: fc.constantFrom(false, false, false, true),
    dup: fc.boolean(),
    topic: fc.constantFrom(INVOKE_TOPIC, INVOKE_TOPIC, INVOKE_TOPIC, INVOKE_TOPIC, 'news', '$SYS/x'),
  })

/** Requests as packets; most are as they should be. One QoS for all: others aedes does not keep in order. */
const requests = (clientId: string): fc.Arbitrary<Packet[]> =>
  fc.tuple(fc.constantFrom<0 | 1>(1, 1, 1, 1, 0), fc.array(anyRequest(clientId), { maxLength: 8 })).map(([qos, all]) =>
    all.map(({ lacking, correlationData, userProperties, responseTopic, dup, ...rest }, i): Packet => {
      const given = Object.entries({ responseTopic, correlationData: Buffer.from(correlationData), userProperties })
      const properties = Object.fromEntries(given.filter(([name]) => name !== lacking))
      return { cmd: 'publish', ...rest, qos, dup: dup && qos > 0, messageId: i + 1, properties }
    }),
  )

/** Cuts bytes into pieces of these sizes, over and over. */
function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? bytes.length
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}

/** What a client is told, but for packet ids, ways to say the same, and the order of acknowledgements and messages. */
interface Told {
  readonly publishes: Partial<IPublishPacket>[]
  readonly others: Partial<Packet>[]
  /** Whether the server ended the connection. */
  readonly ended: boolean
}

/** A store with a client that stands by. */
interface Subject {
  readonly store: RunningStore
  readonly witness: WireClient
}

async function open(): Promise<Subject> {
  const { store } = await openStore()
  return { store, witness: await WireClient.connect(store.url, 'witness') }
}

/** Sends pieces as a new client, waits until the store has dealt with them, and says what came back. */
async function tell(store: RunningStore, witness: WireClient, pieces: readonly Buffer[]): Promise<Told> {
  const client = await WireClient.connect(store.url, 'alice')
  await client.subscribe(responseTopicOf('alice'))
  client.packets.length = 0
  for (const piece of pieces) {
    await new Promise(resolve => client.socket.write(piece, resolve))
    await witness.settled()
  }
  for (let turns = 0; turns < 15; turns++) await witness.settled()
  const ended = client.socket.readableEnded || client.socket.destroyed
  client.socket.end()
  await client.closed
  return {
    ended,
    publishes: client.publishes.map(({ messageId: _id, length: _length, ...publish }) => publish),
    others: client.packets.filter(({ cmd }) => cmd !== 'publish').map(({ length: _, ...packet }) => packet),
  }
}

/** aedes forgets what it had to say when it ends a connection; the fast path may have said it by then. */
function expectSame(told: Told, expected: Told): void {
  if (!expected.ended) expect(told).toEqual(expected)
  expect(told.ended).toBe(expected.ended)
  expect(told.publishes.slice(0, expected.publishes.length)).toEqual(expected.publishes)
}

describe('A connection is told the same, whoever reads it', () => {
  const wants = FastPath.prototype.wants
  let fast = true

  beforeEach(() => {
    vi.spyOn(FastPath.prototype, 'wants').mockImplementation(function (this: FastPath, type) {
      return fast && Reflect.apply(wants, this, [type])
    })
  })
  afterEach(() => vi.restoreAllMocks())

  /** Tells it to a store whose fast path takes nothing, and to one as it is. */
  async function expectTheSame(asked: readonly Buffer[], pair: Subject[]): Promise<void> {
    // What comes after the end of a connection may be carried out or not: then their keys are no longer the same.
    if (pair.length === 0) pair.push(await open(), await open())
    const [slow, quick] = pair
    if (slow === undefined || quick === undefined) return
    fast = false
    const expected = await tell(slow.store, slow.witness, [Buffer.concat(asked)])
    fast = true
    expectSame(await tell(quick.store, quick.witness, asked), expected)
    if (expected.ended) pair.length = 0
    else expect(quick.store.stats).toEqual(slow.store.stats)
  }

  it('whatever is asked, in whatever pieces', { timeout: 60_000 }, async () => {
    const sizes = fc.oneof(
      fc.constant([1e6]),
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 5 }),
    )
    const pair: Subject[] = []
    await fc.assert(
      fc.asyncProperty(requests('alice'), sizes, async (packets, sizes) =>
        expectTheSame(cut(Buffer.concat(packets.map(bytesOf)), sizes), pair),
      ),
      { numRuns: RUNS },
    )
  })

  it('and ends the same when the bytes are broken', { timeout: 60_000 }, async () => {
    const request = bytesOf(requestPacket('alice', command('SET k v'), 7, { userProperties: { __ts: NOW } }))
    const damage = fc.record({ at: fc.nat(request.length - 1), to: fc.nat(255), length: fc.nat(request.length) })
    const pair: Subject[] = []
    await fc.assert(
      fc.asyncProperty(damage, fc.boolean(), async ({ at, to, length }, truncated) => {
        const broken = Buffer.from(request)
        if (truncated) broken.set(broken.subarray(length), 0)
        else broken[at] = to
        await expectTheSame([Buffer.concat([broken, request])], pair)
      }),
      { numRuns: RUNS },
    )
  })
})

describe('The fast path', () => {
  afterEach(() => vi.restoreAllMocks())

  /** How often aedes is given something to read. */
  const given = (): (() => number) => {
    const feed = vi.spyOn(Lane.prototype, 'feed')
    return () => feed.mock.calls.length
  }

  it('takes requests and acknowledgements, and nothing else', async () => {
    const { store } = await openStore()
    const client = await WireClient.connect(store.url, 'alice')
    await client.subscribe(responseTopicOf('alice'))
    const count = given()
    for (let id = 1; id <= 3; id++) {
      client.send(requestPacket('alice', command('GET k'), id))
      const { messageId = 0 } = (await client.came('publish', id)).at(-1) ?? {}
      const form = [0x40, 1 + id, messageId >> 8, messageId & 255, 0, 0].slice(0, 3 + id)
      client.socket.write(Buffer.from(form))
    }
    client.send(requestPacket('alice', command('GET k'), 4))
    await client.came('publish', 4)
    expect(count()).toBe(0)
    await client.settled()
    expect(count()).toBe(1)
    client.send({ ...requestPacket('alice', command('GET k'), 5), retain: true })
    await client.came('publish', 5)
    expect(count()).toBe(2)
  })

  it('takes requests again after aedes has dealt with whatever else there was', async () => {
    const { store } = await openStore()
    const client = await WireClient.connect(store.url, 'alice')
    await client.subscribe(responseTopicOf('alice'))
    const publish = { cmd: 'publish', topic: 'news', payload: 'x', dup: false, retain: true } as const
    client.send(
      {
        cmd: 'subscribe',
        messageId: 11,
        subscriptions: [
          { topic: '#', qos: 2 },
          { topic: INVOKE_TOPIC, qos: 1 },
        ],
      },
      { ...publish, qos: 0 },
      { ...publish, qos: 1, messageId: 12 },
      { ...publish, qos: 2, messageId: 13 },
      { ...publish, qos: 1, messageId: 14, topic: '$SYS/x' },
      { cmd: 'pubrel', messageId: 13, reasonCode: 0 },
      { cmd: 'puback', messageId: 9, reasonCode: 0 },
      { cmd: 'unsubscribe', messageId: 15, unsubscriptions: ['#', 'none'] },
      { cmd: 'pingreq' },
    )
    await client.came('unsuback')
    await client.came('pingresp')
    for (let turns = 0; turns < 5; turns++) await client.settled()
    const count = given()
    client.packets.length = 0
    client.send(requestPacket('alice', command('GET k'), 1))
    await client.came('publish')
    expect(count()).toBe(0)
  })
})

describe('What comes in one segment is done in its order', () => {
  const SUBSCRIBE: Packet = {
    cmd: 'subscribe',
    messageId: 1,
    subscriptions: [responseTopicOf('alice'), notificationTopicOf('alice')].map(topic => ({ topic, qos: 1 })),
  }
  const set = (id: number) => requestPacket('alice', command('SET k v'), id, { userProperties: { __ts: NOW } })
  const watch = requestPacket('alice', command('KEYNOTIFY k'), 2)

  it('a subscription, then requests whose answers and notifications need it', async () => {
    const { store } = await openStore({ notifications: 'subscribed' })
    const client = await WireClient.connect(store.url, 'alice')
    client.send(SUBSCRIBE, watch, set(3))
    await client.came('publish', 3)
    expect(client.publishes.map(({ topic }) => topic.split('/').at(-2))).toEqual(['invoke', 'invoke', 'notify'])
  })

  it('CONNECT and all the rest', async () => {
    const { store } = await openStore()
    const client = await WireClient.open(store.url)
    client.send({ cmd: 'connect', clientId: 'alice', protocolId: 'MQTT', protocolVersion: 5 }, SUBSCRIBE, watch, set(3))
    await client.came('publish', 3)
    expect([client.packets[0]?.cmd, client.all('suback').length, client.all('puback').length]).toEqual([
      'connack',
      1,
      2,
    ])
  })

  it('a subscription that ends, then a request', async () => {
    const { store } = await openStore()
    const client = await WireClient.connect(store.url, 'alice')
    await client.subscribe(responseTopicOf('alice'))
    client.send({ cmd: 'unsubscribe', messageId: 5, unsubscriptions: [responseTopicOf('alice')] }, set(6))
    await client.came('puback')
    await client.settled()
    expect([client.publishes, store.stats.keys]).toEqual([[], 1])
  })

  it('requests among other messages are acknowledged in the order they came', async () => {
    const { store } = await openStore()
    const client = await WireClient.connect(store.url, 'alice')
    const other = (messageId: number): Packet => ({ ...set(messageId), topic: 'news' })
    client.send(set(1), set(2), other(3), set(4), other(5), other(6), set(7))
    await client.came('puback', 7)
    expect(client.all('puback').map(({ messageId }) => messageId)).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  it('a request, then DISCONNECT: the request is carried out, and the last will is not published', async () => {
    const { store } = await openStore()
    const heir = await WireClient.connect(store.url, 'heir')
    await heir.subscribe('wills')
    const will = { topic: 'wills', payload: Buffer.from('x'), qos: 0, retain: false } as const
    const client = await WireClient.connect(store.url, 'alice', { will })
    client.send(set(1), { cmd: 'disconnect', reasonCode: 0 })
    await client.closed
    await heir.settled()
    expect([store.stats.requests, store.stats.keys, heir.publishes]).toEqual([1, 1, []])
  })
})
