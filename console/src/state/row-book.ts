import type { Entry } from 'rx-statestore'
import type { KeyFacts } from '../../../src/server/console/contract.js'
import { type ChangeTimes, NO_BEATS, withBeat } from '../model/beats.js'
import type { ListedKey } from '../model/listed-key.js'
import { show, type ValuePreview } from '../model/value.js'

/** What is known of a key that is to be seen. */
export interface Row {
  readonly entry?: Entry<Uint8Array>
  /** The value of the entry; missing when there is none. */
  readonly shown?: ValuePreview
  readonly facts?: KeyFacts
  readonly beats: ChangeTimes
  /** How many changes were seen since the row came to be seen. */
  readonly changes: number
}

/** A row nothing is known of yet. */
export const BLANK: Row = { beats: NO_BEATS, changes: 0 }

/** So many rows are remembered, those to be seen last; what is shown of a store that is gone is still there then. */
export const MOST_ROWS = 500

/** The rows to be seen, and some that were. */
export class RowCache {
  readonly #rows = new Map<string, Row>()

  /** Makes room for what is to be seen. */
  keep(keys: readonly ListedKey[]): void {
    for (const { id } of keys) {
      const row = this.#rows.get(id) ?? BLANK
      this.#rows.delete(id)
      this.#rows.set(id, row)
    }
    for (const id of this.#rows.keys()) {
      if (this.#rows.size <= MOST_ROWS) return
      this.#rows.delete(id)
    }
  }

  /** @param now - when it was heard, ms on the store's clock */
  heard(id: string, entry: Entry<Uint8Array>, now: number): void {
    const before = this.#rows.get(id)
    if (before === undefined) return
    const { op, value } = entry
    // A row that was seen before begins with what it had then.
    const known = before.entry === undefined || String(before.entry.version) === String(entry.version)
    const beats = known ? before.beats : withBeat(before.beats, op === 'set' ? 'set' : 'delete', now)
    const { facts } = before
    const changes = known ? before.changes : before.changes + 1
    const shown = value && show(value)
    this.#rows.set(id, { entry, beats, changes, ...(shown && { shown }), ...(facts && { facts }) })
  }

  /** What was asked about some of them; keys without an answer are gone. */
  learnt(asked: readonly string[], answer: readonly KeyFacts[]): void {
    const byId = new Map(answer.map(facts => [facts.id, facts]))
    for (const id of asked) {
      const row = this.#rows.get(id)
      if (row === undefined) continue
      const { facts: _facts, ...rest } = row
      const facts = byId.get(id)
      this.#rows.set(id, facts ? { ...rest, facts } : rest)
    }
  }

  get rows(): ReadonlyMap<string, Row> {
    return new Map(this.#rows)
  }
}
