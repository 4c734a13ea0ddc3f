import type { Packet } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { eventually } from '../../support/eventually.js'
import { openClient, record } from '../../support/open-client.js'
import { type BrokerSide, CONNACK, grant, scriptedBroker } from '../../support/scripted-broker.js'

/** Timeout of requests without a response, ms. */
const TIMEOUT_MS = 200

/** Starts a broker that keeps sessions, with a store that responds on the connections for which `delivers` is true. */
const brokerWithSessions = async (delivers: (side: BrokerSide) => boolean) =>
  scriptedBroker(
    side => side.send({ ...CONNACK, sessionPresent: side.connect.clean === false && side.number > 1 }),
    (side: BrokerSide, packet: Packet) => {
      grant(side, packet)
      if (packet.cmd !== 'publish') return
      side.send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 0 })
      if (!delivers(side)) return
      const { responseTopic: topic = '', correlationData } = packet.properties ?? {}
      const payload = packet.payload.includes('GET') ? '$1\r\nv\r\n' : '+OK\r\n'
      const properties = {
        userProperties: { __stat: '200', __ts: '1:0:S' },
        ...(correlationData && { correlationData }),
      }
      side.send({
        cmd: 'publish',
        topic,
        payload,
        qos: 1,
        dup: false,
        retain: false,
        messageId: side.number,
        properties,
      })
    },
  )

const reconnect = { initial: 1, max: 1 }

// HiveMQ CE delivers nothing more in a session if messages in flight at the disconnect have expired.
describe('a broker that delivers nothing in the resumed session', () => {
  it('the first request timeout replaces the session, and watches recover', async () => {
    const broker = await brokerWithSessions(side => side.number === 1 || side.connect.clean === true)
    const store = openClient(broker.url, { timeout: TIMEOUT_MS, reconnect })
    const fresh = record(store.key('a', text).freshness$)
    await fresh.until(({ values }) => values.at(-1)?.state === 'live')
    broker.sides[0]?.socket.destroy()
    await fresh.until(({ values }) => values.at(-1)?.state !== 'live')
    await fresh.until(({ values }) => values.at(-1)?.state === 'live')
    expect(await store.key('b', text).get()).toMatchObject({ value: 'v' })
    expect(broker.sides.map(({ connect }) => connect.clean)).toEqual([false, false, true])
  })

  it('a new session without responses is not replaced again', {
    tags: 'slow',
  }, async () => {
    const broker = await brokerWithSessions(side => side.number === 1)
    const store = openClient(broker.url, { reconnect })
    await store.key('a', text).get()
    broker.sides[0]?.socket.destroy()
    const unanswered = async () =>
      expect(store.key('a', text).get({ timeout: TIMEOUT_MS })).rejects.toMatchObject({ code: 'timeout' })
    while (broker.sides.length < 3) await unanswered()
    for (let i = 0; i < 3; i++) await unanswered()
    expect(broker.sides.map(({ connect }) => connect.clean)).toEqual([false, false, true])
  })
})

describe('a late store in a resumed session', () => {
  it('a request timeout keeps a session in which messages have arrived', async () => {
    let answers = true
    const broker = await brokerWithSessions(() => answers)
    const store = openClient(broker.url, { reconnect })
    await store.key('a', text).get()
    broker.sides[0]?.socket.destroy()
    await eventually(() => broker.sides.length === 2)
    await store.key('a', text).get()
    answers = false
    await expect(store.key('a', text).get({ timeout: TIMEOUT_MS })).rejects.toMatchObject({ code: 'timeout' })
    answers = true
    await store.key('a', text).get()
    expect(broker.sides).toHaveLength(2)
  })
})
