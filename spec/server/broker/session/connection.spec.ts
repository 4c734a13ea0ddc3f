import { describe, expect, it } from 'vitest'
import * as REASON from '../../../../src/core/mqtt5/reason-codes.js'
import { disconnectCode, REFUSALS } from '../../../../src/core/mqtt5/refusals.js'
import { utf8 } from '../../../../src/core/util/bytes.js'
import { LOGIN_REFUSAL } from '../../../../src/server/access/login.js'
import type { BrokerCore } from '../../../../src/server/broker/core/broker-core.js'
import { LIMIT, OVERHEAD_BYTES } from '../../../../src/server/broker/limits/limits.js'
import type { Verdict } from '../../../../src/server/broker/session/handler.js'
import { openCore } from '../scripted-client.js'

const AUTH = { properties: { authenticationMethod: 'riddles', authenticationData: Buffer.from('hello') } }

const heldBytesOf = ({ connections }: BrokerCore, clientId: string): number =>
  Array.from(connections).find(connection => connection.clientId === clientId)?.heldBytes ?? 0

describe('a connection', () => {
  it('ends if CONNECT does not arrive in time', () => {
    const { open, clock } = openCore()
    const client = open()
    clock.advance(LIMIT.connectTimeoutMs)
    expect(client.ended).toBe(true)
    expect(client.got).toEqual([])
  })

  it('receives the maximum keep-alive in CONNACK, and the maximum applies', () => {
    const { connect, clock } = openCore({}, { maxKeepAliveSeconds: 10 })
    const client = connect('ann', { keepalive: 600 })
    expect(client.last).toMatchObject({ properties: { serverKeepAlive: 10 } })
    clock.advance(14_999)
    expect(client.ended).toBe(false)
    clock.advance(1)
    expect(client.last).toMatchObject({ cmd: 'disconnect', reasonCode: REASON.keepAliveTimeout })
  })

  it('receives a reason code and a server reference when it is refused [3.1.4-2]', () => {
    const refused = {
      type: 'refused',
      reasonCode: REASON.useAnotherServer,
      reason: 'full',
      serverReference: 'b.example',
    } as const
    const client = openCore({ authenticate: () => refused }).connect('ann')
    expect(client.last).toMatchObject({
      cmd: 'connack',
      reasonCode: REASON.useAnotherServer,
      properties: { reasonString: 'full', serverReference: 'b.example' },
    })
    expect(client.ended).toBe(true)
  })

  it('receives reason strings only with problem information, or in DISCONNECT [3.1.2-29]', () => {
    const { connect } = openCore({ checkPublish: () => ({ reason: 'no' }) })
    const properties = { requestProblemInformation: false }
    const [puback] = connect('ann', { properties }).publish('a', '1')
    expect(puback).toMatchObject({ cmd: 'puback', reasonCode: REASON.notAuthorized })
    expect(puback).not.toHaveProperty('properties.reasonString')
    const client = connect('ben', { properties })
    client.connect('ben')
    expect(client.last).toHaveProperty('properties.reasonString')
  })

  it('is refused if its will is not permitted', () => {
    const { connect } = openCore({ checkPublish: () => ({ reason: 'no' }) })
    const client = connect('ann', { will: { topic: 'a', payload: Buffer.from('1'), qos: 1, retain: false } })
    expect(client.last).toMatchObject({ cmd: 'connack', reasonCode: REASON.notAuthorized })
  })
})

describe('enhanced authentication', () => {
  it('exchanges AUTH packets until accepted, but none during a verdict [4.12.0-2, 4.12.0-5]', () => {
    const { connect, core } = openCore({
      authenticate: (_, { state }) =>
        state === undefined
          ? { type: 'continue', data: utf8('riddle'), state: 1 }
          : { type: 'accepted', data: utf8('yes') },
    })
    const client = connect('ann', AUTH)
    expect(client.last).toMatchObject({
      cmd: 'auth',
      reasonCode: REASON.continueAuthentication,
      properties: { authenticationMethod: 'riddles', authenticationData: Buffer.from('riddle') },
    })
    expect(core.connectionCount).toBe(0)
    client.say({ cmd: 'auth', reasonCode: REASON.continueAuthentication, ...AUTH })
    expect(client.last).toMatchObject({
      cmd: 'connack',
      reasonCode: 0,
      properties: { authenticationMethod: 'riddles' },
    })
    const early = connect('ben', AUTH)
    early.subscribe('a')
    expect(early.last).toMatchObject({ cmd: 'connack', reasonCode: REASON.protocolError })
  })

  it('keeps the order of packets that arrive while a verdict is pending', async () => {
    const { connect } = openCore({ authenticate: () => Promise.resolve({ type: 'accepted' }) })
    const client = connect('ann')
    client.subscribe('a')
    client.publish('a', '1')
    expect(client.got).toEqual([])
    await new Promise(resolve => setImmediate(resolve))
    client.link.flush()
    expect(client.got.map(({ cmd }) => cmd)).toEqual(['connack', 'suback', 'publish', 'puback'])
  })

  it('ends the connection when a step is refused [4.12.0-4]', () => {
    const { connect, core } = openCore({
      authenticate: (_, { state }) =>
        state === undefined
          ? { type: 'continue', data: utf8('riddle'), state: 1 }
          : { type: 'refused', reasonCode: REASON.notAuthorized, reason: 'wrong' },
    })
    const client = connect('ann', AUTH)
    client.say({ cmd: 'auth', reasonCode: REASON.continueAuthentication, ...AUTH })
    expect(client.last).toMatchObject({ cmd: 'connack', reasonCode: REASON.notAuthorized })
    expect([client.ended, core.connectionCount]).toEqual([true, 0])
  })

  it('can be repeated when connected, and a failure ends the connection [4.12.0-5, 4.12.1-2]', () => {
    let asked = 0
    const { connect } = openCore({
      authenticate: () =>
        ++asked < 3 ? { type: 'accepted' } : { type: 'refused', reasonCode: REASON.notAuthorized, reason: 'wrong' },
    })
    const client = connect('ann', AUTH)
    expect(client.say({ cmd: 'auth', reasonCode: REASON.reAuthenticate, ...AUTH })).toMatchObject([
      { cmd: 'auth', reasonCode: 0, properties: { authenticationMethod: 'riddles' } },
    ])
    client.say({ cmd: 'auth', reasonCode: REASON.reAuthenticate, ...AUTH })
    expect(client.last).toMatchObject({ cmd: 'disconnect', reasonCode: REASON.notAuthorized })
    expect(client.ended).toBe(true)
  })
})

describe('A rejected login', () => {
  it.each(Object.entries(LOGIN_REFUSAL))('has a code of CONNACK or of DISCONNECT: %s', (_, reasonCode) => {
    let verdict: Verdict = { type: 'refused', reasonCode, reason: 'no' }
    const { connect } = openCore({ authenticate: () => verdict })
    expect(connect('ann', AUTH).last).toMatchObject({ cmd: 'connack', reasonCode })
    verdict = { type: 'accepted' }
    const client = connect('ann', AUTH)
    verdict = { type: 'refused', reasonCode, reason: 'no' }
    client.say({ cmd: 'auth', reasonCode: REASON.reAuthenticate, ...AUTH })
    const expected = REFUSALS.get(reasonCode)?.disconnect ?? reasonCode
    expect(client.last).toMatchObject({ cmd: 'disconnect', reasonCode: expected, properties: { reasonString: 'no' } })
  })

  it('a client that reauthenticates while logins cannot be checked gets a transient code', () => {
    expect(disconnectCode(REASON.serverUnavailable)).toBe(REASON.serverBusy)
    expect(disconnectCode(REASON.connectionRateExceeded)).toBe(REASON.connectionRateExceeded)
  })
})

describe('A response that exceeds the maximum packet size of the client', () => {
  it('is replaced by a refusal without properties: CONNACK [3.1.2-24]', () => {
    const client = openCore().connect('ann', { properties: { maximumPacketSize: 10 } })
    expect(client.got).toMatchObject([{ cmd: 'connack', reasonCode: REASON.packetTooLarge }])
    expect(client.ended).toBe(true)
  })

  it('is not sent, and ends the connection: SUBACK [3.1.2-24]', () => {
    const client = openCore().connect('ann', { properties: { maximumPacketSize: 40 } })
    const subscriptions = Array.from({ length: 60 }, (_, n) => ({ topic: `t/${n}`, qos: 0 as const }))
    client.say({ cmd: 'subscribe', messageId: 1, subscriptions })
    expect(client.last).toMatchObject({ cmd: 'disconnect', reasonCode: REASON.packetTooLarge })
    expect(client.ended).toBe(true)
  })
})

describe('A reason string', () => {
  const reason = 'for this and for that and for some more'
  const refused = { type: 'refused', reasonCode: REASON.banned, reason } as const
  const small = { properties: { maximumPacketSize: 30 } }

  it.each([
    ['is sent if the packet has room', {}, reason],
    [
      'is omitted from PUBACK, PUBREC, CONNACK and DISCONNECT that it would make too large [3.2.2-19, 3.4.2-2, 3.5.2-2, 3.14.2-3]',
      small,
      undefined,
    ],
  ])('%s', (_, of, expected) => {
    const { connect } = openCore({ checkPublish: () => ({ reason }) })
    const [puback, pubrec] = [1, 2].map(
      qos => connect(`ann${qos}`, of).publish('a', '1', { qos: qos === 1 ? 1 : 2 })[0],
    )
    expect(puback).toMatchObject({ cmd: 'puback', reasonCode: REASON.notAuthorized })
    expect(pubrec).toMatchObject({ cmd: 'pubrec', reasonCode: REASON.notAuthorized })
    const connack = openCore({ authenticate: () => refused }).connect('ann', of).last
    expect(connack).toMatchObject({ cmd: 'connack', reasonCode: REASON.banned })
    const cut = openCore({ checkPublish: () => ({ reason, disconnect: REASON.quotaExceeded }) }).connect('ann', of)
    cut.publish('a', '1')
    expect(cut.last).toMatchObject({ cmd: 'disconnect', reasonCode: REASON.quotaExceeded })
    const told = [puback, pubrec, connack, cut.last].map(packet => Object(packet).properties?.reasonString)
    expect(told).toEqual(Array(4).fill(expected))
  })

  it("is omitted if the packet would exceed the client's limit [3.6.2-2, 3.7.2-2, 3.9.2-1, 3.11.2-1]", () => {
    const { connect } = openCore()
    const client = connect('ann', { properties: { maximumPacketSize: 20 } })
    client.subscribe('a', 2)
    client.publish('a', '1', { qos: 2 })
    client.say({ cmd: 'pubrel', messageId: 7, reasonCode: 0 })
    client.say({ cmd: 'pubrec', messageId: client.messages[0]?.messageId ?? 0, reasonCode: 0 })
    client.say({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['a'] })
    const came = client.got.map(({ cmd, length = 0 }) => [cmd, 2 + length <= 20])
    expect(came).toEqual(
      ['connack', 'suback', 'publish', 'pubrec', 'pubcomp', 'pubrel', 'unsuback'].map(cmd => [cmd, true]),
    )
  })
})

describe('a message', () => {
  it("gets a topic alias after its topic's first use, within the client's maximum", () => {
    const client = openCore().connect('ann', { properties: { topicAliasMaximum: 1 } })
    client.subscribe('#', 0)
    for (const topic of ['a', 'a', 'b', 'b']) client.publish(topic, '1', { qos: 0 })
    expect(client.messages.map(({ topic, properties }) => [topic, properties?.topicAlias])).toEqual([
      ['a', 1],
      ['', 1],
      ['b', undefined],
      ['b', undefined],
    ])
  })

  it('the topics of aliases are charged to the memory budget until the connection ends', () => {
    const { core, connect } = openCore()
    const writer = connect('writer')
    const client = connect('ann', { properties: { topicAliasMaximum: 2 } })
    client.subscribe('#', 0)
    const before = [core.budget.used, heldBytesOf(core, 'ann')]
    for (const level of ['a', 'a', 'b', 'c']) writer.publish(level.repeat(1_000), '1', { qos: 0 })
    const added = 2 * (1_000 + OVERHEAD_BYTES)
    expect([core.budget.used, heldBytesOf(core, 'ann')]).toEqual(before.map(bytes => bytes + added))
    client.lose()
    writer.lose()
    expect(core.budget.used).toBe(0)
  })

  it('has no new topic alias with half the memory budget used, and nobody is disconnected', () => {
    const { connect } = openCore({}, { memoryBudget: 9_000 })
    const client = connect('ann', { properties: { topicAliasMaximum: 9 } })
    client.subscribe('#', 0)
    for (const level of ['a', 'b', 'c', 'a', 'c']) client.publish(level.repeat(2_000), '1', { qos: 0 })
    const aliases = client.messages.map(({ topic, properties }) => [topic?.[0], properties?.topicAlias])
    expect(aliases).toEqual([
      ['a', 1],
      ['b', undefined],
      ['c', undefined],
      [undefined, 1],
      ['c', undefined],
    ])
    expect(client.ended).toBe(false)
  })

  it('is sent without a topic alias if the alias would make the message too large', () => {
    const sizes = Array.from({ length: 12 }, (_, i) => {
      const properties = { maximumPacketSize: 24, topicAliasMaximum: 5 }
      const client = openCore().connect('ann', { properties })
      client.subscribe('#', 0)
      client.publish('topic', 'x'.repeat(i + 5), { qos: 0 })
      return client.messages.map(({ length = 0 }) => 2 + length)
    })
    expect(sizes.flat().every(size => size <= 24)).toBe(true)
    expect(sizes.flat().filter(size => size === 24)).toHaveLength(2)
  })

  it('with QoS 2 that is rejected frees its packet id [4.3.3-9]', () => {
    const usual = { ...LIMIT }
    Object.assign(LIMIT, { retainedMessages: 0 })
    try {
      const { connect } = openCore()
      const ann = connect('ann')
      ann.subscribe('#', 0)
      const [full] = ann.publish('a', '1', { qos: 2, retain: true })
      expect(full).toMatchObject({ cmd: 'pubrec', reasonCode: REASON.quotaExceeded })
      ann.publish('b', '2', { qos: 2 })
      expect(ann.messages.map(({ topic }) => topic)).toEqual(['b'])
    } finally {
      Object.assign(LIMIT, usual)
    }
  })

  it('with too many topic levels ends the connection and is not recorded', () => {
    const ann = openCore().connect('ann')
    ann.publish('a/'.repeat(LIMIT.topicLevels), '1', { qos: 2 })
    expect(ann.last).toMatchObject({ cmd: 'disconnect', reasonCode: REASON.topicNameInvalid })
  })
})

describe('a client of MQTT 3.1.1', () => {
  it('receives messages without properties, and a return code when it is refused', () => {
    const { connect } = openCore()
    const ann = connect('ann', { protocolVersion: 4 })
    expect(ann.last).toMatchObject({ cmd: 'connack', returnCode: 0 })
    ann.subscribe('a')
    connect('ben').publish('a', '1', { properties: { contentType: 'text/plain' } })
    expect(ann.messages).toMatchObject([{ topic: 'a', qos: 1 }])
    expect(ann.messages[0]).not.toHaveProperty('properties')
    const refusing = openCore({ authenticate: () => ({ type: 'refused', reasonCode: REASON.banned, reason: 'no' }) })
    expect(refusing.connect('ann', { protocolVersion: 4 }).last).toMatchObject({ cmd: 'connack', returnCode: 5 })
  })

  it('is disconnected for a forbidden publish, as MQTT 3.1.1 has no error response', () => {
    const ann = openCore({ checkPublish: () => ({ reason: 'no' }) }).connect('ann', { protocolVersion: 4 })
    expect(ann.publish('a', '1')).toEqual([])
    expect(ann.ended).toBe(true)
  })
})
