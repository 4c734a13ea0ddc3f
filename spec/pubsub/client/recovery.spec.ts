import { beforeEach, describe, expect, it } from 'vitest'
import { recoveryUrl } from '../../../src/pubsub/client/client-link.js'
import { FakeSetting } from '../support/fake-socket-client.js'

let setting: FakeSetting

beforeEach(() => {
  setting = new FakeSetting()
})

describe('the recovery URL', () => {
  const key = { connectionId: 'a b/c+d', token: 'x=&y?' }
  const recovery = 'awps_connection_id=a%20b%2Fc%2Bd&awps_reconnection_token=x%3D%26y%3F'

  it.each([
    ['wss://h/client/hubs/a', `wss://h/client/hubs/a?${recovery}`],
    ['wss://h/client/hubs/a?access_token=t', `wss://h/client/hubs/a?${recovery}`],
    ['wss://h/client/?hub=a&access_token=t', `wss://h/client/?hub=a&${recovery}`],
    [
      'wss://h/client/hubs/a?x=1%20+2&access_token=t&access_tokens=u',
      `wss://h/client/hubs/a?x=1%20+2&access_tokens=u&${recovery}`,
    ],
    ['ws://h/client/hubs/a?awps_connection_id=old&awps_reconnection_token=old', `ws://h/client/hubs/a?${recovery}`],
  ])('of %s has the id and the token percent-encoded, and no access token', (url, expected) => {
    expect(recoveryUrl(url, key)).toBe(expected)
  })
})

describe('a lost socket', () => {
  it('recovery starts immediately, with the same subprotocol', () => {
    setting.connect().socket.drop(1006, 'reset')
    expect(setting.network.count).toBe(2)
    expect(setting.socket).toMatchObject({
      url: 'wss://hub.example/client/hubs/h?awps_connection_id=c1&awps_reconnection_token=t1',
      subprotocol: 'json.reliable.webpubsub.azure.v1',
    })
    const now = setting.clock.now()
    expect(setting.status).toEqual({
      state: 'recovering',
      since: now,
      attempt: 1,
      deadline: now + 60_000,
      cause: expect.objectContaining({ code: 'connection-lost', message: expect.stringContaining('1006: reset') }),
    })
  })

  it.each([1000, 1001, 1005, 1006, 1011, 4000])('close code %i starts a recovery', code => {
    setting.connect().socket.drop(code)
    expect(setting.status).toMatchObject({ state: 'recovering' })
  })

  it('a recovery completes only with a frame from the hub, which the client requests by a probe', () => {
    setting.connect().socket.drop()
    setting.socket.accept()
    expect(setting.socket.frames).toEqual([{ type: 'ping' }])
    expect(setting.status).toMatchObject({ state: 'recovering' })
    setting.socket.pong()
    expect(setting.status).toEqual({ state: 'connected', connectionId: 'c1', userId: 'ann' })
  })

  it('a `disconnected` frame does not complete the recovery', () => {
    setting.connect().socket.drop()
    setting.socket.accept().receive({ type: 'system', event: 'disconnected', message: 'expired' }).drop(1008)
    expect(setting.states).toEqual(['connecting', 'connected', 'recovering', 'disconnected', 'connecting'])
  })

  it('a failed recovery is reported with the reason of the preceding `disconnected` frame', () => {
    setting.connect().socket.receive({ type: 'system', event: 'disconnected', message: 'licence expired' }).drop(1000)
    setting.socket.accept().drop(1008, 'there is no such session')
    expect(setting.statuses[3]).toMatchObject({ state: 'disconnected', code: 1008, reason: 'licence expired' })
  })

  it('the reason is also reported if no other attempt follows, and when the recovery window ends', () => {
    setting = new FakeSetting({ reconnectStrategy: () => false, recoveryWindow: 5_000 })
    setting.connect().socket.receive({ type: 'system', event: 'disconnected', message: 'licence expired' }).drop(1000)
    setting.clock.advance(5_000)
    expect(setting.status).toMatchObject({ state: 'stopped', code: undefined, reason: 'licence expired' })
  })

  it('a completed recovery discards the reason of the `disconnected` frame', () => {
    setting.connect().socket.receive({ type: 'system', event: 'disconnected', message: 'moving' }).drop(1001)
    setting.socket.accept().pong()
    setting.clock.advance(6_000)
    setting.socket.drop()
    setting.socket.accept().drop(1008, 'gone')
    expect(setting.statuses.filter(({ state }) => state === 'disconnected')).toMatchObject([{ reason: 'gone' }])
  })

  it('an attempt that opens no socket within four seconds is abandoned and retried', () => {
    setting.connect().socket.drop()
    setting.clock.advance(3_999)
    expect(setting.socket.closings).toEqual([])
    setting.clock.advance(1)
    expect(setting.socket.closings).toEqual([-1])
    expect(setting.status).toMatchObject({ state: 'recovering', attempt: 2 })
  })

  it('a recovery completes although a large message takes ten seconds to arrive', () => {
    setting.client.group('line').messages$.subscribe(setting.observer('line'))
    setting.connect().socket.ack(1).drop()
    setting.socket.accept()
    setting.clock.advance(10_000)
    setting.socket.publish(1)
    expect([setting.log, setting.network.count]).toEqual([['line: 1'], 2])
  })

  it('an attempt without a frame from the hub for half of `keepAlive` is abandoned and retried', () => {
    setting.connect().socket.pong().drop()
    setting.socket.accept()
    setting.clock.advance(19_999)
    expect(setting.socket.closings).toEqual([])
    setting.clock.advance(1)
    expect(setting.socket.closings).toEqual([-1])
    expect(setting.status).toMatchObject({ state: 'recovering', attempt: 2 })
    setting.clock.advance(1_000)
    expect(setting.network.count).toBe(3)
  })

  it('a recovery sends no joins, and the client receives later messages', () => {
    setting.client.group('line').messages$.subscribe(setting.observer('line'))
    setting.connect().socket.ack(1).publish(1)
    setting.recover().socket.publish(2)
    expect(setting.log).toEqual(['line: 1', 'line: 2'])
    expect(setting.socket.of('joinGroup')).toEqual([])
  })

  it('the recovery uses the newest token', () => {
    setting.connect().socket.greet('c1', 't2')
    setting.socket.drop()
    expect(setting.socket.url).toContain('awps_reconnection_token=t2')
    setting.socket.accept().greet('c1', 't3').drop()
    setting.clock.advance(1_000)
    expect(setting.socket.url).toContain('awps_reconnection_token=t3')
    expect(setting.states).toEqual(['connecting', 'connected', 'recovering', 'connected', 'recovering'])
  })

  it.each([
    ['recovered', () => setting.socket.drop(), ['recovering', 'disconnected', 'connected']],
    ['that works', () => undefined, ['disconnected', 'connected']],
  ])(
    'a connection %s with another session makes the client report the loss of the first session',
    (_, lose, states) => {
      const { client } = setting
      client.group('line').messages$.subscribe(setting.observer('line'))
      client.group('line').gaps$.subscribe(() => setting.log.push('gap'))
      setting.connect().socket.ack(1).publish(1).publish(2)
      client.group('line').send(1).subscribe(setting.observer('sent'))
      lose()
      if (states.length === 3) setting.socket.accept()
      setting.socket.greet('c2', 't2').publish(1)
      expect(setting.states.slice(2)).toEqual(states)
      expect(setting.statuses.at(-2)).toMatchObject({ reason: 'The hub began another session', attempt: 1 })
      expect(setting.status).toMatchObject({ connectionId: 'c2' })
      expect(setting.log).toEqual(['line: 1', 'line: 2', 'sent: outcome-unknown', 'gap', 'line: 1'])
      expect(setting.socket.of('joinGroup').map(({ ackId }) => ackId)).toContain(3)
      setting.clock.advance(6_000)
      setting.socket.drop()
      expect(setting.socket.url).toContain('awps_connection_id=c2&awps_reconnection_token=t2')
    },
  )

  it('a session without a token cannot be recovered', () => {
    setting.socket.accept().receive({ type: 'system', event: 'connected', connectionId: 'c1' })
    setting.clock.advance(6_000)
    setting.socket.drop()
    expect(setting.states).toEqual(['connecting', 'connected', 'disconnected', 'connecting'])
  })

  it('a hub that drops every recovered connection does not make the client retry without delay', () => {
    setting.connect()
    for (let round = 0; round < 4; round++) {
      setting.socket.drop()
      setting.clock.advance(round * 1_000)
      setting.socket.accept().pong()
    }
    expect(setting.statuses.filter(({ state }) => state === 'recovering')).toMatchObject(
      [1, 2, 3, 4].map(attempt => ({ attempt })),
    )
  })
})

describe('the recovery window', () => {
  it.each([
    ['HTTP errors', () => setting.socket.drop(1006, 'Unexpected server response: 502')],
    ['refused connections', () => setting.socket.drop(1006, 'connect ECONNREFUSED')],
  ])('recovery continues despite %s until the window ends, then the client reconnects', (_, refuse) => {
    setting.connect().socket.drop()
    const lostAt = setting.clock.now()
    while (setting.status?.state === 'recovering') {
      refuse()
      setting.clock.advance(500)
    }
    expect(setting.clock.now() - lostAt).toBe(60_000)
    expect(setting.states.filter(state => state === 'disconnected')).toHaveLength(1)
    expect(setting.network.count).toBeGreaterThan(8)
    expect(setting.socket.url).toContain('access_token=secret')
  })

  it('is configurable', () => {
    setting = new FakeSetting({ recoveryWindow: 1_500 })
    setting.connect().socket.drop()
    setting.clock.advance(1_499)
    expect(setting.status).toMatchObject({ state: 'recovering' })
    setting.clock.advance(1)
    expect(setting.status).toMatchObject({ state: 'connecting' })
  })

  it('the end of the window closes the socket of the current attempt', () => {
    setting = new FakeSetting({ recoveryWindow: 1_500 })
    setting.connect().socket.pong().drop()
    const attempt = setting.socket.accept()
    setting.clock.advance(1_500)
    expect(attempt.closings).toEqual([-1])
    attempt.pong()
    expect(setting.status).toMatchObject({ state: 'connecting' })
  })

  it('starts again with every lost connection', () => {
    setting.connect().recover()
    setting.clock.advance(59_000)
    setting.socket.pong().drop()
    setting.clock.advance(2_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
  })
})

describe('close code 1008', () => {
  it('ends the recovery, is reported once and is followed by a new connection with a fresh URL', () => {
    setting.connect().beginNewSession()
    expect(setting.states).toEqual([
      ...['connecting', 'connected', 'recovering'],
      ...['disconnected', 'connecting', 'connected'],
    ])
    expect(setting.statuses[3]).toMatchObject({ code: 1008, reason: 'gone', attempt: 1 })
    expect(setting.status).toMatchObject({ connectionId: 'c2' })
  })

  it('on an open connection is not followed by a recovery', () => {
    setting.connect().socket.drop(1008, 'slow')
    expect(setting.states).toEqual(['connecting', 'connected', 'disconnected', 'connecting'])
  })

  it('sequence ids start over after close code 1008', () => {
    setting.client.group('line').messages$.subscribe(setting.observer('line'))
    setting.connect().socket.publish(1).publish(2)
    setting.beginNewSession().socket.publish(1)
    expect(setting.log).toEqual(['line: 1', 'line: 2', 'line: 1'])
  })
})

describe('a half-open link', () => {
  it('a silent link is pinged after 20 s and closed after another 20 s', () => {
    setting.socket.accept().greet()
    const link = setting.socket
    setting.clock.advance(19_999)
    expect(link.of('ping')).toEqual([])
    setting.clock.advance(1)
    expect(link.of('ping')).toHaveLength(1)
    setting.clock.advance(19_999)
    expect(link.closings).toEqual([])
    setting.clock.advance(1)
    expect(link.closings).toEqual([-1])
    expect(setting.status).toMatchObject({ state: 'recovering', attempt: 1 })
  })

  it('any frame keeps a link alive', () => {
    setting.socket.accept().greet()
    for (let round = 0; round < 10; round++) {
      setting.clock.advance(19_000)
      setting.socket.receive(round % 2 === 0 ? '}malformed{' : { type: 'pong' })
    }
    expect(setting.socket.of('ping')).toEqual([])
  })

  it('events of an abandoned socket are ignored', () => {
    setting.client.group('line').messages$.subscribe(setting.observer('line'))
    setting.socket.accept().greet()
    const dead = setting.socket
    setting.clock.advance(40_000)
    dead.publish(1).drop(1008)
    expect(setting.log).toEqual([])
    setting.socket.accept().publish(1)
    expect(setting.log).toEqual(['line: 1'])
    expect(setting.status).toMatchObject({ state: 'connected' })
  })

  it('after computer sleep, the link is probed immediately and not dropped before the probe', () => {
    setting.socket.accept().greet()
    setting.clock.jump(3_600_000)
    setting.clock.advance(20_000)
    expect(setting.socket.of('ping')).toHaveLength(1)
    expect(setting.status).toMatchObject({ state: 'connected' })
    setting.clock.advance(20_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
  })
})
