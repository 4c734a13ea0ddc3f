import type { Entry } from '../../src/index.js'
import type { History } from './history.js'

/** What is known of a watch when it says something. */
export interface Circumstances {
  /** Place in the history at which the store sent the message that made the watch speak; none for a late subscriber. */
  readonly place: number | undefined
  /** Nothing of an earlier connection or watch can interfere. */
  readonly strict: boolean
}

/**
 * Holds one subscriber of a watch to its promises, entry by entry. It knows all that ever happened at the store, and
 * the place of everything in it.
 */
export class Oracle {
  readonly #history: History
  readonly #key: string
  /** Place of the last entry with a version. */
  #last: number | undefined
  /** Where a read found no key: what follows happened later. */
  #absentFrom: number | undefined
  #live = false
  #shown: Entry<string> | undefined

  constructor(history: History, key: string) {
    this.#history = history
    this.#key = key
  }

  /** What was emitted last. */
  get shown(): Entry<string> | undefined {
    return this.#shown
  }

  /** The value was read, at a place of the history, and may be relied on; or it may not any more. */
  live(isLive: boolean, place: number | undefined): void {
    this.#live = isLive
    // A read that finds the key still gone emits nothing, but what follows happened after it.
    if (!isLive || place === undefined || this.#shown === undefined || this.#shown.op === 'set') return
    this.#absentFrom = Math.max(place, this.#last === undefined ? 0 : this.#last + 1)
  }

  /** What is wrong with an entry, if anything is. */
  judge(entry: Entry<string>, circumstances: Circumstances): string | undefined {
    this.#shown = entry
    if (entry.op === 'absent') return this.#judgeAbsence(circumstances.place)
    const place = entry.version === undefined ? undefined : this.#history.placeOf(String(entry.version))
    const happened = place === undefined ? undefined : this.#history.all[place]
    if (place === undefined || happened?.op !== entry.op || happened.value !== entry.value) return 'it never happened'
    const complaint = this.#judgeOrder(place) ?? this.#judgeGap(place, entry, circumstances)
    this.#last = place
    this.#absentFrom = undefined
    return complaint
  }

  #judgeAbsence(place: number | undefined): string | undefined {
    this.#absentFrom = place
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

  #judgeOrder(place: number): string | undefined {
    if (this.#last !== undefined && place <= this.#last) return 'it is not newer than the entry before'
    if (this.#absentFrom !== undefined && place < this.#absentFrom) return 'it is older than the absence before'
    return undefined
  }

  #judgeGap(place: number, entry: Entry<string>, { strict }: Circumstances): string | undefined {
    if (!this.#live || entry.source !== 'notification') return undefined
    // Documented: after a reconnect to a kept session changes of an absent key may be merged, or of one whose store went back.
    if (!strict && (this.#absentFrom !== undefined || this.#history.life > 0)) return undefined
    const from = this.#absentFrom ?? (this.#last === undefined ? place : this.#last + 1)
    // A key that was not shown cannot be seen to go.
    const shown = this.#absentFrom === undefined
    const changes = this.#history.between(this.#key, from, place)
    const missing = shown || changes[0]?.op !== 'delete' ? changes : changes.slice(1)
    return missing.length > 0 ? `${missing.length} changes before it were not told` : undefined
  }
}
