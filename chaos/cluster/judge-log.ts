import { join } from 'node:path'
import type { Entry } from 'rx-statestore'
import { replay } from '../../spec/judges/replay.js'
import { judge } from '../judge.js'
import { now } from '../now.js'
import type { Recorder } from '../recorder.js'
import type { Violations } from '../violations.js'

/**
 * Checks all recordings against the log of the nodes. Every acknowledged write must be in the log, and all
 * notifications must follow from it.
 *
 * @param evidence.log - file with all messages of the log
 * @param evidence.known - versions that clients other than their writers know from responses, with the times in
 * monotonic ms
 */
export async function judgeLog({
  directory,
  log,
  recorder,
  known,
  stored,
  violations,
}: {
  directory: string
  log: string
  recorder: Recorder
  known: ReadonlyMap<string, number>
  stored: Map<string, Entry<string>>
  violations: Violations
}) {
  const journal = join(directory, 'journal.jsonl')
  const { answered, open } = await readAnswers(recorder, known)
  const epoch = Date.now() - now()
  const replayed = await replay({ log, journal, prefix: 'chaos/', answered, epoch, violations })
  for (const version of answered.keys())
    if (!replayed.versions.has(version))
      violations.add('lost', `a write was acknowledged with version ${version} but is not in the log`)
  const isLate = (value: string) => open.has(value)
  await judge({ recorder, journals: [journal], keeps: true, isBeside: false, isLate, stored, violations })
  return replayed
}

/** Returns the time when each version was first known to its writer, and the values with an unknown outcome. */
export async function readAnswers(recorder: Recorder, others: ReadonlyMap<string, number>) {
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
