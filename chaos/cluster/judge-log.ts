import { join } from 'node:path'
import type { Entry } from 'rx-statestore'
import { replay } from '../../spec/judges/replay.js'
import type { Complaints } from '../complaints.js'
import { judge } from '../judge.js'
import { now } from '../now.js'
import type { Recorder } from '../recorder.js'

/**
 * Checks all recordings against the log of the nodes: every acknowledged write must be in it, and all notifications
 * must follow from it.
 *
 * @param evidence.log - file with all messages
 * @param evidence.known - versions that were answered to others than writers, and when, monotonic ms
 */
export async function judgeLog({
  directory,
  log,
  recorder,
  known,
  stored,
  complaints,
}: {
  directory: string
  log: string
  recorder: Recorder
  known: ReadonlyMap<string, number>
  stored: Map<string, Entry<string>>
  complaints: Complaints
}) {
  const journal = join(directory, 'journal.jsonl')
  const { answered, open } = await answersOf(recorder, known)
  const epoch = Date.now() - now()
  const replayed = await replay({ log, journal, prefix: 'chaos/', answered, epoch, complaints })
  for (const version of answered.keys())
    if (!replayed.versions.has(version))
      complaints.add('lost', `a write was acknowledged with version ${version} but is not in the log`)
  const isLate = (value: string) => open.has(value)
  await judge({ recorder, journals: [journal], keeps: true, isBeside: false, isLate, stored, complaints })
  return replayed
}

/** Returns when each version was first known to its writer, and the values with an unknown outcome. */
export async function answersOf(recorder: Recorder, others: ReadonlyMap<string, number>) {
  const answered = new Map(others)
  const open = new Set<string>()
  for await (const record of recorder.read()) {
    if (record[0] !== 'write') continue
    const [, , verb, , value, word, version, , at] = record
    if (word === 'applied' && verb === 'SET' && version)
      answered.set(version, Math.min(at, answered.get(version) ?? at))
    if (word === 'unknown' || word === 'cancelled') open.add(value)
  }
  return { answered, open }
}
