import type { Hlc } from '../../core/hlc/hlc.js'
import type { StateStoreError } from '../../core/util/errors.js'
import type { Freshness } from '../watch/freshness.js'

/** A write that waited for the connection. */
export interface LateWriteInfo {
  /** Wall time of the write, ms since the Unix epoch. */
  readonly since: number
  /** Delay until the write was sent, ms; undefined while the write waits. */
  readonly sentAfter: number | undefined
  /** Whether an earlier process or page made the write. */
  readonly restored: boolean
  /** Set if another client has written the shown value later than the user, so that the user's write was not sent. */
  readonly superseded?: true | undefined
}

/** A key's state to show. Immutable. */
export interface OptimisticState<T> {
  /** The value to show: the newest write of the user, unless it was refused or the store has a newer value. */
  readonly value: T | undefined
  /**
   * `connecting`: nothing has been read or written. `pending`: waiting for the store. `confirmed`: `value` is the
   * store's. `refused`: the last write failed with `error`; `value` is the store's. `unknown`: the response to the last
   * write was lost; the write is shown until a read reveals its outcome.
   */
  readonly state: 'connecting' | 'pending' | 'confirmed' | 'refused' | 'unknown'
  /** The store's last known value; equals `value` once the value is confirmed. */
  readonly confirmed: T | undefined
  /** Version of `confirmed`. */
  readonly version: Hlc | undefined
  /** Why the last write failed or why its outcome is unknown, or the error of a store value that does not decode. */
  readonly error: StateStoreError | undefined
  /** Set if `value` comes from a write of this view that waited for the connection, until another write replaces it. */
  readonly late: LateWriteInfo | undefined
  /** Whether `confirmed` is current. */
  readonly freshness: Freshness
}

/** Result of a write. */
export interface OptimisticResult<T> {
  readonly key: string
  /**
   * `applied`: the store applied the write. `superseded`: a newer write of this view, or of another client during
   * an outage, replaced the write before it was sent. `withdrawn`: `ask` declined the write.
   */
  readonly outcome: 'applied' | 'superseded' | 'withdrawn'
  /** The written value, or the result of the merge. */
  readonly value: T
  /** Version of the written value. */
  readonly version: Hlc | undefined
  /** Whether the write waited for the connection. */
  readonly sentLate: boolean
  /** Time from the call until the write was sent, ms. */
  readonly age: number
}
