import { once } from 'node:events'
import { connect as connectMqtt, type MqttClient } from 'mqtt'
import type { Packet } from 'mqtt-packet'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocketServer } from 'ws'
import { connect, type StateStore } from '../../../src/client/index.js'
import { openClient, record } from '../../support/open-client.js'
import { bytesOf } from '../../support/packets.js'
import { type BrokerSide, CONNACK, grant, scriptedBroker } from '../../support/scripted-broker.js'

const MiB = 1024 * 1024
const accept = (side: BrokerSide): void => side.send(CONNACK)

const causesOf = (client: StateStore) => {
  const status = record(client.status$)
  const causes = (): string[] =>
    status.values.flatMap(value => (value.state === 'reconnecting' ? [`${value.attempt} ${value.cause.message}`] : []))
  return { status, causes }
}

/** Encodes a QoS 0 PUBLISH of `size` bytes in total. */
function publishOf(size: number): Buffer {
  for (let header = 2; header <= 5; header++) {
    const packet = bytesOf({
      cmd: 'publish',
      topic: 't',
      payload: Buffer.alloc(size - header - 4),
      qos: 0,
      dup: false,
      retain: false,
    })
    if (packet.length === size) return packet
  }
  throw new Error(`no packet has ${size} bytes`)
}

/** User properties that all have the same name. */
const REPEATED = { userProperties: { n: Array.from({ length: 100_000 }, () => 'v') } }

describe('the maximum packet size', () => {
  it.each([
    [undefined, 32 * MiB],
    [1_000_000, 1_000_000],
  ])('the option %s makes CONNECT announce %d bytes', async (maxPacketSize, announced) => {
    const broker = await scriptedBroker(accept, grant)
    const client = openClient(broker.url, maxPacketSize === undefined ? {} : { maxPacketSize })
    const { status } = causesOf(client)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(broker.sides[0]?.connect.properties).toMatchObject({ maximumPacketSize: announced })
  })

  it.each([0, -1, 1.5, 268_435_461, Number.NaN])(
    'a packet size that MQTT cannot express is rejected: %d',
    maxPacketSize => {
      expect(() => connect('mqtt://localhost', { maxPacketSize })).toThrow(/maxPacketSize/)
    },
  )

  it('the client accepts a packet of the maximum size', async () => {
    const broker = await scriptedBroker(accept, (side, packet) => {
      grant(side, packet)
      side.socket.write(publishOf(100_000))
    })
    const { status, causes } = causesOf(openClient(broker.url, { maxPacketSize: 100_000 }))
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(causes()).toEqual([])
  })

  it('a WebSocket message may have at most twice the maximum packet size', async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'mqtt' })
    onTestFinished(() => server.close())
    server.on('connection', socket => {
      socket.on('error', () => undefined)
      socket.once('message', () => {
        socket.send(bytesOf(CONNACK))
        socket.send(Buffer.alloc(200_001))
      })
    })
    await once(server, 'listening')
    const address = server.address()
    const port = address !== null && typeof address === 'object' ? address.port : 0
    const client = openClient(`ws://127.0.0.1:${port}`, { maxPacketSize: 100_000 })
    const { status, causes } = causesOf(client)
    await status.until(() => causes().length > 0)
    expect(causes()[0]).toMatch(/Max payload size exceeded/)
  })

  it('a packet one byte too large ends the connection, with growing pauses between retries', async () => {
    const broker = await scriptedBroker(accept, side => side.socket.write(publishOf(100_001)))
    const { status, causes } = causesOf(openClient(broker.url, { maxPacketSize: 100_000 }))
    await status.until(() => causes().length === 3)
    expect(causes()).toEqual(
      [1, 2, 3].map(
        attempt =>
          `${attempt} The connection to the broker was lost: A packet of 100001 bytes exceeds \`maxPacketSize\` 100000`,
      ),
    )
  })

  it('an oversized packet that arrives with CONNACK is reported as the cause', async () => {
    const broker = await scriptedBroker(({ socket }) => {
      socket.write(Buffer.concat([bytesOf(CONNACK), publishOf(100_001)]))
    })
    const { status, causes } = causesOf(openClient(broker.url, { maxPacketSize: 100_000 }))
    await status.until(() => causes().length === 2)
    expect(causes()).toEqual([
      expect.stringMatching(/^1 The connection to the broker was lost: A packet of 100001 bytes exceeds/),
      expect.stringMatching(/^2 The connection to the broker was lost: A packet of 100001 bytes exceeds/),
    ])
    expect(status.values.some(({ state }) => state === 'connected')).toBe(false)
  })

  it('an oversized packet is detected by its first bytes, before the rest is read', async () => {
    const broker = await scriptedBroker(accept, side => {
      side.socket.write(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]))
    })
    const { status, causes } = causesOf(openClient(broker.url))
    await status.until(() => causes().length === 1)
    expect(causes()[0]).toContain('A packet of 268435460 bytes')
  })

  it('a packet with an invalid length ends the connection', async () => {
    const broker = await scriptedBroker(accept, side => {
      side.socket.write(Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 0x01]))
    })
    const { status, causes } = causesOf(openClient(broker.url))
    await status.until(() => causes().length === 1)
    expect(causes()[0]).toContain('length of a packet has more than four bytes')
  })
})

describe('packets that mqtt.js parses', { tags: 'slow' }, () => {
  it.each<[string, Packet]>([
    ['CONNACK', { cmd: 'connack', reasonCode: 0, sessionPresent: false, properties: REPEATED }],
    ['SUBACK', { cmd: 'suback', messageId: 1, granted: [1, 1], properties: REPEATED }],
    ['DISCONNECT', { cmd: 'disconnect', reasonCode: 0, properties: REPEATED }],
    ['AUTH', { cmd: 'auth', reasonCode: 0x18, properties: { ...REPEATED, authenticationMethod: 'x' } }],
    [
      'PUBLISH with QoS 2',
      {
        cmd: 'publish',
        topic: 't',
        payload: 'x',
        qos: 2,
        messageId: 1,
        dup: false,
        retain: false,
        properties: REPEATED,
      },
    ],
  ])('a large packet that mqtt.js parses ends the connection: %s', async (_, packet) => {
    const first = packet.cmd === 'connack'
    const broker = await scriptedBroker(
      side => side.send(first ? packet : CONNACK),
      side => side.send(packet),
    )
    const { status, causes } = causesOf(openClient(broker.url))
    await status.until(() => causes().length === 2)
    expect(causes()[1]).toMatch(/^2 .*the broker sent an oversized packet of type \d+: \d+ bytes$/)
  })
})

/** Packets that make a connection unusable, with the resulting errors. */
const UNUSABLE: readonly { what: string; cause: string; connack: Packet; next?: Packet }[] = [
  {
    what: 'CONNACK with receive maximum 0',
    cause: 'a receive maximum of 0',
    connack: { ...CONNACK, properties: { receiveMaximum: 0 } },
  },
  {
    what: 'CONNACK with maximum packet size 0',
    cause: 'a maximum packet size of 0',
    connack: { ...CONNACK, properties: { maximumPacketSize: 0 } },
  },
  {
    what: 'DISCONNECT that leaves the socket open',
    cause: 'DISCONNECT 139, Server shutting down',
    connack: CONNACK,
    next: { cmd: 'disconnect', reasonCode: 139 },
  },
  {
    what: 'DISCONNECT with a reason code of CONNACK',
    cause: 'Invalid disconnect reason code',
    connack: CONNACK,
    next: { cmd: 'disconnect', reasonCode: 136 },
  },
]

/** A PUBLISH with a topic alias, which the CONNECT packet did not permit (MQTT 5.0, section 3.1.2.11.5). */
const aliased = (topic: string, qos: 0 | 1 | 2, topicAlias: number): Packet => ({
  cmd: 'publish',
  topic,
  payload: 'x',
  qos,
  ...(qos > 0 && { messageId: 1 }),
  dup: false,
  retain: false,
  properties: { topicAlias },
})

/** Opens a client with a separate mqtt.js connection. */
function foreignClient(url: string): MqttClient {
  const client = connectMqtt(url, { protocolVersion: 5, reconnectPeriod: 5 })
  onTestFinished(async () => client.endAsync(true))
  return client
}

describe('a topic alias that was not granted', () => {
  const ALIASED: readonly [string, Packet][] = [
    ['a PUBLISH with a topic and QoS 0', aliased('t', 0, 1)],
    ['a PUBLISH with a topic and QoS 1', aliased('t', 1, 65_535)],
    ['a PUBLISH with a topic and QoS 2', aliased('t', 2, 1)],
    ['no topic', aliased('', 0, 1)],
    ['the alias 0', aliased('t', 0, 0)],
  ]

  it.each(ALIASED)(
    'an alias that was not granted ends the connection, and the client reconnects: %s',
    async (_, packet) => {
      const broker = await scriptedBroker(accept, (side, received) => {
        if (side.number === 1) side.send(packet)
        else grant(side, received)
      })
      const { status, causes } = causesOf(openClient(broker.url))
      await status.until(({ values }) => values.at(-1)?.state === 'connected')
      expect(causes()).toEqual([expect.stringMatching(/topic alias \d+, but none was granted/)])
      await expect.poll(() => broker.sides[0]?.socket.destroyed).toBe(true)
    },
  )

  it.each(ALIASED)(
    "an alias that was not granted ends a caller's connection, not the process: %s",
    async (_, packet) => {
      const broker = await scriptedBroker(accept, (side, received) => {
        if (side.number === 1) side.send(packet)
        else grant(side, received)
      })
      const { status, causes } = causesOf(connect(foreignClient(broker.url)))
      await status.until(({ values }) => values.at(-1)?.state === 'connected')
      expect(causes()).toEqual([expect.stringMatching(/Topic Alias/)])
    },
  )
})

describe('an unusable connection', () => {
  it.each(UNUSABLE)('the client drops and replaces an unusable connection: $what', async ({ cause, connack, next }) => {
    const broker = await scriptedBroker(
      side => side.send(side.number === 1 ? connack : CONNACK),
      (side, packet) => {
        if (side.number === 1 && next) side.send(next)
        else grant(side, packet)
      },
    )
    const { status, causes } = causesOf(openClient(broker.url))
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(causes()).toEqual([expect.stringContaining(cause)])
    await expect.poll(() => broker.sides[0]?.socket.destroyed).toBe(true)
  })

  it('a fatal DISCONNECT reason closes the client', async () => {
    const broker = await scriptedBroker(accept, side => side.send({ cmd: 'disconnect', reasonCode: 142 }))
    const { status } = causesOf(openClient(broker.url))
    await status.until(({ completed }) => completed)
    expect(status.values.at(-1)).toMatchObject({ state: 'closed', cause: { reasonCode: 142 } })
  })

  it('the reason of a DISCONNECT is reported, also if the broker then closes the socket', async () => {
    const properties = { reasonString: 'too many unacknowledged messages' }
    const broker = await scriptedBroker(
      side => side.send(CONNACK),
      (side, packet) => {
        if (side.number > 1) grant(side, packet)
        else {
          side.send({ cmd: 'disconnect', reasonCode: 151, properties })
          setImmediate(() => side.socket.destroy())
        }
      },
    )
    const { status, causes } = causesOf(openClient(broker.url))
    await status.until(() => causes().length === 1)
    expect(causes()).toEqual([expect.stringContaining('151, Quota exceeded (too many unacknowledged messages)')])
  })

  it("of a caller's MqttClient is reported once and stays open", async () => {
    const broker = await scriptedBroker(
      side => side.send(side.number === 1 ? { ...CONNACK, properties: { receiveMaximum: 0 } } : CONNACK),
      grant,
    )
    const client = foreignClient(broker.url)
    const { status, causes } = causesOf(connect(client))
    await status.until(() => causes().length === 1)
    expect([causes(), client.connected]).toEqual([[expect.stringContaining('a receive maximum of 0')], true])
    client.stream.destroy()
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(causes()).toHaveLength(1)
  })
})
