import { describe, expect, it, onTestFinished } from 'vitest'
import { pausesOf } from '../../../src/pubsub/client/pauses.js'
import { connectPubSub, type PubSubStatus } from '../../../src/pubsub/index.js'
import { Random } from '../../simulation/random.js'
import { eventually } from '../../support/eventually.js'
import { ManualClock } from '../../support/manual-clock.js'
import { FakeSetting } from '../support/fake-socket-client.js'
import { openHub } from '../support/open-hub.js'

/** A client of the shipped pauses, connected. */
function connected(random: () => number): FakeSetting {
  return new FakeSetting(pausesOf({ random })).connect()
}

/** How long after the end of an outage the client tries again, ms. */
function triesAgainAfter(outage: number, random: () => number): number {
  const setting = connected(random)
  const { clock, network } = setting
  setting.socket.drop()
  const endsAt = clock.monotonic() + outage
  for (let count = network.count; ; count = network.count) {
    setting.socket.drop(1006, 'connect ECONNREFUSED')
    while (network.count === count) clock.advance(10)
    if (clock.monotonic() >= endsAt) return clock.monotonic() - endsAt
  }
}

describe('An outage', () => {
  it.each([1_000, 5_000, 22_000, 27_900, 50_000])('of %i ms ends a recovery within two seconds', outage => {
    const seeded = new Random(outage)
    const chances: (() => number)[] = [() => 0, () => 0.999_999, ...Array(40).fill(() => seeded.next())]
    for (const random of chances) expect(triesAgainAfter(outage, random)).toBeLessThanOrEqual(2_010)
  })

  it('is not hammered against: no more than one attempt a second', () => {
    const setting = connected(() => 0)
    setting.socket.drop()
    while (setting.status?.state === 'recovering') {
      setting.socket.drop()
      setting.clock.advance(100)
    }
    expect(setting.network.count).toBeLessThan(70)
    expect(setting.statuses.filter(({ state }) => state === 'disconnected')).toHaveLength(1)
  })

  it('ends with a herd that comes back one by one', () => {
    const seeded = new Random(7)
    const times = Array.from({ length: 100 }, () => triesAgainAfter(22_000, () => seeded.next()))
    const perTick = times.map(time => times.filter(other => Math.abs(other - time) <= 50).length)
    expect(Math.max(...perTick)).toBeLessThan(30)
  })
})

describe('The pauses of a recovery', () => {
  it.each([
    ['by default', undefined, [100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]],
    ['that are to be longer', { initial: 5_000, maximum: 60_000 }, [2_000, 2_000]],
    ['that are to be shorter', { initial: 5, maximum: 20 }, [5, 10, 20, 20]],
  ])('grow to two seconds at most, %s', (_, options, expected) => {
    const { recoveryPause } = pausesOf({ ...options, random: () => 1 })
    expect(expected.map((_, i) => recoveryPause(i + 1))).toEqual(expected)
    const { recoveryPause: shortest } = pausesOf({ ...options, random: () => 0 })
    expect(expected.map((_, i) => shortest(i + 1))).toEqual(expected.map(most => Math.round(most / 2)))
  })

  it('leave those before a new connection as they are', () => {
    const { pause } = pausesOf({ random: () => 1 })
    expect([1, 5, 20].map(pause)).toEqual([100, 1_600, 30_000])
  })
})

describe('A hub that knows no pings', () => {
  /** Connected, in a group, with a send that has no answer. */
  function atOldHub() {
    const setting = new FakeSetting(pausesOf({ random: () => 0.5 }))
    setting.client.group('line').messages$.subscribe(setting.observer('line'))
    setting.connect().socket.ack(1)
    return setting
  }

  it('is sent again what has no answer, though it says nothing after a recovery', () => {
    const setting = atOldHub()
    setting.client.group('line').send('a').subscribe(setting.observer('a'))
    setting.socket.drop()
    setting.client.group('line').send('b').subscribe(setting.observer('b'))
    const recovered = setting.socket.accept()
    setting.clock.advance(999)
    expect(recovered.frames).toEqual([{ type: 'ping' }])
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
    setting.socket.accept().greet('c2', 't2').ack(2)
    expect(setting.socket.of('sendToGroup')).toHaveLength(1)
  })

  it('is recovered from twice, and then left in peace however long it has nothing to say', () => {
    const setting = atOldHub()
    for (let silence = 0; silence < 2; silence++) {
      setting.clock.advance(40_000)
      expect(setting.states.slice(-1)).toEqual(['recovering'])
      setting.socket.accept()
      setting.clock.advance(1_000)
    }
    const { count } = setting.network
    setting.clock.advance(3_600_000)
    expect([setting.status?.state, setting.network.count - count]).toEqual(['connected', 0])
    setting.socket.publish(1)
    expect(setting.log).toEqual(['line: 1'])
  })

  it('is not taken for one over a link that was half-open from its first moment: the next silence is looked into', () => {
    const setting = atOldHub()
    setting.socket.drop()
    setting.socket.accept()
    setting.clock.advance(1_000)
    expect(setting.status).toMatchObject({ state: 'connected' })
    setting.clock.advance(40_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
    setting.socket.accept().pong()
    setting.clock.advance(20_000)
    expect(setting.socket.of('ping')).toHaveLength(2)
    setting.clock.advance(20_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
  })

  it('is given up when it owes an answer', () => {
    const setting = atOldHub()
    setting.socket.drop()
    setting.socket.accept()
    setting.clock.advance(1_000)
    setting.client.group('line').send('a').subscribe(setting.observer('a'))
    setting.clock.advance(40_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
    setting.socket.accept().ack(2)
    expect(setting.log).toEqual(['a: acked 2', 'a: complete'])
  })

  it('is not trusted after a sleep', () => {
    const setting = atOldHub()
    setting.socket.drop()
    setting.socket.accept()
    setting.clock.advance(1_000)
    setting.clock.jump(3_600_000)
    setting.clock.advance(20_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
  })

  it('is not confused with one that does and is silent', () => {
    const setting = atOldHub()
    setting.socket.drop()
    setting.socket.accept()
    setting.clock.advance(1_000)
    setting.socket.pong()
    setting.clock.advance(40_000)
    expect(setting.status).toMatchObject({ state: 'recovering' })
    setting.socket.accept()
    setting.clock.advance(3_999)
    expect(setting.status).toMatchObject({ state: 'recovering', attempt: 1 })
  })

  /** All pings of a client whose hub closes over the first, and begins another session. */
  function pingsAfter(code: number): number {
    const setting = atOldHub()
    setting.clock.advance(20_000)
    expect(setting.socket.of('ping')).toHaveLength(1)
    setting.socket.drop(code)
    if (setting.status?.state === 'recovering') setting.socket.accept().drop(1008)
    setting.socket.accept().greet('c2', 't2').ack(2)
    setting.clock.advance(100_000)
    return setting.network.sockets.flatMap(socket => socket.of('ping')).length
  }

  it.each([1003, 1007, 1008])('is sent no more of them when it closes with %i over the first', code => {
    expect(pingsAfter(code)).toBe(1)
  })

  it('is asked again when the network may have been at fault', () => {
    expect(pingsAfter(1006)).toBeGreaterThan(2)
  })
})

describe('connectPubSub', () => {
  it('recovers after short pauses, whatever those before a new connection are', async () => {
    const { server, hub } = await openHub()
    const clock = new ManualClock()
    const client = connectPubSub(hub.url, { clock, reconnect: { initial: 30_000, maximum: 30_000 } })
    onTestFinished(() => client.close())
    let status: PubSubStatus | undefined
    client.status$.subscribe(next => {
      status = next
    })
    const attempt = (): number => (status?.state === 'recovering' ? status.attempt : 0)
    await eventually(() => status?.state === 'connected')
    await server.close()
    for (const number of [2, 3, 4]) {
      await eventually(() => attempt() === number)
      clock.advance(2_000)
    }
  })

  it('takes pauses as an option, checked first', () => {
    expect(() => connectPubSub('ws://h/', { reconnect: { maximum: -1 } })).toThrow('reconnect.maximum')
  })
})
