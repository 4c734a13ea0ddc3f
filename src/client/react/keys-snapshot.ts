import type { StateStoreError } from '../../core/util/errors.js'
import type { Freshness } from '../watch/freshness.js'

/** What a component is told of several keys. Immutable; the same object until something is different. */
export interface KeysSnapshot<T> {
  /** Values by the names of their keys: of those that there are, and whose value decodes. */
  readonly values: ReadonlyMap<string, T>
  /** Whether they can be relied on; of several keys that of the one that can least. */
  readonly freshness: Freshness
  /** Why the watch has ended, if it has: `closed`, or what else {@link Matching.entries$} or {@link Key.entries$} errors with. */
  readonly error: StateStoreError | undefined
}

const NONE = new Map<string, never>()

/** What is known before anything is; also what a server renders. */
export const UNKNOWN: KeysSnapshot<never> = { values: NONE, freshness: { state: 'connecting' }, error: undefined }
