import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BrokerCore } from '../../../../src/server/broker/core/broker-core.js'
import { NO_QUOTAS, type RateQuotas } from '../../../../src/server/broker/limits/quota-accounts.js'
import { SocketLink } from '../../../../src/server/broker/transport/socket-link.js'
import { ManualClock } from '../../../support/manual-clock.js'
import { openHandler } from '../../../support/open-broker.js'
import { bytesOf } from '../../../support/packets.js'
import { openTurnScheduler } from '../../../support/turn-scheduler.js'

const RATE = 100
const connect = (clientId: string): Uint8Array =>
  bytesOf({ cmd: 'connect', clientId, protocolId: 'MQTT', protocolVersion: 5, clean: true, keepalive: 0 })
const message = (payload: string): Uint8Array =>
  bytesOf({ cmd: 'publish', topic: 'a', payload, qos: 0, dup: false, retain: false })
const flood = (payload: string, count: number): Uint8Array =>
  Buffer.concat(Array.from({ length: count }, () => message(payload)))
const OWNER = { id: 'is mallory', canConnect: true, maySubscribe: () => true, canReceive: () => true }

const ACCEPTED = { type: 'accepted', owner: OWNER } as const

function open(rates: Partial<RateQuotas> = { packetsPerSecond: RATE }, decided?: Promise<unknown>, work = 0) {
  const clock = new ManualClock()
  const handled = new Map<string, number>()
  const quotas = { ...NO_QUOTAS, principal: { ...NO_QUOTAS.principal, ...rates } }
  const options = { clock, maximumPacketSize: 10_000_000, maxKeepAliveSeconds: 0, memoryBudget: 1e9, quotas }
  const core = new BrokerCore(options, {
    ...openHandler,
    topic: 'a',
    authenticate: () => decided?.then(() => ACCEPTED) ?? ACCEPTED,
    handlePublish: (_, { payload }) => {
      const name = new TextDecoder().decode(payload).slice(0, 1)
      handled.set(name, (handled.get(name) ?? 0) + 1)
      clock.advance(work)
      return false
    },
  })
  const { budget, accounts, traffic, timeouts, maximumPacketSize } = core
  const scheduler = openTurnScheduler(clock)
  const openStream = (): Duplex => {
    const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
    const socket = new Socket()
    onTestFinished(() => {
      stream.destroy()
      socket.destroy()
    })
    const link = new SocketLink(
      { stream, socket },
      { clock, budget, accounts, traffic, timeouts, maximumPacketSize, scheduler },
    )
    link.attach(core.accept(link))
    return stream
  }
  const settled = async (): Promise<void> => {
    for (let n = 0; n < 6; n++) await new Promise(resolve => setImmediate(resolve))
  }
  const pass = async (ms: number): Promise<void> => {
    for (let n = 0; n < ms; n++) {
      clock.advance(1)
      if (n % 10 === 9) await settled()
    }
    await settled()
  }
  const all = (): number => Array.from(handled.values()).reduce((sum, count) => sum + count, 0)
  return { clock, openStream, settled, pass, handled, all, core }
}

describe('a connection that exceeds its rate', () => {
  it('gets one second’s worth of packets immediately, even if one chunk has more', async () => {
    const { openStream, settled, all, pass } = open()
    const stream = openStream()
    stream.push(connect('c'))
    await settled()
    stream.push(flood('x', 1_000))
    await settled()
    expect(all()).toBe(RATE)
    await pass(1_000)
    expect(all()).toBeLessThanOrEqual(2 * RATE)
    expect(all()).toBeGreaterThan(2 * RATE - 5)
  })

  it('is also limited if it sends everything together with CONNECT', async () => {
    const { openStream, settled, all } = open()
    openStream().push(Buffer.concat([connect('c'), flood('x', 1_000)]))
    await settled()
    expect(all()).toBe(RATE)
  })

  it('is also limited if the client opens many connections or reconnects', async () => {
    const { openStream, settled, all } = open()
    for (let n = 0; n < 20; n++) {
      const stream = openStream()
      stream.push(Buffer.concat([connect(`c${n}`), flood('x', 500)]))
      await settled()
      if (n % 2 === 0) stream.destroy()
    }
    // Each CONNECT counts as one packet, and is charged before its principal is known.
    expect(all()).toBeLessThanOrEqual(RATE)
    expect(all()).toBeGreaterThanOrEqual(RATE - 20)
  })

  it('shares the rate with other connections of its principal', async () => {
    const { openStream, settled, pass, handled } = open()
    for (const name of ['x', 'y', 'z']) {
      const stream = openStream()
      stream.push(connect(name))
      await settled()
      stream.push(flood(name, 3_000))
    }
    await settled()
    const before = new Map(handled)
    await pass(20_000)
    for (const name of ['x', 'y', 'z']) {
      const share = (handled.get(name) ?? 0) - (before.get(name) ?? 0)
      expect([name, share > (20 * RATE) / 6], String(share)).toEqual([name, true])
    }
  })

  it('reaches exactly the rate in the long run', async () => {
    const { openStream, settled, pass, all } = open({ packetsPerSecond: 5_000 })
    const stream = openStream()
    stream.push(connect('c'))
    await settled()
    stream.push(flood('x', 60_000))
    await pass(4_000)
    expect(all()).toBeGreaterThan(24_500)
    expect(all()).toBeLessThanOrEqual(25_001)
  })

  it('gets no higher rate for packets sent before authentication', async () => {
    let letIn = (): void => undefined
    const { openStream, settled, pass, all } = open(undefined, new Promise<void>(resolve => (letIn = resolve)))
    openStream().push(Buffer.concat([connect('c'), flood('x', 1_000)]))
    for (let n = 0; n < 300; n++) await settled()
    letIn()
    await settled()
    expect(all()).toBe(0)
    await pass(8_000)
    expect(all()).toBe(0)
    await pass(2_000)
    expect(all()).toBe(1_000)
  })

  it('gets one second’s worth of bytes, including the whole chunk that exceeds the limit', async () => {
    const { openStream, settled, all } = open({ bytesPerSecond: 1_000 })
    const stream = openStream()
    stream.push(connect('c'))
    await settled()
    for (let n = 0; n < 50; n++) {
      stream.push(message('x'.repeat(100)))
      await settled()
    }
    expect(all()).toBeLessThanOrEqual(10)
    expect(all()).toBeGreaterThan(7)
  })
})

describe('a client that sends much before authentication', () => {
  it('is scheduled fairly afterwards', async () => {
    let letIn = (): void => undefined
    const { openStream, settled, all } = open({}, new Promise<void>(resolve => (letIn = resolve)), 1)
    openStream().push(Buffer.concat([connect('c'), flood('x', 100)]))
    for (let n = 0; n < 40; n++) await settled()
    letIn()
    // Runs the pending microtasks before the next iteration of the event loop.
    for (let n = 0; n < 50; n++) await Promise.resolve()
    expect(all()).toBeGreaterThan(0)
    expect(all()).toBeLessThan(20)
    for (let n = 0; n < 20; n++) await settled()
    expect(all()).toBe(100)
  })
})
