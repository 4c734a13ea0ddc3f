import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { type StoreServer, serve } from '../../../src/server/index.js'
import { jetStreamLog } from '../../../src/server/log/jetstream/index.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient } from '../../support/open-client.js'

const PATIENCE = 60_000
const LARGE = 'x'.repeat(2_000_000)

describe('NATS settings that an operator changes under a running node', { timeout: PATIENCE }, () => {
  async function node(nats: NatsCluster, nodeId = 'a'): Promise<StoreServer> {
    const log = jetStreamLog({ servers: nats.servers, name: 'edited', replicas: 1, nodeId })
    const store = await serve({ port: 0, wsPort: 0, log })
    onTestFinished(async () => store.close())
    return store
  }

  async function startNats(more: readonly string[] = []): Promise<NatsCluster> {
    const nats = await NatsCluster.start(1, more)
    onTestFinished(async () => nats.stop())
    return nats
  }

  async function streamsOf(nats: NatsCluster) {
    const connection = await connect({ servers: nats.servers })
    onTestFinished(async () => connection.close())
    return (await jetstreamManager(connection)).streams
  }

  it('large values are written in smaller messages after max_payload was lowered', async () => {
    const nats = await startNats(['max_payload: 8388608'])
    const store = await node(nats)
    const client = openClient(store.url)
    const other = openClient(store.url)
    await client.key('before', text).set(LARGE)
    await nats.kill(0)
    // This write is in flight as one message when the limit changes.
    const written = client.key('during', text).set(LARGE, { timeout: 30_000 })
    await nats.run(0, configuration => configuration.replace('8388608', '1048576'))
    await other.key('k', text).set('1', { timeout: 30_000 })
    await written
    await client.key('after', text).set(LARGE)
    await store.close()
    expect((await node(nats)).stats.keys).toBe(4)
  })

  it('large values are written in smaller messages after max_msg_size of the stream was lowered', async () => {
    const nats = await startNats()
    const client = openClient((await node(nats)).url)
    const streams = await streamsOf(nats)
    await streams.update('rxss_edited', { max_msg_size: 100_000 })
    await client.key('large', text).set(LARGE)
    expect((await node(nats, 'b')).stats.keys).toBe(1)
  })
})
