import type { JSX } from 'preact'
import type { ClusterFacts } from '../../../../src/server/console/contract.js'
import { formatCount, pluralize } from '../../model/amount.js'
import { formatDuration } from '../../model/time.js'

/** Silence after which a node is shown as offline, ms. Running nodes send a heartbeat every three seconds. */
const OFFLINE_AFTER_MS = 10_000

export function Nodes({ name, nodeId, position, lag, leader, time, nodes }: ClusterFacts): JSX.Element {
  const end = position + lag
  return (
    <section aria-label="Nodes">
      <div class="page-head">
        <h2>Nodes of {name}</h2>
        <p class="hint">
          {pluralize(nodes.length, 'node')}, log at {formatCount(end)}
          {leader === undefined ? '' : `, leader ${leader}`}
        </p>
      </div>
      <table class="table nodes">
        <thead>
          <tr>
            <th scope="col">Node</th>
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
              const silentMs = Math.max(0, time - node.seenAt)
              const isOffline = node.id !== nodeId && silentMs > OFFLINE_AFTER_MS
              return (
                <tr key={node.id}>
                  <th scope="row">
                    <span class="client-id">{node.id}</span> {node.id === nodeId && <span class="tag">this node</span>}
                    {isOffline && <span class="tag tag-away">offline</span>}
                  </th>
                  <td class="number" data-label="lag">
                    {formatCount(Math.max(0, end - node.position))}
                  </td>
                  <td class="number" data-label="clients">
                    {isOffline ? '–' : formatCount(node.clients)}
                  </td>
                  <td class="number" data-label="seen">
                    {node.id === nodeId ? 'now' : `${formatDuration(silentMs)} ago`}
                  </td>
                </tr>
              )
            })}
        </tbody>
      </table>
    </section>
  )
}
