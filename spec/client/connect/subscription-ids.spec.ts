import { connect as connectMqtt } from 'mqtt'
import type { ISubscribePacket } from 'mqtt-packet'
import { describe, expect, it, onTestFinished } from 'vitest'
import { SubscriptionIds } from '../../../src/client/connect/subscription-manager.js'
import { backoffStrategy } from '../../../src/client/session/connection-manager.js'
import { openSession, shareSession } from '../../../src/client/session/open-session.js'
import type { ConnectionInfo, InboundMessage, MqttSession } from '../../../src/client/session/session.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { eventually } from '../../support/eventually.js'
import { CONNACK, grant, scriptedBroker } from '../../support/scripted-broker.js'

/** Starts a broker that responds to SUBSCRIBE with a message for two subscriptions. */
async function broker(available: boolean | undefined): Promise<{ url: string; subscribes: ISubscribePacket[] }> {
  const subscribes: ISubscribePacket[] = []
  const properties = available === undefined ? {} : { subscriptionIdentifiersAvailable: available }
  const { url } = await scriptedBroker(
    side => side.send({ ...CONNACK, properties }),
    (side, packet) => {
      if (packet.cmd !== 'subscribe') return
      subscribes.push(packet)
      grant(side, packet)
      const publish = { cmd: 'publish', topic: 'a', payload: 'x', qos: 0, dup: false, retain: false } as const
      side.send({ ...publish, properties: { subscriptionIdentifier: [7, 268_435_455] } })
      side.send(publish)
    },
  )
  return { url, subscribes }
}

function own(url: string): MqttSession {
  const times = {
    keepAlive: 30_000,
    sessionExpiry: 0,
    connectTimeout: 5_000,
    cleanStart: true,
    maximumPacketSize: 1_000_000,
  }
  return openSession(
    { urls: [url], clientId: 'own', ...times },
    { strategy: backoffStrategy({}), credentials: undefined },
    systemClock,
  )
}

function shared(url: string): MqttSession {
  const client = connectMqtt(url, { protocolVersion: 5 })
  onTestFinished(async () => {
    await client.endAsync(true)
  })
  return shareSession(client, systemClock)
}

/** Opens a session, subscribes to `a` and records its events. */
function listen(session: MqttSession, id: number | undefined): { infos: ConnectionInfo[]; messages: InboundMessage[] } {
  const received = { infos: [] as ConnectionInfo[], messages: [] as InboundMessage[] }
  session.open({
    connected: info => {
      received.infos.push(info)
      session.subscribe(['a'], id, () => undefined)
    },
    disconnected: () => undefined,
    failed: () => undefined,
    closed: () => undefined,
    message: message => received.messages.push(message),
  })
  onTestFinished(() => session.close())
  return received
}

describe.each([
  ['an owned connection', own],
  ["a caller's connection", shared],
])('%s', (_name, open) => {
  it('the session sends a subscription identifier and reports the identifiers of messages', async () => {
    const { url, subscribes } = await broker(undefined)
    const { infos, messages } = listen(open(url), 7)
    await eventually(() => messages.length === 2)
    expect(infos).toMatchObject([{ hasSubscriptionIds: true }])
    expect(subscribes).toMatchObject([{ properties: { subscriptionIdentifier: 7 } }])
    expect(messages.map(({ subscriptionIds }) => subscriptionIds)).toEqual([[7, 268_435_455], []])
  })

  it('the session reports that the broker lacks subscription identifiers, and sends none', async () => {
    const { url, subscribes } = await broker(false)
    const { infos, messages } = listen(open(url), undefined)
    await eventually(() => messages.length === 2)
    expect(infos).toMatchObject([{ hasSubscriptionIds: false }])
    expect(subscribes[0]?.properties?.subscriptionIdentifier).toBeUndefined()
  })
})

describe('SubscriptionIds', () => {
  it('subscription identifiers start at random, increase and are never 0', () => {
    const startingAt = (...bytes: number[]): SubscriptionIds => new SubscriptionIds(() => Uint8Array.from(bytes))
    expect(startingAt(0, 0, 0, 0).next()).toBe(1)
    const last = startingAt(15, 255, 255, 254)
    expect([last.next(), last.next(), last.next()]).toEqual([268_435_455, 1, 2])
    expect(startingAt(255, 255, 255, 255).next()).toBeLessThanOrEqual(268_435_455)
    expect(new SubscriptionIds().next()).not.toBe(new SubscriptionIds().next())
  })
})
