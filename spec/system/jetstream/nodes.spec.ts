import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { text } from '../../../src/client/index.js'
import { toBinaryString, utf8 } from '../../../src/core/util/bytes.js'
import { type Clock, systemClock } from '../../../src/core/util/clock.js'
import { type ServeOptions, type StoreServer, serve } from '../../../src/server/index.js'
import type { SharedLog } from '../../../src/server/log/cluster/settings.js'
import { type JetStreamOptions, jetStreamLog } from '../../../src/server/log/jetstream/index.js'
import { eventually } from '../../support/eventually.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient, record } from '../../support/open-client.js'

const PATIENCE = 60_000
/** The options for an election among NATS servers, which takes up to ten seconds, and longer on a busy machine. */
const ELECTION = { stallTimeout: 30_000 }
/** The clock of a node that checks its log five times as often as usual. */
const HASTY_CLOCK: Clock = { ...systemClock, schedule: (delayMs, task) => systemClock.schedule(delayMs / 5, task) }

describe('nodes on three NATS servers', { timeout: PATIENCE }, () => {
  let nats: NatsCluster
  let names = 0

  beforeAll(async () => {
    nats = await NatsCluster.start()
  }, PATIENCE)
  afterAll(async () => nats.stop())

  const logOf = (name: string, nodeId: string, options: Partial<JetStreamOptions> = {}): SharedLog =>
    jetStreamLog({ servers: nats.servers, name, nodeId, ...options })

  async function node(log: SharedLog, options: ServeOptions = {}): Promise<StoreServer> {
    const store = await serve({ port: 0, wsPort: 0, log, ...options })
    onTestFinished(async () => store.close())
    return store
  }

  const newName = (): string => `spec-${++names}`
  const dumpOf = (store: StoreServer): string => JSON.stringify([...store.dump()])

  it('a write is notified and read at another node, and expires at both with one version', async () => {
    const name = newName()
    const a = await node(logOf(name, 'a'))
    const b = await node(logOf(name, 'b'))
    const [atA, atB] = [openClient(a.url), openClient(b.url)]
    const watch = record(atB.key('x', text).value$)
    await watch.until(({ values }) => values.length === 1)
    await atA.key('x', text).set('one')
    expect(await atB.key('x', text).get()).toMatchObject({ value: 'one' })
    const large = 'y'.repeat(3_000_000)
    await atA.key('large', text).set(large)
    expect((await atB.key('large', text).get()).value).toBe(large)
    await atB.key('x', text).set('two', { expiresIn: 100 })
    await watch.until(({ values }) => values.length >= 4)
    expect(watch.values.slice(1)).toEqual(['one', 'two', undefined])
    const [gone] = [await atA.key('x', text).get()]
    expect(gone).toMatchObject({ op: 'absent' })
    expect(dumpOf(a)).toBe(dumpOf(b))
    await eventually(
      () => a.cluster?.nodes.length === 2 && a.cluster.nodes.some(({ id, clients }) => id === 'b' && clients === 1),
    )
    expect(a.cluster).toMatchObject({ name, nodeId: 'a', lag: 0 })
  })

  it('a second node with the id of a running node is rejected', async () => {
    const name = newName()
    const a = await node(logOf(name, 'a'))
    await expect(node(logOf(name, 'a'))).rejects.toMatchObject({ code: 'in-use' })
    await a.close()
    await node(logOf(name, 'a'))
  })

  it('no write and no watch is lost when nodes are stopped one after the other', async () => {
    const name = newName()
    const ports = [
      { port: await freePort(), wsPort: await freePort() },
      { port: await freePort(), wsPort: await freePort() },
    ]
    let nodes = [await node(logOf(name, 'a'), ports[0]), await node(logOf(name, 'b'), ports[1])]
    const writer = openClient(nodes[1]?.url ?? '')
    await writer.key('x', text).set('0')
    const watch = record(openClient(nodes[0]?.url ?? '').key('x', text).value$)
    await watch.until(({ values }) => values.includes('0'))
    for (const [at, id] of ['a', 'b'].entries()) {
      await nodes[at]?.close()
      if (at === 1) nodes = []
      const reopened = await node(logOf(name, id), ports[at])
      const client = openClient(reopened.url)
      await client.key('x', text).set(String(at + 1))
      await watch.until(({ values }) => values.at(-1) === String(at + 1))
    }
    expect(watch.error).toBeUndefined()
  })

  it('a node whose stream was trimmed starts from a snapshot and the entries after it', async () => {
    const name = newName()
    const often = (id: string): SharedLog => {
      const log = logOf(name, id)
      return { ...log, settings: { ...log.settings, snapshots: { messages: 20 } } }
    }
    const a = await node(often('a'))
    const client = openClient(a.url)
    const { streams } = await managerOf(nats)
    const isTrimmed = async (): Promise<boolean> => (await streams.info(`rxss_${name}`)).state.first_seq > 20
    for (let at = 0; !(await isTrimmed()); at++) await client.key(`k${at % 7}`, text).set(String(at))
    await client.key('last', text).set('v')
    const b = await node(often('b'))
    expect(dumpOf(b)).toBe(dumpOf(a))
    expect(b.storage.state).toBe('kept')
  })

  it('without a quorum, nodes acknowledge nothing, disconnect clients and recover by themselves', async () => {
    const name = newName()
    const a = await node(logOf(name, 'a', { stallTimeout: 4_000 }))
    const states = record(a.storage$)
    const client = openClient(a.url)
    const status = record(client.status$)
    await client.key('x', text).set('before')
    await Promise.all([nats.kill(1), nats.kill(2)])
    const outcome = client
      .key('x', text)
      .set('during', { timeout: 1_000 })
      .catch((error: unknown) => error)
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    expect(states.values).toMatchObject([{ state: 'waiting' }])
    expect(await outcome).toMatchObject({ code: 'outcome-unknown' })
    expect(a.peek('x')?.value && toBinaryString(a.peek('x')?.value ?? utf8(''))).toBe('before')
    await Promise.all([nats.run(1), nats.run(2)])
    await states.until(({ values }) => values.at(-1)?.state === 'kept')
    await client.key('x', text).set('after')
    expect(await client.key('x', text).get()).toMatchObject({ value: 'after' })
  })

  it('nodes run on and report it when a log server is down or a message is missing', async () => {
    const name = newName()
    const a = await node(logOf(name, 'a', ELECTION), { clock: HASTY_CLOCK })
    const states = record(a.storage$)
    const client = openClient(a.url)
    await client.key('x', text).set('before')
    await nats.kill(2)
    await states.until(({ values }) => values.at(-1)?.state === 'degraded')
    expect(states.values.at(-1)?.error).toMatchObject({
      message: expect.stringContaining('unreachable or incomplete: n2'),
    })
    await client.key('x', text).set('meanwhile', { timeout: 30_000 })
    await nats.run(2)
    await states.until(({ values }) => values.at(-1)?.state === 'kept')
    const { streams } = await managerOf(nats)
    await streams.deleteMessage(`rxss_${name}`, 2)
    await states.until(({ values }) => values.at(-1)?.state === 'degraded')
    expect(states.values.at(-1)?.error).toMatchObject({ message: expect.stringContaining('lacks 1 of the messages') })
  })

  it('nodes keep running when the leader of the stream is killed', async () => {
    const name = newName()
    const a = await node(logOf(name, 'a', ELECTION))
    const b = await node(logOf(name, 'b', ELECTION))
    const client = openClient(a.url)
    const watch = record(openClient(b.url).key('x', text).value$)
    await client.key('x', text).set('0')
    await eventually(() => a.cluster?.leader !== undefined)
    const leader = Number(a.cluster?.leader?.slice(1))
    await nats.kill(leader)
    await client.key('x', text).set('1', { timeout: 30_000 })
    await watch.until(({ values }) => values.at(-1) === '1')
    await nats.run(leader)
    expect(dumpOf(a)).toBe(dumpOf(b))
  })
})

async function managerOf(nats: NatsCluster): Promise<JetStreamManager> {
  const connection = await connect({ servers: nats.servers })
  onTestFinished(async () => connection.close())
  return jetstreamManager(connection)
}
