import type { ClusterFacts } from '../../../src/server/console/contract.js'

export type NodeState = 'live' | 'late' | 'offline'

/** Silence after which a node is late, and offline, ms. Running nodes send a heartbeat every three seconds. */
const LATE_AFTER_MS = 5_000
const OFFLINE_AFTER_MS = 10_000

/** Returns the time since a node was last seen by the node that serves the console, ms. */
export const silenceOf = ({ nodeId, time }: ClusterFacts, node: ClusterFacts['nodes'][number]): number =>
  node.id === nodeId ? 0 : Math.max(0, time - node.seenAt)

export function nodeState(cluster: ClusterFacts, node: ClusterFacts['nodes'][number]): NodeState {
  const silentMs = silenceOf(cluster, node)
  if (silentMs > OFFLINE_AFTER_MS) return 'offline'
  return silentMs > LATE_AFTER_MS ? 'late' : 'live'
}

export const liveNodes = (cluster: ClusterFacts): number =>
  cluster.nodes.filter(node => nodeState(cluster, node) === 'live').length
