import { describe, expect, it, onTestFinished } from 'vitest'
import { Broker } from '../../src/broker/broker.js'
import type { BrokerConnection } from '../../src/broker/connection.js'
import type { Content } from '../../src/packet/publish.js'
import { requestPacket, WireClient } from '../support/wire-client.js'
import { bytes, textOf } from '../support/words.js'

const CONTENT: Content = { payload: bytes('x'), contentType: 'text/plain', userProperties: { a: 'b' } }
const LARGE = bytes('y'.repeat(100_000))

/** A broker that does something with each message to `in`, and a client that subscribed to `out`. */
async function open(take: (connection: BrokerConnection) => void) {
  const broker = await Broker.start(
    { host: '127.0.0.1', port: 0, wsPort: 0, maximumPacketSize: 1_000_000 },
    {
      topic: 'in',
      take,
      refuse: () => undefined,
      maySubscribe: () => true,
      connected: () => undefined,
      disconnected: () => undefined,
    },
  )
  onTestFinished(async () => broker.close())
  const client = await WireClient.connect(`mqtt://127.0.0.1:${broker.port}`, 'alice')
  await client.subscribe('out')
  const ask = (): void => client.send({ ...requestPacket('alice', bytes(''), 1), topic: 'in' })
  return { broker, client, ask }
}

describe('A connection', () => {
  it('delivers what it is given, small and large, in order', async () => {
    const { client, ask } = await open(connection => {
      for (const payload of [CONTENT.payload, LARGE, CONTENT.payload])
        connection.deliver('out', { ...CONTENT, payload })
    })
    ask()
    await client.came('publish', 3)
    expect(client.publishes.map(({ payload }) => payload.length)).toEqual([1, LARGE.length, 1])
    expect(client.publishes[1]).toMatchObject({
      topic: 'out',
      qos: 1,
      properties: { contentType: 'text/plain', userProperties: { a: 'b' } },
    })
    expect(textOf(Buffer.from(client.publishes[1]?.payload ?? ''))).toBe(textOf(LARGE))
  })

  it('delivers one content to many topics, with what each of them is granted', async () => {
    const { client, ask } = await open(connection => {
      for (const topic of ['out', 'plain', 'out', 'unasked']) connection.deliver(topic, CONTENT)
    })
    await client.subscribe('plain', 0)
    ask()
    await client.came('publish', 4)
    expect(client.publishes.map(({ topic, qos }) => [topic, qos])).toEqual([
      ['out', 1],
      ['plain', 0],
      ['out', 1],
      ['unasked', 1],
    ])
  })

  it('delivers nothing after DISCONNECT', async () => {
    const { client, ask } = await open(connection => {
      connection.deliver('out', CONTENT)
      connection.disconnect(151, 'enough')
      connection.deliver('out', CONTENT)
    })
    ask()
    await client.closed
    expect(client.packets.slice(-3).map(({ cmd }) => cmd)).toEqual(['puback', 'publish', 'disconnect'])
  })

  it('does nothing any more when it is cut', async () => {
    const { client, ask } = await open(connection => {
      connection.cut()
      connection.deliver('out', CONTENT)
    })
    ask()
    await client.closed
    expect(client.publishes).toEqual([])
  })
})
