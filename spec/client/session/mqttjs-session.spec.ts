import { Socket } from 'node:net'
import { connect as connectMqtt, type IClientOptions, type MqttClient } from 'mqtt'
import type { Packet } from 'mqtt-packet'
import { firstValueFrom } from 'rxjs'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ConnectionRefusedError, connect, type StateStoreError, systemClock, text } from '../../../src/client/index.js'
import { openSession } from '../../../src/client/session/open-session.js'
import { layLink } from '../../support/link.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { CONNACK, grant, type ScriptedBroker, scriptedBroker } from '../../support/scripted-broker.js'

const real = { clock: systemClock }

afterEach(() => vi.restoreAllMocks())

/** Starts a broker that responds to each CONNECT with the next reason code. */
const refusingBroker = async (...reasonCodes: number[]): Promise<ScriptedBroker> =>
  scriptedBroker(({ number, send, socket }) => {
    const reasonCode = reasonCodes[Math.min(number, reasonCodes.length) - 1] ?? 0
    send({ cmd: 'connack', reasonCode, sessionPresent: false })
    socket.end()
  })

/** Opens an MqttClient of the caller. */
async function foreignClient(url: string, options: IClientOptions = {}): Promise<MqttClient> {
  const client = connectMqtt(url, { protocolVersion: 5, reconnectPeriod: 10, ...options })
  onTestFinished(async () => {
    await client.endAsync(true)
  })
  await new Promise<void>(resolve => client.once('connect', () => resolve()))
  return client
}

describe('an owned connection', () => {
  it("Nagle's algorithm is disabled after every connect", async () => {
    const { store } = await openStore(real)
    const link = await layLink(store.url)
    const noDelay = vi.spyOn(Socket.prototype, 'setNoDelay')
    const client = openClient(link.url)
    const status = record(client.status$)
    const connected = (times: number): Promise<void> =>
      status.until(({ values }) => values.filter(({ state }) => state === 'connected').length === times)
    const byUs = (): number =>
      noDelay.mock.contexts.filter(
        socket => String(Reflect.get(Object(socket), 'remotePort')) === new URL(link.url).port,
      ).length
    await connected(1)
    expect(byUs()).toBe(1)
    link.cut()
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    link.restore()
    await connected(2)
    expect(byUs()).toBe(2)
  })

  it.each([
    [134, 'bad user name or password'],
    [135, 'not authorized'],
    [133, 'client identifier not valid'],
    [157, 'server moved'],
  ])('a refusal with %d (%s) closes the client', async reasonCode => {
    const broker = await refusingBroker(reasonCode)
    const client = openClient(broker.url)
    const status = record(client.status$)
    await status.until(({ completed }) => completed)
    const last = status.values.at(-1)
    expect(last?.state === 'closed' && last.cause).toBeInstanceOf(ConnectionRefusedError)
    expect(last).toMatchObject({ cause: { reasonCode } })
    expect(broker.sides.length).toBe(1)
  })

  it.each([
    [136, 'server unavailable'],
    [137, 'server busy'],
    [151, 'quota exceeded'],
  ])('a client retries after a refusal with %d (%s)', async reasonCode => {
    const broker = await refusingBroker(reasonCode)
    const status = record(openClient(broker.url).status$)
    await status.until(({ values }) => values.filter(({ state }) => state === 'reconnecting').length === 3)
    expect(status.values.slice(1).map(value => value.state === 'reconnecting' && value.attempt)).toEqual([1, 2, 3])
    expect(broker.sides.length).toBe(3)
  })

  it.each([134, 135])(
    'a client retries after a refusal with %d of a login that the broker accepted before',
    async code => {
      const broker = await refusingBroker(0, code, code, 0)
      const status = record(openClient(broker.url).status$)
      await status.until(({ values }) => values.length === 5)
      const refused = { state: 'reconnecting', cause: { code: 'connection-refused', reasonCode: code } }
      expect(status.values.slice(2)).toMatchObject([refused, refused, { cause: { code: 'connection-lost' } }])
      expect(status.completed).toBe(false)
    },
  )

  it('a reconnect strategy decides on a refusal of a login that the broker accepted before', async () => {
    const broker = await refusingBroker(0, 135)
    const isRefused = ({ code }: StateStoreError): boolean => code === 'connection-refused'
    const client = openClient(broker.url, { reconnectStrategy: (_attempt, cause) => !isRefused(cause) && 1 })
    const status = record(client.status$)
    await status.until(({ completed }) => completed)
    expect(status.values.at(-1)).toMatchObject({ state: 'closed', cause: { code: 'connection-refused' } })
    expect(broker.sides.length).toBe(2)
  })

  it('a client gives up when another client takes over its session', async () => {
    const { store } = await openStore(real)
    const first = openClient(store.url, { clientId: 'twin' })
    const status = record(first.status$)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    openClient(store.url, { clientId: 'twin' })
    await status.until(({ completed }) => completed)
    expect(status.values.at(-1)).toMatchObject({
      state: 'closed',
      cause: { code: 'connection-refused', reasonCode: 142 },
    })
  })

  it('a client reconnects when its own delayed attempt takes over its session', async () => {
    const broker = await scriptedBroker(({ number, send, socket }) => {
      // The first attempt gets no response and later takes over the session of the second one. The third attempt is the
      // last.
      if (number > 1) send(CONNACK)
      if (number === 2) send({ cmd: 'disconnect', reasonCode: 142 })
      if (number === 2) socket.end()
    }, grant)
    // The timeout gives a busy machine time to respond to the other attempts.
    const client = openClient(broker.url, { connectTimeout: 250 })
    const status = record(client.status$)
    await status.until(({ values }) => broker.sides.length === 3 && values.at(-1)?.state === 'connected')
    expect(status.values.filter(({ state }) => state === 'reconnecting')).toHaveLength(2)
    expect(status.completed).toBe(false)
  })

  it('status$ reports the cause and the time of the next attempt even if no request is sent', async () => {
    const status = record(openClient('mqtt://127.0.0.1:1').status$)
    await status.until(({ values }) => values.length === 2)
    const [, last] = status.values
    expect(last).toMatchObject({
      state: 'reconnecting',
      attempt: 1,
      cause: { message: expect.stringContaining('ECONNREFUSED') },
    })
    expect(last?.state === 'reconnecting' && (last.retryAt ?? 0) - Date.now()).toBeLessThan(100)
  })

  it('the broker keeps no session of a closed client', async () => {
    const { store } = await openStore(real)
    const client = connect(store.url, { clientId: 'leaver' })
    await firstValueFrom(client.key('a', text).get())
    await client.close()
    const successor = await foreignClient(store.url, { clientId: 'leaver', clean: false, reconnectPeriod: 0 })
    const resumed = new Promise(resolve => successor.once('connect', ({ sessionPresent }) => resolve(sessionPresent)))
    successor.end(true)
    await new Promise(resolve => successor.once('end', () => resolve(undefined)))
    successor.reconnect()
    expect(await resumed).toBe(false)
  })

  it('invalid certificates are rejected before anything is sent', () => {
    expect(() => connect('mqtts://127.0.0.1:1', { cert: 'none', key: 'none' })).toThrow(
      expect.objectContaining({ code: 'argument' }),
    )
  })

  it.each(['', 'localhost:1883', 'http://localhost', 'mqtt:'])('the address %j is rejected', url => {
    expect(() => connect(url)).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it.each(['', 'a+b', 'a#', 'a\0b', 'a\ud800'])('the client id %j is rejected', clientId => {
    expect(() => connect('mqtt://127.0.0.1:1', { clientId })).toThrow(expect.objectContaining({ code: 'argument' }))
  })
})

describe("a caller's MqttClient", () => {
  it('keeps its other traffic and is not closed with the store', async () => {
    const { store } = await openStore(real)
    const mqtt = await foreignClient(store.url)
    const client = connect(mqtt)
    const key = client.key('a', text)
    await firstValueFrom(key.set('x'))
    expect(await firstValueFrom(key.value$)).toBe('x')
    const watching = record(key.value$)
    await watching.until(({ values }) => values.length === 1)
    await client.close()
    expect(mqtt.connected).toBe(true)
    await mqtt.subscribeAsync('own', { qos: 1 })
    const topics: string[] = []
    const own = new Promise<void>(resolve =>
      mqtt.on('message', topic => topics.push(topic) && topic === 'own' && resolve()),
    )
    await firstValueFrom(openClient(store.url).key('a', text).set('y'))
    await mqtt.publishAsync('own', 'x', { qos: 1 })
    await own
    const notifications = topics.filter(topic => topic.includes('/notify/'))
    expect({ notifications, watches: store.stats.watches }).toEqual({ notifications: [], watches: 0 })
  })

  it('closing the store removes all its listeners from the MqttClient', async () => {
    const { store } = await openStore(real)
    const mqtt = await foreignClient(store.url)
    const before = mqtt.eventNames().map(name => [name, mqtt.listenerCount(name)])
    const client = connect(mqtt)
    await firstValueFrom(client.key('a', text).get())
    await client.close()
    expect(mqtt.eventNames().map(name => [name, mqtt.listenerCount(name)])).toEqual(before)
  })

  it('watches survive a reconnect of the MqttClient', async () => {
    const { store } = await openStore(real)
    const link = await layLink(store.url)
    const mqtt = await foreignClient(link.url)
    const client = connect(mqtt)
    const panel = openClient(store.url).key('a', text)
    const seen = record(client.key('a', text).value$)
    await seen.until(({ values }) => values.length === 1)
    link.cut()
    await record(client.status$).until(({ values }) => values.at(-1)?.state === 'reconnecting')
    await firstValueFrom(panel.set('meanwhile'))
    link.restore()
    await seen.until(({ values }) => values.length === 2)
    await firstValueFrom(panel.set('then'))
    await seen.until(({ values }) => values.length === 3)
    expect(seen.values).toEqual([undefined, 'meanwhile', 'then'])
    await client.close()
  })

  it('writes are not resent after a reconnect', async () => {
    const { store } = await openStore(real)
    const link = await layLink(store.url)
    const mqtt = await foreignClient(link.url)
    const client = connect(mqtt)
    const key = client.key('a', text)
    await firstValueFrom(key.set('1'))
    link.stall('down')
    const requests = record(store.requests$)
    const write = firstValueFrom(key.set('2'))
    await requests.until(({ values }) => values.length === 1)
    link.cut()
    link.restore()
    await expect(write).rejects.toMatchObject({ code: 'outcome-unknown' })
    await firstValueFrom(key.get())
    expect(requests.values.map(({ outcome }) => outcome)).toEqual(['ok', 'value'])
    await client.close()
  })

  it('a store continues when the broker disconnects the MqttClient with 135 and accepts it again', async () => {
    let refuse = (): void => undefined
    const broker = await scriptedBroker(({ number, send, socket }) => {
      send(CONNACK)
      if (number > 1) return
      refuse = () => {
        send({ cmd: 'disconnect', reasonCode: 135 })
        socket.end()
      }
    })
    const mqtt = await foreignClient(broker.url)
    const status = record(connect(mqtt).status$)
    const reconnected = new Promise<void>(resolve => mqtt.once('connect', () => resolve()))
    refuse()
    await reconnected
    expect(status.completed).toBe(false)
    expect(status.values).toContainEqual(
      expect.objectContaining({ state: 'reconnecting', cause: expect.objectContaining({ reasonCode: 135 }) }),
    )
  })

  it.each(['', 'a+b', 'a#'])('an MqttClient with the client id %j is rejected', clientId => {
    const mqtt = connectMqtt('mqtt://127.0.0.1:1', { protocolVersion: 5, manualConnect: true, clientId })
    expect(() => connect(mqtt)).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringContaining('clientId') }),
    )
  })

  it('an MqttClient serves one state store at a time', async () => {
    const { store } = await openStore(real)
    const mqtt = await foreignClient(store.url)
    const first = connect(mqtt)
    expect(() => connect(mqtt)).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringContaining('without another state store') }),
    )
    await first.close()
    const second = connect(mqtt)
    await firstValueFrom(second.key('a', text).set('x'))
    await second.close()
  })

  it('an MqttClient that serves a store of another package copy is rejected', async () => {
    const { store } = await openStore(real)
    const mqtt = await foreignClient(store.url)
    const mark = Symbol.for('rx-statestore.shared')
    const client = connect(mqtt)
    expect(Reflect.has(mqtt, mark)).toBe(true)
    await client.close()
    expect(Reflect.has(mqtt, mark)).toBe(false)
    Reflect.set(mqtt, mark, true)
    expect(() => connect(mqtt)).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it.each([
    ['has no methods for events', { publish: () => undefined, on: () => undefined }, /to have a method `once`/],
    [
      'has no options',
      Object.fromEntries(
        ['on', 'once', 'off', 'publish', 'subscribe', 'unsubscribe', 'end'].map(name => [name, () => undefined]),
      ),
      /`options` of the MqttClient/,
    ],
  ])('an MqttClient that %s is rejected', (_, client, message) => {
    // @ts-expect-error: not an MqttClient
    expect(() => connect(client)).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringMatching(message) }),
    )
  })

  it('an ended MqttClient is rejected', async () => {
    const { store } = await openStore(real)
    const mqtt = await foreignClient(store.url)
    await mqtt.endAsync()
    expect(() => connect(mqtt)).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it('an MqttClient without MQTT 5 is rejected', async () => {
    const { store } = await openStore(real)
    const mqtt = await foreignClient(store.url, { protocolVersion: 4 })
    expect(() => connect(mqtt)).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringContaining('MQTT 5') }),
    )
  })
})

describe('a resumed session', () => {
  const published: Packet = { cmd: 'publish', topic: 'a', payload: 'x', qos: 0, dup: false, retain: false }

  /** Opens a session, with a message if one is given. `starts` returns the clean start flag of each connection. */
  async function opened(sessionPresent: boolean, message?: Packet) {
    const broker = await scriptedBroker(({ send }) => {
      send({ ...CONNACK, sessionPresent })
      if (message) send(message)
    }, grant)
    const options = { keepAlive: 30_000, sessionExpiry: 60_000, connectTimeout: 5_000, maximumPacketSize: 1_000_000 }
    const session = openSession(
      { urls: [broker.url], clientId: 'own', cleanStart: false, ...options },
      { strategy: () => 0, credentials: undefined },
      systemClock,
    )
    let [connections, messages] = [0, 0]
    session.open({
      connected: () => connections++,
      disconnected: () => undefined,
      failed: () => undefined,
      closed: () => undefined,
      message: () => messages++,
    })
    onTestFinished(() => session.close())
    await expect.poll(() => [connections, messages]).toEqual([1, message ? 1 : 0])
    return { session, starts: () => broker.sides.map(({ connect: { clean } }) => clean) }
  }

  it('verifyConnection replaces a resumed session in which no message arrived', async () => {
    const { session, starts } = await opened(true)
    session.verifyConnection()
    await expect.poll(() => starts()).toEqual([false, true])
  })

  it.each([
    ['a message has arrived', true, published],
    ['the session is new', false, undefined],
  ])('verifyConnection keeps the session when %s', async (_why, sessionPresent, message) => {
    const { session, starts } = await opened(sessionPresent, message)
    session.verifyConnection()
    // A dropped connection would not respond.
    await new Promise(resolve => session.subscribe(['b'], undefined, resolve))
    expect(starts()).toEqual([false])
  })
})
