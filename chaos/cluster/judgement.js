import { join } from 'node:path'
import { connect } from 'rx-statestore'
import { judge } from '../judge.js'
import { now } from '../now.js'
import { until } from '../pace.js'
import { Random } from '../random.js'
import { checkHistories } from './porcupine.js'
import { Registers } from './registers.js'
import { replay } from './replay.js'

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
 * Judges all that was recorded by the log of the nodes.
 *
 * @param {object} evidence
 * @param {string} evidence.directory
 * @param {string} evidence.log - file with all messages
 * @param {import('../recorder.js').Recorder} evidence.recorder
 * @param {import('./registers.js').Histories} evidence.histories
 * @param {Map<string, import('rx-statestore').Entry<string>>} evidence.stored
 * @param {import('../complaints.js').Complaints} evidence.complaints
 */
export async function judgeLog({ directory, log, recorder, histories, stored, complaints }) {
  const journal = join(directory, 'journal.jsonl')
  const { answered, open } = await answersOf(recorder, histories.answered)
  const epoch = Date.now() - now()
  const replayed = await replay({ log, journal, prefix: 'chaos/', answered, epoch, complaints })
  for (const version of answered.keys())
    if (!replayed.versions.has(version))
      complaints.add('lost', `a write was answered with version ${version}, and is not in the log`)
  const isLate = (/** @type {string} */ value) => open.has(value)
  await judge({ recorder, journals: [journal], keeps: true, isBeside: false, isLate, stored, complaints })
  return replayed
}

/**
 * When versions were known to their writers for the first time, and values of which nobody knows what became of them.
 *
 * @param {import('../recorder.js').Recorder} recorder
 * @param {ReadonlyMap<string, number>} others
 */
export async function answersOf(recorder, others) {
  const answered = new Map(others)
  const open = new Set()
  for await (const [type, , verb, , value, word, version, , at] of recorder.read()) {
    if (type !== 'write') continue
    if (word === 'applied' && verb === 'SET') answered.set(version, Math.min(at, answered.get(version) ?? at))
    if (word === 'unknown' || word === 'cancelled') open.add(value)
  }
  return { answered, open }
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
