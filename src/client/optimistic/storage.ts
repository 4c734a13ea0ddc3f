import type { ObservableInput } from 'rxjs'

/** A write that waits for the connection, as it is kept. */
export interface StoredWrite {
  /** Tells it from others of its key. */
  readonly id: string
  readonly value: Uint8Array
  /** Wall time at which it was written, ms since the Unix epoch. */
  readonly at: number
  /** Version the key had for the user then; `null` for no such key, missing when nothing was known. */
  readonly seen?: string | null
  /** Of a write that is to be merged: what its value was made from; missing for nothing. */
  readonly base?: Uint8Array | undefined
}

/**
 * Where writes that wait for the connection outlive the process or the page: one for each key, the newest. Results may be
 * promises or observables of one value. {@link indexedDbStorage} is one for browsers, `fileStorage` of
 * `rx-statestore/optimistic/file` one for Node.
 */
export interface WriteStorage {
  /** The write kept for a key, if there is one. */
  load(key: string): ObservableInput<StoredWrite | undefined>
  /** Keeps a write, in the place of any other of the key. */
  save(key: string, write: StoredWrite): ObservableInput<unknown>
  /** Takes a write out; whether it was there. Of several who take the same one, in whatever process, one is told so. */
  remove(key: string, id: string): ObservableInput<boolean>
}
