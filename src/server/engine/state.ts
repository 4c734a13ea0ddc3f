import type { Hlc } from '../../core/hlc/hlc.js'
import type { StoredRecord } from './apply.js'

/** A record and its key. */
export interface StateRecord extends StoredRecord {
  /** The key as a binary string. */
  readonly id: string
  /** Its place in the order in which keys came. */
  readonly number: number
}

/**
 * All that a store knows but who watches what, at one moment; it stays so whatever the store does then. Equal entries make
 * equal states.
 */
export interface State {
  /** Time of the first request, ms; tells this store from the one that had its place before. */
  readonly born: number | undefined
  /** The newest version there is. */
  readonly version: Hlc
  /** The greatest number that a key was given. */
  readonly lastNumber: number
  /** Answers to the last writes: an older generation and a younger one, see `AnsweredWrites`. */
  readonly answered: readonly [Uint8Array, Uint8Array]
  /** By number. */
  readonly records: Iterable<StateRecord>
  readonly size: number
}

/** Takes a state back, key by key, so that it is never there twice. */
export interface StateTaker {
  /** Takes the record of the next key, by number, and keeps its value itself. */
  putBack(record: StateRecord): void
  /** Takes all that the state is besides; it is whole then. */
  resume(rest: Omit<State, 'records' | 'size'>): void
}
