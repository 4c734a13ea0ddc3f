import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { number, text } from '../../src/index.js'
import { attach } from '../../src/standalone.js'
import { AttachedProcess } from '../support/attached-process.js'
import { eventually } from '../support/eventually.js'
import { layLink } from '../support/link.js'
import { Mosquitto } from '../support/mosquitto.js'
import { openAttached, untilState } from '../support/open-attached.js'
import { openClient, record, words } from '../support/open-client.js'
import { notificationTopicOf, RawClient, responseTopicOf } from '../support/raw-client.js'
import { SERVICES } from '../support/services.js'
import { command } from '../support/words.js'

const LIFE_TOPIC = 'rx-statestore/v1/life'
const NOW = (): string => `${Date.now()}:0:C`

describe.skipIf(!SERVICES.mosquitto.present)('a store attached to Mosquitto', () => {
  let broker: Mosquitto
  // A store that was killed leaves a session behind, in which requests wait.
  beforeEach(async () => {
    broker = await Mosquitto.start()
    onTestFinished(async () => broker.stop())
  })

  const watching = (key: string) => {
    const client = openClient(broker.url)
    return { client, seen: record(client.key(key, text).entries$), fresh: record(client.key(key, text).freshness$) }
  }

  it('serves every step of a key to who watches it', async () => {
    await openAttached(broker.url)
    const { seen } = watching('a')
    await seen.until(({ values }) => values.length > 0)
    const writer = openClient(broker.url).key('a', text)
    for (let i = 0; i < 50; i++) await writer.set(`v${i}`)
    await seen.until(({ values }) => values.length === 51)
    expect(words(seen).slice(1)).toEqual(Array.from({ length: 50 }, (_, i) => `set v${i} (notification)`))
  })

  it('answers a thousand requests in flight, though the broker hands out twenty at a time', async () => {
    const store = await openAttached(broker.url)
    const client = openClient(broker.url)
    await Promise.all(Array.from({ length: 1_000 }, (_, i) => client.key(`k${i}`, number).set(i)))
    expect(store.stats).toMatchObject({ keys: 1_000, requests: 1_000, errors: 0 })
  })

  it('that is not there is told at once, and found within a second', async () => {
    const client = openClient(broker.url)
    await expect(client.key('a', text).set('x')).rejects.toMatchObject({ code: 'no-store' })
    const seen = record(client.key('a', text).entries$)
    const errors = record(client.errors$)
    await errors.until(({ values }) => values.length >= 3)
    await openAttached(broker.url)
    const since = performance.now()
    await seen.until(({ values }) => values.length > 0)
    expect(performance.now() - since).toBeLessThan(1_000)
  })

  it('that ends says so: values are stale, and live again with the next one', async () => {
    const first = await openAttached(broker.url)
    const { client, seen, fresh } = watching('a')
    await client.key('a', text).set('v')
    await seen.until(({ values }) => values.at(-1)?.value === 'v')
    await first.close()
    await fresh.until(({ values }) => values.at(-1)?.state === 'stale')
    await openAttached(broker.url)
    await fresh.until(({ values }) => values.at(-1)?.state === 'live')
    expect(words(seen).at(-1)).toBe('absent (resync)')
  })

  it('that is killed is seen to be away, and its keys are there again with their directory', async () => {
    const data = await mkdtemp(join(tmpdir(), 'attached-'))
    const first = new AttachedProcess(broker.url, data)
    await first.until('serving')
    const { client, seen, fresh } = watching('a')
    await client.key('a', text).set('kept')
    await seen.until(({ values }) => values.at(-1)?.value === 'kept')
    await first.end('SIGKILL')
    await fresh.until(({ values }) => values.at(-1)?.state === 'stale')
    await new AttachedProcess(broker.url, data).until('serving')
    await fresh.until(({ values }) => values.at(-1)?.state === 'live')
    await client.key('a', text).set('on')
    await seen.until(({ values }) => values.at(-1)?.value === 'on')
    expect(seen.values.flatMap(({ value }) => value ?? [])).toEqual(['kept', 'on'])
  })

  it('comes back after a cut with all that was asked meanwhile, nothing of it done twice', async () => {
    const link = await layLink(broker.url)
    const store = await openAttached(link.url)
    const { client, seen } = watching('a')
    await seen.until(({ values }) => values.length > 0)
    const results = []
    for (let i = 0; i < 200; i++) {
      results.push(client.key('a', text).set(`v${i}`))
      if (i % 40 === 20) {
        link.cut()
        await untilState(store, 'reconnecting')
        link.restore()
        await untilState(store, 'serving')
      }
    }
    const versions = (await Promise.all(results)).map(({ version }) => String(version))
    expect(new Set(versions).size).toBe(200)
    await seen.until(({ values }) => values.at(-1)?.value === 'v199')
    expect(store.stats.keys).toBe(1)
    const told = seen.values.map(({ version }) => String(version)).slice(1)
    expect(told).toEqual([...told].sort((a, b) => (versions.indexOf(a) < versions.indexOf(b) ? -1 : 1)))
  })

  it('answers a request that is repeated as it did before', async () => {
    await openAttached(broker.url)
    const alice = await RawClient.ready(broker.url, 'alice')
    const request = { timestamp: NOW(), correlationData: Buffer.from('the same') }
    const first = await alice.request(command('SET once v NX'), request)
    const again = await alice.request(command('SET once v NX'), request)
    const other = await alice.request(command('SET once v NX'), { ...request, timestamp: `${Date.now() + 1}:1:C` })
    expect([first, again, other].map(({ text }) => text)).toEqual(['+OK\r\n', '+OK\r\n', ':-1\r\n'])
    expect(again.version).toBe(first.version)
  })

  it('forgets who is gone with the first change that nobody gets, and not who came back', async () => {
    const store = await openAttached(broker.url)
    const writer = await RawClient.ready(broker.url, 'writer')
    const before = await RawClient.ready(broker.url, 'alice')
    await before.request(command('KEYNOTIFY k'))
    expect(store.stats.watches).toBe(1)
    await before.end()
    await writer.request(command('SET k v'), { timestamp: NOW() })
    await eventually(() => store.stats.watches === 0)
    const after = await RawClient.ready(broker.url, 'alice')
    await after.request(command('KEYNOTIFY k'))
    await writer.request(command('SET k w'), { timestamp: NOW() })
    const [told] = await after.received(1)
    expect([told?.topic, store.stats.watches]).toEqual([notificationTopicOf('alice', 'k'), 1])
  })

  it('bounds how much may be watched', async () => {
    await openAttached(broker.url, { maxWatches: 3, maxWatchesPerClient: 2 })
    const [alice, bob] = [await RawClient.ready(broker.url, 'alice'), await RawClient.ready(broker.url, 'bob')]
    const ask = async (client: RawClient, key: string) => (await client.request(command(`KEYNOTIFY ${key}`))).text
    const QUOTA = '-ERR the quota has been exceeded\r\n'
    expect([await ask(alice, 'a'), await ask(alice, 'b'), await ask(alice, 'c')]).toEqual(['+OK\r\n', '+OK\r\n', QUOTA])
    expect([await ask(bob, 'a'), await ask(bob, 'b')]).toEqual(['+OK\r\n', QUOTA])
  })

  it('publishes nowhere but to the answers of clients', async () => {
    const store = await openAttached(broker.url)
    const mallory = await RawClient.connect(broker.url, 'mallory')
    await mallory.subscribe('#')
    for (const responseTopic of ['doors/open', 'clients/statestore/v1/x', 'clients/+/services/statestore/x', null])
      await mallory.send(command('GET a'), { responseTopic })
    await mallory.send(command('GET a'), { responseTopic: responseTopicOf('mallory'), correlationData: null })
    const alice = await RawClient.ready(broker.url, 'alice')
    await alice.settled()
    const topics = mallory.inbox
      .map(({ topic }) => topic)
      .filter(topic => !topic.includes('invoke') && !topic.includes('life'))
    expect([topics, store.stats.requests]).toEqual([[], 1])
  })

  describe('with a standby', () => {
    it('serves on when the first one ends, and when it is killed', async () => {
      const first = new AttachedProcess(broker.url)
      await first.until('serving')
      const second = await attach(broker.url)
      onTestFinished(async () => second.close())
      await untilState(second, 'standby')
      const { client, fresh, seen } = watching('a')
      await client.key('a', text).set('v')
      await seen.until(({ values }) => values.at(-1)?.value === 'v')
      await first.end('SIGKILL')
      const since = performance.now()
      await untilState(second, 'serving')
      console.info(`takeover after a kill: ${Math.round(performance.now() - since)} ms`)
      await fresh.until(
        ({ values }) => values.some(({ state }) => state === 'stale') && values.at(-1)?.state === 'live',
      )
      const third = new AttachedProcess(broker.url)
      await third.until('standby')
      await second.close()
      const closed = performance.now()
      await third.until('serving')
      console.info(`takeover after an end: ${Math.round(performance.now() - closed)} ms`)
      expect(await client.key('a', text).set('w')).toMatchObject({ applied: true })
    })

    it('steps back when it was away and another one serves by now', async () => {
      const link = await layLink(broker.url)
      const first = await openAttached(link.url)
      await openClient(broker.url).key('a', text).set('of the first')
      link.cut()
      const second = await openAttached(broker.url)
      await openClient(broker.url).key('a', text).set('of the second')
      link.restore()
      await untilState(first, 'standby')
      await eventually(() => second.state.state === 'serving')
      expect(await openClient(broker.url).key('a', text).get()).toMatchObject({ value: 'of the second' })
    })
  })
})

describe.skipIf(!SERVICES.mosquitto.present)('a Mosquitto that is killed', () => {
  it('is found again by store and clients, and nothing that was answered is lost', async () => {
    let broker = await Mosquitto.start()
    onTestFinished(async () => broker.stop())
    const store = await openAttached(broker.url)
    const client = openClient(broker.url)
    const seen = record(client.key('a', text).entries$)
    await client.key('a', text).set('v')
    await seen.until(({ values }) => values.at(-1)?.value === 'v')
    await broker.stop('SIGKILL')
    await untilState(store, 'reconnecting')
    broker = await Mosquitto.start({ port: broker.port })
    await untilState(store, 'serving')
    const since = performance.now()
    const fresh = record(client.key('a', text).freshness$)
    await fresh.until(({ values }) => values.at(-1)?.state === 'live')
    expect(performance.now() - since).toBeLessThan(1_000)
    await client.key('a', text).set('w')
    await seen.until(({ values }) => values.at(-1)?.value === 'w')
    expect(seen.values.map(({ value }) => value).filter(value => value !== undefined)).toEqual(['v', 'w'])
  })
})

describe.skipIf(!SERVICES.mosquitto.present)('the rights of docs/any-broker.md, at Mosquitto', () => {
  const NOTIFICATIONS = 'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8'
  const ACL = [
    'pattern write statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke',
    'pattern read clients/%u/services/statestore/#',
    'pattern read rx-statestore/v1/life',
    '',
    'user store',
    'topic readwrite #',
    '',
    'user panel-7',
    `topic read ${NOTIFICATIONS}/70616E656C2D37/command/notify/+`,
  ]

  it('let clients do all there is to do, and keep them from the answers of others', async () => {
    const broker = await Mosquitto.start({ acl: ACL })
    onTestFinished(async () => broker.stop())
    await openAttached(broker.url, { username: 'store' })
    const client = openClient(broker.url, { clientId: 'panel-7', username: 'panel-7' })
    const seen = record(client.key('a', text).entries$)
    await client.key('a', text).set('v')
    await seen.until(({ values }) => values.at(-1)?.value === 'v')
    const mallory = await RawClient.connect(broker.url, 'mallory', { username: 'mallory' })
    await mallory.subscribe(responseTopicOf('panel-7'))
    await mallory.subscribe(notificationTopicOf('panel-7'))
    await mallory.subscribe('#')
    await mallory.publish(notificationTopicOf('panel-7', 'a'), 'forged')
    await client.key('a', text).set('w')
    await seen.until(({ values }) => values.at(-1)?.value === 'w')
    expect(mallory.inbox.filter(({ topic }) => topic !== LIFE_TOPIC)).toEqual([])
    expect(seen.values.map(({ op }) => op)).not.toContain('invalid')
  })
})
