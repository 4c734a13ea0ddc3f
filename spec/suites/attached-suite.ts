import { describe, expect, it, onTestFinished } from 'vitest'
import { number, text } from '../../src/client/index.js'
import { attach } from '../../src/server/index.js'
import { AttachedProcess } from '../support/attached-process.js'
import { eventually } from '../support/eventually.js'
import { layLink } from '../support/link.js'
import { openAttached, untilState } from '../support/open-attached.js'
import { openClient, record, words } from '../support/open-client.js'
import { StoreClient } from '../support/store-client.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { INVOKE_TOPIC, notificationTopicOf, responseTopicOf } from '../support/topics.js'
import { command } from '../support/words.js'

/** A test's timeout in ms. A test starts up to three processes, and waits until stores notice each other. */
const TIMEOUT_MS = 60_000
/**
 * The maximum time in ms until clients are live again, with the delays of a busy machine. A request that waits for its
 * timeout takes twice as long.
 */
const MAX_DELAY_MS = 5_000
const NOW = (): string => `${Date.now()}:0:C`

/** A broker that can be killed and started again. */
export interface KilledBroker {
  readonly url: string
  kill(): Promise<void>
  startAgain(): Promise<void>
}

/**
 * Declares the specs of a store that is attached to a broker which reports undeliverable messages.
 *
 * @param url - returns the URL of a broker without a store
 * @param strange - response topics that the broker permits and a store does not
 */
export function attachedSuite(name: string, url: () => string, strange: readonly string[] = []): void {
  describe(`a store attached to ${name}`, { timeout: TIMEOUT_MS }, () => {
    const watching = (key: string) => {
      const client = openClient(url())
      return { client, seen: record(client.key(key, text).entries$), fresh: record(client.key(key, text).freshness$) }
    }

    it('notifies a watching client of every change of a key', async () => {
      await openAttached(url())
      const { seen } = watching('a')
      await seen.until(({ values }) => values.length > 0)
      const writer = openClient(url()).key('a', text)
      for (let i = 0; i < 50; i++) await writer.set(`v${i}`)
      await seen.until(({ values }) => values.length === 51)
      expect(words(seen).slice(1)).toEqual(Array.from({ length: 50 }, (_, i) => `set v${i} (notification)`))
    })

    it('answers a thousand concurrent requests, although the broker delivers only a few at a time', async () => {
      const store = await openAttached(url())
      const client = openClient(url())
      await Promise.all(Array.from({ length: 1_000 }, (_, i) => client.key(`k${i}`, number).set(i)))
      expect(store.stats).toMatchObject({ keys: 1_000, requests: 1_000, errors: 0 })
    })

    it('an absent store is reported immediately, and a new store is found soon after its start', async () => {
      const client = openClient(url())
      await expect(client.key('a', text).set('x')).rejects.toMatchObject({ code: 'no-store' })
      const seen = record(client.key('a', text).entries$)
      const errors = record(client.errors$)
      await errors.until(({ values }) => values.length >= 3)
      await openAttached(url())
      const since = performance.now()
      await seen.until(({ values }) => values.length > 0)
      expect(performance.now() - since).toBeLessThan(MAX_DELAY_MS)
    })

    it('a closing store makes values stale, and the next store makes them live again', async () => {
      const first = await openAttached(url())
      const { client, seen, fresh } = watching('a')
      await client.key('a', text).set('v')
      await seen.until(({ values }) => values.at(-1)?.value === 'v')
      await first.close()
      await fresh.until(({ values }) => values.at(-1)?.state === 'stale')
      await openAttached(url())
      await fresh.until(({ values }) => values.at(-1)?.state === 'live')
      expect(words(seen).at(-1)).toBe('absent (resync)')
    })

    it('when killed it becomes stale, and after a restart with its directory has its keys', async () => {
      const data = temporaryFolder()
      const first = new AttachedProcess(url(), { data })
      await first.until('serving')
      const { client, seen, fresh } = watching('a')
      await client.key('a', text).set('kept')
      await seen.until(({ values }) => values.at(-1)?.value === 'kept')
      await first.end('SIGKILL')
      await fresh.until(({ values }) => values.at(-1)?.state === 'stale')
      await new AttachedProcess(url(), { data }).until('serving')
      await fresh.until(({ values }) => values.at(-1)?.state === 'live')
      await client.key('a', text).set('on')
      await seen.until(({ values }) => values.at(-1)?.value === 'on')
      expect(seen.values.flatMap(({ value }) => value ?? [])).toEqual(['kept', 'on'])
    })

    it('processes every request sent during an outage exactly once, after it reconnects', async () => {
      const link = await layLink(url())
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

    it('gives a repeated request the same response', async () => {
      await openAttached(url())
      const alice = await StoreClient.ready(url(), 'alice')
      const request = { timestamp: NOW(), correlationData: Buffer.from('the same') }
      const first = await alice.request(command('SET once v NX'), request)
      const again = await alice.request(command('SET once v NX'), request)
      const other = await alice.request(command('SET once v NX'), { ...request, timestamp: `${Date.now() + 1}:1:C` })
      expect([first, again, other].map(({ text }) => text)).toEqual(['+OK\r\n', '+OK\r\n', ':-1\r\n'])
      expect(again.version).toBe(first.version)
    })

    it('executes a retained request once, although the broker sends it again after a reconnect', async () => {
      const link = await layLink(url())
      const store = await openAttached(link.url)
      const alice = await StoreClient.ready(url(), 'alice')
      onTestFinished(async () => void (await alice.publishAcknowledged(INVOKE_TOPIC, '', { retain: true })))
      const answer = await alice.request(command('DEL a'), { retain: true })
      await alice.request(command('SET a kept'), { timestamp: NOW() })
      link.cut()
      await untilState(store, 'reconnecting')
      link.restore()
      await untilState(store, 'serving')
      const read = await alice.request(command('GET a'))
      expect([answer.text, read.text]).toEqual([':0\r\n', '$4\r\nkept\r\n'])
    })

    it('ends watches of absent clients at the first undeliverable change, not of returned ones', async () => {
      const store = await openAttached(url())
      const writer = await StoreClient.ready(url(), 'writer')
      const before = await StoreClient.ready(url(), 'alice')
      await before.request(command('KEYNOTIFY k'))
      expect(store.stats.watches).toBe(1)
      await before.disconnect()
      await writer.request(command('SET k v'), { timestamp: NOW() })
      await eventually(() => store.stats.watches === 0)
      const after = await StoreClient.ready(url(), 'alice')
      await after.request(command('KEYNOTIFY k'))
      await writer.request(command('SET k w'), { timestamp: NOW() })
      const [told] = await after.arrived(1)
      expect([told?.topic, store.stats.watches]).toEqual([notificationTopicOf('alice', 'k'), 1])
    })

    it('limits the number of watches in total and per client', async () => {
      await openAttached(url(), { maxWatches: 3, maxWatchesPerClient: 2 })
      const [alice, bob] = [await StoreClient.ready(url(), 'alice'), await StoreClient.ready(url(), 'bob')]
      const ask = async (client: StoreClient, key: string) => (await client.request(command(`KEYNOTIFY ${key}`))).text
      const QUOTA = '-ERR the quota has been exceeded\r\n'
      expect([await ask(alice, 'a'), await ask(alice, 'b'), await ask(alice, 'c')]).toEqual([
        '+OK\r\n',
        '+OK\r\n',
        QUOTA,
      ])
      expect([await ask(bob, 'a'), await ask(bob, 'b')]).toEqual(['+OK\r\n', QUOTA])
    })

    it('publishes only to the response topics of clients', async () => {
      const store = await openAttached(url())
      const mallory = await StoreClient.connect(url(), 'mallory')
      await mallory.subscribe('#')
      for (const responseTopic of ['doors/open', 'clients/statestore/v1/x', ...strange, null])
        await mallory.sendRequest(command('GET a'), { responseTopic })
      await mallory.sendRequest(command('GET a'), { responseTopic: responseTopicOf('mallory'), correlationData: null })
      const alice = await StoreClient.ready(url(), 'alice')
      await alice.settled()
      const topics = mallory.inbox
        .map(({ topic }) => topic)
        .filter(topic => !topic.includes('invoke') && !topic.includes('life'))
      expect([topics, store.stats.requests]).toEqual([[], 1])
    })

    describe('with a standby', () => {
      it('is replaced by the standby when it is killed or closed', async () => {
        const first = new AttachedProcess(url())
        await first.until('serving')
        const second = await attach(url())
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
        const third = new AttachedProcess(url())
        await third.until('standby')
        await second.close()
        const closed = performance.now()
        await third.until('serving')
        console.info(`takeover after an end: ${Math.round(performance.now() - closed)} ms`)
        expect(await client.key('a', text).set('w')).toMatchObject({ applied: true })
      })

      it('becomes a standby when it reconnects and another store serves', async () => {
        const link = await layLink(url())
        const first = await openAttached(link.url)
        await openClient(url()).key('a', text).set('of the first')
        link.cut()
        const second = await openAttached(url())
        await openClient(url()).key('a', text).set('of the second')
        link.restore()
        await untilState(first, 'standby')
        await eventually(() => second.state.state === 'serving')
        expect(await openClient(url()).key('a', text).get()).toMatchObject({ value: 'of the second' })
      })
    })
  })
}

/** Declares the specs of a store and its clients whose broker is killed. */
export function killedBrokerSuite(name: string, start: () => Promise<KilledBroker>): void {
  describe(`${name} when it is killed`, { timeout: TIMEOUT_MS }, () => {
    it('is reconnected by store and clients after a restart without acknowledged writes lost', async () => {
      const { url, kill, startAgain } = await start()
      const store = await openAttached(url)
      const client = openClient(url)
      const seen = record(client.key('a', text).entries$)
      await client.key('a', text).set('v')
      await seen.until(({ values }) => values.at(-1)?.value === 'v')
      await kill()
      await untilState(store, 'reconnecting')
      await startAgain()
      await untilState(store, 'serving')
      const since = performance.now()
      const fresh = record(client.key('a', text).freshness$)
      await fresh.until(({ values }) => values.at(-1)?.state === 'live')
      expect(performance.now() - since).toBeLessThan(MAX_DELAY_MS)
      await client.key('a', text).set('w')
      await seen.until(({ values }) => values.at(-1)?.value === 'w')
      expect(seen.values.map(({ value }) => value).filter(value => value !== undefined)).toEqual(['v', 'w'])
    })
  })
}
