import { connectAsync, type IClientOptions, type MqttClient, connect as open } from 'mqtt'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type StoreServer, serve } from '../../../../src/server/index.js'

let store: StoreServer
beforeAll(async () => {
  store = await serve({ port: 0, wsPort: 0 })
})
afterAll(() => store.close())

async function connect(url: string, options: IClientOptions = {}): Promise<MqttClient> {
  const client = await connectAsync(url, { protocolVersion: 5, reconnectPeriod: 0, ...options })
  onTestFinished(() => client.endAsync(true))
  return client
}

const next = (client: MqttClient): Promise<string> =>
  new Promise(resolve => client.once('message', (_, payload) => resolve(payload.toString())))

describe.each(['TCP', 'WebSocket'] as const)('mqtt.js over %s', over => {
  const url = (): string => (over === 'TCP' ? store.url : store.wsUrl)

  describe.each([4, 5] as const)('with protocol version %i', protocolVersion => {
    const name = `${over}/${protocolVersion}`

    it.each([0, 1, 2] as const)('the client publishes and receives at QoS %i', async qos => {
      const client = await connect(url(), { protocolVersion })
      await client.subscribeAsync(`${name}/t${qos}`, { qos })
      const came = next(client)
      await client.publishAsync(`${name}/t${qos}`, 'hello', { qos })
      expect(await came).toBe('hello')
    })

    it('the client receives a retained message', async () => {
      const client = await connect(url(), { protocolVersion })
      await client.publishAsync(`${name}/kept`, 'old', { qos: 1, retain: true })
      const came = next(client)
      await client.subscribeAsync(`${name}/kept`)
      expect(await came).toBe('old')
    })

    it('the broker publishes the will of the client', async () => {
      const reader = await connect(url(), { protocolVersion })
      await reader.subscribeAsync(`${name}/will`)
      const came = next(reader)
      const will = { topic: `${name}/will`, payload: Buffer.from('last'), qos: 1, retain: false } as const
      const mortal = await connect(url(), { protocolVersion, will })
      mortal.stream.destroy()
      expect(await came).toBe('last')
    })

    it('the client resumes a session', async () => {
      const kept = { protocolVersion, clientId: `${name}/sleeper`, clean: false } as const
      const options = protocolVersion === 5 ? { ...kept, properties: { sessionExpiryInterval: 100 } } : kept
      const first = await connect(url(), options)
      await first.subscribeAsync(`${name}/away`, { qos: 1 })
      await first.endAsync()
      const writer = await connect(url(), { protocolVersion })
      await writer.publishAsync(`${name}/away`, 'while away', { qos: 1 })
      // Listens before the connection is established, so that no message is missed.
      const second = open(url(), { ...options, reconnectPeriod: 0 })
      onTestFinished(() => second.endAsync(true))
      expect(await next(second)).toBe('while away')
    })
  })

  it('topic aliases work in both directions', async () => {
    const aliases = { properties: { topicAliasMaximum: 5 }, autoUseTopicAlias: true, autoAssignTopicAlias: true }
    const client = await connect(url(), aliases)
    await client.subscribeAsync(`${over}/alias/#`, { qos: 1 })
    for (const text of ['one', 'two', 'three']) {
      const came = next(client)
      await client.publishAsync(`${over}/alias/a`, text, { qos: 1 })
      expect(await came).toBe(text)
    }
  })

  it('the client sends a request and receives the response', async () => {
    const [asker, answerer] = [await connect(url()), await connect(url())]
    answerer.on('message', (_topic, payload, { properties }) => {
      const { responseTopic = '', correlationData } = properties ?? {}
      answerer.publish(responseTopic, `${payload}!`, { properties: correlationData ? { correlationData } : {} })
    })
    await answerer.subscribeAsync(`${over}/questions`)
    await asker.subscribeAsync(`${over}/answers`)
    const answer = new Promise(resolve =>
      asker.once('message', (_, payload, { properties }) =>
        resolve([`${payload}`, properties?.correlationData?.toString()]),
      ),
    )
    const properties = { responseTopic: `${over}/answers`, correlationData: Buffer.from('which') }
    await asker.publishAsync(`${over}/questions`, 'what', { properties })
    expect(await answer).toEqual(['what!', 'which'])
  })
})
