import { createServer } from 'node:net'
import { firstValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect, type Status, systemClock, text } from '../../../src/client/index.js'
import { layLink } from '../../support/link.js'
import { listen } from '../../support/listen.js'
import { openClient, type Recording, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { type BrokerSide, CONNACK, grant, scriptedBroker } from '../../support/scripted-broker.js'

const real = { clock: systemClock }
const NOWHERE = 'mqtt://127.0.0.1:1'
/** The longest time that the clients of a stopped node may be without a node, in ms. */
const FAILOVER_MS = 2_000

const at = (status: Recording<Status>, url: string): Promise<void> =>
  status.until(({ values }) => {
    const last = values.at(-1)
    return last?.state === 'connected' && last.url === url
  })

const refusing =
  (reasonCode: number, serverReference?: string) =>
  (side: BrokerSide): void => {
    side.send({ ...CONNACK, reasonCode, properties: serverReference === undefined ? {} : { serverReference } })
    side.socket.end()
  }

/** Accepts connections and disconnects them immediately. */
const disconnecting =
  (reasonCode: number, serverReference?: string) =>
  (side: BrokerSide): void => {
    side.send(CONNACK)
    side.send({
      cmd: 'disconnect',
      reasonCode,
      properties: serverReference === undefined ? {} : { serverReference },
    })
  }

/** A host that accepts connections and never responds. */
const blackHole = async (): Promise<string> =>
  `mqtt://127.0.0.1:${await listen(createServer(socket => socket.on('error', () => undefined)))}`

const hostOf = (url: string): string => new URL(url).host

describe('a client of several brokers', () => {
  it('a client whose broker stops moves to another broker, reads there and stays there', async () => {
    const [{ store: one }, { store: other }] = [await openStore(real), await openStore(real)]
    const urls = [one.url, other.wsUrl]
    for (const url of urls) await firstValueFrom(openClient(url).key('a', text).set(url))
    const client = openClient(urls)
    const [status, seen] = [record(client.status$), record(client.key('a', text).value$)]
    await seen.until(({ values }) => values.length === 1)
    const home = seen.values[0]
    const [dead, next] = home === one.url ? [one, other.wsUrl] : [other, one.url]
    const started = performance.now()
    await dead.close()
    await seen.until(({ values }) => values.at(-1) === next)
    expect(performance.now() - started).toBeLessThan(FAILOVER_MS)
    await at(status, next)
    expect(status.values.some(each => each.state === 'reconnecting' && each.url === next)).toBe(true)
  })

  it('a client resumes its session at the same broker after a network break', async () => {
    const [{ store: one }, { store: other }] = [await openStore(real), await openStore(real)]
    const links = [await layLink(one.url), await layLink(other.url)]
    let later = 0
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + later }
    const client = openClient(
      links.map(({ url }) => url),
      { clock },
    )
    const status = record(client.status$)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    const home = status.values.at(-1)
    const link = links.find(({ url }) => home?.state === 'connected' && url === home.url)
    // A connection that breaks sooner counts as unstable.
    later = 6_000
    link?.hangUp()
    await status.until(({ values }) => values.filter(({ state }) => state === 'connected').length > 1)
    await at(status, link?.url ?? '')
    expect(links.map(({ connections }) => connections).sort()).toEqual([0, 2])
  })

  it('an unresponsive address does not delay the connection', { tags: 'slow', timeout: 20_000 }, async () => {
    const { store } = await openStore(real)
    const hole = await blackHole()
    for (const random of [() => 0, () => 0.999]) {
      const started = performance.now()
      const client = openClient([hole, store.url], { reconnect: { initial: 5, max: 20, random } })
      await at(record(client.status$), store.url)
      expect(performance.now() - started).toBeLessThan(FAILOVER_MS)
    }
  })

  it.each([136, 137, 139, 151, 156, 157])(
    'a client leaves a broker that refuses or disconnects it with reason code %d',
    async code => {
      const { store } = await openStore(real)
      const brokers = [await scriptedBroker(refusing(code)), await scriptedBroker(disconnecting(code), grant)]
      const status = record(openClient([...brokers.map(({ url }) => url), store.url]).status$)
      await at(status, store.url)
      expect(brokers.every(({ sides }) => sides.length <= 1)).toBe(true)
    },
  )

  it.each([134, 135, 138])(
    'a refusal with reason code %d closes the client, as all brokers have the same users',
    async code => {
      const broker = await scriptedBroker(refusing(code))
      const status = record(openClient([broker.url, NOWHERE]).status$)
      await status.until(({ completed }) => completed)
      expect(status.values.at(-1)).toMatchObject({
        state: 'closed',
        cause: { code: 'connection-refused', reasonCode: code },
      })
    },
  )

  it('a client follows a server reference to a listed address', async () => {
    const { store } = await openStore(real)
    const broker = await scriptedBroker(refusing(156, `elsewhere.invalid:1 ${hostOf(store.url)}`))
    const inOrder = { reconnect: { initial: 5, max: 20, random: () => 0 } }
    const status = record(openClient([broker.url, NOWHERE, store.url], inOrder).status$)
    await at(status, store.url)
    const tried = status.values.flatMap(each => (each.state === 'reconnecting' ? [each.url] : []))
    expect(tried).toEqual([store.url])
  })

  it('each address gets the user name and password of its URL, and status$ shows no password', async () => {
    const names: (string | undefined)[] = []
    const note = (side: BrokerSide): void => {
      names.push(`${side.connect.username} ${side.connect.password}`)
      refusing(136)(side)
    }
    const brokers = [await scriptedBroker(note), await scriptedBroker(note)]
    const urls = brokers.map(({ url }, i) => url.replace('//', `//user${i}:p${i}@`))
    const status = record(openClient(urls, { reconnectStrategy: () => false }).status$)
    await status.until(({ completed }) => completed)
    expect(names.sort()).toEqual(['user0 p0', 'user1 p1'])
    expect(JSON.stringify(status.values)).not.toContain('p0')
  })
})

describe('a client of one broker that is redirected', () => {
  it('a redirected client closes unless it may follow server references', async () => {
    const { store } = await openStore(real)
    const broker = await scriptedBroker(refusing(157, hostOf(store.url)))
    const ended = record(openClient(broker.url).status$)
    await ended.until(({ completed }) => completed)
    expect(ended.values.at(-1)).toMatchObject({ cause: { code: 'connection-refused', reasonCode: 157 } })
    const status = record(openClient(broker.url, { followReferences: true }).status$)
    await at(status, store.url)
  })

  it.each(['', ' ', 'not a host', '[::', 'h:0', 'x'.repeat(60_000)])(
    'an invalid server reference closes the client: %#',
    async reference => {
      const broker = await scriptedBroker(refusing(156, reference))
      const status = record(openClient(broker.url, { followReferences: true, reconnectStrategy: () => false }).status$)
      await status.until(({ completed }) => completed)
      expect(status.values.at(-1)).toMatchObject({ state: 'closed' })
    },
  )

  it('a client that is redirected in a circle pauses between rounds', async () => {
    const urls: string[] = []
    const brokers = [0, 1].map(i => scriptedBroker(side => refusing(156, hostOf(urls[1 - i] ?? ''))(side)))
    urls.push(...(await Promise.all(brokers)).map(({ url }) => url))
    const rounds: number[] = []
    const reconnectStrategy = (round: number): number | false => {
      rounds.push(round)
      return round < 3 ? 1 : false
    }
    const status = record(openClient(urls[0] ?? '', { followReferences: true, reconnectStrategy }).status$)
    await status.until(({ completed }) => completed)
    expect(rounds).toEqual([1, 2, 3])
    const attempts = (await Promise.all(brokers)).map(({ sides }) => sides.length)
    expect(attempts.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(7)
  })
})

describe('addresses', () => {
  it.each([
    [[], 'Expected 1 to 32 broker URLs, got 0'],
    [Array.from({ length: 33 }, (_, i) => `mqtt://h${i}`), 'Expected 1 to 32 broker URLs, got 33'],
    [['mqtt://a', 'b'], 'got `b`'],
    ['mqtt://a,mqtt://b', 'use an array for several'],
    ['mqtt://a,b:1884', 'use an array for several'],
  ])('`connect` throws for invalid addresses: %j', (url, message) => {
    expect(() => connect(url)).toThrow(message)
    expect(() => connect({ url })).toThrow(message)
  })

  it('`connect` accepts several addresses in its options', async () => {
    const { store } = await openStore(real)
    const client = connect({ url: [store.url, store.wsUrl] })
    onTestFinished(async () => client.close())
    expect(await firstValueFrom(client.key('a', text).get())).toMatchObject({ op: 'absent' })
  })
})

describe('a broker that was never reached', () => {
  it('the error names the address and does not report a lost connection', async () => {
    const status = record(openClient('mqtt://ann:secret@127.0.0.1:1', { reconnectStrategy: () => false }).status$)
    await status.until(({ completed }) => completed)
    const message = 'Cannot reach mqtt://127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1'
    expect(status.values.at(-1)).toMatchObject({ state: 'closed', cause: { message } })
  })

  it('the error suggests the usual protocol of the port', async () => {
    const message = expect.stringContaining('(port 8083 is usually for ws://127.0.0.1:8083)')
    const status = record(openClient('mqtt://127.0.0.1:8083', { reconnectStrategy: () => false }).status$)
    await status.until(({ completed }) => completed)
    expect(status.values.at(-1)).toMatchObject({ cause: { message } })
  })

  it('a broker without retained messages refuses the will, and the client does not retry', async () => {
    const broker = await scriptedBroker(refusing(154))
    const status = record(openClient(broker.url).status$)
    await status.until(({ completed }) => completed)
    expect(status.values.at(-1)).toMatchObject({ cause: { code: 'connection-refused', reasonCode: 154 } })
  })
})
