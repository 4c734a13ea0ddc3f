import type { JSX } from 'preact'
import type { ClusterFacts } from '../../../../src/server/console/contract.js'
import { formatCount, pluralize } from '../../model/amount.js'
import { type NodeState, nodeState, silenceOf } from '../../model/node-state.js'
import { formatDuration } from '../../model/time.js'
import { Icon } from '../parts/icon.js'
import { UNKNOWN, useIsCurrent } from '../parts/state-mark.js'

const WORDS: Readonly<Record<NodeState | 'unknown', string>> = {
  live: 'Live',
  late: 'No heartbeat',
  offline: 'Offline',
  unknown: 'Unknown',
}

export function Nodes({ cluster }: { readonly cluster: ClusterFacts }): JSX.Element {
  const isCurrent = useIsCurrent()
  const { name, nodeId, position, lag, leader, nodes } = cluster
  const end = position + lag
  return (
    <section aria-label="Nodes">
      <div class="page-head">
        <h2>Nodes of {name}</h2>
        <p class="hint">
          {pluralize(nodes.length, 'node')}, log at {formatCount(end)}
          {leader === undefined ? '' : `, log leader ${leader}`}
        </p>
      </div>
      <table class="table nodes">
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            <th scope="col" class="number">
              Lag
            </th>
            <th scope="col" class="number">
              Clients
            </th>
            <th scope="col" class="number">
              Last seen
            </th>
          </tr>
        </thead>
        <tbody>
          {Array.from(nodes)
            .sort((a, b) => (a.id < b.id ? -1 : 1))
            .map(node => {
              const state = isCurrent ? nodeState(cluster, node) : 'unknown'
              const count = (n: number): string => (state === 'live' || state === 'late' ? formatCount(n) : UNKNOWN)
              return (
                <tr key={node.id}>
                  <th scope="row">
                    <span class={`node node-${state}`}>
                      <Icon name={state === 'live' ? 'live' : 'stale'} />
                      <span class="client-id">{node.id}</span>
                      {node.id === nodeId && <span class="tag">this node</span>}
                    </span>
                  </th>
                  <td class={`node-word node-${state}`} data-label="state">
                    {WORDS[state]}
                  </td>
                  <td class="number" data-label="lag">
                    {isCurrent ? formatCount(Math.max(0, end - node.position)) : UNKNOWN}
                  </td>
                  <td class="number" data-label="clients">
                    {count(node.clients)}
                  </td>
                  <td class="number" data-label="seen">
                    {isCurrent ? seenText(node.id === nodeId, silenceOf(cluster, node)) : UNKNOWN}
                  </td>
                </tr>
              )
            })}
        </tbody>
      </table>
    </section>
  )
}

const seenText = (isOwn: boolean, silentMs: number): string => (isOwn ? 'now' : `${formatDuration(silentMs)} ago`)
