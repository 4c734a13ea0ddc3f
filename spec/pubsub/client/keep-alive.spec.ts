import { describe, expect, it } from 'vitest'
import type { Clock } from '../../../src/core/util/clock.js'
import { retryDelays } from '../../../src/pubsub/client/reconnect-schedule.js'
import { ManualClock } from '../../support/manual-clock.js'
import { FakeSetting } from '../support/fake-socket-client.js'

/** Opens a client with a group, at a hub that has never answered a ping. */
function openWithoutPings(): FakeSetting {
  const setting = new FakeSetting(retryDelays({ random: () => 0.5 }))
  setting.client.group('line').messages$.subscribe(setting.observer('line'))
  setting.socket.accept().greet().ack(1)
  setting.clock.advance(6_000)
  return setting
}

/** Returns the ackId of the latest probe request. */
const requestAt = ({ socket }: FakeSetting): unknown => socket.of('leaveGroup').at(-1)?.['ackId']

/** Passes half of `keepAlive` without frames, after which the hub answers the probe request. */
function silence(setting: FakeSetting, error?: string): void {
  setting.clock.advance(20_000)
  setting.socket.ack(requestAt(setting), error)
}

const allOf = ({ network }: FakeSetting, type: string) => network.sockets.flatMap(socket => socket.of(type))

describe('a hub that does not answer pings', () => {
  it.each([undefined, 'Forbidden', 'InternalServerError', 'Duplicate'])(
    'any ack of a probe request proves that the hub is alive, and nothing is reported: %s',
    error => {
      const setting = openWithoutPings()
      for (let round = 0; round < 100; round++) silence(setting, error)
      expect(setting.states).toEqual(['connecting', 'connected'])
      expect([setting.errors, setting.log]).toEqual([[], []])
    },
  )

  it('an idle hub is probed once per silence, each time with a new ackId', () => {
    const setting = openWithoutPings()
    for (let round = 0; round < 3; round++) silence(setting)
    setting.clock.advance(39_999)
    const frames = setting.socket.frames.slice(1)
    expect(frames.at(-1)).toEqual({ type: 'leaveGroup', group: 'rx-statestore:alive', ackId: 5 })
    expect(frames.map(({ type }) => type)).toEqual(Array.from({ length: 4 }, () => ['ping', 'leaveGroup']).flat())
    expect(new Set(setting.socket.of('leaveGroup').map(({ ackId }) => ackId)).size).toBe(4)
  })

  it('the client detects every half-open link, after any number of earlier half-open links', () => {
    const setting = openWithoutPings()
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

  it('after computer sleep, the hub is probed immediately and dropped if it does not answer', () => {
    const setting = openWithoutPings()
    silence(setting)
    setting.clock.jump(3_600_000)
    setting.clock.advance(20_000)
    expect(setting.socket.of('leaveGroup')).toHaveLength(2)
    expect(setting.status).toMatchObject({ state: 'connected' })
    setting.clock.advance(20_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
  })

  it('a hidden page, whose timers run once a minute, detects a dead link and ends its sends', () => {
    const clock = new ManualClock()
    const minutely: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      schedule: (delay, task) => {
        const due = clock.monotonic() + delay
        return clock.schedule((Math.floor(due / 60_000) + 1) * 60_000 - clock.monotonic(), task)
      },
    }
    const setting = new FakeSetting({ clock: minutely })
    setting.socket.accept().greet()
    setting.client.group('line').send('a', { timeout: 90_000 }).subscribe(setting.observer('a'))
    clock.advance(180_000)
    expect(setting.states.slice(0, 3)).toEqual(['connecting', 'connected', 'recovering'])
    expect(setting.log).toEqual(['a: outcome-unknown'])
  })

  it('an ack of the probe request completes the recovery', () => {
    const setting = openWithoutPings()
    setting.client.group('line').send('a').subscribe(setting.observer('a'))
    setting.socket.drop()
    const recovered = setting.socket.accept()
    recovered.ack(requestAt(setting), 'Forbidden')
    expect(setting.status).toMatchObject({ state: 'connected', connectionId: 'c1' })
    expect(recovered.frames.map(({ type }) => type)).toEqual(['leaveGroup', 'sendToGroup'])
  })

  it('a recovery at a hub that has answered probes completes only with a frame from the hub', () => {
    const setting = openWithoutPings()
    silence(setting)
    setting.socket.drop()
    setting.socket.accept()
    setting.clock.advance(19_999)
    expect(setting.status).toMatchObject({ state: 'recovering', attempt: 1 })
    setting.clock.advance(1)
    expect(setting.status).toMatchObject({ state: 'recovering', attempt: 2 })
  })

  it('a probe request is never resent, and the client continues without its answer', () => {
    const setting = openWithoutPings()
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

  it('a hub that has answered a ping is only pinged, without probe requests', () => {
    const setting = openWithoutPings()
    silence(setting)
    setting.socket.pong()
    for (let round = 0; round < 10; round++) {
      setting.clock.advance(20_000)
      setting.socket.pong()
    }
    expect([setting.socket.of('ping').length, setting.socket.of('leaveGroup').length]).toEqual([11, 1])
  })
})

describe('a hub that sends no frames', () => {
  it('a recovery without frames completes after a delay, and unacknowledged messages are resent', () => {
    const setting = openWithoutPings()
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

  it('until the delay has passed, close code 1008 ends the session and nothing is resent', () => {
    const setting = openWithoutPings()
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

describe('a hub that rejects pings', () => {
  /** Opens a client whose hub closes after the first ping and begins another session. */
  function closedOverPing(code: number, before: (setting: FakeSetting) => unknown = () => undefined): FakeSetting {
    const setting = openWithoutPings()
    setting.clock.advance(20_000)
    before(setting)
    setting.socket.drop(code)
    if (setting.status?.state === 'recovering') setting.socket.accept().drop(1008)
    setting.socket.accept().greet('c2', 't2')
    setting.clock.advance(6_000)
    return setting
  }

  it.each([1003, 1007, 1008])('after close code %i, the hub is probed by requests instead of pings', code => {
    const setting = closedOverPing(code)
    for (let round = 0; round < 10; round++) silence(setting)
    expect([allOf(setting, 'ping').length, setting.socket.of('leaveGroup').length]).toEqual([1, 10])
    expect(setting.status).toMatchObject({ state: 'connected', connectionId: 'c2' })
    setting.clock.advance(40_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
  })

  it.each([1003, 1008])('close code %i during a recovery stops further pings', code => {
    const setting = openWithoutPings()
    for (let recovery = 0; recovery < 3; recovery++) {
      setting.socket.drop()
      const recovered = setting.socket.accept()
      if (recovered.of('ping').length > 0) recovered.drop(code)
      else recovered.ack(requestAt(setting))
      setting.clock.advance(6_000)
    }
    expect(setting.status).toMatchObject({ state: 'connected', connectionId: 'c1' })
  })

  it('the client stays connected if the hub answers the probe request before it closes', () => {
    const setting = closedOverPing(1007, before => before.socket.ack(requestAt(before)))
    silence(setting)
    expect(allOf(setting, 'ping')).toHaveLength(1)
  })

  it('a network failure after a ping does not stop further pings', () => {
    const setting = closedOverPing(1006)
    silence(setting)
    expect(allOf(setting, 'ping')).toHaveLength(2)
  })
})

describe('a hub that stops answering pings', () => {
  /** Opens a client at a hub that has answered a ping. */
  function openWithPings(): FakeSetting {
    const setting = openWithoutPings()
    setting.clock.advance(20_000)
    setting.socket.pong()
    return setting
  }

  it('costs the client one recovery and is then probed by requests', () => {
    const setting = openWithPings()
    setting.clock.advance(40_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
    setting.socket.accept().ack(requestAt(setting))
    for (let round = 0; round < 10; round++) silence(setting)
    expect(setting.socket.of('leaveGroup')).toHaveLength(11)
    expect(setting.states).toEqual(['connecting', 'connected', 'recovering', 'connected'])
    expect(setting.status).toMatchObject({ connectionId: 'c1' })
  })

  it('a hub that stops answering any probe costs the client one session', () => {
    const setting = openWithPings()
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
