import type { Entry } from '../../src/client/index.js'
import type { SeparateWatch } from './glob-session.js'
import type { History } from './history.js'
import { type EntryContext, type Guarantees, Oracle } from './oracle.js'

/** The conditions of the guarantees for a watched glob, in addition to those for a key. */
export interface GlobGuarantees extends Guarantees {
  /** Whether every change of a new key is emitted, because the store notifies of keys and all messages are ordered. */
  readonly everyChange: boolean
  fits(key: string): boolean
}

export interface GlobEntryContext extends EntryContext {
  /** Whether no other subscriber of this client has watched the key since the glob became complete. */
  readonly isOnlyWatcher: boolean
  /** The separate watch of the key for another glob of this client, for which the client scans. */
  readonly separateWatch: SeparateWatch
  /** Whether the store notifies of new keys, that is, did not repeatedly leave the registration unanswered. */
  readonly hasNotifications: boolean
}

/** An oracle that checks one subscriber of a glob. The oracle for keys checks the entries of each key. */
export class GlobOracle {
  readonly #history: History
  readonly #guarantees: GlobGuarantees
  readonly #keys = new Map<string, Oracle>()
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

  shown(key: string): Entry<string> | undefined {
    return this.#keys.get(key)?.shown
  }

  setLive(isLive: boolean, position: number | undefined): void {
    this.#liveFrom = isLive ? this.#history.all.length : undefined
    for (const oracle of this.#keys.values()) oracle.setLive(isLive, position)
  }

  judge(entry: Entry<string>, context: GlobEntryContext): string | undefined {
    const { key } = entry
    if (!this.#guarantees.fits(key)) return 'the key does not match'
    const known = this.#keys.get(key)
    const exists = known?.shown?.op === 'set'
    if (entry.op !== 'set' && !exists) return 'an absent key was removed'
    const oracle = known ?? new Oracle(this.#history, key, this.#guarantees)
    this.#keys.set(key, oracle)
    if (known === undefined && this.isLive) oracle.setLive(true, undefined)
    const emittedTo = this.#emittedTo(key)
    const mergedTo = this.#mergedTo(entry, context.separateWatch)
    const firstEntry = exists ? undefined : this.#judgeFirstEntry(entry, context, mergedTo)
    const complaint = oracle.judge(entry, context)
    // The origin of an entry of an existing watch is unknown.
    if (known === undefined && !context.isOnlyWatcher) {
      oracle.setLive(false, undefined)
      if (this.isLive) oracle.setLive(true, undefined)
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
  #mergedTo({ key, source }: Entry<string>, { to, isHandedOver }: SeparateWatch): number {
    const hadRegistration = source === 'resync' && this.#emittedTo(key) > this.liveFrom
    return hadRegistration && !isHandedOver ? 0 : to
  }

  /** Checks that a key that appears while the glob is live appears with its first change. */
  #judgeFirstEntry(
    { key, version }: Entry<string>,
    { isCertain, position, isOnlyWatcher, hasNotifications }: GlobEntryContext,
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
      to === undefined ||
      position === undefined
    )
      return
    const changes = all
      .slice(Math.max(this.#liveFrom, this.#emittedTo(key), mergedTo), to)
      .filter(change => change.key === key)
    const missing = changes[0]?.op === 'delete' ? changes.slice(1) : changes
    return missing.length > 0 ? `the key appeared, but ${missing.length} earlier changes were not emitted` : undefined
  }
}
