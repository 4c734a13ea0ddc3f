import { defer, firstValueFrom, retry } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { serve } from '../../../src/server/index.js'
import { jetStreamLog } from '../../../src/server/log/jetstream/index.js'
import { layLink } from '../../support/link.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient } from '../../support/open-client.js'

const PATIENCE = 60_000

describe('a node whose NATS server stops reading', { timeout: PATIENCE }, () => {
  let nats: NatsCluster

  beforeAll(async () => {
    nats = await NatsCluster.start(1)
  }, PATIENCE)
  afterAll(async () => nats.stop())

  it('the node reconnects even with much data in flight', async () => {
    const link = await layLink(nats.servers[0] ?? '')
    const servers = `nats://${new URL(link.url).host}`
    const store = await serve({ port: 0, wsPort: 0, log: jetStreamLog({ servers, replicas: 1, nodeId: 'a' }) })
    onTestFinished(async () => store.close())
    const client = openClient(store.url)
    await client.key('k', text).set('before')
    link.stall('up')
    // The value is larger than a socket buffer holds for a peer that does not read.
    const large = 'x'.repeat(1_000_000)
    const writes = Array.from({ length: 20 }, async (_, at) =>
      client.key(`k${at}`, text).set(large, { timeout: 40_000 }),
    )
    await Promise.allSettled(writes)
    // The node may leave the connection of its clients once more, so the outcome of the first write can be unknown.
    const write$ = defer(() => client.key('k', text).set('after', { timeout: 20_000 }))
    await firstValueFrom(write$.pipe(retry(1)))
    expect(await client.key('k', text).get()).toMatchObject({ value: 'after' })
    expect(link.connections).toBe(2)
  })
})
