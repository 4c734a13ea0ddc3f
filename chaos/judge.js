import { History } from './history.js'
import { GlobJudge } from './judge-glob.js'
import { WatchJudge } from './judge-watch.js'
import { judgeWrites } from './judge-writes.js'

/**
 * @typedef {object} Evidence
 * @property {import('./recorder.js').Recorder} recorder
 * @property {readonly string[]} journals
 * @property {boolean} keeps - whether a store has the keys of the one before
 * @property {boolean} isBeside - whether the store is beside its broker
 * @property {(value: string) => boolean} [isLate] - whether a value may come after later ones of its writer
 * @property {Map<string, import('rx-statestore').Entry<string>>} stored - what the store holds in the end
 * @property {import('./complaints.js').Complaints} complaints
 */

/**
 * Judges all that was recorded, by the journals of the stores.
 *
 * @param {Evidence} evidence
 */
export async function judge({ recorder, journals, keeps, isBeside, isLate, stored, complaints }) {
  const history = new History(complaints, keeps, isLate)
  await history.read(journals)
  const versions = await judgeWrites(recorder, history, complaints)
  /** @type {Map<string, WatchJudge>} */
  const judges = new Map()
  /** @type {Map<string, GlobJudge>} */
  const globs = new Map()
  /** Since when globs are live. @type {Map<string, number | undefined>} */
  const live = new Map()
  for await (const [type, who, key, ...rest] of recorder.read()) {
    if (type === 'read') {
      const [value] = rest
      if (!history.changesOf(key).some(change => change.value === value))
        complaints.add('read', `${who} read ${value} of ${key}, which was never written`)
    }
    if (type === 'live') {
      const since = key ?? undefined
      live.set(who, since)
      globs.get(who)?.live(since)
    }
    if (type !== 'entry' && type !== 'glob') continue
    const [connection, connectedAt, isLive, op, value, version, source, glob, isSure] = rest
    const seen = { key, connection, connectedAt, isLive, op, value, version: version ?? undefined, source, isSure }
    if (type === 'glob') {
      const own = globs.get(who) ?? new GlobJudge(glob, history, versions, isBeside)
      if (!globs.has(who)) own.live(live.get(who))
      globs.set(who, own)
      for (const wrong of own.judge(seen)) complain('glob', wrong, `${who} of ${key} by ${glob}`, own.storyOf(key))
      continue
    }
    const own = judges.get(who) ?? new WatchJudge(history.changesOf(key), versions, isBeside)
    judges.set(who, own)
    for (const wrong of own.judge(seen)) complain('watch', wrong, `${who} of ${key}`, own.story)
  }

  /**
   * @param {string} kind
   * @param {string} wrong
   * @param {string} who
   * @param {string} story
   */
  function complain(kind, wrong, who, story) {
    complaints.add(`${kind}: ${wrong.replace(/\d\S*/g, 'n')}`, `${who}: ${wrong}${story}`)
  }
  for (const [key, entry] of stored) {
    const wrong = judgeStored(entry, history.changesOf(key), history.lastOf(key), versions)
    if (wrong)
      complaints.add('stored', `${key}: ${wrong}: ${JSON.stringify(entry)} ${JSON.stringify(history.lastOf(key))}`)
  }
}

/**
 * What was applied last is what is stored, when nothing is left to expire.
 *
 * @param {import('rx-statestore').Entry<string>} entry
 * @param {readonly import('./history.js').Change[]} changes - of the key
 * @param {import('./history.js').Change | undefined} last
 * @param {Map<string, Set<string>>} versions
 */
function judgeStored(entry, changes, last, versions) {
  const held = last?.op === 'set' && !last.expires ? last.value : undefined
  const found = entry.op === 'set' ? entry.value.split(':')[0] : undefined
  if (held !== found) return `${held ?? 'nothing'} was applied last, ${found ?? 'nothing'} is stored`
  // Of a value that was written twice the writer may know one version only.
  const isUnique = changes.filter(({ value }) => value === held).length === 1
  const known = held === undefined || !isUnique ? undefined : versions.get(held)
  if (known && !known.has(String(entry.version))) return 'its version is not that of its writer'
  return undefined
}
