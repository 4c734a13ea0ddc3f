import { describe, expect, it } from 'vitest'
import { liveNodes, nodeState } from '../../../../console/src/model/node-state.js'
import type { ClusterFacts } from '../../../../src/server/console/contract.js'

const node = (id: string, seenAt: number): ClusterFacts['nodes'][number] => ({ id, seenAt, position: 1, clients: 0 })
const NODES = [node('own', 0), node('fresh', 95_001), node('late', 94_999), node('offline', 89_999)]
const CLUSTER: ClusterFacts = {
  name: 'plant',
  nodeId: 'own',
  leader: undefined,
  signedSince: undefined,
  position: 1,
  lag: 0,
  time: 100_000,
  nodes: NODES,
}

describe('The state of a node', () => {
  it('a node is late 5 s after its heartbeat and offline after 10 s, and the own node live', () => {
    expect(NODES.map(each => nodeState(CLUSTER, each))).toEqual(['live', 'live', 'late', 'offline'])
    expect(liveNodes(CLUSTER)).toBe(2)
  })
})
