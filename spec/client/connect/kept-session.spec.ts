import type { Packet } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { eventually } from '../../support/eventually.js'
import { openClient, record } from '../../support/open-client.js'
import { type BrokerSide, CONNACK, grant, scriptedBroker } from '../../support/scripted-broker.js'

/** Of requests that are not answered, ms; all others have time. */
const TIMEOUT = 200

/** A broker with a store that answers every request on connections of which `delivers` says so; it keeps sessions. */
const keepingBroker = async (delivers: (side: BrokerSide) => boolean) =>
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

// HiveMQ CE does so for ever when what was under way at a cut has expired since.
describe('a broker that delivers nothing in the session it kept', () => {
  it('is given up for a new session when the first request times out, and all is well again', async () => {
    const broker = await keepingBroker(side => side.number === 1 || side.connect.clean === true)
    const store = openClient(broker.url, { timeout: TIMEOUT, reconnect })
    const fresh = record(store.key('a', text).freshness$)
    await fresh.until(({ values }) => values.at(-1)?.state === 'live')
    broker.sides[0]?.socket.destroy()
    await fresh.until(({ values }) => values.at(-1)?.state !== 'live')
    await fresh.until(({ values }) => values.at(-1)?.state === 'live')
    expect(await store.key('b', text).get()).toMatchObject({ value: 'v' })
    expect(broker.sides.map(({ connect }) => connect.clean)).toEqual([false, false, true])
  })

  it('is not looked for anew again and again when there is no answer in a new session either', {
    tags: 'slow',
  }, async () => {
    const broker = await keepingBroker(side => side.number === 1)
    const store = openClient(broker.url, { reconnect })
    await store.key('a', text).get()
    broker.sides[0]?.socket.destroy()
    const unanswered = async () =>
      expect(store.key('a', text).get({ timeout: TIMEOUT })).rejects.toMatchObject({ code: 'timeout' })
    while (broker.sides.length < 3) await unanswered()
    for (let i = 0; i < 3; i++) await unanswered()
    expect(broker.sides.map(({ connect }) => connect.clean)).toEqual([false, false, true])
  })
})

describe('a store that is late in a session that the broker kept', () => {
  it('costs no connection when anything has come in it', async () => {
    let answers = true
    const broker = await keepingBroker(() => answers)
    const store = openClient(broker.url, { reconnect })
    await store.key('a', text).get()
    broker.sides[0]?.socket.destroy()
    await eventually(() => broker.sides.length === 2)
    await store.key('a', text).get()
    answers = false
    await expect(store.key('a', text).get({ timeout: TIMEOUT })).rejects.toMatchObject({ code: 'timeout' })
    answers = true
    await store.key('a', text).get()
    expect(broker.sides).toHaveLength(2)
  })
})
