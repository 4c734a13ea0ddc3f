import { describe, expect, it } from 'vitest'
import { LIMIT } from '../../../src/server/broker/limits/limits.js'
import { eventually } from '../../support/eventually.js'
import { openBroker } from '../../support/open-broker.js'
import { TestClient } from '../../support/test-client.js'
import { openCore, type ScriptedClient } from './scripted-client.js'

const PERSISTENT = { clean: false, properties: { sessionExpiryInterval: 60 } }
const COUNT = 100
const NAMES = Array.from({ length: COUNT }, (_, i) => `${i}`)
const nameOf = ({ payload }: { readonly payload: string | Buffer }): string => `${payload}`.split(' ', 1)[0] ?? ''

describe('queued messages of a client that reads slowly', () => {
  const MESSAGE_BYTES = 60_000

  const open = (count = COUNT) => {
    const scene = openCore()
    scene.connect('reader', PERSISTENT).subscribe('news')
    const publisher = scene.connect('publisher')
    const publish = (from: number, to: number): void => {
      for (const name of NAMES.slice(from, to)) publisher.publish('news', `${name} `.padEnd(MESSAGE_BYTES, 'x'))
    }
    return { ...scene, publish: (from = 0, to = count) => publish(from, to) }
  }
  /** Lets the client read all data that was sent, and returns its size. */
  const read = ({ link }: ScriptedClient): number => {
    link.flush()
    const { unsentBytes } = link
    while (link.take());
    link.wake()
    return unsentBytes
  }

  it('a resumed session is sent the messages at the pace at which the client reads', () => {
    const { connect, publish } = open()
    connect('reader', PERSISTENT).lose()
    publish()
    const reader = connect('reader', PERSISTENT)
    const parts: number[] = []
    while (reader.messages.length < COUNT) parts.push(read(reader))
    expect(reader.messages.map(nameOf)).toEqual(NAMES)
    expect(parts.length).toBeGreaterThan(3)
    expect(Math.max(...parts)).toBeLessThan(LIMIT.readPauseBytes + 2 * MESSAGE_BYTES)
  })

  it('a session that has not read earlier messages gets later ones when it reads', () => {
    const { connect, publish } = open()
    const reader = connect('reader', PERSISTENT)
    publish()
    expect([reader.ended, read(reader) < LIMIT.readPauseBytes + 2 * MESSAGE_BYTES]).toEqual([false, true])
    while (read(reader) > 0);
    expect(reader.messages.map(nameOf)).toEqual(NAMES)
  })

  it("unacknowledged messages of an earlier connection are sent at the client's pace", () => {
    const { connect, publish } = open()
    const first = connect('reader', PERSISTENT)
    publish()
    while (read(first) > 0);
    first.lose()
    const second = connect('reader', PERSISTENT)
    const parts: number[] = []
    while (second.messages.length < COUNT) parts.push(read(second))
    expect(second.messages.map(nameOf)).toEqual(NAMES)
    expect(second.messages.every(({ dup }) => dup)).toBe(true)
    expect(Math.max(...parts)).toBeLessThan(LIMIT.readPauseBytes + 2 * MESSAGE_BYTES)
  })

  it('acknowledgements of a client that has not read all sent messages send no further ones', () => {
    const { connect, publish } = open()
    const reader = connect('reader', PERSISTENT)
    publish()
    const sent = reader.messages.length
    for (const { messageId = 0 } of reader.messages) reader.say({ cmd: 'puback', messageId })
    expect([sent < COUNT, reader.messages.length]).toEqual([true, sent])
  })
})

describe('queued messages of a client at a socket', () => {
  const PAYLOAD_BYTES = 70_000

  async function open(memoryBudget?: number) {
    const broker = await openBroker(memoryBudget === undefined ? {} : { memoryBudget })
    const url = `mqtt://127.0.0.1:${broker.port}`
    const reader = await TestClient.connect(url, 'reader', PERSISTENT)
    await reader.subscribe('news')
    reader.hangUp()
    await eventually(() => broker.stats.connections === 0)
    const publisher = await TestClient.connect(url, 'publisher')
    for (const [i, name] of NAMES.entries()) {
      const payload = `${name} `.padEnd(PAYLOAD_BYTES, 'x')
      await publisher.send({
        cmd: 'publish',
        topic: 'news',
        payload,
        qos: 1,
        messageId: i + 1,
        retain: false,
        dup: false,
      })
    }
    await publisher.settled()
    return { broker, url }
  }

  it('a session gets all messages over one connection although the memory has them once', async () => {
    const { url } = await open(9 * 1024 * 1024)
    const reader = await TestClient.connect(url, 'reader', PERSISTENT)
    reader.onPacket = packet => {
      reader.packets.push(packet)
      if (packet.cmd === 'publish') reader.acknowledge(packet)
    }
    for (const packet of reader.packets.splice(0)) reader.onPacket(packet)
    await reader.until(() => reader.publishes.length >= COUNT)
    expect([reader.ended, reader.publishes.map(nameOf)]).toEqual([false, NAMES])
  })

  it('a client that closes its side of the connection receives all its messages', async () => {
    const { url } = await open()
    const reader = await TestClient.connect(url, 'reader', PERSISTENT)
    reader.socket.end()
    await reader.closed
    expect(reader.publishes.map(nameOf)).toEqual(NAMES)
  })

  it('PINGREQ is answered before all queued messages are sent', async () => {
    const { url } = await open()
    const reader = await TestClient.connect(url, 'reader', PERSISTENT)
    reader.send({ cmd: 'pingreq' })
    await reader.until(() => reader.publishes.length >= COUNT)
    const commands = reader.packets.map(({ cmd }) => cmd)
    expect(commands.indexOf('pingresp')).toBeLessThan(commands.lastIndexOf('publish'))
  })
})
