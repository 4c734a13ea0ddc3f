import { fits } from './chaos-globs.js'
import type { History } from './history.js'
import type { Seen } from './watch.js'
import { WatchJudge } from './watch.js'

/** An entry of a glob as it was recorded. */
export type SeenOfGlob = Seen & { key: string; isSure: boolean }

/** Holds one subscriber of a glob to its promises; what is promised of each key is left to the judge of a key. */
export class GlobJudge {
  #glob
  #history
  #versions
  #keepsRegistrations
  #keys: Map<string, WatchJudge> = new Map()
  /** Those that were told to be there. */
  #there: Set<string> = new Set()
  /** Since when all is told, while it is live, monotonic ms. */
  #liveSince: number | undefined

  /**
   * @param versions - of values, as their writers and others were told
   * @param keepsRegistrations - whether the store does not see connections end
   */
  constructor(
    glob: string,
    history: Pick<History, 'changesOf'>,
    versions: Map<string, Set<string>>,
    keepsRegistrations: boolean = false,
  ) {
    this.#keepsRegistrations = keepsRegistrations
    this.#glob = glob
    this.#history = history
    this.#versions = versions
  }

  /** @param since - when it became live, monotonic ms, if it is */
  live(since: number | undefined) {
    this.#liveSince = since
  }

  /** What is wrong with the next entry. */
  judge(seen: SeenOfGlob): string[] {
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

  /** What was seen of a key. */
  storyOf(key: string) {
    return this.#keys.get(key)?.story ?? ''
  }

  /**
   * How many values there were since all is told that were not.
   *
   * @param after - place of what was told before, if it is known
   */
  #untold(key: string, after: number | undefined, until: number | undefined) {
    const since = this.#liveSince
    if (since === undefined || after === undefined || until === undefined) return 0
    return this.#history
      .changesOf(key)
      .filter(({ place, op, from }) => op === 'set' && place > after && place < until && from > since).length
  }
}
