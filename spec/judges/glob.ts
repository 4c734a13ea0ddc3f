import { matchesGlob } from './chaos-globs.js'
import type { StoreHistory } from './store-history.js'
import type { Seen } from './watch.js'
import { WatchJudge } from './watch.js'

export type SeenGlobEntry = Seen & { key: string; isSure: boolean }

/** A judge of the entries of one subscriber of a glob. A {@link WatchJudge} checks the guarantees of each key. */
export class GlobJudge {
  #glob
  #history
  #versions
  #keepsRegistrations
  #keys: Map<string, WatchJudge> = new Map()
  #existingKeys: Set<string> = new Set()
  /** The monotonic time in milliseconds at which the watch became live, if it is live. */
  #liveSince: number | undefined

  /**
   * @param versions - the versions of values, as returned to writers and shown to others
   * @param keepsRegistrations - whether registrations outlive connections because the store does not see them end
   */
  constructor(
    glob: string,
    history: Pick<StoreHistory, 'changesOf'>,
    versions: Map<string, Set<string>>,
    keepsRegistrations: boolean = false,
  ) {
    this.#keepsRegistrations = keepsRegistrations
    this.#glob = glob
    this.#history = history
    this.#versions = versions
  }

  /**
   * @param since - the monotonic time in milliseconds at which the watch became live, or `undefined` if it is not live
   */
  setLive(since: number | undefined) {
    this.#liveSince = since
  }

  judge(seen: SeenGlobEntry): string[] {
    const { key, op, isSure } = seen
    if (!matchesGlob(this.#glob, key)) return ['a key that does not match']
    const isThere = this.#existingKeys.has(key)
    if (op !== 'set' && !isThere) return ['the deletion of an absent key']
    if (op === 'set') this.#existingKeys.add(key)
    else this.#existingKeys.delete(key)
    const judge =
      this.#keys.get(key) ?? new WatchJudge(this.#history.changesOf(key), this.#versions, this.#keepsRegistrations)
    this.#keys.set(key, judge)
    const before = judge.position
    const violations = judge.judge(seen)
    const missed = isSure || isThere ? this.#countMissed(key, before, judge.position) : 0
    return missed > 0 ? [...violations, `${missed} changes before it were missed while it was live`] : violations
  }

  storyOf(key: string) {
    return this.#keys.get(key)?.context ?? ''
  }

  /**
   * Returns how many changes since the watch became live were not shown.
   *
   * @param after - the position of the previously shown change, if known
   */
  #countMissed(key: string, after: number | undefined, until: number | undefined) {
    const since = this.#liveSince
    if (since === undefined || after === undefined || until === undefined) return 0
    return this.#history
      .changesOf(key)
      .filter(({ place, op, earliest }) => op === 'set' && place > after && place < until && earliest > since).length
  }
}
