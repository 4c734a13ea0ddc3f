import type { Hlc } from '../../core/hlc/hlc.js'
import { sameBytes } from '../../core/util/bytes.js'
import type { ReadResult } from '../requests/commands.js'

/** What the store is known to have: bytes, or no such key. */
export interface Known {
  readonly bytes: Uint8Array | undefined
  /** Missing for an absent key, and from stores that leave it out. */
  readonly version: Hlc | undefined
  /** On which connection it was learnt. */
  readonly epoch: number
}

/** What is known of a key, from its watch, from answers to writes and from reads. Immutable. */
export interface ConfirmedState {
  readonly known: Known | undefined
  /** Counts connections, and lives of a store behind one. On one of them there is one store, whose versions rise. */
  readonly epoch: number
  /** Newest version learnt on this connection: what is older was overtaken. */
  readonly floor: Hlc | undefined
  /** The last thing learnt on this connection is an answer to a request of ours; the watch has not told of it yet. */
  readonly ahead: boolean
  /** How often `known` became something else. */
  readonly steps: number
}

/** A place in the course of a truth: what was sent then, or asked, knew that much. */
export type Place = Pick<ConfirmedState, 'epoch' | 'steps'>

/** Something that was learnt. */
export type Observation =
  /** The connection is gone, or the store behind it. */
  | { readonly type: 'lost' }
  /** The watch says so. */
  | { readonly type: 'told'; readonly bytes: Uint8Array | undefined; readonly version: Hlc | undefined }
  /** The store has answered an own write. */
  | { readonly type: 'written'; readonly bytes: Uint8Array; readonly version: Hlc | undefined; readonly from: Place }
  /** The store has answered an own read. */
  | { readonly type: 'read'; readonly reading: ReadResult; readonly from: Place }

/** What is known then. `doubt`: where the fact belongs cannot be told, and only a read that is sent now can. */
export interface ObservationResult {
  readonly truth: ConfirmedState
  readonly doubt: boolean
}

/** Nothing is known. */
export const IGNORANT: ConfirmedState = { known: undefined, epoch: 0, floor: undefined, ahead: false, steps: 0 }

/**
 * Brings what three sources say of one key into the order of the store, pure: the watch, answers to own writes, and reads
 * overtake each other. Versions place them on one connection; across connections nothing does, for a store that lost its
 * data starts over with older ones, so what was sent on an earlier connection is doubted.
 */
export function applyObservation(truth: ConfirmedState, fact: Observation): ObservationResult {
  switch (fact.type) {
    case 'lost':
      return certain({ ...truth, epoch: truth.epoch + 1, floor: undefined, ahead: false })
    case 'told':
      return told(truth, fact)
    case 'written':
      return written(truth, fact)
    case 'read':
      return read(truth, fact)
  }
}

const certain = (truth: ConfirmedState): ObservationResult => ({ truth, doubt: false })
const doubtful = (truth: ConfirmedState): ObservationResult => ({ truth, doubt: true })

function told(truth: ConfirmedState, { bytes, version }: Observation & { type: 'told' }): ObservationResult {
  if (version === undefined) return truth.ahead ? doubtful(truth) : certain(accept(truth, bytes, version, truth.floor))
  if (isOlder(version, truth.floor)) return certain(truth)
  return certain(accept(truth, bytes, version, version))
}

function written(
  truth: ConfirmedState,
  { bytes, version, from }: Observation & { type: 'written' },
): ObservationResult {
  if (version === undefined || from.epoch !== truth.epoch) return doubtful(truth)
  if (isOlder(version, truth.floor)) return certain(truth)
  // Found gone meanwhile, before the write or after it.
  if (truth.steps !== from.steps && truth.known?.version === undefined) return doubtful(truth)
  return certain({ ...accept(truth, bytes, version, version), ahead: true })
}

function read(
  truth: ConfirmedState,
  { reading: { value, version }, from }: Observation & { type: 'read' },
): ObservationResult {
  if (from.epoch !== truth.epoch) return doubtful(truth)
  if (version === undefined && truth.steps !== from.steps) return doubtful(truth)
  if (isOlder(version, truth.floor)) return certain(truth)
  const next = accept(truth, value, value && version, version ?? truth.floor)
  return certain({ ...next, ahead: truth.ahead || next.steps > truth.steps })
}

function accept(
  truth: ConfirmedState,
  bytes: Uint8Array | undefined,
  version: Hlc | undefined,
  floor: Hlc | undefined,
): ConfirmedState {
  const { known, epoch } = truth
  const steps = known && isSame(known, bytes, version) ? truth.steps : truth.steps + 1
  return { known: { bytes, version, epoch }, epoch, floor, ahead: false, steps }
}

function isSame(known: Known, bytes: Uint8Array | undefined, version: Hlc | undefined): boolean {
  if (known.version === undefined || version === undefined)
    return known.version === version && sameValue(known.bytes, bytes)
  return known.version.compareTo(version) === 0 && sameValue(known.bytes, bytes)
}

/** Whether two values, or their absence, are the same. */
export const sameValue = (one: Uint8Array | undefined, other: Uint8Array | undefined): boolean =>
  one === undefined || other === undefined ? one === other : sameBytes(one, other)

const isOlder = (version: Hlc | undefined, than: Hlc | undefined): boolean =>
  version !== undefined && than !== undefined && version.compareTo(than) < 0
