import { describe, expect, it } from 'vitest'
import { openCore, type ScriptedClient } from '../scripted-client.js'

const INTERVAL_MS = 10_000
const VERSION = 'rx-statestore version 1.2.3'

const open = () =>
  openCore({}, { sysTopics: { intervalMs: INTERVAL_MS, version: VERSION, heapBytes: () => 1_000_000 } })

/** Returns the values by topic, without the prefix, of the messages since the given number. */
const valuesOf = ({ messages }: ScriptedClient, since = 0): Readonly<Record<string, string>> =>
  Object.fromEntries(
    messages.slice(since).map(({ topic, payload }) => [topic.replace(/^\$SYS\/broker\//, ''), String(payload)]),
  )

describe('The $SYS topics', () => {
  it('a new subscriber receives the value of every topic as a retained message with QoS 0', () => {
    const { connect } = open()
    const client = connect('a')
    client.subscribe('$SYS/#', 2)
    expect(client.messages.every(({ qos, retain }) => qos === 0 && retain)).toBe(true)
    expect(valuesOf(client)).toMatchObject({
      version: VERSION,
      uptime: '0 seconds',
      'clients/total': '1',
      'clients/connected': '1',
      'clients/disconnected': '0',
      'subscriptions/count': '1',
      'retained messages/count': '0',
      'heap/current': '1000000',
      'load/publish/received/1min': '0.00',
    })
    expect(client.messages).toHaveLength(52)
  })

  it('subscribers receive only the topics whose value has changed, at each interval', () => {
    const { clock, connect } = open()
    const client = connect('a')
    client.subscribe('$SYS/broker/+')
    expect(Object.keys(valuesOf(client))).toEqual(['version', 'uptime'])
    clock.advance(INTERVAL_MS - 1)
    expect(client.messages).toHaveLength(2)
    clock.advance(1)
    expect(valuesOf(client, 2)).toEqual({ uptime: '10 seconds' })
    expect(client.messages.at(-1)).toMatchObject({ qos: 0, retain: false })
    clock.advance(2 * INTERVAL_MS)
    expect(client.messages.slice(3).map(({ payload }) => String(payload))).toEqual(['20 seconds', '30 seconds'])
  })

  it('a filter that begins with a wildcard matches none of the topics', () => {
    const { clock, connect } = open()
    const client = connect('a')
    for (const filter of ['#', '+/#', '+/broker/version', '/$SYS/#']) client.subscribe(filter)
    clock.advance(INTERVAL_MS)
    expect(client.messages).toEqual([])
  })

  it('all subscribers know the same value after each interval, even if it changed back', () => {
    const { clock, connect } = open()
    const client = connect('a')
    client.subscribe('$SYS/broker/clients/connected')
    const second = connect('b')
    second.subscribe('$SYS/broker/clients/connected')
    expect([valuesOf(client), valuesOf(second)]).toEqual([{ 'clients/connected': '1' }, { 'clients/connected': '1' }])
    clock.advance(INTERVAL_MS)
    expect([valuesOf(client), valuesOf(second)]).toEqual([{ 'clients/connected': '2' }, { 'clients/connected': '2' }])
    second.lose()
    connect('c')
    clock.advance(INTERVAL_MS)
    expect(client.messages).toHaveLength(2)
  })

  it('are published only to subscribers, and the next one gets current values', () => {
    const { core, clock, connect } = open()
    const client = connect('a')
    client.subscribe('$SYS/broker/uptime')
    client.say({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['$SYS/broker/uptime'] })
    clock.advance(3 * INTERVAL_MS)
    expect(core.traffic.publishesSent).toBe(1)
    clock.advance(5_000)
    client.subscribe('$SYS/broker/uptime')
    expect(valuesOf(client)).toEqual({ uptime: '35 seconds' })
  })

  it('an offline QoS 1 session takes no memory for messages of $SYS topics', () => {
    const { core, clock, connect } = open()
    const lasting = { clean: false, properties: { sessionExpiryInterval: 3_600 } }
    const client = connect('a', lasting)
    client.subscribe('$SYS/#', 1)
    client.lose()
    const { used } = core.budget
    clock.advance(10 * INTERVAL_MS)
    expect([core.budget.used, core.gauges().storedMessages]).toEqual([used, 0])
    expect(connect('a', lasting).messages).toEqual([])
  })

  it('a session that is resumed before it received the values receives the values of that time', () => {
    const { clock, connect } = open()
    const lasting = { clean: false, properties: { sessionExpiryInterval: 3_600 } }
    const client = connect('a', lasting)
    client.sayAndVanish({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '$SYS/broker/+', qos: 0 }] })
    clock.advance(3 * INTERVAL_MS)
    const resumed = connect('a', lasting)
    expect(valuesOf(resumed)).toEqual({ version: VERSION, uptime: '30 seconds' })
  })

  it('shared subscriptions to $SYS topics are rejected, as one client could be in thousands', () => {
    const { core, clock, connect } = open()
    const client = connect('a')
    const filters = ['$share/g/$SYS/broker/uptime', '$share/g/$SYS/#', '$share/g/#']
    const answers = filters.flatMap(filter => client.subscribe(filter, 0))
    expect(answers).toMatchObject([{ granted: [0x8f] }, { granted: [0x8f] }, { granted: [0] }])
    clock.advance(INTERVAL_MS)
    expect([client.messages, core.gauges().sharedSubscriptions]).toEqual([[], 1])
  })

  it('the broker publishes one topic in each turn, so that other work runs in between', () => {
    const { clock, connect } = open()
    const client = connect('a')
    client.subscribe('$SYS/#')
    const before = client.messages.length
    client.publish('a', 'x')
    let received = 0
    clock.schedule(INTERVAL_MS, () => {
      received = client.messages.length - before
    })
    clock.advance(INTERVAL_MS)
    expect(received).toBe(1)
    expect(client.messages.length - before).toBeGreaterThan(5)
  })

  it('loads are moving averages of the rates per minute', () => {
    const { clock, connect } = open()
    const client = connect('a')
    for (let n = 0; n < 10; n++) client.publish('a', 'xyz', { messageId: n + 1 })
    clock.advance(INTERVAL_MS)
    client.subscribe('$SYS/broker/load/publish/received/+')
    // 60 per minute, of which 1 - exp(-10 / 60) count after 10 s.
    expect(valuesOf(client)).toEqual({
      'load/publish/received/1min': '9.21',
      'load/publish/received/5min': '1.97',
      'load/publish/received/15min': '0.66',
    })
    clock.advance(INTERVAL_MS)
    expect(valuesOf(client)).toMatchObject({ 'load/publish/received/1min': '7.80' })
  })

  it('count messages, bytes of payloads, clients, expired sessions and stored messages', () => {
    const { clock, connect } = open()
    const receiver = connect('a', { clean: false, properties: { sessionExpiryInterval: 60 } })
    receiver.subscribe('a', 0)
    const sender = connect('b')
    sender.publish('a', '12345')
    sender.publish('kept', '123', { retain: true, messageId: 8 })
    receiver.lose()
    const read = (): Readonly<Record<string, string>> => {
      const observer = connect('c')
      observer.subscribe('$SYS/#')
      return valuesOf(observer)
    }
    expect(read()).toMatchObject({
      'publish/messages/received': '2',
      'publish/bytes/received': '8',
      'publish/messages/sent': '1',
      'publish/bytes/sent': '5',
      'clients/total': '3',
      'clients/active': '2',
      'clients/inactive': '1',
      'clients/maximum': '2',
      'clients/expired': '0',
      'retained messages/count': '1',
      'messages/stored': '1',
    })
    clock.advance(70_000)
    expect(read()).toMatchObject({ 'clients/total': '2', 'clients/expired': '1' })
  })

  it('a broker that is closed schedules nothing more, also while it publishes', () => {
    const { core, clock, connect } = open()
    connect('a').subscribe('$SYS/#')
    let pending: number | undefined
    clock.schedule(INTERVAL_MS, () => {
      core.close()
      pending = clock.pending
    })
    clock.advance(INTERVAL_MS)
    expect(pending).toBe(0)
  })

  it('a broker without the option has no $SYS topics', () => {
    const { clock, connect } = openCore()
    const client = connect('a')
    client.subscribe('$SYS/#')
    clock.advance(INTERVAL_MS)
    expect(client.messages).toEqual([])
  })
})
