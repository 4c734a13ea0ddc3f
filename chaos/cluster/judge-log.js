import { join } from 'node:path'
import { judge } from '../judge.js'
import { now } from '../now.js'
import { replay } from './replay.js'

/**
 * Judges all that was recorded by the log of the nodes: what was answered has to be in it, and what was told follow it.
 *
 * @param {object} evidence
 * @param {string} evidence.directory
 * @param {string} evidence.log - file with all messages
 * @param {import('../recorder.js').Recorder} evidence.recorder
 * @param {ReadonlyMap<string, number>} evidence.known - versions that were answered to others than writers, and when, monotonic ms
 * @param {Map<string, import('rx-statestore').Entry<string>>} evidence.stored
 * @param {import('../complaints.js').Complaints} evidence.complaints
 */
export async function judgeLog({ directory, log, recorder, known, stored, complaints }) {
  const journal = join(directory, 'journal.jsonl')
  const { answered, open } = await answersOf(recorder, known)
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
