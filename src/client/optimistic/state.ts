import type { Hlc } from '../../core/hlc/hlc.js'
import type { StateStoreError } from '../../core/util/errors.js'
import type { Freshness } from '../watch/freshness.js'

/** A write that waited for the connection, for people to see. */
export interface LateWriteInfo {
  /** Wall time at which it was written, ms since the Unix epoch. */
  readonly since: number
  /** Whether it waits still, or was sent so much later, ms. */
  readonly sentAfter: number | undefined
  /** An earlier process or page wrote it. */
  readonly restored: boolean
}

/** What a page shows of a key that it writes. Immutable. */
export interface OptimisticState<T> {
  /** What to show: the newest value the user wrote, unless the store refused it or has a newer one. */
  readonly value: T | undefined
  /**
   * `connecting`: nothing was read or written yet. `pending`: the store has not answered. `confirmed`: `value` is the
   * store's. `refused`: the last write was not done, `value` is the store's, and `error` says why. `unknown`: the answer to
   * the last write is lost; it is shown until a read tells what became of it.
   */
  readonly state: 'connecting' | 'pending' | 'confirmed' | 'refused' | 'unknown'
  /** What the store has, as far as it is known; the same as `value` when that is confirmed. */
  readonly confirmed: T | undefined
  /** Version of `confirmed`. */
  readonly version: Hlc | undefined
  /** Why the last write was refused or its outcome is unknown, or that the store's value does not decode. */
  readonly error: StateStoreError | undefined
  /** The write shown, or the one confirmed last, waited for the connection. */
  readonly late: LateWriteInfo | undefined
  /** Whether what is confirmed can be relied on. */
  readonly freshness: Freshness
}

/** What a write came to. */
export interface OptimisticResult<T> {
  readonly key: string
  /**
   * `applied`: the store has done it. `superseded`: a newer write of this view took its place before it was sent.
   * `withdrawn`: `ask` said no.
   */
  readonly outcome: 'applied' | 'superseded' | 'withdrawn'
  /** What was written; with a merge its result. */
  readonly value: T
  /** Of what was written. */
  readonly version: Hlc | undefined
  /** Whether it waited for the connection. */
  readonly sentLate: boolean
  /** From the call until it was sent, ms. */
  readonly age: number
}
