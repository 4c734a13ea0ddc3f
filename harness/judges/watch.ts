import type { History } from './history.js'

/** An entry that a subscriber received. */
export interface SeenEntry {
  readonly key: string
  readonly op: 'set' | 'delete' | 'absent' | 'invalid'
  readonly value?: string | undefined
  readonly version?: { toString(): string } | undefined
  readonly source: 'snapshot' | 'notification' | 'resync'
}

/** The known circumstances of an entry. */
export interface EntryContext {
  /**
   * The position in the history at which the store sent the message that caused the entry. It is missing for a late
   * subscriber.
   */
  readonly position: number | undefined
  /** Whether messages of this connection can be distinguished from those queued before. */
  readonly isCertain: boolean
  /**
   * Whether a message of this connection carried the change. A read that finds the change then confirms it, and does
   * not only replace an earlier value.
   */
  readonly wasDelivered: boolean
}

/** The conditions of the guarantees. */
export interface Guarantees {
  /** Whether the store sends the version of a not-found response. */
  readonly hasPositions: boolean
  readonly hasDuplicates: boolean
}

/** A judge of one subscriber of a watch, which compares each entry with the complete history of the store. */
export class WatchJudge {
  readonly #history: History
  readonly #key: string
  readonly #guarantees: Guarantees
  #lastPosition: number | undefined
  /** The position at which a read found no key and the absence was emitted. Later entries happened later. */
  #absentFrom: number | undefined
  /** The position at which a later read found no key. Earlier changes may be merged. */
  #mergedUntil: number | undefined
  /**
   * Whether a read confirmed a change on this connection, or the change was certain. All later changes are then
   * confirmed.
   */
  #hasConfirmedChange = false
  /**
   * Whether the subscriber joined an existing watch without a value. It is unknown whether the value has been read
   * since.
   */
  #isLateSubscriber = false
  #isLive = false
  #shown: SeenEntry | undefined

  constructor(history: History, key: string, terms: Guarantees) {
    this.#history = history
    this.#key = key
    this.#guarantees = terms
  }

  get shown(): SeenEntry | undefined {
    return this.#shown
  }

  get isLive(): boolean {
    return this.#isLive
  }

  /** Gives a late subscriber the knowledge of another subscriber of the same watch. */
  joinLate(other: WatchJudge | undefined): void {
    this.#isLateSubscriber = other === undefined ? this.#shown?.op !== 'set' : other.#isLateSubscriber
    if (other === undefined) return
    this.#absentFrom = other.#absentFrom
    this.#mergedUntil = other.#mergedUntil
    this.#hasConfirmedChange = other.#hasConfirmedChange
  }

  /**
   * Records that the value became stale, or became live after a read at a position in the history. Returns a violation,
   * if any.
   */
  setLive(isLive: boolean, position: number | undefined): string | undefined {
    this.#isLive = isLive
    if (!isLive) this.#hasConfirmedChange = false
    if (!isLive || position === undefined) return undefined
    const complaint = this.#judgeVersion(position)
    // A read that finds the key still absent emits nothing. A later notification may have overtaken the read.
    if (this.#shown !== undefined && this.#shown.op !== 'set')
      this.#mergedUntil = Math.max(position, this.#lastPosition === undefined ? 0 : this.#lastPosition + 1)
    return complaint
  }

  judge(entry: SeenEntry, context: EntryContext): string | undefined {
    this.#shown = entry
    if (entry.op === 'absent') return this.#judgeAbsence(context.position)
    const position = this.#findPosition(entry)
    if (position === undefined) return 'it never happened'
    const complaint = this.#judgeOrder(position) ?? this.#judgeGap(position, context)
    this.#lastPosition = position
    this.#absentFrom = undefined
    this.#mergedUntil = undefined
    this.#isLateSubscriber = false
    this.#hasConfirmedChange ||= this.#isLive && entry.source === 'notification' && context.wasDelivered
    return complaint
  }

  /**
   * Returns the position of an entry. A store that lost its data and whose clock was set back may have reused a
   * version.
   */
  #findPosition({ op, version, value }: SeenEntry): number | undefined {
    const positions = version === undefined ? [] : this.#history.positionsOf(this.#key, String(version))
    const matches = positions.filter(position => {
      const change = this.#history.all[position]
      return change?.op === op && change.value === value
    })
    return matches.find(position => this.#judgeOrder(position) === undefined) ?? matches[0]
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
    const deletedAt = all.findIndex(
      (change, at) => at >= position && change.key === this.#key && change.op === 'delete',
    )
    this.#absentFrom = deletedAt + 1
    return deletedAt < 0 ? 'the key existed' : undefined
  }

  /** Checks that the last change before a position, or a later change, is shown. */
  #judgeVersion(position: number): string | undefined {
    const { all, instance } = this.#history
    const before = this.#history.between(this.#key, 0, position).at(-1)
    // A store that lost its data does not know earlier changes.
    if (before?.instance !== instance) return undefined
    const shownTo = Math.max(this.#lastPosition ?? -1, (this.#absentFrom ?? 0) - 1)
    if (shownTo >= all.lastIndexOf(before)) return undefined
    // A not-found response without a version emits nothing, but the notification of the deletion does.
    if (before.op === 'delete' && !this.#guarantees.hasPositions) return undefined
    // A later deletion may have overtaken the response.
    const later = this.#history.between(this.#key, position, all.length)
    const mayBeGone = [before, ...later].some(({ op }) => op === 'delete')
    const isGone = this.#shown !== undefined && this.#shown.op !== 'set'
    return isGone && mayBeGone ? undefined : 'it is live, but the last earlier change was not emitted'
  }

  #judgeOrder(position: number): string | undefined {
    if (this.#lastPosition !== undefined && position <= this.#lastPosition)
      return 'it is not newer than the entry before'
    if (this.#absentFrom !== undefined && position < this.#absentFrom) return 'it is older than the last absence'
    return undefined
  }

  #judgeGap(position: number, context: EntryContext): string | undefined {
    if (!this.#isLive || this.#mayMerge(context)) return undefined
    const absentFrom = this.#mergedUntil ?? this.#absentFrom
    const from = absentFrom ?? (this.#lastPosition === undefined ? position : this.#lastPosition + 1)
    // The deletion of a key that was not shown is not visible.
    const wasShown = absentFrom === undefined
    const changes = this.#history.between(this.#key, from, position)
    const missing = wasShown || changes[0]?.op !== 'delete' ? changes : changes.slice(1)
    return missing.length > 0 ? `${missing.length} earlier changes were not emitted` : undefined
  }

  /**
   * Returns whether changes may be merged. As documented, a read decides about changes that cannot be ordered, and
   * merges those in between.
   */
  #mayMerge({ isCertain }: EntryContext): boolean {
    const { hasPositions, hasDuplicates } = this.#guarantees
    const wasAbsent = this.#absentFrom !== undefined || this.#mergedUntil !== undefined
    if (this.#isLateSubscriber || (!hasPositions && wasAbsent)) return true
    return !isCertain && (!this.#hasConfirmedChange || hasDuplicates)
  }
}
