import type { Entry } from '../../src/client/index.js'
import type { History } from './history.js'

/** What is known of a watch when it says something. */
export interface Circumstances {
  /** Place in the history at which the store sent the message that made the watch speak; none for a late subscriber. */
  readonly place: number | undefined
  /** What comes on this connection can be told from what was queued before. */
  readonly certain: boolean
  /** A message of this connection told of the change: a read that finds it confirms it, and does not only replace another. */
  readonly notified: boolean
}

/** What the promises depend on in a simulation. */
export interface Terms {
  /** The store says the place of an answer that there is no such key. */
  readonly positions: boolean
  /** The broker repeats messages on the same connection. */
  readonly duplicates: boolean
}

/**
 * Holds one subscriber of a watch to its promises, entry by entry. It knows all that ever happened at the store, and
 * the place of everything in it.
 */
export class Oracle {
  readonly #history: History
  readonly #key: string
  readonly #terms: Terms
  /** Place of the last entry with a version. */
  #last: number | undefined
  /** Where a read found no key, and the watch said so: what follows happened later. */
  #absentFrom: number | undefined
  /** Where a read found no key again: what happened before need not be told. */
  #mergedUntil: number | undefined
  /** A change was emitted since the connection is there, confirmed by a read or certain: then all that follow are. */
  #believed = false
  /** It came to a watch that was there, without a value; whether that was read again since is not known. */
  #late = false
  #live = false
  #shown: Entry<string> | undefined

  constructor(history: History, key: string, terms: Terms) {
    this.#history = history
    this.#key = key
    this.#terms = terms
  }

  /** What was emitted last. */
  get shown(): Entry<string> | undefined {
    return this.#shown
  }

  get isLive(): boolean {
    return this.#live
  }

  /** A subscriber that came late knows what another one of the same watch knows, if there is one. */
  joins(other: Oracle | undefined): void {
    this.#late = other === undefined ? this.#shown?.op !== 'set' : other.#late
    if (other === undefined) return
    this.#absentFrom = other.#absentFrom
    this.#mergedUntil = other.#mergedUntil
    this.#believed = other.#believed
  }

  /**
   * The value was read, at a place of the history, and may be relied on; or it may not any more. Returns what is wrong with
   * that, if anything is.
   */
  live(isLive: boolean, place: number | undefined): string | undefined {
    this.#live = isLive
    if (!isLive) this.#believed = false
    if (!isLive || place === undefined) return undefined
    const complaint = this.#judgeBookmark(place)
    // A read that finds the key still gone emits nothing; it may have been overtaken by what is told later.
    if (this.#shown !== undefined && this.#shown.op !== 'set')
      this.#mergedUntil = Math.max(place, this.#last === undefined ? 0 : this.#last + 1)
    return complaint
  }

  /** What is wrong with an entry, if anything is. */
  judge(entry: Entry<string>, circumstances: Circumstances): string | undefined {
    this.#shown = entry
    if (entry.op === 'absent') return this.#judgeAbsence(circumstances.place)
    const place = this.#placeOf(entry)
    if (place === undefined) return 'it never happened'
    const complaint = this.#judgeOrder(place) ?? this.#judgeGap(place, circumstances)
    this.#last = place
    this.#absentFrom = undefined
    this.#mergedUntil = undefined
    this.#late = false
    this.#believed ||= this.#live && entry.source === 'notification' && circumstances.notified
    return complaint
  }

  /** A store that lost its data and whose clock went back may have given a version twice. */
  #placeOf({ op, version, value }: Entry<string>): number | undefined {
    const places = version === undefined ? [] : this.#history.placesOf(this.#key, String(version))
    const fits = places.filter(place => {
      const happened = this.#history.all[place]
      return happened?.op === op && happened.value === value
    })
    return fits.find(place => this.#judgeOrder(place) === undefined) ?? fits[0]
  }

  #judgeAbsence(place: number | undefined): string | undefined {
    this.#absentFrom = place
    this.#mergedUntil = undefined
    if (place === undefined) return undefined
    const { all, life } = this.#history
    const before = this.#history.between(this.#key, 0, place).at(-1)
    // A store that lost its data forgot whatever an earlier one was told.
    if (before?.op !== 'set' || before.life !== life) return undefined
    // It was there when it was read, but a deletion may have overtaken the answer.
    const deleted = all.findIndex((change, at) => at >= place && change.key === this.#key && change.op === 'delete')
    this.#absentFrom = deleted + 1
    return deleted < 0 ? 'the key was there' : undefined
  }

  /** Of all that happened before a place the last change is shown, or a later one. */
  #judgeBookmark(place: number): string | undefined {
    const { all, life } = this.#history
    const before = this.#history.between(this.#key, 0, place).at(-1)
    // A store that lost its data knows nothing of what happened at an earlier one.
    if (before?.life !== life) return undefined
    const shownTo = Math.max(this.#last ?? -1, (this.#absentFrom ?? 0) - 1)
    if (shownTo >= all.lastIndexOf(before)) return undefined
    // An answer without a place that there is no such key shows nothing: the deletion is told by its notification.
    if (before.op === 'delete' && !this.#terms.positions) return undefined
    // A deletion that is told later may have overtaken the answer.
    const later = this.#history.between(this.#key, place, all.length)
    const mayBeGone = [before, ...later].some(({ op }) => op === 'delete')
    const isGone = this.#shown !== undefined && this.#shown.op !== 'set'
    return isGone && mayBeGone ? undefined : 'it is live, and the last change before was not told'
  }

  #judgeOrder(place: number): string | undefined {
    if (this.#last !== undefined && place <= this.#last) return 'it is not newer than the entry before'
    if (this.#absentFrom !== undefined && place < this.#absentFrom) return 'it is older than the absence before'
    return undefined
  }

  #judgeGap(place: number, circumstances: Circumstances): string | undefined {
    if (!this.#live || this.#mayMerge(circumstances)) return undefined
    const gone = this.#mergedUntil ?? this.#absentFrom
    const from = gone ?? (this.#last === undefined ? place : this.#last + 1)
    // A key that was not shown cannot be seen to go.
    const shown = gone === undefined
    const changes = this.#history.between(this.#key, from, place)
    const missing = shown || changes[0]?.op !== 'delete' ? changes : changes.slice(1)
    return missing.length > 0 ? `${missing.length} changes before it were not told` : undefined
  }

  /** Documented: where something has no place among the changes a read decides, and merges what changed meanwhile. */
  #mayMerge({ certain }: Circumstances): boolean {
    const { positions, duplicates } = this.#terms
    const gone = this.#absentFrom !== undefined || this.#mergedUntil !== undefined
    if (this.#late || (!positions && gone)) return true
    return !certain && (!this.#believed || duplicates)
  }
}
