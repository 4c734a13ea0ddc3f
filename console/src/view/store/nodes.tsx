import type { JSX } from 'preact'
import type { ClusterFacts } from '../../../../src/server/console/contract.js'
import { count, counted } from '../../model/amount.js'
import { span } from '../../model/time.js'

/** A node that was not heard of for so long is away, ms; one that runs is heard of every three seconds. */
const AWAY_AFTER = 10_000

/** The nodes of a store: how far each has come in the log, and who is there. */
export function Nodes({ name, nodeId, position, lag, leader, time, nodes }: ClusterFacts): JSX.Element {
  const end = position + lag
  return (
    <section aria-label="Nodes">
      <div class="page-head">
        <h2>Nodes of {name}</h2>
        <p class="hint">
          {counted(nodes.length, 'node')}, log at {count(end)}
          {leader === undefined ? '' : `, led by ${leader}`}
        </p>
      </div>
      <table class="table nodes">
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col" class="number">
              Behind by
            </th>
            <th scope="col" class="number">
              Clients
            </th>
            <th scope="col" class="number">
              Heard of
            </th>
          </tr>
        </thead>
        <tbody>
          {Array.from(nodes)
            .sort((a, b) => (a.id < b.id ? -1 : 1))
            .map(node => {
              const quiet = Math.max(0, time - node.seenAt)
              const away = node.id !== nodeId && quiet > AWAY_AFTER
              return (
                <tr key={node.id}>
                  <th scope="row">
                    <span class="client-id">{node.id}</span> {node.id === nodeId && <span class="tag">this node</span>}
                    {away && <span class="tag tag-away">away</span>}
                  </th>
                  <td class="number" data-label="behind">
                    {count(Math.max(0, end - node.position))}
                  </td>
                  <td class="number" data-label="clients">
                    {away ? '–' : count(node.clients)}
                  </td>
                  <td class="number" data-label="heard">
                    {node.id === nodeId ? 'now' : `${span(quiet)} ago`}
                  </td>
                </tr>
              )
            })}
        </tbody>
      </table>
    </section>
  )
}
