import { connect } from 'rx-statestore'
import type { Complaints } from '../complaints.js'
import { until } from '../pace.js'
import { Random } from '../random.js'
import type { NodeStats, StoreNodes } from './nodes.js'
import { checkHistories } from './porcupine.js'
import type { Histories } from './registers.js'
import { Registers } from './registers.js'

/** How long nodes may take to agree, and the last reads to complete. */
const DEADLINE = 20_000

/** Checks that all nodes reach the same state; returns how many do. */
export async function judgeNodes(nodes: StoreNodes, complaints: Complaints) {
  let stats: NodeStats[] = []
  const hashes = () => new Set(stats.map(({ hash }) => hash))
  await until(DEADLINE, async () => {
    stats = await nodes.stats()
    return hashes().size === 1
  })
  if (hashes().size !== 1) complaints.add('nodes differ', JSON.stringify(stats))
  return hashes().size === 1 ? stats.length : 0
}

/**
 * Reads every register once more, so that no history ends with a write whose loss would go unnoticed.
 *
 * @param port - of a node
 */
export async function readLast(histories: Histories, port: number, complaints: Complaints) {
  const store = connect(`mqtt://127.0.0.1:${port}`, { clientId: 'judge' })
  const reader = new Registers(histories, { store }, 1_000, new Random(0), complaints, () => undefined)
  for (const key of histories.keys) reader.read(key)
  if (!(await until(DEADLINE, () => reader.pending === 0)))
    complaints.add('does not settle', `${reader.pending} last reads`)
  await store.close()
}

/** @param directory - for reports that visualise violations */
export async function judgeHistories(histories: Histories, directory: string, complaints: Complaints) {
  const verdict = await checkHistories(histories.lines(), directory)
  for (const key of verdict.illegal) complaints.add('not linearizable', `${key}, see ${directory}`)
  for (const key of verdict.undecided) complaints.add('linearizable or not', `${key} took too long`)
  return verdict
}
