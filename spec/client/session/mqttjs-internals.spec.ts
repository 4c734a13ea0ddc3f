import { connect, type MqttClient } from 'mqtt'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  changeOptions,
  hasStreamBuilder,
  isOutgoing,
  onStream,
  setStreamBuilder,
  streamBuilderOf,
  tapStream,
  toSubscribeFilters,
} from '../../../src/client/session/mqttjs-internals.js'
import { openStore } from '../../support/open-store.js'

/** A client that is not connected yet. */
async function idle(): Promise<MqttClient> {
  const { store } = await openStore()
  const client = connect(store.url, { protocolVersion: 5, manualConnect: true, reconnectPeriod: 0 })
  onTestFinished(async () => {
    await client.endAsync(true)
  })
  return client
}

const connected = (client: MqttClient): Promise<void> =>
  new Promise(resolve => {
    client.once('connect', () => resolve())
    client.reconnect()
  })

const closed = (client: MqttClient): Promise<void> =>
  new Promise(resolve => {
    client.once('close', () => resolve())
    client.stream.destroy()
  })

describe('what is known of the insides of mqtt.js', () => {
  it('a client has a builder of streams, which is called for every connection', async () => {
    const client = await idle()
    expect(hasStreamBuilder(client)).toBe(true)
    const streams: unknown[] = []
    onStream(client, stream => streams.push(stream))
    await connected(client)
    expect(streams).toEqual([client.stream])
    await closed(client)
    await connected(client)
    expect(streams).toHaveLength(2)
    expect(streams[1]).toBe(client.stream)
  })

  it('a stream gets what the broker says by `push`, and its reader what is passed on', async () => {
    const client = await idle()
    const seen: number[] = []
    onStream(client, stream => {
      const pass = tapStream(stream, (chunk, on) => {
        seen.push((chunk[0] ?? 0) >> 4)
        return on(chunk)
      })
      expect(pass).toBeTypeOf('function')
    })
    await connected(client)
    expect(seen).toEqual([2])
  })

  it('its options are read anew for every CONNECT', async () => {
    const client = await idle()
    const names: unknown[] = []
    client.on('packetsend', packet => {
      if (packet.cmd === 'connect') names.push(packet.username)
    })
    changeOptions(client, { username: 'ann' })
    await connected(client)
    await closed(client)
    changeOptions(client, { username: 'bob' })
    await connected(client)
    expect(names).toEqual(['ann', 'bob'])
  })

  it('a client goes where the builder of another one leads', async () => {
    const client = await idle()
    const { store } = await openStore()
    for (const url of [store.url, store.wsUrl]) {
      const other = connect(url, { protocolVersion: 5, manualConnect: true, reconnectPeriod: 0 })
      const build = streamBuilderOf(other)
      if (build === undefined) throw new Error('it has none')
      setStreamBuilder(client, build)
      await connected(client)
      expect(store.stats.connections).toBe(1)
      await closed(client)
      await vi.waitFor(() => expect(store.stats.connections).toBe(0))
      expect(other.connected).toBe(false)
    }
  })

  it('a filter is subscribed again if the flag is set', async () => {
    const client = await idle()
    await connected(client)
    const sent: string[] = []
    client.on('packetsend', ({ cmd }) => sent.push(cmd))
    await client.subscribeAsync(toSubscribeFilters(['a'], true))
    await client.subscribeAsync(toSubscribeFilters(['a'], true))
    expect(sent).toEqual(['subscribe', 'subscribe'])
  })

  it('what has no acknowledgement yet is known by its packet id', async () => {
    const client = await idle()
    await connected(client)
    const published = client.publishAsync('a', 'x', { qos: 1 })
    const packetId = client.getLastMessageId()
    expect(isOutgoing(client, packetId)).toBe(true)
    await published
    expect(isOutgoing(client, packetId)).toBe(false)
  })
})

describe('where the insides are not the known ones', () => {
  it('a client without a builder of streams is left alone', () => {
    const client = { streamBuilder: 'none' }
    expect(hasStreamBuilder(client)).toBe(false)
    onStream(client, () => undefined)
    expect(streamBuilderOf(client)).toBeUndefined()
    expect(client).toEqual({ streamBuilder: 'none' })
  })

  it('a stream into which nothing is pushed is left alone', () => {
    expect(tapStream({ read: () => undefined }, () => true)).toBeUndefined()
    expect(tapStream(undefined, () => true)).toBeUndefined()
  })
})
