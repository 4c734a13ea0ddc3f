import { EMPTY, of } from 'rxjs'
import { onTestFinished } from 'vitest'
import type { SharedLog } from '../../src/cluster/shared-log.js'
import { serve } from '../../src/standalone.js'
import { conformanceSuite, type Target, type TargetOptions } from '../suites/conformance-suite.js'
import { targetAt } from '../support/target-at.js'
import { command } from '../support/words.js'
import { FakeCluster, FakeStream } from './fake-stream.js'

/** Time that passes at once gives nobody the time to answer. */
const FOREVER = 1e12

/** A stream of which the time is that of the case, and the pauses are those of the machine. */
async function nodes({ clock, clients, bounds }: TargetOptions): Promise<Target> {
  const cluster = new FakeCluster({
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    schedule: (_, task) => {
      const turn = setImmediate(task)
      return () => clearImmediate(turn)
    },
  })
  const node = async (nodeId: string) => {
    const stream = new FakeStream(cluster, 1024 * 1024)
    const log: SharedLog = {
      name: 'spec',
      settings: { nodeId, patience: FOREVER },
      connect: () => of(Object.assign(stream, { close: () => EMPTY })),
    }
    const store = await serve({ port: 0, wsPort: 0, clock, log, ...bounds })
    onTestFinished(async () => store.close())
    return store
  }
  const stores = [await node('a'), await node('b')]
  // Each client is at another node than the one before.
  const targets = await Promise.all(
    clients.map(async (client, at) => targetAt(stores[at % 2]?.url ?? '', clock, [client])),
  )
  const targetOf = (client: string): Target => {
    const target = targets[clients.findIndex(each => each.toString() === client)]
    if (target === undefined) throw new Error(`no client ${client}`)
    return target
  }
  return {
    send: (client, request) => targetOf(client).send(client, request),
    advance: ms => clock.advance(ms),
    told: async client => {
      // A read is answered when its node has all that was committed before.
      await targetOf(client).send(client, {
        payload: command('GET nothing'),
        timestamp: undefined,
        fencingToken: undefined,
      })
      return targetOf(client).told(client)
    },
  }
}

conformanceSuite('Nodes that share a log, each client at another one', 'field', nodes)
