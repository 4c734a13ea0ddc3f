import { connect as connectMqtt } from 'mqtt'
import type { ISubscribePacket, Packet } from 'mqtt-packet'
import { firstValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { connect } from '../../../src/client/index.js'
import { openSession, shareSession } from '../../../src/client/session/open-session.js'
import { eventually } from '../../support/eventually.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient, record } from '../../support/open-client.js'
import { bytesOf } from '../../support/packets.js'
import { type BrokerSide, CONNACK, grant, scriptedBroker } from '../../support/scripted-broker.js'

/** Starts a broker that accepts connections and sends nothing after CONNACK. `subscribe` waits for the SUBSCRIBE. */
async function silentBroker() {
  const subscribes: [BrokerSide, Packet][] = []
  const broker = await scriptedBroker(
    ({ send }) => send(CONNACK),
    (side, packet) => {
      if (packet.cmd === 'subscribe') subscribes.push([side, packet])
    },
  )
  const subscribe = async (): Promise<[BrokerSide, Packet]> => {
    await eventually(() => subscribes.length > 0)
    return subscribes[0] ?? expect.fail()
  }
  return { broker, subscribe }
}

/** Opens a session that subscribes once it is connected, at a broker that does not respond. */
async function openSubscribing(connectTimeout = 5_000) {
  const { broker, subscribe } = await silentBroker()
  const clock = new ManualClock()
  const options = { keepAlive: 30_000, sessionExpiry: 60_000, connectTimeout, maximumPacketSize: 1_000_000 }
  const session = openSession(
    { urls: [broker.url], clientId: 'own', cleanStart: false, ...options },
    { strategy: () => 0, credentials: undefined },
    clock,
  )
  onTestFinished(() => session.close())
  const seen: { reasonCodes?: readonly number[]; loss?: string } = {}
  session.open({
    connected: () =>
      session.subscribe(['a'], undefined, codes => {
        seen.reasonCodes = codes
      }),
    disconnected: ({ message }) => {
      seen.loss = message
    },
    failed: () => undefined,
    closed: () => undefined,
    message: () => undefined,
  })
  const [side, packet] = await subscribe()
  /** Sends bytes and waits until the client has received them. */
  const send = async (bytes: Uint8Array): Promise<void> => {
    const expected = (session.received ?? 0) + bytes.length
    side.socket.write(bytes)
    await eventually(() => session.received === expected)
  }
  return { clock, seen, send, grant: () => grant(side, packet) }
}

describe('a missing SUBACK', () => {
  it('a client drops a connection without a SUBACK after a timeout, and retries', async () => {
    const { broker, subscribe } = await silentBroker()
    const clock = new ManualClock()
    const status = record(openClient(broker.url, { clock }).status$)
    await subscribe()
    clock.advance(9_999)
    expect(status.values).toMatchObject([{ state: 'connecting' }])
    clock.advance(1)
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    expect(status.values.at(-1)).toMatchObject({
      cause: { message: expect.stringContaining('no response to SUBSCRIBE') },
    })
    clock.advance(20)
    await eventually(() => broker.sides.length === 2)
  })

  it('with a connectTimeout of more than 10 s, the client waits that long for the SUBACK', async () => {
    const { clock, seen, grant } = await openSubscribing(30_000)
    clock.advance(29_999)
    grant()
    await eventually(() => seen.reasonCodes !== undefined)
    expect(seen).toEqual({ reasonCodes: [1] })
  })

  it('a client waits for the SUBACK while a large message arrives before it', async () => {
    const { clock, seen, send, grant } = await openSubscribing()
    const message = bytesOf({ cmd: 'publish', topic: 'a', payload: 'x'.repeat(900), qos: 0, dup: false, retain: false })
    for (const part of [message.subarray(0, 300), message.subarray(300, 600), message.subarray(600)]) {
      await send(part)
      clock.advance(10_000)
    }
    grant()
    await eventually(() => seen.reasonCodes !== undefined)
    expect(seen).toEqual({ reasonCodes: [1] })
  })

  it('a connection with only ping responses before the SUBACK is dropped', async () => {
    const { clock, seen, send } = await openSubscribing()
    for (let i = 0; i < 2; i++) {
      await send(bytesOf({ cmd: 'pingresp' }))
      clock.advance(5_000)
    }
    await eventually(() => seen.loss !== undefined)
    expect(seen.loss).toContain('no response to SUBSCRIBE')
  })

  /** Opens a caller's connection to a broker. `subscribes` has the packets that the broker received. */
  async function openCallers(respond: (side: BrokerSide, packet: ISubscribePacket, count: number) => void) {
    const subscribes: ISubscribePacket[] = []
    const broker = await scriptedBroker(
      ({ send }) => send(CONNACK),
      (side, packet) => {
        if (packet.cmd === 'subscribe') respond(side, packet, subscribes.push(packet))
      },
    )
    const callers = connectMqtt(broker.url, { protocolVersion: 5, clientId: 'c' })
    onTestFinished(async () => callers.endAsync(true))
    await new Promise<void>(resolve => callers.once('connect', () => resolve()))
    return { callers, broker, subscribes }
  }

  async function openOverCallers(respond: (side: BrokerSide, packet: ISubscribePacket, count: number) => void) {
    const { callers, broker, subscribes } = await openCallers(respond)
    const clock = new ManualClock()
    const client = connect(callers, { clock })
    onTestFinished(async () => client.close())
    const [status, errors] = [record(client.status$), record(client.errors$)]
    return { callers, broker, clock, client, status, errors, subscribes }
  }

  it("a client over a caller's connection reports a missing SUBACK, and subscribes again", async () => {
    const { callers, clock, client, status, errors, subscribes } = await openOverCallers((side, packet, count) => {
      if (count > 1) grant(side, packet)
    })
    await expect.poll(() => subscribes).toHaveLength(1)
    clock.advance(10_000)
    const message = 'The broker sent no response to SUBSCRIBE; the client subscribes again'
    expect(errors.values).toMatchObject([{ code: 'timeout', message }])
    expect((await firstValueFrom(client.stats$)).lastError).toBe(errors.values[0])
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(subscribes.map(({ subscriptions, properties }) => [subscriptions, properties])).toEqual(
      Array(2).fill([subscribes[0]?.subscriptions, subscribes[0]?.properties]),
    )
    clock.advance(60_000)
    expect([errors.values.length, callers.connected]).toEqual([1, true])
  })

  it("over a caller's connection, the first SUBACK of a repeated SUBSCRIBE makes it ready", async () => {
    const { callers, clock, status, subscribes, broker } = await openOverCallers(() => undefined)
    let subacks = 0
    callers.on('packetreceive', ({ cmd }) => {
      if (cmd === 'suback') subacks++
    })
    await expect.poll(() => subscribes).toHaveLength(1)
    clock.advance(10_000)
    await expect.poll(() => subscribes).toHaveLength(2)
    for (const packet of subscribes) for (const side of broker.sides) grant(side, packet)
    await expect.poll(() => subacks).toBe(2)
    clock.advance(60_000)
    expect(status.values.map(({ state }) => state)).toEqual(['connecting', 'connected'])
  })

  it("over a caller's connection, the client resubscribes at growing intervals for a day", async () => {
    const { callers, clock, status, subscribes, broker } = await openOverCallers(() => undefined)
    await expect.poll(() => subscribes).toHaveLength(1)
    const subscribe = vi.spyOn(callers, 'subscribe')
    const counts = [10_000, 10_000, 10_000, 40_000, 80_000, 160_000, 300_000, 300_000].map(ms => {
      clock.advance(ms)
      return subscribe.mock.calls.length
    })
    expect(counts).toEqual([1, 1, 2, 3, 4, 5, 6, 7])
    for (let i = 0; i < 288; i++) clock.advance(300_000)
    await expect.poll(() => subscribes).toHaveLength(296)
    const [last] = subscribes.slice(-1)
    for (const side of broker.sides) grant(side, last ?? expect.fail())
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
  })

  it("each subscription over a caller's connection is repeated until its own SUBACK", async () => {
    const { callers, subscribes } = await openCallers(() => undefined)
    const clock = new ManualClock()
    const session = shareSession(callers, clock)
    onTestFinished(() => session.close())
    session.open({
      connected: () => undefined,
      disconnected: () => undefined,
      failed: () => undefined,
      closed: () => undefined,
      message: () => undefined,
    })
    for (const [filter, id] of [
      ['a', 1],
      ['b', 2],
      ['a', 3],
    ] as const)
      session.subscribe([filter], id, () => undefined)
    await expect.poll(() => subscribes).toHaveLength(3)
    clock.advance(10_000)
    await expect.poll(() => subscribes).toHaveLength(5)
    const repeated = subscribes.slice(3)
    expect(repeated.map(({ subscriptions: [first] }) => first?.topic)).toEqual(['b', 'a'])
    expect(repeated.map(({ properties }) => properties?.subscriptionIdentifier)).toEqual([2, 3])
  })

  it("a closed client over a caller's connection does not subscribe again", async () => {
    const { callers, clock, client, subscribes } = await openOverCallers(() => undefined)
    await expect.poll(() => subscribes).toHaveLength(1)
    await client.close()
    const subscribe = vi.spyOn(callers, 'subscribe')
    clock.advance(60_000)
    expect(subscribe).not.toHaveBeenCalled()
  })

  it('a client without a SUBACK closes without delay', { tags: 'slow' }, async () => {
    const { broker, subscribe } = await silentBroker()
    const client = connect(broker.url)
    await subscribe()
    const status = record(client.status$)
    await client.close()
    expect(status.values.at(-1)).toEqual({ state: 'closed', cause: undefined })
  })
})
