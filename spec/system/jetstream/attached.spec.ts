import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { type AttachedStore, type AttachOptions, attach } from '../../../src/server/index.js'
import { jetStreamLog } from '../../../src/server/log/jetstream/index.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { untilState } from '../../support/open-attached.js'
import { openBroker } from '../../support/open-broker.js'
import { openClient, record } from '../../support/open-client.js'

const PATIENCE = 60_000
/** The time in ms that NATS servers may take to elect a leader on a busy machine. */
const ELECTION_MS = 30_000

describe('attached stores that share a log', { timeout: PATIENCE }, () => {
  let nats: NatsCluster
  let names = 0

  beforeAll(async () => {
    nats = await NatsCluster.start()
  }, PATIENCE)
  afterAll(async () => nats.stop())

  const newName = (): string => `attached-${++names}`

  async function service(
    url: string,
    name: string,
    nodeId: string,
    options: AttachOptions = {},
    stallTimeout = ELECTION_MS,
  ): Promise<AttachedStore> {
    const log = jetStreamLog({ servers: nats.servers, name, nodeId, stallTimeout })
    const store = await attach(url, { log, reconnect: { initial: 20, max: 200 }, ...options })
    onTestFinished(async () => store.close())
    return store
  }

  async function atBroker(): Promise<string> {
    const broker = await openBroker()
    return `mqtt://127.0.0.1:${broker.port}`
  }

  it('after a handover, the standby has every key unchanged and a watch continues', async () => {
    const url = await atBroker()
    const name = newName()
    const first = await service(url, name, 'a')
    await untilState(first, 'serving')
    const second = await service(url, name, 'b')
    await untilState(second, 'standby')
    const client = openClient(url)
    const watch = record(client.key('x', text).value$)
    await watch.until(({ values }) => values.length === 1)
    const written = await client.key('x', text).set('one')
    await client.key('owned', text).set('mine', { fencingToken: '1696374425000:1:a' })
    await first.close()
    await untilState(second, 'serving')
    expect(await client.key('x', text).get()).toMatchObject({ value: 'one', version: written.version })
    await client.key('x', text).set('two')
    await watch.until(({ values }) => values.includes('two'))
    expect(watch.values).toEqual([undefined, 'one', 'two'])
    await expect(client.key('owned', text).set('yours')).rejects.toMatchObject({ code: 'fencing-token-required' })
  })

  it('active and standby detect each other, and the next active store has loaded keys', async () => {
    const [url, name] = [await atBroker(), newName()]
    const first = await service(url, name, 'a')
    await untilState(first, 'serving')
    expect(await first.load([{ key: 'x', value: 'one', expiresAt: Date.now() + 60_000 }])).toMatchObject({ loaded: 1 })
    const second = await service(url, name, 'b')
    await untilState(second, 'standby')
    await expect.poll(() => second.cluster?.nodes.map(({ id }) => id).sort()).toEqual(['a', 'b'])
    expect([second.startedAt, second.keyspace, second.peek('x')]).toEqual([undefined, 0, undefined])
    const known = first.peek('x')
    await first.close()
    await untilState(second, 'serving')
    expect(second.peek('x')).toEqual(known)
    expect(second.startedAt).toBeGreaterThan(0)
  })

  it('without the log, an attached store becomes and reports a standby, and then resumes', async () => {
    const url = await atBroker()
    const store = await service(url, newName(), 'a', {}, 3_000)
    await untilState(store, 'serving')
    const client = openClient(url)
    await client.key('x', text).set('one')
    const [status, states] = [record(store.storage$), record(store.state$)]
    await Promise.all([nats.kill(1), nats.kill(2)])
    await states.until(({ values }) => values.some(({ state }) => state === 'connecting'))
    expect(status.values.at(-1)?.state).toBe('waiting')
    await expect(client.key('x', text).set('two', { timeout: 2_000 })).rejects.toMatchObject({ code: 'no-store' })
    await Promise.all([nats.run(1), nats.run(2)])
    await untilState(store, 'serving')
    expect(status.values.at(-1)?.state).toBe('kept')
    expect(await client.key('x', text).get()).toMatchObject({ value: 'one' })
  })

  it('an attached store can be closed while the log is unreachable', async () => {
    const url = await atBroker()
    const log = jetStreamLog({ servers: 'nats://127.0.0.1:1', name: newName(), nodeId: 'a' })
    const store = await attach(url, { log })
    await store.close()
    expect(store.state).toEqual({ state: 'closed', cause: undefined })
  })

  it('an attached store ends when another store with the same node id starts', async () => {
    const [url, name] = [await atBroker(), newName()]
    const first = await service(url, name, 'a')
    await untilState(first, 'serving')
    const second = await service(url, name, 'a')
    await untilState(second, 'closed')
    expect(second.state).toMatchObject({ cause: { code: 'in-use' } })
  })

  it('an attached store with a log accepts no data directory', async () => {
    await expect(service('mqtt://127.0.0.1:1', newName(), 'a', { data: '/tmp/x' })).rejects.toMatchObject({
      code: 'argument',
    })
  })
})
