import { Duplex } from 'node:stream'
import { Aedes, type Client } from 'aedes'
import type { Packet } from 'mqtt-packet'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AedesClient } from '../../src/broker/aedes-client.js'
import { eventually } from '../support/eventually.js'
import { bytesOf } from '../support/wire-client.js'

/** A client of aedes without a network. */
async function open() {
  const broker = await Aedes.createBroker()
  onTestFinished(() => new Promise(resolve => broker.close(resolve)))
  const written: Buffer[] = []
  const stream = new Duplex({
    read: () => undefined,
    write: (chunk, _encoding, done) => {
      written.push(chunk)
      done()
    },
  })
  const client = broker.handle(stream)
  const aedes = new AedesClient(client)
  const give = (...packets: Packet[]): void => void stream.push(Buffer.concat(packets.map(bytesOf)))
  return { broker, client, aedes, stream, give, written }
}

const CONNECT: Packet = { cmd: 'connect', clientId: 'alice', protocolId: 'MQTT', protocolVersion: 5, keepalive: 0 }
const publish = (qos: 0 | 1 | 2, messageId: number, topic = 'news'): Packet => ({
  cmd: 'publish',
  topic,
  payload: 'x',
  qos,
  messageId,
  dup: false,
  retain: true,
})

describe('What we see of aedes', () => {
  it('is idle before CONNECT, and again when all is done', async () => {
    const { aedes, give } = await open()
    expect([aedes.idle, aedes.ready]).toEqual([true, false])
    give(CONNECT)
    expect(aedes.idle).toBe(false)
    await eventually(() => aedes.ready && aedes.idle)
  })

  const WORK: Record<string, readonly Packet[]> = {
    subscriptions: [
      {
        cmd: 'subscribe',
        messageId: 1,
        subscriptions: [
          { topic: 'a', qos: 1 },
          { topic: '#', qos: 2 },
        ],
      },
      { cmd: 'subscribe', messageId: 2, subscriptions: [{ topic: 'a', qos: 0 }] },
      { cmd: 'unsubscribe', messageId: 3, unsubscriptions: ['a', 'b'] },
    ],
    'messages with QoS 0': [publish(0, 0), publish(0, 0)],
    'messages with QoS 1': [publish(1, 1), publish(1, 2)],
    'messages with QoS 2': [publish(2, 1), { cmd: 'pubrel', messageId: 1, reasonCode: 0 }],
    'a message to itself': [
      { cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'news', qos: 1 }] },
      publish(1, 2),
      publish(2, 3),
    ],
    'a message that is refused': [publish(1, 1, '$SYS/x')],
    acknowledgements: [
      { cmd: 'puback', messageId: 1, reasonCode: 0 },
      { cmd: 'pubrec', messageId: 2, reasonCode: 0 },
      { cmd: 'pubcomp', messageId: 3, reasonCode: 0 },
    ],
    pings: [{ cmd: 'pingreq' }, { cmd: 'pingreq' }],
  }

  it.each(Object.entries(WORK))('is idle only after its work: %s', async (_, packets) => {
    const { aedes, give, stream } = await open()
    give(CONNECT)
    await eventually(() => aedes.ready && aedes.idle)
    for (const together of [true, false]) {
      if (together) give(...packets)
      else for (const packet of packets) give(packet)
      expect(aedes.idle).toBe(false)
      await eventually(() => aedes.idle)
      // It stays so: nothing was counted twice.
      for (let turns = 0; turns < 5; turns++) await new Promise(resolve => setImmediate(resolve))
      expect([aedes.idle, stream.readableLength]).toEqual([true, 0])
    }
  })

  it('is not idle within a packet', async () => {
    const { aedes, give, stream } = await open()
    give(CONNECT)
    await eventually(() => aedes.ready && aedes.idle)
    for (const byte of bytesOf(publish(0, 0))) {
      stream.push(Buffer.of(byte))
      expect(aedes.idle).toBe(false)
      await eventually(() => stream.readableLength === 0)
    }
    await eventually(() => aedes.idle)
  })

  it('is ending as soon as it has said DISCONNECT', async () => {
    const { aedes, client, give } = await open()
    give(CONNECT)
    await eventually(() => aedes.ready)
    client.disconnect({ reasonCode: 139 })
    expect([aedes.ending, aedes.ready, client.closed]).toEqual([true, false, false])
  })

  it('gives packet ids of the lower half only', async () => {
    const { client, aedes, give, broker, written } = await open()
    give(CONNECT, { cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'news', qos: 1 }] })
    await eventually(() => aedes.ready && aedes.idle)
    Object.assign(client, { _nextId: 32_766 })
    written.length = 0
    for (let i = 0; i < 4; i++) {
      await new Promise<void>(resolve =>
        client.publish({ ...publishOf('news'), ...{ brokerId: 'x', brokerCounter: i + 1 } }, () => resolve()),
      )
    }
    const all = Buffer.concat(written)
    const ids = [...all.toString('latin1').matchAll(/news(.{2})/gs)].map(([, id = '']) => Buffer.from(id, 'latin1'))
    expect(ids.map(id => id.readUInt16BE())).toEqual([32_766, 32_767, 1, 2])
    expect(broker.closed).toBe(false)
  })

  it('makes a loud complaint about another aedes', () => {
    const stranger = {} as Partial<Client> as Client
    expect(() => new AedesClient(stranger)).toThrow('not the one that the broker knows')
  })
})

const publishOf = (topic: string) =>
  ({ cmd: 'publish', topic, payload: 'x', qos: 1, retain: false, dup: false }) as const
