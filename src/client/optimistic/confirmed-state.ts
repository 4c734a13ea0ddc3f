import type { Hlc } from '../../core/hlc/hlc.js'
import { sameBytes } from '../../core/util/bytes.js'
import type { ReadResult } from '../requests/commands.js'

/** The store's value of a key: bytes, or `undefined` for a missing key. */
export interface StoreValue {
  readonly bytes: Uint8Array | undefined
  /** Undefined for a missing key, and from stores without versions. */
  readonly version: Hlc | undefined
  /** The epoch in which the value was received. */
  readonly epoch: number
}

/** The known state of a key, from its watch and from responses to writes and reads. Immutable. */
export interface ConfirmedState {
  readonly known: StoreValue | undefined
  /** Number of connections and store instances so far. Versions rise within one epoch. */
  readonly epoch: number
  /** The newest version of this epoch. Older observations are outdated. */
  readonly floor: Hlc | undefined
  /** Whether a response arrived that the watch has not emitted yet. */
  readonly isAheadOfWatch: boolean
  /** Number of changes of `known`. */
  readonly changeCount: number
}

export type Position = Pick<ConfirmedState, 'epoch' | 'changeCount'>

export type Observation =
  | { readonly type: 'lost' }
  | { readonly type: 'watched'; readonly bytes: Uint8Array | undefined; readonly version: Hlc | undefined }
  | { readonly type: 'written'; readonly bytes: Uint8Array; readonly version: Hlc | undefined; readonly from: Position }
  | { readonly type: 'read'; readonly reading: ReadResult; readonly from: Position }

/**
 * The state after an observation. `needsRead` means that the observation cannot be ordered, so that only a new read can
 * decide.
 */
export interface ObservationResult {
  readonly state: ConfirmedState
  readonly needsRead: boolean
}

export const UNKNOWN_STATE: ConfirmedState = {
  known: undefined,
  epoch: 0,
  floor: undefined,
  isAheadOfWatch: false,
  changeCount: 0,
}

/**
 * Orders a key's observations by its watch, own writes and own reads. Pure. Within one connection, versions order
 * the observations. Across connections they do not, because a store that lost its data restarts with older versions;
 * requests sent on an earlier connection therefore need a new read.
 */
export function applyObservation(state: ConfirmedState, observation: Observation): ObservationResult {
  switch (observation.type) {
    case 'lost':
      return ordered({ ...state, epoch: state.epoch + 1, floor: undefined, isAheadOfWatch: false })
    case 'watched':
      return applyWatched(state, observation)
    case 'written':
      return applyWrite(state, observation)
    case 'read':
      return applyRead(state, observation)
  }
}

const ordered = (state: ConfirmedState): ObservationResult => ({ state, needsRead: false })
const requireRead = (state: ConfirmedState): ObservationResult => ({ state, needsRead: true })

function applyWatched(state: ConfirmedState, { bytes, version }: Observation & { type: 'watched' }): ObservationResult {
  if (version === undefined)
    return state.isAheadOfWatch ? requireRead(state) : ordered(accept(state, bytes, version, state.floor))
  if (isOlder(version, state.floor)) return ordered(state)
  return ordered(accept(state, bytes, version, version))
}

function applyWrite(
  state: ConfirmedState,
  { bytes, version, from }: Observation & { type: 'written' },
): ObservationResult {
  if (version === undefined || from.epoch !== state.epoch) return requireRead(state)
  if (isOlder(version, state.floor)) return ordered(state)
  // The key has been found missing since, either before or after the write.
  if (state.changeCount !== from.changeCount && state.known?.version === undefined) return requireRead(state)
  return ordered({ ...accept(state, bytes, version, version), isAheadOfWatch: true })
}

function applyRead(
  state: ConfirmedState,
  { reading: { value, version }, from }: Observation & { type: 'read' },
): ObservationResult {
  if (from.epoch !== state.epoch) return requireRead(state)
  if (version === undefined && state.changeCount !== from.changeCount) return requireRead(state)
  if (isOlder(version, state.floor)) return ordered(state)
  const next = accept(state, value, value && version, version ?? state.floor)
  return ordered({ ...next, isAheadOfWatch: state.isAheadOfWatch || next.changeCount > state.changeCount })
}

function accept(
  state: ConfirmedState,
  bytes: Uint8Array | undefined,
  version: Hlc | undefined,
  floor: Hlc | undefined,
): ConfirmedState {
  const { known, epoch } = state
  const changeCount = known && isSame(known, bytes, version) ? state.changeCount : state.changeCount + 1
  return { known: { bytes, version, epoch }, epoch, floor, isAheadOfWatch: false, changeCount }
}

function isSame(known: StoreValue, bytes: Uint8Array | undefined, version: Hlc | undefined): boolean {
  const isSameVersion = known.version && version ? known.version.compareTo(version) === 0 : known.version === version
  return isSameVersion && sameBytes(known.bytes, bytes)
}

const isOlder = (version: Hlc | undefined, than: Hlc | undefined): boolean =>
  version !== undefined && than !== undefined && version.compareTo(than) < 0
