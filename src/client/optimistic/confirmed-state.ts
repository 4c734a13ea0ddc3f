import type { Hlc } from '../../core/hlc/hlc.js'
import { sameBytes } from '../../core/util/bytes.js'
import type { ReadResult } from '../requests/commands.js'

/** The store's value of a key: bytes, or `undefined` for a missing key. */
export interface Known {
  readonly bytes: Uint8Array | undefined
  /** Undefined for a missing key, and from stores without versions. */
  readonly version: Hlc | undefined
  /** Connection on which it was received. */
  readonly epoch: number
}

/** The known state of a key, from its watch and from responses to writes and reads. Immutable. */
export interface ConfirmedState {
  readonly known: Known | undefined
  /** Counts connections and store instances. Within one epoch versions rise. */
  readonly epoch: number
  /** Newest version of this epoch; older observations are outdated. */
  readonly floor: Hlc | undefined
  /** Whether a response arrived that the watch has not emitted yet. */
  readonly ahead: boolean
  /** How often `known` changed. */
  readonly steps: number
}

/** The position at which a request was sent. */
export type Place = Pick<ConfirmedState, 'epoch' | 'steps'>

export type Observation =
  /** The connection or the store was lost. */
  | { readonly type: 'lost' }
  | { readonly type: 'told'; readonly bytes: Uint8Array | undefined; readonly version: Hlc | undefined }
  /** A response to an own write. */
  | { readonly type: 'written'; readonly bytes: Uint8Array; readonly version: Hlc | undefined; readonly from: Place }
  /** A response to an own read. */
  | { readonly type: 'read'; readonly reading: ReadResult; readonly from: Place }

/** `doubt`: the observation cannot be ordered; only a new read can decide. */
export interface ObservationResult {
  readonly truth: ConfirmedState
  readonly doubt: boolean
}

export const IGNORANT: ConfirmedState = { known: undefined, epoch: 0, floor: undefined, ahead: false, steps: 0 }

/**
 * Orders what the watch, own writes and own reads report about a key. Pure. Versions order them within one connection.
 * Across connections they do not, because a store that lost its data restarts with older versions; requests sent on an
 * earlier connection therefore need a new read.
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
  // The key was found missing since, before or after the write.
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

export const sameValue = (one: Uint8Array | undefined, other: Uint8Array | undefined): boolean =>
  one === undefined || other === undefined ? one === other : sameBytes(one, other)

const isOlder = (version: Hlc | undefined, than: Hlc | undefined): boolean =>
  version !== undefined && than !== undefined && version.compareTo(than) < 0
