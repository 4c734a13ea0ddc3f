import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { firstValueFrom } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { type StoreServer, serve } from '../../../src/server/index.js'
import type { SharedLog } from '../../../src/server/log/cluster/settings.js'
import { jetStreamLog } from '../../../src/server/log/jetstream/index.js'
import { eventually } from '../../support/eventually.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient } from '../../support/open-client.js'

const PATIENCE = 60_000
/** The permissions that docs/cluster.md documents. */
const GRANTED = JSON.stringify([
  'rxss.plant-1.>',
  '$JS.API.>',
  '$O.rxss_plant-1.>',
  '$JS.FC.OBJ_rxss_plant-1.>',
  '_INBOX.>',
])
const SECRET = { user: 'node', pass: 'secret' }

describe('a NATS user for nodes', { timeout: PATIENCE }, () => {
  let nats: NatsCluster

  beforeAll(async () => {
    const permissions = `permissions: { publish: ${GRANTED}, subscribe: ${GRANTED} }`
    nats = await NatsCluster.start(1, [
      `authorization { users: [{ user: node, password: secret, ${permissions} }, { user: all, password: all }] }`,
    ])
  }, PATIENCE)
  afterAll(async () => nats.stop())

  const logOf = (nodeId: string, login: { user: string; pass: string }): SharedLog => {
    const log = jetStreamLog({ servers: nats.servers, name: 'plant-1', replicas: 1, nodeId, ...login })
    return { ...log, settings: { ...log.settings, snapshots: { messages: 20 } } }
  }

  async function node(nodeId: string, login = SECRET): Promise<StoreServer> {
    const store = await serve({ port: 0, wsPort: 0, log: logOf(nodeId, login) })
    onTestFinished(async () => store.close())
    return store
  }

  it('a node with the documented permissions serves requests, writes snapshots and trims the log', async () => {
    const a = await node('a')
    const client = openClient(a.url)
    const large = 'x'.repeat(2_000_000)
    for (const key of ['l1', 'l2', 'l3']) await client.key(key, text).set(large)
    const connection = await connect({ servers: nats.servers, user: 'all', pass: 'all' })
    onTestFinished(async () => connection.close())
    const { streams } = await jetstreamManager(connection)
    const isTrimmed = async (): Promise<boolean> => (await streams.info('rxss_plant-1')).state.first_seq > 20
    for (let at = 0; !(await isTrimmed()); at++) await client.key(`k${at % 7}`, text).set(String(at))
    const b = await node('b')
    expect(JSON.stringify([...b.dump()])).toBe(JSON.stringify([...a.dump()]))
  })

  it('a node reports a wrong password', async () => {
    await expect(node('c', { user: 'node', pass: 'guess' })).rejects.toMatchObject({
      code: 'connection-lost',
      problem: 'refused',
      message: 'NATS cannot be used: Authorization Violation',
    })
  })

  it('a running node reports a login rejected by NATS, and continues once it is accepted', async () => {
    const store = await node('d')
    const status = firstValueFrom(store.storage$)
    await nats.kill(0)
    await nats.run(0, before => before.replace('password: secret', 'password: other'))
    expect(await status).toMatchObject({
      state: 'waiting',
      error: { message: 'a message was not acknowledged: Authorization Violation' },
    })
    await nats.kill(0)
    await nats.run(0, before => before.replace('password: other', 'password: secret'))
    await eventually(() => store.storage.state === 'kept')
  })
})
