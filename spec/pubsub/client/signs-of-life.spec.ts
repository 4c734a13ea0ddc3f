import { describe, expect, it } from 'vitest'
import { retryDelays } from '../../../src/pubsub/client/reconnect-schedule.js'
import { FakeSetting } from '../support/fake-socket-client.js'

/** In a group, at a hub that has answered no ping so far. */
function atOldHub(): FakeSetting {
  const setting = new FakeSetting(retryDelays({ random: () => 0.5 }))
  setting.client.group('line').messages$.subscribe(setting.observer('line'))
  setting.socket.accept().greet().ack(1)
  setting.clock.advance(6_000)
  return setting
}

/** The id of the latest request that asks for a sign of life. */
const requestAt = ({ socket }: FakeSetting): unknown => socket.of('leaveGroup').at(-1)?.['ackId']

/** A silence of half of `keepAlive`, after which the hub answers the request. */
function silence(setting: FakeSetting, error?: string): void {
  setting.clock.advance(20_000)
  setting.socket.ack(requestAt(setting), error)
}

const allOf = ({ network }: FakeSetting, type: string) => network.sockets.flatMap(socket => socket.of(type))

describe('A hub that answers no pings', () => {
  it.each([undefined, 'Forbidden', 'InternalServerError', 'Duplicate'])(
    'is alive as long as it answers a request with %s, and nothing is said of that',
    error => {
      const setting = atOldHub()
      for (let round = 0; round < 100; round++) silence(setting, error)
      expect(setting.states).toEqual(['connecting', 'connected'])
      expect([setting.errors, setting.log]).toEqual([[], []])
    },
  )

  it('is asked once in a silence, each time by another id', () => {
    const setting = atOldHub()
    for (let round = 0; round < 3; round++) silence(setting)
    setting.clock.advance(39_999)
    const frames = setting.socket.frames.slice(1)
    expect(frames.at(-1)).toEqual({ type: 'leaveGroup', group: 'rx-statestore:alive', ackId: 5 })
    expect(frames.map(({ type }) => type)).toEqual(Array.from({ length: 4 }, () => ['ping', 'leaveGroup']).flat())
    expect(new Set(setting.socket.of('leaveGroup').map(({ ackId }) => ackId)).size).toBe(4)
  })

  it('is found out when the link is half-open, on every link, however many were before', () => {
    const setting = atOldHub()
    setting.socket.publish(1)
    for (let link = 0; link < 6; link++) {
      setting.clock.advance(39_999)
      expect(setting.status).toMatchObject({ state: 'connected' })
      setting.clock.advance(1)
      expect(setting.status).toMatchObject({ state: 'recovering', attempt: 1 })
      setting.socket.accept()
      setting.clock.advance(1_000)
    }
  })

  it('is asked at once after a sleep, and given up when it is silent', () => {
    const setting = atOldHub()
    silence(setting)
    setting.clock.jump(3_600_000)
    setting.clock.advance(20_000)
    expect(setting.socket.of('leaveGroup')).toHaveLength(2)
    expect(setting.status).toMatchObject({ state: 'connected' })
    setting.clock.advance(20_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
  })

  it('has recovered a session as soon as it answers the request', () => {
    const setting = atOldHub()
    setting.client.group('line').send('a').subscribe(setting.observer('a'))
    setting.socket.drop()
    const recovered = setting.socket.accept()
    recovered.ack(requestAt(setting), 'Forbidden')
    expect(setting.status).toMatchObject({ state: 'connected', connectionId: 'c1' })
    expect(recovered.frames.map(({ type }) => type)).toEqual(['leaveGroup', 'sendToGroup'])
  })

  it('has recovered none without a frame, once it is known to answer', () => {
    const setting = atOldHub()
    silence(setting)
    setting.socket.drop()
    setting.socket.accept()
    setting.clock.advance(3_999)
    expect(setting.status).toMatchObject({ state: 'recovering', attempt: 1 })
    setting.clock.advance(1)
    expect(setting.status).toMatchObject({ state: 'recovering', attempt: 2 })
  })

  it('is sent no request again, and owes no answer to one', () => {
    const setting = atOldHub()
    setting.clock.advance(40_000)
    for (let link = 0; link < 3; link++) {
      setting.socket.accept().publish(1).drop()
      setting.clock.advance(2_000)
    }
    setting.socket.accept().drop(1008)
    setting.socket.accept().greet('c2', 't2')
    const ids = allOf(setting, 'leaveGroup').map(({ ackId }) => ackId)
    expect([ids.length, new Set(ids).size]).toEqual([5, 5])
    setting.clock.advance(100)
    void setting.client.close()
    expect([setting.errors, setting.log]).toEqual([[], ['line: 1', 'line: complete']])
  })

  it('is sent pings alone once it has answered one', () => {
    const setting = atOldHub()
    silence(setting)
    setting.socket.pong()
    for (let round = 0; round < 10; round++) {
      setting.clock.advance(20_000)
      setting.socket.pong()
    }
    expect([setting.socket.of('ping').length, setting.socket.of('leaveGroup').length]).toEqual([11, 1])
  })
})

describe('A hub that says nothing at all', () => {
  it('is sent again what has no answer, though it says nothing after a recovery', () => {
    const setting = atOldHub()
    setting.client.group('line').send('a').subscribe(setting.observer('a'))
    setting.socket.drop()
    setting.client.group('line').send('b').subscribe(setting.observer('b'))
    const recovered = setting.socket.accept()
    setting.clock.advance(999)
    expect(recovered.of('sendToGroup')).toEqual([])
    setting.clock.advance(1)
    expect(setting.status).toMatchObject({ state: 'connected', connectionId: 'c1' })
    expect(recovered.of('sendToGroup').map(({ data, ackId }) => [data, ackId])).toEqual([
      ['a', 2],
      ['b', 3],
    ])
    recovered.ack(2).ack(3)
    expect(setting.log).toEqual(['a: acked 2', 'a: complete', 'b: acked 3', 'b: complete'])
  })

  it('has until then to say that the session is gone, and nothing of it goes to another', () => {
    const setting = atOldHub()
    setting.socket.drop()
    setting.client.group('line').send('b').subscribe(setting.observer('b'))
    const refused = setting.socket.accept()
    setting.clock.advance(900)
    refused.drop(1008)
    expect(refused.of('sendToGroup')).toEqual([])
    setting.socket.accept().greet('c2', 't2')
    setting.socket.ack(setting.socket.of('joinGroup')[0]?.['ackId'])
    expect(setting.socket.of('sendToGroup')).toHaveLength(1)
  })
})

describe('A hub that takes a ping for a violation', () => {
  /** A client whose hub closes over the first ping, and begins another session. */
  function closedOverPing(code: number, before: (setting: FakeSetting) => unknown = () => undefined): FakeSetting {
    const setting = atOldHub()
    setting.clock.advance(20_000)
    before(setting)
    setting.socket.drop(code)
    if (setting.status?.state === 'recovering') setting.socket.accept().drop(1008)
    setting.socket.accept().greet('c2', 't2')
    setting.clock.advance(6_000)
    return setting
  }

  it.each([1003, 1007, 1008])('closes with %i, is sent no more of them, and answers requests', code => {
    const setting = closedOverPing(code)
    for (let round = 0; round < 10; round++) silence(setting)
    expect([allOf(setting, 'ping').length, setting.socket.of('leaveGroup').length]).toEqual([1, 10])
    expect(setting.status).toMatchObject({ state: 'connected', connectionId: 'c2' })
    setting.clock.advance(40_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
  })

  it.each([1003, 1008])('closes with %i, and is sent none in a recovery', code => {
    const setting = atOldHub()
    for (let recovery = 0; recovery < 3; recovery++) {
      setting.socket.drop()
      const recovered = setting.socket.accept()
      if (recovered.of('ping').length > 0) recovered.drop(code)
      else recovered.ack(requestAt(setting))
      setting.clock.advance(6_000)
    }
    expect(setting.status).toMatchObject({ state: 'connected', connectionId: 'c1' })
  })

  it('may answer the request before it closes', () => {
    const setting = closedOverPing(1007, before => before.socket.ack(requestAt(before)))
    silence(setting)
    expect(allOf(setting, 'ping')).toHaveLength(1)
  })

  it('is not meant when the network may have been at fault', () => {
    const setting = closedOverPing(1006)
    silence(setting)
    expect(allOf(setting, 'ping')).toHaveLength(2)
  })
})

describe('A hub that used to answer pings, and does not any more', () => {
  /** At a hub that has answered a ping. */
  function atNewHub(): FakeSetting {
    const setting = atOldHub()
    setting.clock.advance(20_000)
    setting.socket.pong()
    return setting
  }

  it('costs one recovery, and is asked by requests then', () => {
    const setting = atNewHub()
    setting.clock.advance(40_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
    setting.socket.accept().ack(requestAt(setting))
    for (let round = 0; round < 10; round++) silence(setting)
    expect(setting.socket.of('leaveGroup')).toHaveLength(11)
    expect(setting.states).toEqual(['connecting', 'connected', 'recovering', 'connected'])
    expect(setting.status).toMatchObject({ connectionId: 'c1' })
  })

  it('costs one session when it answers nothing at all', () => {
    const setting = atNewHub()
    setting.clock.advance(40_000)
    const accepted = new Set<unknown>()
    while (setting.status?.state === 'recovering') {
      const { socket } = setting
      if (!accepted.has(socket)) socket.accept()
      accepted.add(socket)
      setting.clock.advance(500)
    }
    setting.socket.accept().greet('c2', 't2')
    for (let round = 0; round < 5; round++) {
      setting.clock.advance(40_000)
      expect(setting.status).toMatchObject({ state: 'recovering', attempt: 1 })
      setting.socket.accept()
      setting.clock.advance(1_000)
      expect(setting.status).toMatchObject({ state: 'connected', connectionId: 'c2' })
    }
  })
})
