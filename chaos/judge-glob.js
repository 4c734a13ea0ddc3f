import { fits } from './globs.js'
import { WatchJudge } from './judge-watch.js'

/**
 * An entry of a glob as it was recorded.
 *
 * @typedef {import('./judge-watch.js').Seen & { key: string, isSure: boolean }} SeenOfGlob
 */

/** Holds one subscriber of a glob to its promises; what is promised of each key is left to the judge of a key. */
export class GlobJudge {
  #glob
  #history
  #versions
  #keepsRegistrations
  /** @type {Map<string, WatchJudge>} */
  #keys = new Map()
  /** Those that were told to be there. @type {Set<string>} */
  #there = new Set()
  /** Since when all is told, while it is live, monotonic ms. @type {number | undefined} */
  #liveSince

  /**
   * @param {string} glob
   * @param {Pick<import('./history.js').History, 'changesOf'>} history
   * @param {Map<string, Set<string>>} versions - of values, as their writers and others were told
   * @param {boolean} [keepsRegistrations] - whether the store does not see connections end
   */
  constructor(glob, history, versions, keepsRegistrations = false) {
    this.#keepsRegistrations = keepsRegistrations
    this.#glob = glob
    this.#history = history
    this.#versions = versions
  }

  /** @param {number | undefined} since - when it became live, monotonic ms, if it is */
  live(since) {
    this.#liveSince = since
  }

  /**
   * What is wrong with the next entry.
   *
   * @param {SeenOfGlob} seen
   * @returns {string[]}
   */
  judge(seen) {
    const { key, op, isSure } = seen
    if (!fits(this.#glob, key)) return ['a key that does not fit']
    const isThere = this.#there.has(key)
    if (op !== 'set' && !isThere) return ['a key that was not there has gone']
    if (op === 'set') this.#there.add(key)
    else this.#there.delete(key)
    const judge =
      this.#keys.get(key) ?? new WatchJudge(this.#history.changesOf(key), this.#versions, this.#keepsRegistrations)
    this.#keys.set(key, judge)
    const before = judge.place
    const wrong = judge.judge(seen)
    const untold = isSure || isThere ? this.#untold(key, before, judge.place) : 0
    return untold > 0 ? [...wrong, `${untold} changes before it were not told, since it was live`] : wrong
  }

  /** What was seen of a key. @param {string} key */
  storyOf(key) {
    return this.#keys.get(key)?.story ?? ''
  }

  /**
   * How many values there were since all is told that were not.
   *
   * @param {string} key
   * @param {number | undefined} after - place of what was told before, if it is known
   * @param {number | undefined} until
   */
  #untold(key, after, until) {
    const since = this.#liveSince
    if (since === undefined || after === undefined || until === undefined) return 0
    return this.#history
      .changesOf(key)
      .filter(({ place, op, from }) => op === 'set' && place > after && place < until && from > since).length
  }
}

/**
 * What is wrong with what a subscriber of a glob has in the end, by key.
 *
 * @param {Pick<import('./glob-watchers.js').GlobWatcher, 'glob' | 'last' | 'map' | 'freshness'>} watcher
 * @param {ReadonlyMap<string, import('rx-statestore').Entry<string>>} stored - all keys of the run
 * @returns {string[]}
 */
export function judgeGlobAtEnd({ glob, last, map, freshness }, stored) {
  if (freshness !== 'live') return [`it is ${freshness}`]
  if (map === undefined) return ['it has no map']
  const wrong = []
  for (const [key, held] of stored) {
    const value = held.op === 'set' && fits(glob, key) ? held.value : undefined
    const shown = last.get(key)
    const isShown = shown?.op === 'set' ? shown.value : undefined
    if (isShown !== value || (value !== undefined && String(shown?.version) !== String(held.version)))
      wrong.push(`${key} shows ${brief(shown)}, stored is ${brief(held)}`)
    if (map.get(key) !== value) wrong.push(`${key} is ${brief(map.get(key))} in the map, stored is ${brief(held)}`)
  }
  const known = Array.from(map.keys()).filter(key => !stored.has(key))
  return [...wrong, ...known.map(key => `${key} is in the map, and nobody wrote it`)]
}

/** @param {unknown} what */
const brief = what => JSON.stringify(what)?.slice(0, 200)
