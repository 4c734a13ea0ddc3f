import { describe, expect, it, onTestFinished } from 'vitest'
import { Random } from '../../../harness/random.js'
import { connectPubSub, type PubSubStatus } from '../../../src/pubsub/client/index.js'
import { retryDelays } from '../../../src/pubsub/client/reconnect-schedule.js'
import { eventually } from '../../support/eventually.js'
import { ManualClock } from '../../support/manual-clock.js'
import { FakeSetting } from '../support/fake-socket-client.js'
import { openHub } from '../support/open-hub.js'

/** Opens a connected client with the default delays. */
function connected(random: () => number): FakeSetting {
  return new FakeSetting(retryDelays({ random })).connect()
}

/** Returns the time from the end of an outage to the next attempt, in ms. */
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

describe('an outage', () => {
  it.each([1_000, 5_000, 22_000, 27_900, 50_000])(
    'after an outage of %i ms the client recovers within two seconds',
    outage => {
      const seeded = new Random(outage)
      const chances: (() => number)[] = [() => 0, () => 0.999_999, ...Array(40).fill(() => seeded.next())]
      for (const random of chances) expect(triesAgainAfter(outage, random)).toBeLessThanOrEqual(2_010)
    },
  )

  it('during an outage the client makes at most one attempt per second', () => {
    const setting = connected(() => 0)
    setting.socket.drop()
    while (setting.status?.state === 'recovering') {
      setting.socket.drop()
      setting.clock.advance(100)
    }
    expect(setting.network.count).toBeLessThan(70)
    expect(setting.statuses.filter(({ state }) => state === 'disconnected')).toHaveLength(1)
  })

  it('after an outage, jitter spreads the attempts of many clients', () => {
    const seeded = new Random(7)
    const times = Array.from({ length: 100 }, () => triesAgainAfter(22_000, () => seeded.next()))
    const perTick = times.map(time => times.filter(other => Math.abs(other - time) <= 50).length)
    expect(Math.max(...perTick)).toBeLessThan(30)
  })
})

describe('a second outage after a long one', () => {
  /** Returns the delay of the first new connection after a long outage and a connection of `heldMs`. */
  function delayAfter(heldMs: number): number {
    const setting = connected(() => 0.999_999)
    const { clock, network } = setting
    const refuse = (): void => {
      const { count } = network
      setting.socket.drop(1008, 'gone')
      while (network.count === count) clock.advance(100)
    }
    for (let attempt = 0; attempt < 12; attempt++) refuse()
    setting.socket.accept().greet('c2', 't2')
    clock.advance(heldMs)
    setting.socket.drop(1008, 'gone')
    const { status } = setting
    return status?.state === 'disconnected' ? status.retryAt - clock.now() : 0
  }

  it.each([
    [0, 30_000],
    [500, 500],
    [2_000, 2_000],
    [4_900, 4_900],
    [6_000, 0],
  ])('after a connection of %i ms the client waits %i ms at most', (heldMs, maxDelay) => {
    expect(delayAfter(heldMs)).toBeLessThanOrEqual(maxDelay)
  })

  it('a connection that is lost at once does not shorten the delays', () => {
    expect(delayAfter(0)).toBeGreaterThan(10_000)
  })
})

describe('recovery delays', () => {
  it.each([
    ['by default', undefined, [100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]],
    ['with longer delays configured', { initial: 5_000, max: 60_000 }, [2_000, 2_000]],
    ['with shorter delays configured', { initial: 5, max: 20 }, [5, 10, 20, 20]],
  ])('grow to at most two seconds %s', (_, options, expected) => {
    const { recoveryPause } = retryDelays({ ...options, random: () => 1 })
    expect(expected.map((_, i) => recoveryPause(i + 1))).toEqual(expected)
    const { recoveryPause: shortest } = retryDelays({ ...options, random: () => 0 })
    expect(expected.map((_, i) => shortest(i + 1))).toEqual(expected.map(most => Math.round(most / 2)))
  })

  it('do not shorten the delays before new connections', () => {
    const { pause } = retryDelays({ random: () => 1 })
    expect([1, 5, 20].map(pause)).toEqual([100, 1_600, 30_000])
  })
})

describe('recovery delays of connectPubSub', () => {
  it('recovery delays are independent of the configured reconnect delays', async () => {
    const { server, hub } = await openHub()
    const clock = new ManualClock()
    const client = connectPubSub(hub.url, { clock, reconnect: { initial: 30_000, max: 30_000 } })
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

  it('connectPubSub throws for invalid delays', () => {
    expect(() => connectPubSub('ws://h/', { reconnect: { max: -1 } })).toThrow('reconnect.max')
  })
})
