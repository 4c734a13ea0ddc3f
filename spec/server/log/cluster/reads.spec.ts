import { of } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../../src/core/util/clock.js'
import { serve } from '../../../../src/server/index.js'
import type { LogSettings } from '../../../../src/server/log/cluster/settings.js'
import { StoreClient } from '../../../support/store-client.js'
import { command } from '../../../support/words.js'
import { FakeCluster, FakeStream } from './fake-stream.js'

/** Opens two nodes. The second one does not receive messages until the test permits it. */
async function open(reads: NonNullable<LogSettings['reads']>) {
  const cluster = new FakeCluster(systemClock)
  const node = async (nodeId: string) => {
    const stream = new FakeStream(cluster)
    const log = { name: 'spec', settings: { nodeId, reads }, connect: () => of(stream) }
    const store = await serve({ port: 0, wsPort: 0, log })
    onTestFinished(async () => store.close())
    return { stream, client: await StoreClient.ready(store.url, nodeId) }
  }
  const [a, b] = [await node('a'), await node('b')]
  b.stream.faults.isStalled = true
  await a.client.request(command('SET k new'), { timestamp: `${Date.now()}:0:a` })
  const deliver = (): void => {
    b.stream.faults.isStalled = false
    cluster.put(new Uint8Array([1]))
  }
  return { client: b.client, go: deliver }
}

describe('a node that has not received an acknowledged write of another node', () => {
  it('a linearizable read is answered after the node has received the write', async () => {
    const { client, go: deliver } = await open('linearizable')
    const answer = client.request(command('GET k'))
    deliver()
    expect((await answer).text).toBe('$3\r\nnew\r\n')
  })

  it('local reads are immediate with the old value, and watches start after the write', async () => {
    const { client, go: deliver } = await open('local')
    expect((await client.request(command('GET k'))).text).toBe('$-1\r\n')
    const values: string[] = []
    const watching = client.request(command('KEYNOTIFY k')).then(({ text }) => values.push(text))
    const read = client.request(command('GET k')).then(({ text }) => values.push(text))
    deliver()
    await Promise.all([watching, read])
    expect(values).toEqual(['+OK\r\n', '$3\r\nnew\r\n'])
  })
})
