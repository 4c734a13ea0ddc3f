import type { Entry } from '../../src/client/index.js'
import type { SeparateWatch } from './glob-session.js'
import type { History } from './history.js'
import { type EntryContext, type Guarantees, Oracle } from './oracle.js'

/** Conditions of the guarantees of a watched glob, in addition to those of a key. */
export interface GlobGuarantees extends Guarantees {
  /** Every change of a new key is emitted: the store notifies of keys, and all messages are ordered. */
  readonly everyChange: boolean
  fits(key: string): boolean
}

export interface GlobEntryContext extends EntryContext {
  /** No other subscriber of this client has watched the key since the glob is complete. */
  readonly isOnlyWatcher: boolean
  /** Another glob of this client is scanned for, and has the key watched separately. */
  readonly separateWatch: SeparateWatch
  /** The store notifies of new keys: it did not leave the registration unanswered repeatedly. */
  readonly hasNotifications: boolean
}

/** Checks one subscriber of a glob. The entries of each key are left to the oracle for keys. */
export class GlobOracle {
  readonly #history: History
  readonly #guarantees: GlobGuarantees
  readonly #keys = new Map<string, Oracle>()
  /** Position in the history from which all changes are notified, while live. */
  #liveFrom: number | undefined

  constructor(history: History, terms: GlobGuarantees) {
    this.#history = history
    this.#guarantees = terms
  }

  /** Position in the history from which all changes are notified; the end of the history if they are not. */
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
   * Position up to which changes may be merged; not for a key that was emitted before while live, as it is registered.
   */
  #mergedTo({ key, source }: Entry<string>, { to, isHandedOver }: SeparateWatch): number {
    const hadRegistration = source === 'resync' && this.#emittedTo(key) > this.liveFrom
    return hadRegistration && !isHandedOver ? 0 : to
  }

  /** A key that appears while live appears with its first change. */
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
