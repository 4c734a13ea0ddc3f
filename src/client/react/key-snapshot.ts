import type { DecodeError, StateStoreError } from '../../core/util/errors.js'
import type { Entry } from '../watch/entry.js'
import type { Freshness } from '../watch/freshness.js'
import type { KeyState } from './key-watch.js'

/** What a component is told of a key. Immutable; the same object until something is different. */
export interface KeySnapshot<T> {
  /** That of the entry; `undefined` before the first, when there is no such key, and when it does not decode. */
  readonly value: T | undefined
  /** The latest; `undefined` before the first one is read. */
  readonly entry: Entry<T> | undefined
  /** Whether the two can be relied on: `connecting` until the key was read. */
  readonly freshness: Freshness
  /**
   * What is wrong. A {@link DecodeError} (`decode`) goes with the next entry. With any other the watch has ended, and the
   * last entry is `stale`: `not-authorized`, `closed`, or what else {@link Key.entries$} errors with.
   */
  readonly error: StateStoreError | undefined
}

/** The state of a key, with its entry decoded. */
export function snapshotOf<T>(entry: Entry<T> | undefined, { freshness, error }: KeyState): KeySnapshot<T> {
  return { value: entry?.value, entry, freshness, error: error ?? decodeErrorOf(entry) }
}

/** Why the entry has no value, if it does not decode. */
export const decodeErrorOf = (entry: Entry<unknown> | undefined): DecodeError | undefined =>
  entry?.op === 'invalid' ? entry.error : undefined
