import type { IPublishPacket } from 'mqtt-packet'
import { afterEach, describe, expect, it } from 'vitest'
import { LIMIT } from '../../../src/server/broker/limits/limits.js'
import { Witness } from '../../support/garbage.js'
import { openBroker } from '../../support/open-broker.js'
import { TestClient } from '../../support/test-client.js'
import { openCore, type ScriptedClient } from './scripted-client.js'

const USUAL = { ...LIMIT }
const PERSISTENT = { clean: false, properties: { sessionExpiryInterval: 60 } }

afterEach(() => {
  Object.assign(LIMIT, USUAL)
})

describe('retained messages that exceed the send buffer', () => {
  /** Exceeds the unsent bytes at which the broker drops messages with QoS 0 and closes connections. */
  const COUNT = 40
  const PAYLOAD = Buffer.alloc(500_000, 'x')

  async function open(payload: string | Buffer = PAYLOAD): Promise<string> {
    const broker = await openBroker()
    const url = `mqtt://127.0.0.1:${broker.port}`
    const writer = await TestClient.connect(url, 'writer')
    for (let id = 1; id <= COUNT; id++)
      writer.send({ cmd: 'publish', topic: `a/${id}`, payload, qos: 2, messageId: id, retain: true, dup: false })
    await writer.settled()
    return url
  }

  it.each([0, 1, 2] as const)(
    'with QoS %d all retained messages arrive, even if they exceed the send buffer',
    async qos => {
      const url = await open()
      const reader = await TestClient.connect(url, 'reader', PERSISTENT)
      reader.onPacket = packet => {
        reader.packets.push(packet)
        const { messageId = 0 } = packet
        if (packet.cmd === 'publish' && packet.qos > 0) reader.send({ cmd: qos === 1 ? 'puback' : 'pubrec', messageId })
        if (packet.cmd === 'pubrel') reader.send({ cmd: 'pubcomp', messageId })
      }
      reader.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'a/#', qos }] })
      await reader.until(() => reader.publishes.length >= COUNT)
      expect(reader.publishes.map(({ topic }) => topic)).toEqual(Array.from({ length: COUNT }, (_, n) => `a/${n + 1}`))
    },
  )

  it('PINGREQ is answered before all retained messages are sent', async () => {
    const url = await open('x')
    const reader = await TestClient.connect(url, 'reader')
    await reader.send(
      { cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'a/#', qos: 0 }] },
      { cmd: 'pingreq' },
      { cmd: 'publish', topic: 'b', payload: '', qos: 1, messageId: 2, retain: false, dup: false },
    )
    await reader.until(() => reader.packets.some(({ cmd }) => cmd === 'puback'))
    const commands = reader.packets.map(({ cmd }) => cmd)
    expect(commands.indexOf('pingresp')).toBeLessThan(commands.lastIndexOf('publish'))
    expect(commands.indexOf('puback')).toBeGreaterThan(commands.lastIndexOf('publish'))
  })

  it('PINGREQ that follows the first retained message is answered before the last one is sent', async () => {
    const url = await open()
    const reader = await TestClient.connect(url, 'reader')
    reader.onPacket = packet => {
      if (reader.packets.push(packet) === 2) reader.send({ cmd: 'pingreq' })
    }
    reader.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'a/#', qos: 0 }] })
    await reader.until(() => reader.packets.some(({ cmd }) => cmd === 'pingresp'))
    expect(reader.publishes.length).toBeLessThan(COUNT)
  })

  it('a subscriber that closes its side of the connection receives all retained messages', async () => {
    const url = await open()
    const reader = await TestClient.connect(url, 'reader')
    reader.onPacket = packet => {
      if (reader.packets.push(packet) === 2) reader.socket.end()
    }
    reader.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'a/#', qos: 0 }] })
    await reader.closed
    expect(reader.publishes).toHaveLength(COUNT)
  })
})

describe('retained messages that a client does not acknowledge', () => {
  const LIMIT_MESSAGES = 3

  function open(count = 10) {
    Object.assign(LIMIT, { replayedMessages: LIMIT_MESSAGES })
    const scene = openCore({
      authenticate: ({ clientId }) =>
        clientId === 'slow login' ? Promise.resolve({ type: 'accepted' }) : { type: 'accepted' },
    })
    const writer = scene.connect('writer')
    const retain = (n: number, text = 'old', qos: 0 | 1 = 1): unknown =>
      writer.publish(`a/${n}`, text, { retain: true, qos })
    for (let n = 0; n < count; n++) retain(n)
    return { ...scene, writer, retain }
  }
  const namesOf = ({ messages }: ScriptedClient): string[] =>
    messages.map(({ topic, payload }) => `${topic} ${String(payload)}`)
  const acknowledge = (client: ScriptedClient, ...messages: readonly IPublishPacket[]): unknown =>
    client.say(...messages.map(({ messageId = 0 }) => ({ cmd: 'puback', messageId }) as const))
  const acknowledgeAll = (client: ScriptedClient): void => {
    for (let read = 0; read < client.messages.length; ) {
      const next = client.messages.slice(read)
      read += next.length
      acknowledge(client, ...next)
    }
  }
  const subscribe = (client: ScriptedClient, rh: number, qos: 0 | 1 = 1): unknown =>
    client.say({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'a/+', qos, rh, nl: false, rap: false }] })

  it('retained messages beyond the limit wait for acknowledgements, and other packets do not', () => {
    const { connect } = open()
    const reader = connect('reader', PERSISTENT)
    reader.subscribe('a/+')
    expect(namesOf(reader)).toEqual(['a/0 old', 'a/1 old', 'a/2 old'])
    expect(reader.publish('b', '')).toMatchObject([{ cmd: 'puback' }])
    acknowledge(reader, ...reader.messages.slice(0, 2))
    expect(namesOf(reader).slice(3)).toEqual(['a/3 old', 'a/4 old'])
  })

  it('beyond the limit, the broker keeps no message that is no longer retained', () => {
    const { core, connect, retain, writer } = open(100)
    const before = core.budget.used
    const reader = connect('reader', PERSISTENT)
    reader.subscribe('a/+')
    reader.say({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['a/+'] })
    for (let n = 0; n < 100; n++) retain(n, 'new')
    const held = core.budget.used - before
    expect(held).toBe(core.gauges().storedBytes - core.retained.bytes)
    reader.lose()
    expect(connect('reader', PERSISTENT).messages).toHaveLength(LIMIT_MESSAGES)
    expect(writer.ended).toBe(false)
  })

  it('of a retained message replaced before it is sent, only the successor is received', () => {
    const { connect, retain } = open(5)
    const reader = connect('reader', PERSISTENT)
    reader.subscribe('a/+')
    retain(4, 'new')
    acknowledge(reader, ...reader.messages)
    expect(namesOf(reader).slice(3)).toEqual(['a/4 new', 'a/3 old'])
  })

  it('the remaining retained messages are sent after a reconnect that resumes the session', () => {
    const { connect } = open(5)
    const reader = connect('reader', PERSISTENT)
    reader.subscribe('a/+')
    reader.lose()
    const resumed = connect('reader', PERSISTENT)
    acknowledge(resumed, ...resumed.messages)
    expect(namesOf(resumed)).toEqual(['a/0 old', 'a/1 old', 'a/2 old', 'a/3 old', 'a/4 old'])
  })

  it.each([0, 1] as const)('a message published with QoS %d while the subscriber is offline is received once', qos => {
    const { connect, retain } = open(5)
    const reader = connect('reader', PERSISTENT)
    reader.subscribe('a/+')
    reader.lose()
    retain(4, 'new', qos)
    const resumed = connect('reader', PERSISTENT)
    acknowledgeAll(resumed)
    expect(namesOf(resumed).sort()).toEqual(['a/0 old', 'a/1 old', 'a/2 old', 'a/3 old', 'a/4 new'])
  })

  it('an offline session keeps no lost connection while retained messages wait', async () => {
    const { connect } = open(5)
    const witness = new Witness()
    const loseConnection = (): void => {
      const reader = connect('reader', PERSISTENT)
      witness.see(reader.link)
      reader.subscribe('a/+')
      reader.lose()
    }
    loseConnection()
    expect(await witness.alive()).toBe(0)
    expect(connect('reader', PERSISTENT).messages).not.toEqual([])
  })

  it('a QoS 0 message that was dropped for a slow subscriber is sent later', () => {
    const { connect, retain } = open(5)
    const reader = connect('reader', PERSISTENT)
    reader.subscribe('a/+')
    Object.assign(LIMIT, { qos0BacklogBytes: -1 })
    retain(4, 'new', 0)
    Object.assign(LIMIT, { qos0BacklogBytes: USUAL.qos0BacklogBytes })
    acknowledge(reader, ...reader.messages)
    expect(namesOf(reader).slice(3)).toEqual(['a/3 old', 'a/4 new'])
  })

  it('retained messages are sent when a session is resumed by a login that takes time', async () => {
    const { connect } = open(5)
    const login = async (): Promise<ScriptedClient> => {
      const client = connect('slow login', PERSISTENT)
      await new Promise(resolve => setImmediate(resolve))
      return client
    }
    const reader = await login()
    reader.sayAndVanish({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'a/+', qos: 1 }] })
    expect([reader.messages, (await login()).messages.length]).toEqual([[], LIMIT_MESSAGES])
  })

  it('UNSUBSCRIBE cancels the remaining retained messages', () => {
    const { connect } = open(5)
    const reader = connect('reader', PERSISTENT)
    reader.subscribe('a/+')
    reader.say({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['a/+'] })
    acknowledge(reader, ...reader.messages)
    expect(reader.messages).toHaveLength(LIMIT_MESSAGES)
  })

  it.each([
    [0, ['a/3 old', 'a/4 old', 'a/0 old']],
    [1, ['a/3 old', 'a/4 old']],
    [2, ['a/3 old', 'a/4 old']],
  ])('a repeated SUBSCRIBE with retain handling %d does not cancel remaining messages', (retainHandling, expected) => {
    const { connect } = open(5)
    const reader = connect('reader', PERSISTENT)
    reader.subscribe('a/+')
    subscribe(reader, retainHandling)
    acknowledge(reader, ...reader.messages)
    expect(namesOf(reader).slice(3)).toEqual(expected)
  })

  it('UNSUBSCRIBE cancels the remaining retained messages of repeated subscriptions', () => {
    const { connect } = open(5)
    const reader = connect('reader', PERSISTENT)
    for (let n = 0; n < 3; n++) reader.subscribe('a/+')
    reader.say({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['a/+'] })
    acknowledge(reader, ...reader.messages)
    expect(reader.messages).toHaveLength(LIMIT_MESSAGES)
  })

  it('repeated SUBSCRIBE packets cause at most one repetition of the retained messages', () => {
    const { connect } = open(5)
    const reader = connect('reader', PERSISTENT)
    for (let n = 0; n < 100; n++) {
      subscribe(reader, 0)
      subscribe(reader, 2)
    }
    acknowledgeAll(reader)
    expect(reader.messages).toHaveLength(2 * 5)
  })

  it('each repetition of retained messages has the QoS of its SUBSCRIBE', () => {
    const { connect } = open(1)
    const reader = connect('reader')
    const filter = { topic: 'a/+', nl: false, rap: false } as const
    const subscriptions = [
      { ...filter, qos: 0, rh: 0 },
      { ...filter, qos: 1, rh: 0 },
      { ...filter, qos: 0, rh: 2 },
    ] as const
    reader.say({ cmd: 'subscribe', messageId: 1, subscriptions: [...subscriptions] })
    expect(reader.messages.map(({ qos }) => qos)).toEqual([0, 1])
  })

  it('DISCONNECT is immediate, and a resumed session gets the other retained messages', () => {
    const { connect } = open(5)
    const reader = connect('reader', PERSISTENT)
    Object.assign(LIMIT, { readPauseBytes: 1 })
    reader.subscribe('a/+')
    expect(reader.messages).toEqual([])
    Object.assign(LIMIT, { readPauseBytes: USUAL.readPauseBytes })
    reader.say({ cmd: 'disconnect', reasonCode: 0 })
    expect([reader.ended, reader.messages]).toEqual([true, []])
    expect(connect('reader', PERSISTENT).messages).toHaveLength(LIMIT_MESSAGES)
  })
})
