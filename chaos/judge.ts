import type { Entry } from 'rx-statestore'
import { GlobJudge } from '../spec/judges/glob.js'
import type { StoreChange } from '../spec/judges/store-history.js'
import { StoreHistory } from '../spec/judges/store-history.js'
import { WatchJudge } from '../spec/judges/watch.js'
import { checkWrites } from '../spec/judges/writes.js'
import type { Recorder } from './recorder.js'
import type { Violations } from './violations.js'

export interface Evidence {
  recorder: Recorder
  journals: readonly string[]
  /** whether a store recovers the keys of the previous store */
  keeps: boolean
  /** whether the store is attached to another broker */
  isBeside: boolean
  /** returns whether a value may arrive after later values of its writer */
  isLate?: (value: string) => boolean
  stored: Map<string, Entry<string>>
  violations: Violations
}

/** Checks all recordings against the journals of the stores. */
export async function judge({ recorder, journals, keeps, isBeside, isLate, stored, violations }: Evidence) {
  const history = new StoreHistory(violations, keeps, isLate)
  await history.read(journals)
  const versions = await checkWrites(recorder, history, violations)
  const judges: Map<string, WatchJudge> = new Map()
  const globs: Map<string, GlobJudge> = new Map()
  /** The time when each watched glob became live. */
  const live: Map<string, number | undefined> = new Map()
  for await (const record of recorder.read()) {
    if (record[0] === 'write') continue
    if (record[0] === 'read') {
      const [, watcherId, key, value] = record
      if (!history.changesOf(key).some(change => change.value === value))
        violations.add('read', `${watcherId} read ${value} of ${key}, which was never written`)
      continue
    }
    if (record[0] === 'live') {
      const [, watcherId, since] = record
      live.set(watcherId, since ?? undefined)
      globs.get(watcherId)?.setLive(since ?? undefined)
      continue
    }
    const [, watcherId, key, connection, connectedAt, isLive, op, value, version, source] = record
    const seen = { key, connection, connectedAt, isLive, op, value, version: version ?? undefined, source }
    if (record[0] === 'glob') {
      const [glob, isSure] = [record[10], record[11]]
      const own = globs.get(watcherId) ?? new GlobJudge(glob, history, versions, isBeside)
      if (!globs.has(watcherId)) own.setLive(live.get(watcherId))
      globs.set(watcherId, own)
      for (const wrong of own.judge({ ...seen, isSure }))
        reportViolation('glob', wrong, `${watcherId} of ${key} by ${glob}`, own.storyOf(key))
      continue
    }
    const own = judges.get(watcherId) ?? new WatchJudge(history.changesOf(key), versions, isBeside)
    judges.set(watcherId, own)
    for (const wrong of own.judge(seen)) reportViolation('watch', wrong, `${watcherId} of ${key}`, own.context)
  }

  function reportViolation(kind: string, wrong: string, watcherId: string, story: string) {
    violations.add(`${kind}: ${wrong.replace(/\d\S*/g, 'n')}`, `${watcherId}: ${wrong}${story}`)
  }
  for (const [key, entry] of stored) {
    const wrong = judgeStored(entry, history.changesOf(key), history.lastOf(key), versions)
    if (wrong)
      violations.add('stored', `${key}: ${wrong}: ${JSON.stringify(entry)} ${JSON.stringify(history.lastOf(key))}`)
  }
}

/**
 * Checks that the last applied value is stored after all keys have expired that can expire.
 *
 * @param changes - changes of the key
 */
function judgeStored(
  entry: Entry<string>,
  changes: readonly StoreChange[],
  last: StoreChange | undefined,
  versions: Map<string, Set<string>>,
) {
  const held = last?.op === 'set' && !last.expires ? last.value : undefined
  const found = entry.op === 'set' ? entry.value.split(':')[0] : undefined
  if (held !== found) return `${held ?? 'nothing'} was applied last, but ${found ?? 'nothing'} is stored`
  // If a value was written twice, the writer may know only one of the versions.
  const isUnique = changes.filter(({ value }) => value === held).length === 1
  const known = held === undefined || !isUnique ? undefined : versions.get(held)
  if (known && !known.has(String(entry.version))) return 'its version differs from that of its writer'
  return undefined
}
