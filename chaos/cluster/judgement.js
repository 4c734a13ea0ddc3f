import { connect } from 'rx-statestore'
import { until } from '../pace.js'
import { Random } from '../random.js'
import { checkHistories } from './porcupine.js'
import { Registers } from './registers.js'

/** How long nodes may take until they hold the same, and the last reads, ms. */
const DEADLINE = 20_000

/**
 * Whether all nodes come to hold the same; how many do.
 *
 * @param {import('./nodes.js').StoreNodes} nodes
 * @param {import('../complaints.js').Complaints} complaints
 */
export async function judgeNodes(nodes, complaints) {
  /** @type {import('./nodes.js').NodeStats[]} */
  let stats = []
  const hashes = () => new Set(stats.map(({ hash }) => hash))
  await until(DEADLINE, async () => {
    stats = await nodes.stats()
    return hashes().size === 1
  })
  if (hashes().size !== 1) complaints.add('nodes differ', JSON.stringify(stats))
  return hashes().size === 1 ? stats.length : 0
}

/**
 * Reads every register once more, so that no history ends with a write that nobody would miss.
 *
 * @param {import('./registers.js').Histories} histories
 * @param {number} port - of a node
 * @param {import('../complaints.js').Complaints} complaints
 */
export async function readLast(histories, port, complaints) {
  const store = connect(`mqtt://127.0.0.1:${port}`, { clientId: 'judge' })
  const reader = new Registers(histories, { store }, 1_000, new Random(0), complaints, () => undefined)
  for (const key of histories.keys) reader.read(key)
  if (!(await until(DEADLINE, () => reader.pending === 0)))
    complaints.add('does not settle', `${reader.pending} last reads`)
  await store.close()
}

/**
 * @param {import('./registers.js').Histories} histories
 * @param {string} directory - for pages that show what is wrong
 * @param {import('../complaints.js').Complaints} complaints
 */
export async function judgeHistories(histories, directory, complaints) {
  const verdict = await checkHistories(histories.lines(), directory)
  for (const key of verdict.illegal) complaints.add('not linearizable', `${key}, see ${directory}`)
  for (const key of verdict.undecided) complaints.add('linearizable or not', `${key} took too long`)
  return verdict
}
