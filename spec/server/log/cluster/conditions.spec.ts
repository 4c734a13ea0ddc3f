import { of } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../../src/client/index.js'
import { systemClock } from '../../../../src/core/util/clock.js'
import { serve } from '../../../../src/server/index.js'
import { openClient } from '../../../support/open-client.js'
import { FakeCluster, FakeStream } from './fake-stream.js'

const NODES = ['a', 'b', 'c']

/** Connects one client to each of three nodes. */
async function clients() {
  const cluster = new FakeCluster(systemClock)
  return Promise.all(
    NODES.map(async nodeId => {
      const log = { name: 'spec', settings: { nodeId }, connect: () => of(new FakeStream(cluster)) }
      const store = await serve({ port: 0, wsPort: 0, log })
      onTestFinished(async () => store.close())
      return openClient(store.url)
    }),
  )
}

describe('conditional writes at several nodes', () => {
  it('one of several concurrent writes with the same condition succeeds, at all nodes', async () => {
    const keys = (await clients()).map(client => client.key('k', text))
    const [first] = keys
    let version = (await first?.set('0'))?.version
    for (let round = 1; round <= 20; round++) {
      const ifVersion = version ?? ''
      const outcomes = await Promise.all(
        keys.map(async (key, at) => key.set(`${round} by ${NODES[at]}`, { ifVersion: String(ifVersion) })),
      )
      const winners = outcomes.flatMap((outcome, at) => (outcome.applied ? [{ ...outcome, at }] : []))
      expect(winners).toHaveLength(1)
      version = winners[0]?.version
      const read = await Promise.all(keys.map(async key => key.get()))
      for (const entry of read)
        expect(entry).toMatchObject({ value: `${round} by ${NODES[winners[0]?.at ?? -1]}`, version })
    }
  })

  it('exactly one of several concurrent writes to an absent key succeeds', async () => {
    const keys = (await clients()).map(client => client.key('k', text))
    const outcomes = await Promise.all(keys.map(async (key, at) => key.set(`${NODES[at]}`, { ifAbsent: true })))
    expect(outcomes.filter(({ applied }) => applied)).toHaveLength(1)
  })
})
