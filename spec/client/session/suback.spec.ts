import { connect as connectMqtt } from 'mqtt'
import type { ISubscribePacket } from 'mqtt-packet'
import { firstValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { connect } from '../../../src/client/index.js'
import { openSession } from '../../../src/client/session/open-session.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient, record } from '../../support/open-client.js'
import { bytesOf } from '../../support/packets.js'
import { type BrokerSide, CONNACK, grant, type ScriptedBroker, scriptedBroker } from '../../support/scripted-broker.js'

describe('a missing SUBACK', () => {
  /** Starts a broker that accepts connections and sends nothing after CONNACK. */
  const silentBroker = async (): Promise<ScriptedBroker> => scriptedBroker(({ send }) => send(CONNACK))

  it('a client drops a connection without a SUBACK after a timeout, and retries', { tags: 'slow' }, async () => {
    const broker = await silentBroker()
    const clock = new ManualClock()
    const status = record(openClient(broker.url, { clock }).status$)
    await vi.waitFor(() => expect(broker.sides.length).toBe(1))
    await vi.waitFor(() => {
      clock.advance(1_000)
      expect(status.values.at(-1)?.state).toBe('reconnecting')
    })
    await vi.waitFor(() => {
      clock.advance(20)
      expect(broker.sides.length).toBe(2)
    })
  })

  it('a client waits for the SUBACK while a large message arrives before it', async () => {
    let subscribed: (() => void) | undefined
    const broker = await scriptedBroker(
      ({ send }) => send(CONNACK),
      (side, packet) => {
        subscribed = () => grant(side, packet)
      },
    )
    const clock = new ManualClock()
    const options = { keepAlive: 30_000, sessionExpiry: 60_000, connectTimeout: 5_000, maximumPacketSize: 1_000_000 }
    const session = openSession(
      { urls: [broker.url], clientId: 'own', cleanStart: false, ...options },
      { strategy: () => 0, credentials: undefined },
      clock,
    )
    onTestFinished(() => session.close())
    let reasonCodes: readonly number[] | undefined
    session.open({
      connected: () =>
        session.subscribe(['a'], undefined, codes => {
          reasonCodes = codes
        }),
      disconnected: () => undefined,
      failed: () => undefined,
      closed: () => undefined,
      message: () => undefined,
    })
    await vi.waitFor(() => expect(subscribed).toBeDefined())
    const message = bytesOf({ cmd: 'publish', topic: 'a', payload: 'x'.repeat(900), qos: 0, dup: false, retain: false })
    for (const part of [message.subarray(0, 300), message.subarray(300, 600), message.subarray(600)]) {
      const expected = (session.received ?? 0) + part.length
      broker.sides[0]?.socket.write(part)
      await vi.waitFor(() => expect(session.received).toBe(expected))
      clock.advance(10_000)
    }
    subscribed?.()
    await vi.waitFor(() => expect(reasonCodes).toEqual([1]))
  })

  it('a client drops a connection on which it gets nothing but responses to pings before the SUBACK', async () => {
    const broker = await scriptedBroker(({ send }) => send(CONNACK))
    const clock = new ManualClock()
    const status = record(openClient(broker.url, { clock }).status$)
    await vi.waitFor(() => expect(broker.sides.length).toBe(1))
    await vi.waitFor(() => {
      broker.sides[0]?.send({ cmd: 'pingresp' })
      clock.advance(5_000)
      expect(status.values.at(-1)?.state).toBe('reconnecting')
    })
  })

  /** Opens a client over a caller's connection to a broker. `subscribes` has the packets that the broker received. */
  async function openOverCallers(respond: (side: BrokerSide, packet: ISubscribePacket, count: number) => void) {
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
    await vi.waitFor(() => expect(subscribes).toHaveLength(1))
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

  it("a client over a caller's connection is ready once, by the first SUBACK of a repeated SUBSCRIBE", async () => {
    const { callers, clock, status, subscribes, broker } = await openOverCallers(() => undefined)
    let subacks = 0
    callers.on('packetreceive', ({ cmd }) => {
      if (cmd === 'suback') subacks++
    })
    await vi.waitFor(() => expect(subscribes).toHaveLength(1))
    clock.advance(10_000)
    await vi.waitFor(() => expect(subscribes).toHaveLength(2))
    for (const packet of subscribes) for (const side of broker.sides) grant(side, packet)
    await vi.waitFor(() => expect(subacks).toBe(2))
    clock.advance(60_000)
    expect(status.values.map(({ state }) => state)).toEqual(['connecting', 'connected'])
  })

  it("a closed client over a caller's connection does not subscribe again", async () => {
    const { callers, clock, client, subscribes } = await openOverCallers(() => undefined)
    await vi.waitFor(() => expect(subscribes).toHaveLength(1))
    await client.close()
    const subscribe = vi.spyOn(callers, 'subscribe')
    clock.advance(60_000)
    expect(subscribe).not.toHaveBeenCalled()
  })

  it('a client without a SUBACK closes without delay', { tags: 'slow' }, async () => {
    const broker = await silentBroker()
    const client = connect(broker.url)
    await vi.waitFor(() => expect(broker.sides.length).toBe(1))
    const status = record(client.status$)
    await client.close()
    expect(status.values.at(-1)).toEqual({ state: 'closed', cause: undefined })
  })
})
