import { connect } from 'rx-statestore'
import type { Violations } from '../../harness/judges/violations.js'
import { Random } from '../../harness/random.js'
import { endsWithin, until } from '../random-interval.js'
import type { Row } from '../run.js'
import type { StoreStats } from '../store-main.js'
import type { StoreNodes } from './nodes.js'
import { checkHistories } from './porcupine.js'
import type { RegisterHistories } from './registers.js'
import { RegisterClient } from './registers.js'

/** The time in ms that nodes may take to agree, and that the last reads may take. */
const AGREEMENT_TIMEOUT_MS = 20_000

/** Checks that all nodes have the same keys. */
export async function checkNodes(nodes: StoreNodes, violations: Violations) {
  let stats: StoreStats[] = []
  const isEqual = await until(AGREEMENT_TIMEOUT_MS, async () => {
    stats = await nodes.stats()
    return new Set(stats.map(({ hash }) => hash)).size === 1
  })
  if (!isEqual) violations.add('nodes differ', JSON.stringify(stats))
}

/**
 * Reads every register once, so that no history ends with a write whose loss would remain unnoticed.
 *
 * @param port - port of a node
 */
export async function readLast(histories: RegisterHistories, port: number, violations: Violations) {
  const store = connect(`mqtt://127.0.0.1:${port}`, { clientId: 'judge' })
  const reader = new RegisterClient(histories, { store }, { number: 1_000, random: new Random(0), violations })
  const reads = Promise.all(histories.keys.map(key => reader.read(key)))
  if (!(await endsWithin(AGREEMENT_TIMEOUT_MS, reads)))
    violations.add('does not settle', `${reader.pending} last reads`)
  await store.close()
}

/** @param directory - directory for reports that visualise violations */
export async function checkLinearizability(
  histories: RegisterHistories,
  directory: string,
  violations: Violations,
): Promise<Row[]> {
  const verdict = await checkHistories(histories.lines(), directory)
  for (const key of verdict.illegal) violations.add('not linearizable', `${key}, see ${directory}`)
  for (const key of verdict.undecided) violations.add('linearizable or not', `${key} took too long`)
  const { keys, operations, unknown } = verdict
  return [
    ['linearizable keys, by porcupine', `${keys - verdict.illegal.length - verdict.undecided.length} of ${keys}`],
    ['  operations, those with an unknown outcome', `${operations}, ${unknown}`],
  ]
}
