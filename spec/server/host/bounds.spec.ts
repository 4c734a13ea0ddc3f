import { createConnection } from 'node:net'
import { connect, type MqttClient } from 'mqtt'
import mqttPacket, { type Packet } from 'mqtt-packet'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LIMIT } from '../../../src/server/broker/limits/limits.js'
import { eventually } from '../../support/eventually.js'
import { openStore } from '../../support/open-store.js'

/** A plain MQTT 5 client. */
async function plain(url: string, clientId: string, options: object = {}): Promise<MqttClient> {
  const client = connect(url, { protocolVersion: 5, clientId, reconnectPeriod: 0, ...options })
  onTestFinished(async () => {
    await client.endAsync(true)
  })
  await new Promise<void>((resolve, reject) => {
    client.once('connect', () => resolve())
    client.once('error', reject)
  })
  return client
}

describe('names that every JavaScript object has', () => {
  const NAMES = ['constructor', 'toString', 'hasOwnProperty', '__proto__']

  it.each(NAMES)('are client ids like any other: %s', async name => {
    const { store } = await openStore()
    const first = await plain(store.url, name)
    expect(first.connected).toBe(true)
    expect(store.clientIds).toEqual([name])
    await plain(store.url, 'other')
    await eventually(() => store.clientIds.length === 2)
    expect(store.clientIds).toEqual([name, 'other'])
  })

  it.each(NAMES)('are topics like any other, or refused: %s', async name => {
    const { store } = await openStore()
    for (const topics of [[name], [name, 'ordinary'], ['ordinary', name, 'other']]) {
      const client = lazyClient(store.url)
      await client.came('connack')
      client.send({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: topics })
      client.send({ cmd: 'subscribe', messageId: 2, subscriptions: topics.map(topic => ({ topic, qos: 1 })) })
      client.send({ cmd: 'unsubscribe', messageId: 3, unsubscriptions: topics })
      client.send({ cmd: 'pingreq' })
      await client.settled
    }
    const witness = await plain(store.url, 'witness')
    await witness.subscribeAsync('ordinary')
    expect(witness.connected).toBe(true)
  })
})

describe('a client that subscribes without end', () => {
  it('is refused what is over the bound, and stays connected', async () => {
    const { store } = await openStore()
    const client = await plain(store.url, 'alice')
    for (let batch = 0; batch < 10; batch++) {
      await client.subscribeAsync(
        Array.from({ length: 100 }, (_, i) => `t/${batch}/${i}`),
        { qos: 0 },
      )
    }
    await expect(client.subscribeAsync('one/more')).rejects.toThrow()
    expect(client.connected).toBe(true)
  })
})

interface RawSession {
  readonly send: (packet: Packet) => void
  /** The next packet of a kind. */
  readonly came: (cmd: Packet['cmd']) => Promise<Packet>
  readonly publishes: () => number
  /** Everything was answered, or the connection ended. */
  readonly settled: Promise<unknown>
}

/** A client with a session of an hour that acknowledges nothing. */
function lazyClient(url: string): RawSession {
  const socket = createConnection({ host: '127.0.0.1', port: Number(new URL(url).port) })
  onTestFinished(() => void socket.destroy())
  const send = (packet: Packet): void => void socket.write(mqttPacket.generate(packet, { protocolVersion: 5 }))
  const parser = mqttPacket.parser({ protocolVersion: 5 })
  let publishes = 0
  parser.on('packet', ({ cmd }) => {
    if (cmd === 'publish') publishes++
  })
  socket.on('data', data => parser.parse(data))
  send({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 5,
    clientId: 'lazy',
    clean: false,
    keepalive: 0,
    properties: { sessionExpiryInterval: 3_600 },
  })
  const came = (cmd: Packet['cmd']): Promise<Packet> =>
    new Promise(resolve => parser.on('packet', packet => packet.cmd === cmd && resolve(packet)))
  const closed = new Promise(resolve => socket.once('close', resolve))
  return { send, came, publishes: () => publishes, settled: Promise.race([came('pingresp'), closed]) }
}

const HOT: Packet = { cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'hot', qos: 1 }] }

describe('a session that was ended', () => {
  it('leaves nothing to the next one with its client id, however soon that comes', async () => {
    const { store } = await openStore()
    const first = lazyClient(store.url)
    await first.came('connack')
    first.send(HOT)
    await first.came('suback')
    const writer = await plain(store.url, 'writer')
    await Promise.all(Array.from({ length: 3_000 }, () => writer.publishAsync('hot', 'x', { qos: 1 })))
    first.send({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 0 } })
    const second = lazyClient(store.url)
    expect(await second.came('connack')).toMatchObject({ sessionPresent: false })
    second.send({ cmd: 'pingreq' })
    await second.came('pingresp')
    expect(second.publishes()).toBe(0)
  })
})

describe('a session that never acknowledges', () => {
  it('ends with reason 151 when too much is kept for it, and others go on', { timeout: 60_000 }, async () => {
    const { store } = await openStore()
    const lazy = lazyClient(store.url)
    const ended = lazy.came('disconnect')
    await lazy.came('connack')
    lazy.send(HOT)
    await lazy.came('suback')
    const writer = await plain(store.url, 'writer')
    // A message counts by its size as well, so large ones reach the bound soon.
    const large = Buffer.alloc(LIMIT.queuedBytes / 8)
    for (let sent = 0; sent < 10; sent++) await writer.publishAsync('hot', large, { qos: 1 })
    expect(await ended).toMatchObject({ reasonCode: 151 })
    await eventually(() => !store.clientIds.includes('lazy'))
    await writer.publishAsync('other', 'x', { qos: 1 })
    expect(store.clientIds).toEqual(['writer'])
  })
})
