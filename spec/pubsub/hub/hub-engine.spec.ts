import { describe, expect, it } from 'vitest'
import type { EventRequest } from '../../../src/pubsub/hub/event-queue.js'
import { HubEngine } from '../../../src/pubsub/hub/hub-engine.js'
import type { Identity } from '../../../src/pubsub/hub/identity.js'
import { SharedCodec } from '../../../src/pubsub/hub/shared-codec.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'
import { VirtualLink } from '../support/virtual-link.js'

const json = new SharedCodec(jsonHubCodec)
const protobuf = new SharedCodec(protobufHubCodec)
const ANYTHING = ['webpubsub.joinLeaveGroup', 'webpubsub.sendToGroup']

function build({ handle = (_: EventRequest): boolean => false } = {}) {
  let secrets = 0
  const sessionLog: string[] = []
  const engine = new HubEngine({
    retention: 60_000,
    idleTimeout: 100_000,
    generateSecret: bytes => `${++secrets}`.padStart(bytes, '0'),
    onError: error => {
      throw error
    },
    listener: {
      connected: ({ connectionId }) => void sessionLog.push(`connected ${Number(connectionId)}`),
      disconnected: ({ connectionId }, reason) => void sessionLog.push(`${reason} ${Number(connectionId)}`),
      event: handle,
    },
  })
  const connect = (identity: Identity = {}, codec = json) => {
    const link = new VirtualLink()
    const session = engine.connect(link, codec, { roles: ANYTHING, groups: ['g'], ...identity }, 0)
    const send = (frame: object, now = 0) => engine.receive(session, link, JSON.stringify(frame), now)
    return { link, session, send }
  }
  const publishToGroup = (count: number, from = 1): void => {
    for (let i = from; i < from + count; i++) {
      const payload = { dataType: 'json', data: i } as const
      engine.deliver(engine.sessionIndex.ofGroup('g'), { type: 'groupMessage', group: 'g', payload }, 0)
    }
  }
  return { engine, sessionLog, connect, publishToGroup }
}

const claimOf = (link: VirtualLink) => {
  const { connectionId, reconnectionToken } = link.parsed[0] ?? {}
  return { connectionId: String(connectionId), token: String(reconnectionToken) }
}

describe('HubEngine', () => {
  it('receiving a frame returns the work that it caused', () => {
    const { connect } = build()
    const [first] = [connect(), connect(), connect()]
    expect(first.send({ type: 'ping' })).toBe(1)
    expect(first.send({ type: 'sendToGroup', group: 'g', data: 1 })).toBe(4)
  })

  it('the hub writes messages while the link accepts them, and later continues in order', () => {
    const { engine, connect, publishToGroup } = build()
    const { link, session } = connect()
    publishToGroup(2)
    link.isWritable = false
    publishToGroup(3, 3)
    expect(link.sequenceIds).toEqual([1, 2])
    link.isWritable = true
    engine.onDrain(session, link)
    publishToGroup(1, 6)
    expect(link.sequenceIds).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('an ack of a message that was not written is ignored', () => {
    const { engine, connect, publishToGroup } = build()
    const { link, session, send } = connect()
    publishToGroup(2)
    link.isWritable = false
    publishToGroup(2, 3)
    send({ type: 'sequenceAck', sequenceId: 3 })
    link.isWritable = true
    engine.onDrain(session, link)
    const again = new VirtualLink()
    engine.recover(claimOf(link), again, 0)
    expect(again.sequenceIds).toEqual([1, 2, 3, 4])
    expect(link.end).toBe('terminate')
  })

  it('a resent message has the same bytes', () => {
    const { engine, connect, publishToGroup } = build()
    for (const codec of [json, protobuf]) {
      const { link, session } = connect({}, codec)
      publishToGroup(3)
      const again = new VirtualLink()
      session.resume(again)
      expect(again.frames).toEqual(link.frames.slice(1))
      engine.end(session, 'hub', 1000, '')
    }
  })

  it('frames, violations, drain and close of a replaced link do not affect the recovered session', () => {
    const { engine, connect, publishToGroup } = build()
    const { link, session } = connect()
    const again = new VirtualLink()
    engine.recover(claimOf(link), again, 1)
    engine.receive(session, link, '{"type":"ping"}', 2)
    engine.receive(session, link, 'nonsense', 2)
    engine.onLinkClosed(session, link, 1000, 3)
    engine.onViolation(session, link)
    engine.onDrain(session, link)
    publishToGroup(1)
    expect([again.sequenceIds, link.frames.length, session.attached]).toEqual([[1], 1, true])
  })

  it('a malformed frame or a wrong message type ends the session', () => {
    const { engine, connect, sessionLog } = build()
    const [bad, wrong, binary] = [connect(), connect(), connect({}, protobuf)]
    engine.receive(bad.session, bad.link, '{"type":', 0)
    engine.receive(wrong.session, wrong.link, new Uint8Array([1]), 0)
    engine.receive(binary.session, binary.link, '{}', 0)
    expect(bad.link.end).toMatch(/^close 1007 ./)
    expect([wrong.link.end, binary.link.end]).toEqual([
      'close 1003 json.reliable.webpubsub.azure.v1 does not use this message type',
      'close 1003 protobuf.reliable.webpubsub.azure.v1 does not use this message type',
    ])
    expect(sessionLog.slice(3)).toEqual(['violation 1', 'violation 3', 'violation 5'])
  })

  it('the hub remembers the last 1000 ids of successful requests', () => {
    const { connect } = build()
    const { link, send } = connect()
    for (let ackId = 0; ackId <= 1_000; ackId++) send({ type: 'joinGroup', group: 'g', ackId })
    const answers = [1, 1_000, 0].map(ackId => {
      send({ type: 'joinGroup', group: 'g', ackId })
      return link.parsed.at(-1)?.['success']
    })
    expect(answers).toEqual([false, false, true])
  })

  it('the hub does not remember the ids of failed requests', () => {
    const { connect } = build()
    const { link, send, session } = connect({ roles: [] })
    const frame = { type: 'sendToGroup', group: 'g', data: 1, ackId: 5 }
    send(frame)
    session.permissions.grant('sendToGroup', 'g')
    send(frame)
    expect(link.parsed.slice(1)).toMatchObject([
      { ackId: 5, success: false, error: { name: 'Forbidden' } },
      { type: 'message' },
      { ackId: 5, success: true },
    ])
  })

  it('a connection can be in up to 1000 groups', () => {
    const { connect } = build()
    const { link, send } = connect({ groups: [] })
    for (let i = 1; i <= 1_001; i++) send({ type: 'joinGroup', group: `g${i}`, ackId: i })
    const answers = link.parsed.slice(-2).map(answer => answer['success'])
    expect(answers).toEqual([true, false])
    send({ type: 'leaveGroup', group: 'g1' })
    send({ type: 'joinGroup', group: 'other', ackId: 2_000 })
    expect(link.parsed.at(-1)).toMatchObject({ ackId: 2_000, success: true })
  })

  it('an ended session leaves no state behind', () => {
    const { engine, connect, publishToGroup, sessionLog } = build()
    const sessions = Array.from({ length: 10 }, () => connect({ userId: 'ann' }))
    publishToGroup(5)
    for (const { session, link } of sessions) engine.onLinkClosed(session, link, 1006, 0)
    expect(engine.deadline).toBe(60_000)
    engine.tick(59_999)
    expect(engine.sessionIndex.all.size).toBe(10)
    engine.tick(60_000)
    expect([
      engine.sessionIndex.all.size,
      engine.sessionIndex.ofGroup('g').size,
      engine.sessionIndex.ofUser('ann').size,
    ]).toEqual([0, 0, 0])
    expect(engine.deadline).toBe(Number.POSITIVE_INFINITY)
    expect(sessionLog.filter(line => line.startsWith('expired'))).toHaveLength(10)
  })

  it('an expired session cannot be recovered, even before the next tick', () => {
    const { engine, connect } = build()
    const { link, session } = connect()
    engine.onLinkClosed(session, link, 1006, 0)
    expect(engine.recover(claimOf(link), new VirtualLink(), 60_000)).toBeUndefined()
  })

  it('a silent link is pinged, and closed if it does not answer', () => {
    const { engine, connect } = build()
    const [silent, alive] = [connect(), connect()]
    engine.tick(50_000)
    engine.onActivity(alive.session, alive.link, 50_001)
    engine.tick(99_999)
    expect([silent.link.pings, alive.link.pings, silent.link.end]).toEqual([1, 1, undefined])
    engine.tick(100_000)
    expect([silent.link.end, alive.link.end]).toEqual(['close 1001 PingTimeout', undefined])
    engine.tick(100_001)
    expect(alive.link.pings).toBe(2)
    expect(engine.recover(claimOf(silent.link), new VirtualLink(), 159_999)).toBe(silent.session)
  })

  it('a member that overflows during a delivery does not affect the other members', () => {
    const { engine, connect, publishToGroup, sessionLog } = build()
    const members = Array.from({ length: 3 }, () => connect())
    publishToGroup(1_000)
    for (const { session, link } of [members[0], members[2]].flatMap(member => member ?? [])) {
      engine.receive(session, link, '{"type":"sequenceAck","sequenceId":1000}', 0)
    }
    publishToGroup(1, 1_001)
    expect(members.map(({ link }) => [link.end, link.sequenceIds.length])).toEqual([
      [undefined, 1_001],
      ['close 1008 too many unacknowledged messages', 1_001],
      [undefined, 1_001],
    ])
    expect(sessionLog.slice(3)).toEqual(['overflow 3'])
  })
})

describe('an event', () => {
  const event = (ackId?: number) => ({ type: 'event', event: 'e', data: 1, ackId })

  it('is rejected if the application has no handler', () => {
    const { connect } = build()
    const { link, send } = connect()
    send(event(1))
    expect(link.parsed[1]).toMatchObject({ ackId: 1, success: false, error: { name: 'NotFound' } })
  })

  it('an undecided event is passed to the application only once', () => {
    const asked: EventRequest[] = []
    const { engine, connect } = build({ handle: request => asked.push(request) > 0 })
    const { link, send } = connect()
    send(event(1))
    send(event(1))
    expect([asked.length, link.frames.length]).toEqual([1, 1])
    const [request] = asked
    if (request === undefined) throw new Error('not asked')
    engine.events.accept(request, 0, { dataType: 'json', data: 'hi' })
    engine.events.refuse(request, { name: 'TooLate', message: '' })
    send(event(1))
    expect(link.parsed.slice(1)).toMatchObject([
      { type: 'message', from: 'server', data: 'hi', sequenceId: 1 },
      { ackId: 1, success: true },
      { ackId: 1, success: false, error: { name: 'Duplicate' } },
    ])
  })

  it('an undecided event is rejected after a timeout, and may be sent again', () => {
    const asked: EventRequest[] = []
    const { engine, connect } = build({ handle: request => asked.push(request) > 0 })
    const { link, send } = connect()
    send(event(1), 1_000)
    expect(engine.deadline).toBe(31_000)
    engine.tick(31_000)
    expect(link.parsed[1]).toMatchObject({ ackId: 1, success: false, error: { name: 'Timeout' } })
    send(event(1), 31_001)
    expect(asked).toHaveLength(2)
  })

  it('is acknowledged over the link that is current at its decision', () => {
    const asked: EventRequest[] = []
    const { engine, connect } = build({ handle: request => asked.push(request) > 0 })
    const { link, send } = connect()
    send(event(1))
    const again = new VirtualLink()
    engine.recover(claimOf(link), again, 1)
    for (const request of asked) engine.events.accept(request, 0)
    expect(again.parsed).toEqual([{ type: 'ack', ackId: 1, success: true }])
  })

  it('is rejected if a thousand events are undecided', () => {
    const { connect } = build({ handle: () => true })
    const { link, send } = connect()
    for (let i = 1; i <= 1_001; i++) send(event(i))
    expect(link.parsed.slice(1)).toMatchObject([{ ackId: 1_001, error: { name: 'InternalServerError' } }])
  })

  it('without an ackId is not acknowledged', () => {
    const asked: EventRequest[] = []
    const { engine, connect } = build({ handle: request => asked.push(request) > 0 })
    const { link, send } = connect()
    send(event())
    for (const request of asked) engine.events.accept(request, 0)
    expect([asked.length, link.frames.length, engine.deadline]).toEqual([1, 1, 50_000])
  })
})
