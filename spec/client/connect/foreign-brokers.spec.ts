import { connect as connectMqtt } from 'mqtt'
import type { IConnackPacket, IPublishPacket, Packet } from 'mqtt-packet'
import { describe, expect, it, onTestFinished } from 'vitest'
import { StateStore } from '../../../src/client/connect/client.js'
import { ConnectionLostError, connect, RequestRejectedError, text } from '../../../src/client/index.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { FakeSession } from '../../support/fake-session.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient, record, words } from '../../support/open-client.js'
import { type BrokerSide, CONNACK, grant, scriptedBroker } from '../../support/scripted-broker.js'

const OK = utf8('+OK\r\n')
const LIFE_TOPIC = 'rx-statestore/v1/life'
const CHANGES_OF_A = 'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/636C69656E742D696431/command/notify/61'
const setTo = (value: string): Uint8Array =>
  utf8(`*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$${value.length}\r\n${value}\r\n`)
const holding = (value: string): Uint8Array => utf8(`$${value.length}\r\n${value}\r\n`)

/** Grants subscriptions and responds to requests with `v`, as an attached store would. */
function answering(change: (answer: IPublishPacket, nth: number) => IPublishPacket = answer => answer) {
  let count = 0
  return (side: BrokerSide, packet: Packet): void => {
    grant(side, packet)
    if (packet.cmd !== 'publish') return
    const { responseTopic: topic = '', correlationData } = packet.properties ?? {}
    const payload = packet.payload.includes('GET') ? '$1\r\nv\r\n' : '+OK\r\n'
    side.send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 0 })
    const properties = { userProperties: { __stat: '200', __ts: '1:0:S' }, ...(correlationData && { correlationData }) }
    const answer: IPublishPacket = {
      cmd: 'publish',
      topic,
      payload,
      qos: 1,
      dup: false,
      retain: false,
      messageId: (count % 60_000) + 1,
      properties,
    }
    side.send(change(answer, count++))
  }
}

const accept =
  (properties: NonNullable<IConnackPacket['properties']> = {}) =>
  (side: BrokerSide): void =>
    side.send({ ...CONNACK, properties })

describe('a broker that uses topic aliases', () => {
  it('an MqttClient that allows topic aliases receives responses and notifications', async () => {
    const aliased = (answer: IPublishPacket, nth: number): IPublishPacket => ({
      ...answer,
      topic: nth === 0 ? answer.topic : '',
      properties: { ...answer.properties, topicAlias: 1 },
    })
    const broker = await scriptedBroker(accept(), answering(aliased))
    const mqtt = connectMqtt(broker.url, { protocolVersion: 5, properties: { topicAliasMaximum: 10 } })
    onTestFinished(async () => {
      await mqtt.endAsync(true)
    })
    const store = connect(mqtt, { timeout: 2_000 })
    onTestFinished(async () => store.close())
    const seen = record(store.key('a', text).entries$)
    await seen.until(({ values }) => values.length > 0)
    expect(words(seen)).toEqual(['set v (snapshot)'])
  })
})

describe('a broker with a maximum packet size', () => {
  const requests = async (maximumPacketSize: number, clientId: string) => {
    const sizes: number[] = []
    const respond = answering()
    const broker = await scriptedBroker(accept({ maximumPacketSize }), (side, packet) => {
      if (packet.cmd === 'publish') sizes.push(packet.length ?? 0)
      respond(side, packet)
    })
    return { store: openClient(broker.url, { clientId }), sizes }
  }

  it('the client sends a small request despite a low packet size limit', async () => {
    const { store, sizes } = await requests(1_000, 'me')
    await store.key('a', text).get()
    expect(sizes).toHaveLength(1)
  })

  it('a long client id counts towards the packet size', async () => {
    const { store, sizes } = await requests(3_000, 'x'.repeat(1_500))
    await expect(store.key('a', text).get()).rejects.toMatchObject({
      code: 'argument',
      message: expect.stringMatching(/with a packet of \d{4} bytes is too large.*at most 3000 bytes/),
    })
    expect(sizes).toEqual([])
  })
})

describe('a broker that announces limitations in CONNACK', () => {
  it('a client closes and reports the reason when the broker lacks QoS 1', async () => {
    const broker = await scriptedBroker(accept({ maximumQoS: 0 }), grant)
    const status = record(openClient(broker.url).status$)
    await status.until(({ completed }) => completed)
    expect([status.values.at(-1), broker.sides.length]).toMatchObject([
      {
        state: 'closed',
        cause: { code: 'connection-refused', reasonCode: 155, message: expect.stringMatching(/only QoS 0/) },
      },
      1,
    ])
  })

  it('without wildcard subscriptions, requests succeed and watches fail with the reason', async () => {
    const filters: string[] = []
    const respond = answering()
    const broker = await scriptedBroker(accept({ wildcardSubscriptionAvailable: false }), (side, packet) => {
      if (packet.cmd === 'subscribe') filters.push(...packet.subscriptions.map(({ topic }) => topic))
      respond(side, packet)
    })
    const store = openClient(broker.url)
    expect(await store.key('a', text).get()).toMatchObject({ value: 'v' })
    const seen = record(store.key('a', text).entries$)
    expect(seen.error).toMatchObject({
      code: 'request-rejected',
      status: 162,
      message: expect.stringMatching(/wildcard/),
    })
    expect(filters).toEqual([expect.not.stringContaining('+')])
  })

  it('the client sends no subscription identifiers to a broker that does not support them', async () => {
    const identifiers: unknown[] = []
    const respond = answering()
    const broker = await scriptedBroker(accept({ subscriptionIdentifiersAvailable: false }), (side, packet) => {
      if (packet.cmd === 'subscribe') identifiers.push(packet.properties?.subscriptionIdentifier)
      respond(side, packet)
    })
    await openClient(broker.url).key('a', text).get()
    expect(identifiers).toEqual([undefined])
  })
})

/** A client of an attached store whose responses the spec decides. */
function openAttachedStore(options: { readonly verifyEvery?: number } = {}) {
  const session = new FakeSession()
  const clock = new ManualClock()
  const client = new StateStore(session, { clock, timeout: 1_000, maxQueued: 20_000, stopDelay: 0, ...options })
  session.connect()
  const commandOf = (index: number): string =>
    new TextDecoder()
      .decode(session.at(index).request.payload)
      .split('\r\n')
      .filter(line => /^[A-Z]/i.test(line))
      .join(' ')
  const answer = (index: number, payload: Uint8Array, instanceId?: string): void =>
    session.reply(session.at(index), payload, {
      __stat: '200',
      __ts: '5:0:S',
      ...(instanceId && { __life: instanceId }),
    })
  const watch = (key: string) => ({
    entries: record(client.key(key, text).entries$),
    freshness: record(client.key(key, text).freshness$),
  })
  return { session, clock, client, commandOf, answer, watch }
}

const noStore = (): RequestRejectedError => new RequestRejectedError(16, 'No matching subscribers')

describe('a request', () => {
  it('carries its partition and its priority', () => {
    const { session, client } = openAttachedStore()
    record(client.key('a', text).get())
    expect(session.at(0).request.commonProperties).toMatchObject({ $partition: 'client-id1', $high_priority: '' })
  })
})

describe('a broker without a store', () => {
  it('only one of many watches polls for a store, and all recover a second after its start', {
    tags: 'slow',
  }, () => {
    const { session, clock, watch } = openAttachedStore()
    const seen = Array.from({ length: 500 }, (_, i) => watch(`k${i}`).entries)
    for (let i = 0; i < session.published.length; i++) session.at(i).acknowledge(noStore())
    const before = session.published.length
    for (let second = 0; second < 60; second++) {
      const from = session.published.length
      clock.advance(1_000)
      for (let i = from; i < session.published.length; i++) session.at(i).acknowledge(noStore())
    }
    const asked = session.published.length - before
    expect(asked).toBeGreaterThan(60)
    expect(asked).toBeLessThan(60 * 4)
    const from = session.published.length
    clock.advance(700)
    for (let i = from; i < session.published.length; i++) {
      const isRead = new TextDecoder().decode(session.at(i).request.payload).includes('GET')
      session.reply(session.at(i), isRead ? holding('v') : OK, { __stat: '200', __ts: '5:0:S' })
    }
    expect(seen.filter(entries => words(entries).join() === 'set v (snapshot)')).toHaveLength(500)
  })
})

describe('a watch whose registration was rejected', () => {
  it('the client sends no STOP for a rejected registration', () => {
    const { session, watch } = openAttachedStore()
    const { entries } = watch('a')
    session.reply(session.at(0), utf8('-ERR not authorized\r\n'))
    expect([entries.error, session.published.length]).toMatchObject([{ code: 'not-authorized' }, 1])
  })

  it('the client stops a rejected registration that may have reached the store earlier', () => {
    const { session, clock, watch, commandOf } = openAttachedStore()
    watch('a')
    clock.advance(1_100)
    session.reply(session.at(1), utf8('-ERR not authorized\r\n'))
    expect(commandOf(-1)).toBe('KEYNOTIFY a STOP')
  })
})

describe('an attached store', () => {
  const LIVE = { state: 'live' }
  const asked = (session: FakeSession): number =>
    session.subscribed.filter(filters => filters.includes(LIFE_TOPIC)).length

  const live = () => {
    const world = openAttachedStore()
    const { entries, freshness } = world.watch('a')
    world.answer(0, OK, 'one')
    world.answer(1, holding('v'), 'one')
    expect(freshness.values.at(-1)).toEqual(LIVE)
    const announce = (instanceId: string): void => world.session.receive(LIFE_TOPIC, utf8(instanceId))
    return { ...world, entries, freshness, announce }
  }

  it('a store without an instance id adds no subscription', () => {
    const { session, watch, answer } = openAttachedStore()
    watch('a')
    answer(0, OK)
    answer(1, holding('v'))
    expect(asked(session)).toBe(0)
  })

  it('the client subscribes to announcements once per connection', () => {
    const { session } = live()
    expect(asked(session)).toBe(1)
  })

  it('values are stale while the store is unavailable, and live after it returns', () => {
    const { session, announce, freshness, entries, answer } = live()
    announce('')
    announce('')
    expect(freshness.values.at(-1)).toMatchObject({ state: 'stale' })
    announce('one')
    expect(freshness.values.at(-1)).toMatchObject({ state: 'resyncing' })
    answer(2, OK, 'one')
    answer(3, holding('w'), 'one')
    expect([freshness.values.at(-1), words(entries)]).toEqual([LIVE, ['set v (snapshot)', 'set w (resync)']])
    expect(session.published).toHaveLength(4)
  })

  it('the client registers again at a restarted store without a reconnect', () => {
    const { session, announce, entries, answer, commandOf } = live()
    announce('one')
    expect(session.published).toHaveLength(2)
    announce('two')
    expect(commandOf(2)).toBe('KEYNOTIFY a')
    answer(2, OK, 'two')
    answer(3, holding('w'), 'two')
    expect(words(entries)).toEqual(['set v (snapshot)', 'set w (resync)'])
  })

  it('a notification repeated on a new connection is ignored until the key is read', () => {
    const { session, entries, answer } = live()
    const notify = (value: string, version: number): void => {
      const ids = session.subscriptionId === undefined ? [] : [session.subscriptionId]
      session.receive(CHANGES_OF_A, setTo(value), { __ts: `${version}:0:S` }, undefined, ids)
    }
    session.disconnect(new ConnectionLostError())
    session.connect()
    notify('u', 3)
    notify('v', 5)
    answer(2, OK, 'one')
    notify('u', 3)
    answer(3, holding('v'), 'one')
    notify('v', 5)
    expect(words(entries)).toEqual(['set v (snapshot)'])
    notify('w', 6)
    expect(words(entries)).toEqual(['set v (snapshot)', 'set w (notification)'])
    expect(session.published).toHaveLength(4)
  })

  it('after a restart every notification of the new subscription is accepted', () => {
    const { session, announce, entries, answer } = live()
    const notify = (value: string, version: number, id: number): void =>
      session.receive(CHANGES_OF_A, setTo(value), { __ts: `${version}:0:S` }, undefined, [id])
    announce('two')
    const id = session.subscriptionId ?? 0
    expect([id > 0, session.subscribed.at(-1)]).toEqual([true, [CHANGES_OF_A.replace(/61$/, '+')]])
    notify('of the first', 9, id - 1)
    answer(2, OK, 'two')
    answer(3, holding('w'), 'two')
    for (const version of [6, 7, 8]) notify(`w${version}`, version, id)
    expect(words(entries).slice(1)).toEqual([
      'set w (resync)',
      'set w6 (notification)',
      'set w7 (notification)',
      'set w8 (notification)',
    ])
    expect(session.published).toHaveLength(4)
  })

  it('an announced instance before the first response makes the watch register again', () => {
    const { session, watch, commandOf } = openAttachedStore()
    const announce = (instanceId: string): void => session.receive(LIFE_TOPIC, utf8(instanceId))
    watch('a')
    announce('')
    expect(asked(session)).toBe(1)
    announce('one')
    expect([commandOf(-1), session.published.length]).toEqual(['KEYNOTIFY a', 2])
  })

  it('the client detects a restarted store from the instance id in any response', () => {
    const { client, session, answer, commandOf } = live()
    record(client.key('b', text).set('x'))
    answer(2, OK, 'two')
    expect([commandOf(3), session.published.length]).toEqual(['KEYNOTIFY a', 4])
  })

  it('a malformed announcement does not change freshness', () => {
    const { session, freshness } = live()
    session.receive(LIFE_TOPIC, Uint8Array.of(255, 0))
    expect(freshness.values.at(-1)).toMatchObject({ state: 'resyncing' })
  })
})

describe('verifyEvery', () => {
  it('the client registers and reads each watched key again within the interval', () => {
    const { session, clock, watch, answer, commandOf } = openAttachedStore({ verifyEvery: 10_000 })
    const [a, b] = [watch('a'), watch('b')]
    for (let i = 0; i < 4; i++) answer(i, i < 2 ? OK : holding('v'))
    clock.advance(4_999)
    expect(session.published).toHaveLength(4)
    clock.advance(5_001)
    expect([4, 5].map(commandOf)).toEqual(['KEYNOTIFY a', 'KEYNOTIFY b'])
    answer(4, OK)
    answer(5, OK)
    session.reply(session.at(6), holding('w'), { __stat: '200', __ts: '6:0:S' })
    answer(7, holding('v'))
    expect([words(a.entries), words(b.entries)]).toEqual([
      ['set v (snapshot)', 'set w (notification)'],
      ['set v (snapshot)'],
    ])
    expect(a.freshness.values.map(({ state }) => state)).toEqual(['connecting', 'live'])
  })

  it('a value is not live while the store does not respond to verification', () => {
    const { clock, watch, answer } = openAttachedStore({ verifyEvery: 10_000 })
    const { freshness } = watch('a')
    answer(0, OK)
    answer(1, holding('v'))
    clock.advance(11_000)
    expect(freshness.values.at(-1)).toEqual({ state: 'resyncing' })
  })

  it('a value is not live while the store registers it again but does not respond to the read', () => {
    const { session, clock, watch, answer, commandOf } = openAttachedStore({ verifyEvery: 10_000 })
    const { entries, freshness } = watch('a')
    answer(0, OK)
    answer(1, holding('v'))
    clock.advance(10_000)
    answer(2, OK)
    expect([commandOf(3), freshness.values.at(-1)]).toEqual(['GET a', { state: 'live' }])
    clock.advance(1_000)
    expect(freshness.values.at(-1)).toEqual({ state: 'resyncing' })
    while (session.published.length < 5) clock.advance(10)
    answer(4, holding('w'))
    expect([words(entries).at(-1), freshness.values.at(-1)]).toEqual(['set w (resync)', { state: 'live' }])
  })

  it('verification is off by default and leaves no timer behind', () => {
    const off = openAttachedStore()
    off.watch('a')
    off.answer(0, OK)
    off.answer(1, holding('v'))
    expect(off.clock.pending).toBe(0)
    const on = openAttachedStore({ verifyEvery: 1_000 })
    on.watch('a')
    void on.client.close()
    expect(on.clock.pending).toBe(0)
  })
})
