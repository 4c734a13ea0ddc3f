import type { History } from './history.js'
import { type EntryContext, type Guarantees, type SeenEntry, WatchJudge } from './watch.js'

/** The conditions of the guarantees for a watched glob, in addition to those for a key. */
export interface GlobGuarantees extends Guarantees {
  /** Whether every change of a new key is emitted, because the store notifies of keys and all messages are ordered. */
  readonly everyChange: boolean
  fits(key: string): boolean
}

/** A key that is watched separately because the client scans for its glob. */
export interface SeparateWatch {
  /** The position in the history up to which changes of the key may be merged. */
  readonly to: number
  /** Whether the watch may have used the registration of a glob that has ended. */
  readonly isHandedOver: boolean
}

export const NO_SEPARATE_WATCH: SeparateWatch = { to: 0, isHandedOver: false }

export interface GlobEntryContext extends EntryContext {
  /** Whether no other subscriber of this client has watched the key since the glob became complete. */
  readonly isOnlyWatcher: boolean
  /** The separate watch of the key for another glob of this client, for which the client scans. */
  readonly separateWatch: SeparateWatch
  /** Whether the store notifies of new keys, that is, did not repeatedly leave the registration unanswered. */
  readonly hasNotifications: boolean
}

/** A judge of one subscriber of a glob. A {@link WatchJudge} checks the entries of each key. */
export class GlobJudge {
  readonly #history: History
  readonly #guarantees: GlobGuarantees
  readonly #keys = new Map<string, WatchJudge>()
  /** The position in the history from which all changes are notified while the glob is live. */
  #liveFrom: number | undefined

  constructor(history: History, terms: GlobGuarantees) {
    this.#history = history
    this.#guarantees = terms
  }

  /** The position in the history from which all changes are notified, or the end of the history if they are not. */
  get liveFrom(): number {
    return this.#liveFrom ?? this.#history.all.length
  }

  get isLive(): boolean {
    return this.#liveFrom !== undefined
  }

  shown(key: string): SeenEntry | undefined {
    return this.#keys.get(key)?.shown
  }

  /**
   * Records that the glob became stale, or became live after a read at a position in the history. While the glob is
   * live, all changes from `liveFrom` on are notified.
   */
  setLive(isLive: boolean, position: number | undefined, liveFrom: number = this.#history.all.length): void {
    this.#liveFrom = isLive ? liveFrom : undefined
    for (const judge of this.#keys.values()) judge.setLive(isLive, position)
  }

  judge(entry: SeenEntry, context: GlobEntryContext): string | undefined {
    const { key } = entry
    if (!this.#guarantees.fits(key)) return 'the key does not match'
    const known = this.#keys.get(key)
    const exists = known?.shown?.op === 'set'
    if (entry.op !== 'set' && !exists) return 'an absent key was removed'
    const judge = known ?? new WatchJudge(this.#history, key, this.#guarantees)
    this.#keys.set(key, judge)
    if (known === undefined && this.isLive) judge.setLive(true, undefined)
    const emittedTo = this.#emittedTo(key)
    const mergedTo = this.#mergedTo(entry, context.separateWatch)
    const firstEntry = exists ? undefined : this.#judgeFirstEntry(entry, context, mergedTo)
    const complaint = judge.judge(entry, context)
    // The origin of an entry of an existing watch is unknown.
    if (known === undefined && !context.isOnlyWatcher) {
      judge.setLive(false, undefined)
      if (this.isLive) judge.setLive(true, undefined)
    }
    const isGap = complaint?.endsWith('were not emitted')
    const { isOnlyWatcher, hasNotifications, isCertain } = context
    const mayMerge =
      !exists &&
      !(this.#guarantees.everyChange && isCertain && isOnlyWatcher && hasNotifications && mergedTo <= emittedTo)
    return firstEntry ?? (isGap && mayMerge ? undefined : complaint)
  }

  #emittedTo(key: string): number {
    const last = this.shown(key)?.version
    return last === undefined ? 0 : Math.max(...this.#history.positionsOf(key, String(last))) + 1
  }

  /**
   * Returns the position up to which changes may be merged. They may not be merged for a key that was emitted before
   * while live, because that key is registered.
   */
  #mergedTo({ key, source }: SeenEntry, { to, isHandedOver }: SeparateWatch): number {
    const hadRegistration = source === 'resync' && this.#emittedTo(key) > this.liveFrom
    return hadRegistration && !isHandedOver ? 0 : to
  }

  /** Checks that a key that appears while the glob is live appears with its first change. */
  #judgeFirstEntry(
    { key, version }: SeenEntry,
    { isCertain, isOnlyWatcher, hasNotifications }: GlobEntryContext,
    mergedTo: number,
  ): string | undefined {
    const { all } = this.#history
    const to = this.#history.positionsOf(key, String(version)).at(-1)
    if (
      !this.#guarantees.everyChange ||
      !isCertain ||
      !isOnlyWatcher ||
      !hasNotifications ||
      this.#liveFrom === undefined ||
      to === undefined
    )
      return
    const changes = all
      .slice(Math.max(this.#liveFrom, this.#emittedTo(key), mergedTo), to)
      .filter(change => change.key === key)
    const missing = changes[0]?.op === 'delete' ? changes.slice(1) : changes
    return missing.length > 0 ? `the key appeared, but ${missing.length} earlier changes were not emitted` : undefined
  }
}

/** Returns a matcher for a glob of `*`, `?` and `[...]`, implemented independently of the library. */
export function globMatcher(glob: string): (key: string) => boolean {
  const form = new RegExp(`^${glob.replaceAll('*', '.*').replaceAll('?', '.')}$`)
  return key => form.test(key)
}
