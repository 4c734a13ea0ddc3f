import type { Entry } from 'rx-statestore'
import type { KeyFacts } from '../../../src/server/console/contract.js'
import { addChangeTime, type ChangeTimes, NO_CHANGE_TIMES } from '../model/change-times.js'
import type { ListedKey } from '../model/listed-key.js'
import { previewValue, type ValuePreview } from '../model/value.js'

export interface Row {
  readonly entry?: Entry<Uint8Array>
  readonly preview?: ValuePreview
  readonly facts?: KeyFacts
  /** The expiry of the last value, which stays when the value is gone; ms on the store's clock. */
  readonly expiresAt?: number
  readonly changeTimes: ChangeTimes
  /** Number of changes since the row was first displayed. */
  readonly changes: number
}

export const EMPTY_ROW: Row = { changeTimes: NO_CHANGE_TIMES, changes: 0 }

/**
 * Maximum number of rows, which remain available while the store is unreachable. The most recently displayed rows are
 * kept.
 */
export const MAX_ROWS = 500

/** Caches the displayed rows and some rows that were displayed earlier. */
export class RowCache {
  readonly #rows = new Map<string, Row>()

  /** Adds rows for displayed keys, and evicts the oldest other rows. */
  makeRoomFor(keys: readonly ListedKey[]): void {
    for (const { id } of keys) {
      const row = this.#rows.get(id) ?? EMPTY_ROW
      this.#rows.delete(id)
      this.#rows.set(id, row)
    }
    for (const id of this.#rows.keys()) {
      if (this.#rows.size <= MAX_ROWS) return
      this.#rows.delete(id)
    }
  }

  /** @param now - time of arrival, ms on the store's clock */
  setEntry(id: string, entry: Entry<Uint8Array>, now: number): void {
    const before = this.#rows.get(id)
    if (before === undefined) return
    const { op, value } = entry
    // A row that was displayed earlier starts with its previous value.
    const isUnchanged = before.entry === undefined || String(before.entry.version) === String(entry.version)
    const changeTimes = isUnchanged
      ? before.changeTimes
      : addChangeTime(before.changeTimes, op === 'set' ? 'set' : 'delete', now)
    const { facts, expiresAt } = before
    const changes = isUnchanged ? before.changes : before.changes + 1
    const preview = value && previewValue(value)
    this.#rows.set(id, {
      entry,
      changeTimes,
      changes,
      ...(preview && { preview }),
      ...(facts && { facts }),
      ...(expiresAt !== undefined && op !== 'set' && { expiresAt }),
    })
  }

  /** Stores the response for the requested ids; the key of an id without facts no longer exists. */
  setFacts(ids: readonly string[], received: readonly KeyFacts[]): void {
    const byId = new Map(received.map(facts => [facts.id, facts]))
    for (const id of ids) {
      const row = this.#rows.get(id)
      if (row === undefined) continue
      const { facts: _facts, ...withoutFacts } = row
      const facts = byId.get(id)
      const { expiresAt: _expired, ...withoutExpiry } = withoutFacts
      const { expiresAt } = facts ?? {}
      if (facts === undefined) this.#rows.set(id, withoutFacts)
      else this.#rows.set(id, { ...withoutExpiry, facts, ...(expiresAt !== undefined && { expiresAt }) })
    }
  }

  get rows(): ReadonlyMap<string, Row> {
    return new Map(this.#rows)
  }
}
