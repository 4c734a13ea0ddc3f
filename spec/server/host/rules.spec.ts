import { describe, expect, it } from 'vitest'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'
import { INVOKE_TOPIC, RESERVED, responseTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'

const NOW = '1696374425000:0:CLIENT'
const SET = command('SET key value')
const hexOf = (id: string): string => Buffer.from(id).toString('hex').toUpperCase()

async function open(...ids: string[]) {
  const { store } = await openStore()
  const [first, ...others] = await Promise.all(ids.map(async id => StoreClient.ready(store.url, id)))
  return { store, alice: first ?? expect.fail('Name a client'), others }
}

/** Returns whether the key that the `SET` request writes exists, as seen by another client. */
const isWritten = async (client: StoreClient): Promise<boolean> =>
  (await client.request(command('GET key'))).text === '$5\r\nvalue\r\n'

describe('a response', () => {
  it('has status 200, protocol version, source and content type, even for -ERR', async () => {
    const { alice } = await open('alice')
    for (const timestamp of [NOW, 'nonsense']) {
      const response = await alice.request(SET, { timestamp })
      expect(response.topic).toBe(responseTopicOf('alice'))
      expect(response.packet).toMatchObject({ qos: 1, retain: false })
      expect(response.packet.properties).toMatchObject({ contentType: 'application/octet-stream' })
      expect(response.property('__stat')).toBe('200')
      expect(response.property('__protVer')).toBe('1.0')
      expect(response.property('__srcId')).toBe('StateStore')
    }
  })

  it.each([1, 16, 255, 1_000])('has the complete correlation data of its request: %i bytes', async length => {
    const { alice } = await open('alice')
    const correlationData = Buffer.from(Array.from({ length }, (_, i) => 255 - (i % 256)))
    const response = await alice.request(SET, { timestamp: NOW, correlationData })
    expect(response.packet.properties?.correlationData).toEqual(correlationData)
  })

  it('each of many concurrent requests gets a response, in order', async () => {
    const { alice } = await open('alice')
    const numbers = Array.from({ length: 200 }, (_, i) => String(i))
    const order: string[] = []
    await Promise.all(
      numbers.map(async number => {
        await alice.request(command(`SET key ${number}`), { timestamp: NOW })
        order.push(number)
      }),
    )
    expect(order).toEqual(numbers)
    expect((await alice.request(command('GET key'))).text).toBe('$3\r\n199\r\n')
  })

  it.each(['answers', 'clients/alice/answers/here', `clients/${hexOf('alice')}/services/statestore/_any_/response`])(
    'is sent to the response topic of its client: %s',
    async responseTopic => {
      const { alice } = await open('alice')
      await alice.subscribe(responseTopic)
      await alice.sendRequest(SET, { timestamp: NOW, responseTopic })
      const [response] = await alice.arrived(1)
      expect([response?.topic, response?.text]).toEqual([responseTopic, '+OK\r\n'])
    },
  )
})

describe('a request', () => {
  it.each([0, 1, 2] as const)('with QoS %i is not forwarded to other clients, whether retained or not', async qos => {
    const { store, alice } = await open('alice')
    const filters = ['#', '+/#', 'statestore/#', '+/+/+/command/invoke', INVOKE_TOPIC]
    const spies = await Promise.all(filters.map(async (_, i) => StoreClient.connect(store.url, `spy${i}`)))
    await Promise.all(spies.map(async (spy, i) => spy.subscribe(filters[i] ?? '#')))
    await Promise.all(spies.map(async spy => spy.subscribe('marker')))
    for (const retain of [false, true]) await alice.sendRequest(SET, { timestamp: NOW, qos, retain })
    await alice.arrived(2)
    await alice.publish('marker', 'end')
    for (const spy of spies) expect((await spy.arrived(1)).map(({ topic }) => topic)).toEqual(['marker'])
    const late = await StoreClient.ready(store.url, 'late')
    await late.subscribe('#')
    await late.subscribe(INVOKE_TOPIC)
    await late.settled()
    expect(late.inbox).toEqual([])
  })

  it.each([
    ['response topic', { responseTopic: null }],
    ['correlation data', { correlationData: null }],
  ])('without %s is rejected with a reason, and its connection stays open', async (what, missing) => {
    const { store, alice } = await open('alice')
    const { reasonCode, reasonString } = await alice.sendRequest(SET, { timestamp: NOW, ...missing })
    expect(reasonCode).toBe(135)
    expect(reasonString).toContain(what)
    expect([await isWritten(alice), store.stats.keys]).toEqual([false, 0])
  })

  it.each([0, 2] as const)(
    'an invalid request with QoS %i gets status 400 and the field, and changes nothing',
    async qos => {
      const { alice } = await open('alice')
      const response = await alice.request(SET, { timestamp: NOW, qos })
      expect(response.property('__stat')).toBe('400')
      expect(response.property('__stMsg')).toContain('QoS 1')
      expect(response.property('__propName')).toBe('QoS')
      expect(response.property('__propVal')).toBe(String(qos))
      expect([response.text, response.version, await isWritten(alice)]).toEqual(['', undefined, false])
    },
  )

  it('with QoS 0 and without a response topic changes nothing', async () => {
    const { alice } = await open('alice')
    await alice.sendRequest(SET, { timestamp: NOW, qos: 0, responseTopic: null })
    expect(await isWritten(alice)).toBe(false)
  })

  const FORBIDDEN = [INVOKE_TOPIC, RESERVED, `${RESERVED}/`, `${RESERVED}-more`, `${RESERVED}/alice/answers`]
  const OWN_NOTIFICATION = `${RESERVED}/${hexOf('alice')}/command/notify/6B6579`

  it.each([...FORBIDDEN, OWN_NOTIFICATION])(
    'with the forbidden response topic %s ends only its own connection',
    async responseTopic => {
      const { alice, others } = await open('alice', 'bob')
      alice.sendRequest(SET, { timestamp: NOW, responseTopic }).catch(() => undefined)
      expect(await alice.dismissed()).toBe(144)
      for (const bob of others) expect(await isWritten(bob)).toBe(false)
    },
  )

  it.each([0, 2] as const)('with QoS %i and a forbidden response topic ends its connection', async qos => {
    const { alice, others } = await open('alice', 'bob')
    alice.sendRequest(SET, { timestamp: NOW, responseTopic: RESERVED, qos }).catch(() => undefined)
    expect(await alice.dismissed()).toBe(144)
    for (const bob of others) expect(await isWritten(bob)).toBe(false)
  })

  it.each([responseTopicOf('bob'), `clients/${hexOf('bob')}/services/statestore/_any_/command/invoke/response`])(
    "with another client's response topic %s is rejected, and the other client receives nothing",
    async responseTopic => {
      const { alice, others } = await open('alice', 'bob')
      const { reasonCode } = await alice.sendRequest(SET, { timestamp: NOW, responseTopic })
      expect(reasonCode).toBe(135)
      for (const bob of others) {
        expect(await isWritten(bob)).toBe(false)
        expect(bob.inbox).toEqual([])
      }
    },
  )

  it('cannot make the store publish to topics of the broker', async () => {
    const { store, alice } = await open('alice')
    const operator = await StoreClient.ready(store.url, 'operator')
    await operator.subscribe('$SYS/forged')
    const { reasonCode } = await alice.sendRequest(SET, { timestamp: NOW, responseTopic: '$SYS/forged' })
    await operator.settled()
    expect(operator.inbox.map(({ topic }) => topic)).toEqual([])
    expect(reasonCode).toBe(135)
  })
})

describe('the protocol version', () => {
  it.each(['2.0', '0.9', '10.0'])('%s gets status 505 with the supported versions', async version => {
    const { alice } = await open('alice')
    const response = await alice.request(SET, { timestamp: NOW, userProperties: { __protVer: version } })
    expect(response.property('__stat')).toBe('505')
    expect(response.property('__supProtMajVer')).toBe('1')
    expect(response.property('__requestProtVer')).toBe(version)
    expect([response.text, response.version, await isWritten(alice)]).toEqual(['', undefined, false])
  })

  it.each(['1.0', '1.7'])('%s is supported', async version => {
    const { alice } = await open('alice')
    const response = await alice.request(SET, { timestamp: NOW, userProperties: { __protVer: version } })
    expect([response.property('__stat'), response.text]).toEqual(['200', '+OK\r\n'])
  })

  it('is optional', async () => {
    const { alice } = await open('alice')
    expect((await alice.request(SET, { timestamp: NOW })).text).toBe('+OK\r\n')
  })
})

describe('user properties', () => {
  it('that the official clients send are accepted', async () => {
    const { alice } = await open('alice')
    const userProperties = {
      __srcId: 'alice',
      __protVer: '1.0',
      $partition: 'alice',
      $high_priority: 'true',
      'aio-persistence': 'true',
    }
    expect((await alice.request(SET, { timestamp: NOW, userProperties })).text).toBe('+OK\r\n')
  })

  it.each(['__ts', '__ft'])('a request is malformed if its user property %s is repeated', async name => {
    const { alice } = await open('alice')
    const response = await alice.request(SET, { timestamp: NOW, userProperties: { [name]: [NOW, NOW] } })
    expect(response.text).toBe('-ERR malformed timestamp\r\n')
  })

  it('may be named like JavaScript object properties', async () => {
    const { alice } = await open('alice')
    const userProperties = { constructor: 'x', toString: ['x', 'y'], hasOwnProperty: 'x', ['__proto__']: 'x' }
    expect((await alice.request(SET, { timestamp: NOW, userProperties })).text).toBe('+OK\r\n')
  })
})
