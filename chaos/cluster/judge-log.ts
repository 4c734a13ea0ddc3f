import type { Entry } from 'rx-statestore'
import { knowledgeOf } from '../../harness/judges/outcomes.js'
import { type LogRecord, replay } from '../../harness/judges/replay.js'
import { StoreHistory } from '../../harness/judges/store-history.js'
import type { Violations } from '../../harness/judges/violations.js'
import { judge } from '../judge.js'
import { now } from '../now.js'
import { type Recorder, writesOf } from '../recorder.js'

export interface ClusterEvidence {
  readonly recorder: Recorder
  readonly log: AsyncIterable<LogRecord>
  /** the times in monotonic ms at which clients other than the writers knew a version */
  readonly known: ReadonlyMap<string, number>
  readonly stored: ReadonlyMap<string, Entry<string>>
  readonly violations: Violations
}

/**
 * Checks all recordings against the log of the nodes. Every acknowledged write must be in the log, and all
 * notifications must follow from it.
 */
export async function judgeLog({ recorder, log, known, stored, violations }: ClusterEvidence) {
  const answered = new Map(known)
  const late = new Set<string>()
  for await (const { verb, value, outcome, version, at } of writesOf(recorder.read())) {
    if (outcome === 'applied' && verb === 'SET' && version !== undefined)
      answered.set(version, Math.min(at, answered.get(version) ?? at))
    if (knowledgeOf(outcome) === 'open') late.add(value)
  }
  const replayed = await replay(log, { answered, epoch: Date.now() - now(), violations })
  for (const version of answered.keys())
    if (!replayed.versions.has(version))
      violations.add('lost', `a write was acknowledged with version ${version} but is not in the log`)
  const history = new StoreHistory(violations, value => late.has(value))
  for (const line of replayed.journal) history.add(line)
  await judge({ recorder, history, stored, violations })
  return replayed
}
