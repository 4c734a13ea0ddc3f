import type { Entry } from 'rx-statestore'
import { compareState } from '../harness/judges/convergence.js'
import type { JournalLine } from '../harness/judges/journal.js'
import { StoreHistory } from '../harness/judges/store-history.js'
import { SubscriberJudge } from '../harness/judges/subscriber.js'
import { nameOf } from '../harness/judges/values.js'
import type { Violations } from '../harness/judges/violations.js'
import { checkWrites } from '../harness/judges/writes.js'
import { type Recorder, recordsOf, writesOf } from './recorder.js'

export interface Evidence {
  readonly recorder: Recorder
  readonly history: StoreHistory
  /** whether the store is attached to another broker, which keeps registrations of closed connections */
  readonly isAttached?: boolean
  readonly stored: ReadonlyMap<string, Entry<string>>
  readonly violations: Violations
}

/**
 * Reads the journals of the stores that a run has started one after the other.
 *
 * @param isDurable - whether each store recovers the keys of the previous one
 */
export async function readJournals(paths: readonly string[], isDurable: boolean, violations: Violations) {
  const history = new StoreHistory(violations)
  for (const path of paths) {
    if (!isDurable) history.startInstance()
    for await (const line of recordsOf<JournalLine>(path)) history.add(line)
  }
  return history
}

/** Checks all recordings of the clients against the changes and requests of the stores. */
export async function judge({ recorder, history, isAttached = false, stored, violations }: Evidence) {
  await checkWrites(writesOf(recorder.read()), history, violations)
  const { changes } = history
  const judges = new Map<string, SubscriberJudge>()
  for await (const record of recorder.read()) {
    if (record.type === 'read') {
      const { client, key, value, version } = record
      if (!changes.positionsOf(key, version).some(position => changes.all[position]?.value === value))
        violations.add('read', `${client} read ${value} of ${key} with ${version}, which was never written`)
    } else if (record.type !== 'write') {
      const { watcher, glob } = record
      const known = judges.get(watcher) ?? new SubscriberJudge(changes, glob, isAttached)
      judges.set(watcher, known)
      if (record.type === 'live') known.setLive(record.since)
      else
        for (const wrong of known.judge(record))
          violations.add(
            `${glob === undefined ? 'watch' : 'glob'}: ${wrong.replace(/\d\S*/g, 'n')}`,
            `${watcher} of ${record.key}: ${wrong}${known.describe(record.key)}`,
          )
    }
  }
  for (const [key, entry] of stored) {
    const shown = entry.op === 'set' ? { ...entry, value: nameOf(entry.value) } : entry
    const wrong = compareState(changes.lastOf(key) ?? { op: 'absent' }, shown)
    if (wrong !== undefined) violations.add('stored', `${key}: the last change ${wrong}`)
  }
}
