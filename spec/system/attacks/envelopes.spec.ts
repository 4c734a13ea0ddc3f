import { crc32 } from 'node:zlib'
import { jetstream } from '@nats-io/jetstream'
import { connect as connectNats } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type StateStore, text } from '../../../src/client/index.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { type StoreServer, serve } from '../../../src/server/index.js'
import { encodeNodeMessage, LogKeys } from '../../../src/server/log/cluster/node-message.js'
import { jetStreamLog } from '../../../src/server/log/jetstream/index.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient, record } from '../../support/open-client.js'
import { cpuShare, workSoFar } from './support/work.js'

const TIMEOUT_MS = 60_000
const ROUNDS = 60
const FLOOD = 2_000
const KEY = utf8('a key that the nodes of this store share')

/** Returns a message of this format with a correct checksum. */
function message(format: number, ...rest: readonly number[]): Uint8Array {
  const bytes = new Uint8Array([0x72, 0x78, 0x73, 0x73, format, 0, 0, 0, 0, ...rest])
  new DataView(bytes.buffer).setUint32(5, crc32(bytes.subarray(9), crc32(bytes.subarray(4, 5))))
  return bytes
}

const forged = (kind: 'start' | 'entry', keys?: LogKeys): Uint8Array =>
  encodeNodeMessage(
    {
      kind,
      node: 'nobody',
      epoch: 'x',
      number: 1,
      previousEpoch: '',
      appliedPosition: 0,
      digest: 1,
      clientCount: 0,
      body: new Uint8Array(0),
    },
    keys,
  )

const FOREIGN_KEYS = new LogKeys([utf8('a foreign key')], 'attacked')
/** Each of these messages once ended all nodes, and did so again after every restart. */
const MESSAGES = [
  message(2),
  message(1),
  message(99, 1, 2, 3),
  forged('entry'),
  forged('start'),
  forged('start', FOREIGN_KEYS),
]

/**
 * Returns the median of the durations of rounds, in ms, which a stall of the machine does not change. In a round, a
 * client writes and reads a value, and a watch at another node emits it.
 */
async function measureRounds(
  writer: StateStore,
  seenValues: readonly (string | undefined)[],
  name: string,
): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    const value = `${name} ${round}`
    await writer.key('k', text).set(value)
    expect((await writer.key('k', text).get()).value).toBe(value)
    await expect.poll(() => seenValues.includes(value), { interval: 1, timeout: 10_000 }).toBe(true)
    times.push(performance.now() - began)
  }
  return times.sort((a, b) => a - b)[ROUNDS / 2] ?? 0
}

describe('a client that may publish to the log', () => {
  let nats: NatsCluster
  beforeAll(async () => {
    nats = await NatsCluster.start(1)
  }, TIMEOUT_MS)
  afterAll(async () => nats.stop())

  it.each([
    ['without a key', undefined],
    ['with a key', [KEY]],
  ])(
    'of nodes %s does not end these nodes and does not delay their clients',
    { timeout: TIMEOUT_MS },
    async (_, keys) => {
      const name = `attacked-${keys === undefined ? 'plain' : 'signed'}`
      const start = async (nodeId: string): Promise<StoreServer> => {
        const log = jetStreamLog({ servers: nats.servers, name, nodeId, replicas: 1, ...(keys && { keys }) })
        const store = await serve({ port: 0, wsPort: 0, log })
        onTestFinished(async () => store.close())
        return store
      }
      const [a, b] = [await start('a'), await start('b')]
      const watch = record(openClient(b.url).key('k', text).value$)
      const writer = openClient(a.url)
      const quiet = await measureRounds(writer, watch.values, 'quiet')

      const attacker = await connectNats({ servers: nats.servers })
      onTestFinished(async () => attacker.close())
      const publish = async (bytes: Uint8Array): Promise<unknown> =>
        jetstream(attacker).publish(`rxss.${name}.log`, bytes)
      for (const bytes of MESSAGES) await publish(bytes)
      const flood = (async () => {
        for (let sent = 0; sent < FLOOD; sent += MESSAGES.length) await Promise.all(MESSAGES.map(publish))
      })()
      const before = workSoFar()
      const attacked = await measureRounds(writer, watch.values, 'attacked')
      const share = cpuShare(before, workSoFar())
      await flood
      const words = `quiet ${quiet.toFixed(1)} ms, attacked ${attacked.toFixed(1)} ms with ${share.toFixed(2)} of a CPU`
      // The minimum allows for a slow machine.
      expect(share * attacked, words).toBeLessThan(Math.max(3 * quiet, 100))
      expect([a.storage.state, b.storage.state]).toEqual(['kept', 'kept'])
      expect(watch.error).toBeUndefined()
      expect(watch.values.filter(value => value?.startsWith('attacked'))).toHaveLength(ROUNDS)

      await Promise.all([a.close(), b.close()])
      const again = [await start('a'), await start('b')]
      expect(again.map(store => JSON.stringify([...store.dump()]))).toEqual(
        again.map(() => JSON.stringify([...(again[0]?.dump() ?? [])])),
      )
      expect(
        await openClient(again[1]?.url ?? '')
          .key('k', text)
          .get(),
      ).toMatchObject({
        value: `attacked ${ROUNDS - 1}`,
      })
    },
  )
})
