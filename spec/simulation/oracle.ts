import type { Entry } from '../../src/client/index.js'
import type { History } from './history.js'

/** The known circumstances of an entry. */
export interface EntryContext {
  /**
   * Position in the history at which the store sent the message that caused the entry; missing for a late subscriber.
   */
  readonly position: number | undefined
  /** Messages of this connection can be distinguished from those queued before. */
  readonly certain: boolean
  /**
   * A message of this connection carried the change: a read that finds it confirms it, and does not only replace an
   * earlier value.
   */
  readonly notified: boolean
}

/** Conditions of the guarantees in a simulation. */
export interface Guarantees {
  /** The store sends the version of a not-found response. */
  readonly positions: boolean
  readonly duplicates: boolean
}

/** Checks one subscriber of a watch, entry by entry, against the complete history of the store. */
export class Oracle {
  readonly #history: History
  readonly #key: string
  readonly #guarantees: Guarantees
  #last: number | undefined
  /** Where a read found no key, and that was emitted: later entries happened later. */
  #absentFrom: number | undefined
  /** Where a later read found no key: earlier changes need not be emitted. */
  #mergedUntil: number | undefined
  /** A change on this connection was confirmed by a read or certain: then all later ones are. */
  #believed = false
  /** It joined an existing watch without a value; whether that was read since is unknown. */
  #late = false
  #live = false
  #shown: Entry<string> | undefined

  constructor(history: History, key: string, terms: Guarantees) {
    this.#history = history
    this.#key = key
    this.#guarantees = terms
  }

  get shown(): Entry<string> | undefined {
    return this.#shown
  }

  get isLive(): boolean {
    return this.#live
  }

  /** A late subscriber knows what another subscriber of the same watch knows. */
  joins(other: Oracle | undefined): void {
    this.#late = other === undefined ? this.#shown?.op !== 'set' : other.#late
    if (other === undefined) return
    this.#absentFrom = other.#absentFrom
    this.#mergedUntil = other.#mergedUntil
    this.#believed = other.#believed
  }

  /** The value became live, as read at a position in the history, or stale. Returns what is wrong with that. */
  setLive(isLive: boolean, position: number | undefined): string | undefined {
    this.#live = isLive
    if (!isLive) this.#believed = false
    if (!isLive || position === undefined) return undefined
    const complaint = this.#judgeVersion(position)
    // A read that finds the key still absent emits nothing; a later notification may have overtaken it.
    if (this.#shown !== undefined && this.#shown.op !== 'set')
      this.#mergedUntil = Math.max(position, this.#last === undefined ? 0 : this.#last + 1)
    return complaint
  }

  judge(entry: Entry<string>, context: EntryContext): string | undefined {
    this.#shown = entry
    if (entry.op === 'absent') return this.#judgeAbsence(context.position)
    const position = this.#placeOf(entry)
    if (position === undefined) return 'it never happened'
    const complaint = this.#judgeOrder(position) ?? this.#judgeGap(position, context)
    this.#last = position
    this.#absentFrom = undefined
    this.#mergedUntil = undefined
    this.#late = false
    this.#believed ||= this.#live && entry.source === 'notification' && context.notified
    return complaint
  }

  /** A store that lost its data and whose clock was set back may have reused a version. */
  #placeOf({ op, version, value }: Entry<string>): number | undefined {
    const positions = version === undefined ? [] : this.#history.positionsOf(this.#key, String(version))
    const fits = positions.filter(position => {
      const happened = this.#history.all[position]
      return happened?.op === op && happened.value === value
    })
    return fits.find(position => this.#judgeOrder(position) === undefined) ?? fits[0]
  }

  #judgeAbsence(position: number | undefined): string | undefined {
    this.#absentFrom = position
    this.#mergedUntil = undefined
    if (position === undefined) return undefined
    const { all, instance } = this.#history
    const before = this.#history.between(this.#key, 0, position).at(-1)
    // A store that lost its data has forgotten earlier registrations.
    if (before?.op !== 'set' || before.instance !== instance) return undefined
    // The key existed when it was read, but a deletion may have overtaken the response.
    const deleted = all.findIndex((change, at) => at >= position && change.key === this.#key && change.op === 'delete')
    this.#absentFrom = deleted + 1
    return deleted < 0 ? 'the key existed' : undefined
  }

  /** The last change before a position, or a later one, must be shown. */
  #judgeVersion(position: number): string | undefined {
    const { all, instance } = this.#history
    const before = this.#history.between(this.#key, 0, position).at(-1)
    // A store that lost its data does not know earlier changes.
    if (before?.instance !== instance) return undefined
    const shownTo = Math.max(this.#last ?? -1, (this.#absentFrom ?? 0) - 1)
    if (shownTo >= all.lastIndexOf(before)) return undefined
    // A not-found response without a version emits nothing: the notification of the deletion does.
    if (before.op === 'delete' && !this.#guarantees.positions) return undefined
    // A later deletion may have overtaken the response.
    const later = this.#history.between(this.#key, position, all.length)
    const mayBeGone = [before, ...later].some(({ op }) => op === 'delete')
    const isGone = this.#shown !== undefined && this.#shown.op !== 'set'
    return isGone && mayBeGone ? undefined : 'it is live, but the last earlier change was not emitted'
  }

  #judgeOrder(position: number): string | undefined {
    if (this.#last !== undefined && position <= this.#last) return 'it is not newer than the entry before'
    if (this.#absentFrom !== undefined && position < this.#absentFrom) return 'it is older than the last absence'
    return undefined
  }

  #judgeGap(position: number, context: EntryContext): string | undefined {
    if (!this.#live || this.#mayMerge(context)) return undefined
    const gone = this.#mergedUntil ?? this.#absentFrom
    const from = gone ?? (this.#last === undefined ? position : this.#last + 1)
    // Deleting a key that was not shown is not visible.
    const shown = gone === undefined
    const changes = this.#history.between(this.#key, from, position)
    const missing = shown || changes[0]?.op !== 'delete' ? changes : changes.slice(1)
    return missing.length > 0 ? `${missing.length} earlier changes were not emitted` : undefined
  }

  /** As documented: a read decides about changes that cannot be ordered, and merges those in between. */
  #mayMerge({ certain }: EntryContext): boolean {
    const { positions, duplicates } = this.#guarantees
    const gone = this.#absentFrom !== undefined || this.#mergedUntil !== undefined
    if (this.#late || (!positions && gone)) return true
    return !certain && (!this.#believed || duplicates)
  }
}
