import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { text } from '../../../src/client/index.js'
import { INVOKE_TOPIC } from '../../../src/core/protocol/topics.js'
import { fromUtf8 } from '../../../src/core/util/bytes.js'
import { type Clock, systemClock } from '../../../src/core/util/clock.js'
import { attach } from '../../../src/server/index.js'
import { eventually } from '../../support/eventually.js'
import { openAttached, untilState } from '../../support/open-attached.js'
import { openBroker } from '../../support/open-broker.js'
import { openClient, record } from '../../support/open-client.js'
import { StoreClient } from '../../support/store-client.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { command } from '../../support/words.js'

const POLICY = `
- principals: { clientIds: [panel-7] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["panel/*"] }]`

async function brokerUrl(): Promise<string> {
  const broker = await openBroker()
  return `mqtt://127.0.0.1:${broker.port}`
}

const WRONG: readonly (readonly [options: object, words: string])[] = [
  [{ data: '' }, 'data'],
  [{ persist: 'none' }, '`data` together with `persist`'],
  [{ maxKeys: 0 }, 'maxKeys'],
  [{ maxWatches: -1 }, 'maxWatches'],
  [{ identityProperty: '' }, 'identityProperty'],
  [{ disconnectEvents: '$SYS/brokers/#' }, 'for the client id'],
  [{ disconnectEvents: '$SYS/brokers/a+b/gone' }, 'for the client id'],
  [{ disconnectEvents: 7 }, 'for the client id'],
  [{ disconnectEvents: '+/+/+/command/invoke' }, 'for the client id'],
  [{ dialect: 'latin' }, 'dialect'],
  [{ userName: 'x' }, 'did you mean `username`'],
  [{ keepAlive: -1 }, 'keepAlive'],
]

const NOW = (): string => `${Date.now()}:0:C`

describe('attach', () => {
  it.each(WRONG)('rejects the invalid options %o', async (options, words) => {
    await expect(attach('mqtt://localhost:1', Object.assign({}, options))).rejects.toMatchObject({
      code: 'argument',
      message: expect.stringContaining(words),
    })
  })

  it('rejects a URL of another protocol', async () => {
    await expect(attach('http://localhost')).rejects.toMatchObject({ code: 'argument' })
  })

  it('rejects a policy without an identity property, and the message explains why', async () => {
    await expect(attach('mqtt://localhost:1', { policy: POLICY })).rejects.toMatchObject({
      code: 'argument',
      message: expect.stringMatching(/requires `identityProperty`/),
    })
  })

  it("without the right to subscribe to requests, the store closes with the SUBACK's code", async () => {
    const broker = await openBroker({}, { maySubscribe: (_client, filter) => filter !== INVOKE_TOPIC })
    const store = await attach(`mqtt://127.0.0.1:${broker.port}`)
    const states = record(store.state$)
    await states.until(({ completed }) => completed)
    const message = `The broker rejected the subscription to ${INVOKE_TOPIC}`
    expect(states.values).toMatchObject([
      { state: 'connecting' },
      { state: 'closed', cause: { code: 'request-rejected', status: 135, message } },
    ])
  })

  it("a read of a value that exceeds the broker's maximum packet size is answered with an error", async () => {
    const broker = await openBroker({ maximumPacketSize: 2_000 })
    const url = `mqtt://127.0.0.1:${broker.port}`
    const store = await openAttached(url)
    await store.load([
      { key: 'large', value: 'x'.repeat(2_000) },
      { key: 'small', value: 'v' },
    ])
    const client = openClient(url)
    await expect(client.key('large', text).get()).rejects.toMatchObject({
      code: 'service-unknown',
      text: 'the reply of 2009 bytes exceeds the maximum packet size of the broker, 2000 bytes',
    })
    expect(await client.key('small', text).get()).toMatchObject({ value: 'v' })
  })

  it('closing answers requests in flight, and later requests fail with no-store', async () => {
    const broker = await openBroker()
    const url = `mqtt://127.0.0.1:${broker.port}`
    const store = await openAttached(url)
    const client = openClient(url)
    const answers = record(store.requests$)
    const writes = Array.from({ length: 500 }, async (_, i) => client.key(`k${i}`, text).set('x', { timeout: 60_000 }))
    const settled = Promise.allSettled(writes)
    await answers.until(({ values }) => values.length > 50)
    await store.close()
    await expect(client.key('late', text).set('x')).rejects.toMatchObject({ code: 'no-store' })
    const codes = (await settled).map(result => (result.status === 'fulfilled' ? 'done' : result.reason.code))
    expect(codes.filter(code => code !== 'done' && code !== 'no-store')).toEqual([])
  })

  it('an attached store can be closed without a broker, and more than once', async () => {
    const store = await attach('mqtt://127.0.0.1:1')
    const states = record(store.state$)
    await store.close()
    await store.close()
    expect([states.completed, states.values.at(-1)]).toEqual([true, { state: 'closed', cause: undefined }])
  })

  it('an attached store closes with a format error if its directory was not written by a store', async () => {
    const data = temporaryFolder()
    await writeFile(join(data, 'letter.txt'), 'dear all')
    const store = await attach(await brokerUrl(), { data })
    const states = record(store.state$)
    await states.until(({ completed }) => completed)
    expect(states.values.at(-1)).toMatchObject({ state: 'closed', cause: { code: 'format' } })
  })

  it("every response contains the store's instance id, which changes with each start", async () => {
    const url = await brokerUrl()
    const alice = await StoreClient.ready(url, 'alice')
    const lives = []
    for (let i = 0; i < 2; i++) {
      await using store = await openAttached(url)
      const answer = await alice.request(command('GET a'))
      expect(store.state).toEqual({ state: 'serving', life: answer.property('__life') })
      expect(answer.property('$high_priority')).toBe('')
      lives.push(answer.property('__life'))
    }
    expect(new Set(lives).size).toBe(2)
  })

  it('a request that the broker repeats gets the same response, even after its expiry', async () => {
    const url = await brokerUrl()
    let later = 0
    const clock: Clock = { ...systemClock, now: () => Date.now() + later }
    const store = await openAttached(url, { clock })
    const reports = record(store.requests$)
    const alice = await StoreClient.ready(url, 'alice')
    const request = { timestamp: NOW(), correlationData: Buffer.from('the same'), expiry: 1 }
    const first = await alice.request(command('SET once v NX'), request)
    later = 20_000
    const again = await alice.request(command('SET once v NX'), request)
    expect([first.text, again.text, again.version]).toEqual(['+OK\r\n', '+OK\r\n', first.version])
    expect(reports.values.slice(-2).map(({ repeated }) => repeated)).toEqual([false, true])
  })

  it('statistics and dump of an attached store include its keys', async () => {
    const url = await brokerUrl()
    const store = await openAttached(url)
    const key = openClient(url).key('a', text)
    const seen = record(key.entries$)
    await key.set('v')
    await seen.until(({ values }) => values.at(-1)?.value === 'v')
    expect(store.stats).toMatchObject({ keys: 1, watches: 1, errors: 0 })
    expect([...store.dump()]).toMatchObject([{ key: 'a', value: 'v' }])
  })

  it('a standby takes over a directory after the active store releases it', { tags: 'slow' }, async () => {
    const [url, data] = [await brokerUrl(), temporaryFolder()]
    await using first = await openAttached(url, { data })
    await openClient(url).key('a', text).set('v')
    const elsewhere = await brokerUrl()
    await using second = await attach(elsewhere, { data })
    await untilState(second, 'standby')
    await first.close()
    await untilState(second, 'serving')
    expect(await openClient(elsewhere).key('a', text).get()).toMatchObject({ value: 'v' })
  })

  describe('with a policy and an identity property', () => {
    it('a policy grants each client its rights, and requests without identity are rejected', async () => {
      const url = await brokerUrl()
      const store = await openAttached(url, { policy: POLICY, identityProperty: 'client_id' })
      const refused: unknown[] = []
      store.audit$.subscribe(({ event, action, clientId, target }) => refused.push([event, action, clientId, target]))
      const panel = await StoreClient.ready(url, 'panel-7')
      const ask = async (words: string, userProperties: Record<string, string | string[]>) => {
        const { payload, packet } = await panel.request(command(words), { timestamp: NOW(), userProperties })
        return `${packet.properties?.userProperties?.['__stat']} ${payload}`.trim()
      }
      expect(await ask('SET panel/1 v', { client_id: 'panel-7' })).toBe('200 +OK')
      expect(await ask('SET other v', { client_id: 'panel-7' })).toBe('200 -ERR not authorized')
      expect(await ask('SET panel/1 v', {})).toBe('400')
      expect(refused).toEqual([['refused', 'write', 'panel-7', 'other']])
      // Neither of the two forged requests gets a response.
      const heard: string[] = []
      for (const client_id of [['panel-7', 'panel-7'], 'panel-8'])
        ask('SET panel/1 v', { client_id })
          .then(answer => heard.push(answer))
          .catch(() => undefined)
      expect(await ask('SET panel/1 v', { client_id: 'panel-7' })).toBe('200 +OK')
      expect([heard, panel.inbox]).toEqual([[], []])
      const topic = 'clients/panel-7/services/statestore/_any_/command/invoke/response'
      expect(refused.slice(1)).toEqual([
        ['refused', 'publish', undefined, topic],
        ['refused', 'publish', 'panel-8', topic],
      ])
    })

    it("a new policy ends watches that are no longer permitted and changes the store's life", async () => {
      const url = await brokerUrl()
      const readers = (first: string, second: string): string => `
- principals: { clientIds: [first] }
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["${first}"] }]
- principals: { clientIds: [second] }
  stateStoreResources: [{ method: Read, keyType: Pattern, keys: ["${second}"] }]`
      const store = await openAttached(url, { policy: readers('*', 'a'), identityProperty: 'client_id' })
      const lives = record(store.state$)
      const [first, second] = [await StoreClient.ready(url, 'first'), await StoreClient.ready(url, 'second')]
      const ask = async (client: StoreClient, words: string): Promise<string> => {
        const userProperties = { client_id: client === first ? 'first' : 'second' }
        return String((await client.request(command(words), { timestamp: NOW(), userProperties })).payload).trim()
      }
      await ask(first, 'SET a v')
      for (const client of [first, second]) expect(await ask(client, 'KEYNOTIFY a')).toBe('+OK')
      const listener = await StoreClient.ready(url, 'listener')
      await listener.subscribe('rx-statestore/v1/life')
      await listener.arrived(1)
      store.reload({ policy: readers('?', 'a') })
      expect(store.peek('a')).toMatchObject({ watchers: 2 })
      expect(lives.values).toHaveLength(1)
      store.reload({ policy: readers('?', 'b') })
      expect(store.peek('a')).toMatchObject({ watchers: 1 })
      expect(Array.from(store.watchedBy('second'))).toEqual([])
      expect(await ask(second, 'KEYNOTIFY a')).toBe('-ERR not authorized')
      const [before, after] = lives.values
      expect([before?.state, after?.state]).toEqual(['serving', 'serving'])
      expect(after).not.toEqual(before)
      const announced = (await listener.arrived(2)).map(({ text }) => text)
      expect(announced).toEqual([before, after].map(state => state?.state === 'serving' && state.life))
    })

    it('a client that ignores instances keeps the watches that a new policy permits', async () => {
      const url = await brokerUrl()
      const policy = (keys: string): string => POLICY.replace('panel/*', keys)
      const store = await openAttached(url, { policy: policy('[ab]'), identityProperty: 'client_id' })
      const panel = await StoreClient.ready(url, 'panel-7')
      const ask = async (words: string): Promise<string> => {
        const userProperties = { client_id: 'panel-7' }
        return String((await panel.request(command(words), { timestamp: NOW(), userProperties })).payload).trim()
      }
      for (const key of ['a', 'b']) expect(await ask(`KEYNOTIFY ${key}`)).toBe('+OK')
      store.reload({ policy: policy('b') })
      expect(Array.from(store.watchedBy('panel-7'), fromUtf8)).toEqual(['b'])
      await store.load([
        { key: 'a', value: 'hidden' },
        { key: 'b', value: 'shown' },
      ])
      const [notification] = await panel.arrived(1)
      expect(notification?.text).toContain('shown')
    })

    it('a new policy discards waiting notifications that are no longer permitted', async () => {
      const port = await freePort()
      const url = `mqtt://127.0.0.1:${port}`
      const broker = await openBroker({ port })
      const policy = (keys: string): string => POLICY.replace('panel/*', keys)
      const store = await openAttached(url, { policy: policy('[ab]'), identityProperty: 'client_id' })
      const panel = await StoreClient.ready(url, 'panel-7')
      for (const key of ['a', 'b'])
        await panel.request(command(`KEYNOTIFY ${key}`), {
          timestamp: NOW(),
          userProperties: { client_id: 'panel-7' },
        })
      await broker.close()
      await untilState(store, 'reconnecting')
      await store.load([
        { key: 'a', value: 'hidden' },
        { key: 'b', value: 'shown' },
      ])
      store.reload({ policy: policy('b') })
      const notified: string[] = []
      await openBroker(
        { port },
        {
          checkPublish: (_, { topic, payload }) => {
            if (topic.includes('/notify/')) notified.push(fromUtf8(payload))
            return undefined
          },
        },
      )
      await eventually(() => notified.length > 0)
      expect(notified).toEqual([expect.stringContaining('shown')])
    })

    it('a new policy ends the watches of clients that watch globs and may read other keys', async () => {
      const url = await brokerUrl()
      const policy = (keys: string): string => POLICY.replace('panel/*', keys)
      const store = await openAttached(url, { policy: policy('panel/*'), identityProperty: 'client_id' })
      const panel = await StoreClient.ready(url, 'panel-7')
      const ask = async (words: string): Promise<string> => {
        const userProperties = { client_id: 'panel-7' }
        return String((await panel.request(command(words), { timestamp: NOW(), userProperties })).payload).trim()
      }
      await ask('GLOBNOTIFY *')
      expect(store.stats.watches).toBe(100)
      store.reload({ policy: policy('panel/*') })
      expect(store.stats.watches).toBe(100)
      store.reload({ policy: policy('p*') })
      expect(store.stats.watches).toBe(0)
    })

    it('an invalid policy changes nothing, and a store without a policy accepts none', async () => {
      const url = await brokerUrl()
      const store = await openAttached(url, { policy: POLICY, identityProperty: 'client_id' })
      expect(() => store.reload({ policy: 'x: 1' })).toThrow(/The policy: line 1/)
      expect(() => store.reload(Object.assign({ policy: POLICY }, { tls: {} }))).toThrow(/tls/)
      const panel = await StoreClient.ready(url, 'panel-7')
      const userProperties = { client_id: 'panel-7' }
      const { payload } = await panel.request(command('SET panel/1 v'), { timestamp: NOW(), userProperties })
      expect(String(payload).trim()).toBe('+OK')
      await store.close()
      expect(() => store.reload({ policy: POLICY })).toThrow(/closed/)
      const open = await openAttached(await brokerUrl())
      expect(() => open.reload({ policy: POLICY })).toThrow(/without a policy/)
    })
  })
})
