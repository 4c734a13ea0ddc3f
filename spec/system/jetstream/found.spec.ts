import { jetstream, jetstreamManager, RetentionPolicy, type StreamConfig } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { filter, firstValueFrom } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { type StoreServer, serve } from '../../../src/server/index.js'
import type { SharedLog } from '../../../src/server/log/cluster/settings.js'
import { jetStreamLog } from '../../../src/server/log/jetstream/index.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient, record } from '../../support/open-client.js'

const PATIENCE = 60_000

describe('NATS resources found by a node', { timeout: PATIENCE }, () => {
  let nats: NatsCluster
  let names = 0

  beforeAll(async () => {
    nats = await NatsCluster.start(1)
  }, PATIENCE)
  afterAll(async () => nats.stop())

  const newName = (): string => `found-${++names}`

  async function node(name: string, servers = nats.servers): Promise<StoreServer> {
    const log = jetStreamLog({ servers, name, replicas: 1, nodeId: 'a' })
    const often: SharedLog = { ...log, settings: { ...log.settings, snapshots: { messages: 20 } } }
    const store = await serve({ port: 0, wsPort: 0, log: often })
    onTestFinished(async () => store.close())
    return store
  }

  async function atNats() {
    const connection = await connect({ servers: nats.servers })
    onTestFinished(async () => connection.close())
    return { streams: (await jetstreamManager(connection)).streams, client: jetstream(connection) }
  }

  it.each<readonly [Partial<StreamConfig>, RegExp]>([
    [{ max_msgs_per_subject: 5 }, /does not retain all/],
    [{ max_age: 1e12 }, /does not retain all/],
    [{ retention: RetentionPolicy.Workqueue }, /does not retain all/],
    [{ num_replicas: 1, subjects: ['other.>'] }, /must have rxss\.found-\d+\.log as its only subject/],
    [{ subjects: ['found.*', 'more'] }, /as its only subject/],
    [{ max_msg_size: 3_000 }, /messages of at most 3000 bytes/],
    [{ deny_purge: true }, /denies purging/],
    [{ no_ack: true }, /does not acknowledge/],
  ])('a stream with %o is rejected as a log', async (config, words) => {
    const name = newName()
    const { streams } = await atNats()
    await streams.add({ name: `rxss_${name}`, subjects: [`rxss.${name}.log`], ...config })
    onTestFinished(async () => void (await streams.delete(`rxss_${name}`)))
    await expect(node(name)).rejects.toMatchObject({ code: 'argument', message: expect.stringMatching(words) })
  })

  it('a bucket that drops messages is rejected for snapshots', async () => {
    const name = newName()
    const { streams } = await atNats()
    const subjects = ['C', 'M'].map(part => `$O.rxss_${name}.${part}.>`)
    await streams.add({ name: `OBJ_rxss_${name}`, subjects, max_age: 1e12 })
    await expect(node(name)).rejects.toMatchObject({
      code: 'argument',
      message: expect.stringMatching(/OBJ_rxss.*retain/),
    })
  })

  it('a NATS server is rejected if its maximum message size is too small for an entry', async () => {
    const small = await NatsCluster.start(1, ['max_payload: 1024'])
    onTestFinished(async () => small.stop())
    const refused = { code: 'argument', message: expect.stringContaining('max_payload') }
    await expect(node(newName(), small.servers)).rejects.toMatchObject(refused)
  })

  it('chunks of a snapshot whose writer was killed are removed after the next snapshot', async () => {
    const name = newName()
    const { streams, client } = await atNats()
    const store = await node(name)
    await client.publish(`$O.rxss_${name}.C.killed`, new Uint8Array(1_000))
    const parts = async (): Promise<string[]> => {
      const { state } = await streams.info(`OBJ_rxss_${name}`, { subjects_filter: `$O.rxss_${name}.C.>` })
      return Object.keys(state.subjects ?? {})
    }
    expect(await parts()).toEqual([`$O.rxss_${name}.C.killed`])
    const writer = openClient(store.url)
    for (let at = 0; (await parts()).some(part => part.endsWith('.killed')); at++)
      await writer.key(`k${at % 7}`, text).set(String(at))
  })

  it('a removed stream is not recreated while running nodes have keys, which can be saved', async () => {
    const name = newName()
    const { streams } = await atNats()
    const store = await node(name)
    await openClient(store.url).key('a', text).set('kept')
    await streams.delete(`rxss_${name}`)
    const waiting = firstValueFrom(store.storage$)
    const log = jetStreamLog({ servers: nats.servers, name, replicas: 1, nodeId: 'b', connectTimeout: 100 })
    await expect(serve({ port: 0, wsPort: 0, log })).rejects.toMatchObject({
      code: 'connection-lost',
      message: expect.stringMatching(`stream rxss_${name} was removed.*save the keys of a running node`),
    })
    expect(await waiting).toMatchObject({
      state: 'waiting',
      error: { message: expect.stringMatching(/removed|not found/) },
    })
    const dump = [...store.dump()]
    await store.close()
    await streams.delete(`OBJ_rxss_${name}`)
    const empty = await node(name)
    expect(await empty.load(dump)).toMatchObject({ loaded: 1, versionsKept: 1 })
  })

  it('a node stops when its stream was replaced by another one that reaches beyond its position', async () => {
    const name = newName()
    const { streams, client } = await atNats()
    const store = await node(name)
    await openClient(store.url).key('a', text).set('kept')
    const broken = firstValueFrom(store.storage$.pipe(filter(({ state }) => state === 'broken')))
    const { config, state } = await streams.info(`rxss_${name}`)
    await streams.delete(`rxss_${name}`)
    await streams.add({ ...config, first_seq: state.last_seq })
    for (let at = 0; at < 5; at++) await client.publish(`rxss.${name}.log`, new Uint8Array(1))
    expect(await broken).toMatchObject({
      error: {
        code: 'damaged',
        message: expect.stringMatching('the stream lost acknowledged messages or was replaced'),
      },
    })
  })

  it('a bucket that was removed is created again before the next snapshot', async () => {
    const name = newName()
    const { streams } = await atNats()
    const store = await node(name)
    await streams.delete(`OBJ_rxss_${name}`)
    const faults = record(store.faults$)
    const writer = openClient(store.url)
    const { first_seq: first } = (await streams.info(`rxss_${name}`)).state
    const isTrimmed = async (): Promise<boolean> => (await streams.info(`rxss_${name}`)).state.first_seq > first
    for (let at = 0; !(await isTrimmed()); at++) await writer.key(`k${at % 7}`, text).set(String(at))
    expect(faults.values).toEqual([])
    const dump = JSON.stringify([...store.dump()])
    await store.close()
    const reopened = await node(name)
    expect(JSON.stringify([...reopened.dump()])).toBe(dump)
  })
})
