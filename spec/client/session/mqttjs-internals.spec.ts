import net from 'node:net'
import { connect, type IClientOptions, type MqttClient } from 'mqtt'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  changeOptions,
  hasStreamBuilder,
  isOutgoing,
  keepWhileReceiving,
  onStream,
  setStreamBuilder,
  streamBuilderOf,
  tapStream,
  toSubscribeFilters,
} from '../../../src/client/session/mqttjs-internals.js'
import { withAddressTimeout } from '../../../src/client/session/node-net.js'
import { openStore } from '../../support/open-store.js'

/** Creates a client that does not connect. */
async function idle(options: IClientOptions = {}): Promise<MqttClient> {
  const { store } = await openStore()
  const client = connect(store.url, { protocolVersion: 5, manualConnect: true, reconnectPeriod: 0, ...options })
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

describe('undocumented mqtt.js behaviour', () => {
  it('a client calls its stream builder for every connection', async () => {
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

  it('a stream takes data through `push`, and its reader receives the data that is passed on', async () => {
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

  it('a client reads its options again for every CONNECT', async () => {
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

  it('a client with the stream builder of another client connects to the address of that client', async () => {
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
      await expect.poll(() => store.stats.connections).toBe(0)
      expect(other.connected).toBe(false)
    }
  })

  it.each(['mqtt', 'mqtts', 'ws', 'wss'])('a stream of %s: connects while the stream builder runs', scheme => {
    const usual = net.getDefaultAutoSelectFamilyAttemptTimeout()
    const seen: number[] = []
    const connecting = vi.spyOn(net.Socket.prototype, 'connect').mockImplementation(function (this: net.Socket) {
      seen.push(net.getDefaultAutoSelectFamilyAttemptTimeout())
      return this
    })
    onTestFinished(() => connecting.mockRestore())
    const client = connect(`${scheme}://two.test`, { protocolVersion: 5, manualConnect: true, reconnectPeriod: 0 })
    const build = streamBuilderOf(client) ?? expect.fail()
    const stream = withAddressTimeout(4_321, () => build(client))
    expect(seen).toEqual([4_321])
    expect(net.getDefaultAutoSelectFamilyAttemptTimeout()).toBe(usual)
    Reflect.apply(Reflect.get(Object(stream), 'on'), stream, ['error', () => undefined])
    Reflect.apply(Reflect.get(Object(stream), 'destroy'), stream, [])
  })

  it('a stream builder that throws leaves the default of Node unchanged', () => {
    const usual = net.getDefaultAutoSelectFamilyAttemptTimeout()
    const fail = (): never => {
      throw new Error('oops')
    }
    expect(() => withAddressTimeout(4_321, fail)).toThrow('oops')
    expect(net.getDefaultAutoSelectFamilyAttemptTimeout()).toBe(usual)
  })

  it('while bytes arrive, the client pings again instead of ending the connection', async () => {
    let onInterval = (): void => undefined
    const set = (task: unknown): number => {
      if (typeof task === 'function') onInterval = () => Reflect.apply(task, undefined, [])
      return 1
    }
    const client = await idle({ keepalive: 60, timerVariant: { set, clear: () => undefined } })
    let receivedBytes = 0
    keepWhileReceiving(client, () => receivedBytes)
    const events: string[] = []
    client.on('packetsend', ({ cmd }) => events.push(cmd))
    client.on('error', ({ message }) => events.push(message))
    await connected(client)
    for (let i = 0; i < 3; i++) {
      receivedBytes++
      onInterval()
    }
    onInterval()
    expect(events).toEqual(['connect', 'pingreq', 'pingreq', 'Keepalive timeout'])
  })

  it('the flag `resubscribe` makes mqtt.js subscribe to a filter again', async () => {
    const client = await idle()
    await connected(client)
    const sent: string[] = []
    client.on('packetsend', ({ cmd }) => sent.push(cmd))
    await client.subscribeAsync(toSubscribeFilters(['a'], true))
    await client.subscribeAsync(toSubscribeFilters(['a'], true))
    expect(sent).toEqual(['subscribe', 'subscribe'])
  })

  it('mqtt.js lists unacknowledged packets by packet id', async () => {
    const client = await idle()
    await connected(client)
    const published = client.publishAsync('a', 'x', { qos: 1 })
    const packetId = client.getLastMessageId()
    expect(isOutgoing(client, packetId)).toBe(true)
    await published
    expect(isOutgoing(client, packetId)).toBe(false)
  })
})

describe('an mqtt.js with other internals', () => {
  it('a client without a stream builder is left unchanged', () => {
    const client = { streamBuilder: 'none' }
    expect(hasStreamBuilder(client)).toBe(false)
    onStream(client, () => undefined)
    expect(streamBuilderOf(client)).toBeUndefined()
    expect(client).toEqual({ streamBuilder: 'none' })
  })

  it('a client without a keep-alive is left unchanged', () => {
    const client = { sendPing: 'none' }
    keepWhileReceiving(client, () => 0)
    expect(client).toEqual({ sendPing: 'none' })
  })

  it('a stream without `push` is left unchanged', () => {
    expect(tapStream({ read: () => undefined }, () => true)).toBeUndefined()
    expect(tapStream(undefined, () => true)).toBeUndefined()
  })
})
