import { EMPTY, of } from 'rxjs'
import { onTestFinished } from 'vitest'
import { serve } from '../../../../src/server/index.js'
import type { SharedLog } from '../../../../src/server/log/cluster/settings.js'
import { conformanceSuite, type Target, type TargetOptions } from '../../../suites/conformance-suite.js'
import { targetAt } from '../../../suites/target-at.js'
import type { ManualClock } from '../../../support/manual-clock.js'
import { command } from '../../../support/words.js'
import { FakeCluster, FakeStream } from './fake-stream.js'

/** The interval in milliseconds at which a node checks the log. */
const CHECK_INTERVAL_MS = 500
/** A time step in milliseconds that is too large for nodes to respond to. */
const HUGE_STEP_MS = 1e12

/** Runs nodes on a stream with the clock of the test case and this machine's delays. */
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
      settings: { nodeId, stallTimeout: HUGE_STEP_MS },
      connect: () => of(Object.assign(stream, { close: () => EMPTY })),
    }
    // A step of a year would need 60 million checks.
    const schedule: ManualClock['schedule'] = (delay, task) =>
      delay === CHECK_INTERVAL_MS ? () => undefined : clock.schedule(delay, task)
    const own = { now: () => clock.now(), monotonic: () => clock.monotonic(), schedule }
    const store = await serve({ port: 0, wsPort: 0, clock: own, log, ...bounds })
    onTestFinished(async () => store.close())
    return store
  }
  const stores = [await node('a'), await node('b')]
  // Each client uses a different node from the previous client.
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
      // A node answers a read after it has everything that was committed before.
      await targetOf(client).send(client, {
        payload: command('GET nothing'),
        timestamp: undefined,
        fencingToken: undefined,
      })
      return targetOf(client).told(client)
    },
  }
}

/**
 * Skipped cases: time steps so large that nodes check too often, and a clock that goes back, which log time never does.
 */
const SKIPPED = [
  'a time to live of months does not overflow',
  'a key with the largest time to live never expires',
  'a client clock taken from versions is accepted, but no clock that is further ahead',
  "a key that is protected by a lock from the time when the clock was ahead can be written with the lock's token",
  // The memory of watches is local to a node.
  'watched keys count towards the limit until they are no longer watched',
  'after the wall clock was ahead, versions continue from that time until the clock has caught up',
]

conformanceSuite('Nodes that share a log, with each client at a different node', 'field', nodes, SKIPPED)
