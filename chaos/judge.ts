import type { Entry } from 'rx-statestore'
import { GlobJudge } from '../spec/judges/glob.js'
import type { Change } from '../spec/judges/history.js'
import { History } from '../spec/judges/history.js'
import { WatchJudge } from '../spec/judges/watch.js'
import { judgeWrites } from '../spec/judges/writes.js'
import type { Complaints } from './complaints.js'
import type { Recorder } from './recorder.js'

export interface Evidence {
  recorder: Recorder
  journals: readonly string[]
  /** whether a store recovers the keys of the previous one */
  keeps: boolean
  /** whether the store is attached to a broker */
  isBeside: boolean
  /** whether a value may arrive after later ones of its writer */
  isLate?: (value: string) => boolean
  /** final content of the store */
  stored: Map<string, Entry<string>>
  complaints: Complaints
}

/** Checks all recordings against the journals of the stores. */
export async function judge({ recorder, journals, keeps, isBeside, isLate, stored, complaints }: Evidence) {
  const history = new History(complaints, keeps, isLate)
  await history.read(journals)
  const versions = await judgeWrites(recorder, history, complaints)
  const judges: Map<string, WatchJudge> = new Map()
  const globs: Map<string, GlobJudge> = new Map()
  /** When each watched glob became live. */
  const live: Map<string, number | undefined> = new Map()
  for await (const record of recorder.read()) {
    if (record[0] === 'write') continue
    if (record[0] === 'read') {
      const [, who, key, value] = record
      if (!history.changesOf(key).some(change => change.value === value))
        complaints.add('read', `${who} read ${value} of ${key}, which was never written`)
      continue
    }
    if (record[0] === 'live') {
      const [, who, since] = record
      live.set(who, since ?? undefined)
      globs.get(who)?.live(since ?? undefined)
      continue
    }
    const [, who, key, connection, connectedAt, isLive, op, value, version, source] = record
    const seen = { key, connection, connectedAt, isLive, op, value, version: version ?? undefined, source }
    if (record[0] === 'glob') {
      const [glob, isSure] = [record[10], record[11]]
      const own = globs.get(who) ?? new GlobJudge(glob, history, versions, isBeside)
      if (!globs.has(who)) own.live(live.get(who))
      globs.set(who, own)
      for (const wrong of own.judge({ ...seen, isSure }))
        complain('glob', wrong, `${who} of ${key} by ${glob}`, own.storyOf(key))
      continue
    }
    const own = judges.get(who) ?? new WatchJudge(history.changesOf(key), versions, isBeside)
    judges.set(who, own)
    for (const wrong of own.judge(seen)) complain('watch', wrong, `${who} of ${key}`, own.story)
  }

  function complain(kind: string, wrong: string, who: string, story: string) {
    complaints.add(`${kind}: ${wrong.replace(/\d\S*/g, 'n')}`, `${who}: ${wrong}${story}`)
  }
  for (const [key, entry] of stored) {
    const wrong = judgeStored(entry, history.changesOf(key), history.lastOf(key), versions)
    if (wrong)
      complaints.add('stored', `${key}: ${wrong}: ${JSON.stringify(entry)} ${JSON.stringify(history.lastOf(key))}`)
  }
}

/**
 * Once nothing is left to expire, the last applied value must be stored.
 *
 * @param changes - of the key
 */
function judgeStored(
  entry: Entry<string>,
  changes: readonly Change[],
  last: Change | undefined,
  versions: Map<string, Set<string>>,
) {
  const held = last?.op === 'set' && !last.expires ? last.value : undefined
  const found = entry.op === 'set' ? entry.value.split(':')[0] : undefined
  if (held !== found) return `${held ?? 'nothing'} was applied last, but ${found ?? 'nothing'} is stored`
  // For a value written twice, the writer may know only one of the versions.
  const isUnique = changes.filter(({ value }) => value === held).length === 1
  const known = held === undefined || !isUnique ? undefined : versions.get(held)
  if (known && !known.has(String(entry.version))) return 'its version differs from that of its writer'
  return undefined
}
