import type { Hlc } from '../../core/hlc/hlc.js'
import { sameBytes } from '../../core/util/bytes.js'
import type { ReadResult } from '../requests/commands.js'
import {
  DISCONNECTED,
  NO_CHANGES,
  type NotifiedChange,
  type RawEntry,
  type ReceivedChange,
  type WatchEvent,
  type WatchState,
} from './watch-state.js'

export interface Step {
  readonly state: WatchState
  readonly emit: readonly RawEntry[]
  readonly send: 'KEYNOTIFY' | 'GET' | undefined
}

/**
 * Maximum number of changes of one key that wait for a read. Beyond it, the oldest are dropped, because newer ones
 * supersede them.
 */
const MAX_HELD_CHANGES = 64
const NO_ENTRIES: readonly RawEntry[] = []

/**
 * Reduces a watch's state: (state, event) to (next state, entries to emit, request to send). Pure.
 *
 * The order on every connection is KEYNOTIFY, its response, GET, its response, then changes, so no change is lost
 * between the read and the notifications (state store protocol, "KEYNOTIFY notification topics and lifecycle"). A
 * connection reaches one store instance, whose rising versions order notifications relative to reads. Two kinds of
 * change cannot be ordered and cause another read instead: changes that may have been queued before this connection,
 * possibly by another store instance, and changes after a response without a version. Reasons:
 * `docs/decisions/stale-or-fresh.md`.
 */
export function reconcile(state: WatchState, event: WatchEvent): Step {
  switch (event.type) {
    case 'connected':
      return {
        state: patch(state, { ...DISCONNECTED, phase: 'registering', isUnordered: event.rejoined }),
        emit: NO_ENTRIES,
        send: 'KEYNOTIFY',
      }
    case 'disconnected':
      return withoutEffects(patch(state, { ...DISCONNECTED, phase: 'offline' }))
    case 'verify':
      return state.phase === 'live'
        ? { state: patch(state, { phase: 'registering' }), emit: NO_ENTRIES, send: 'KEYNOTIFY' }
        : withoutEffects(state)
    case 'unanswered':
      // A synced state that is not live means a verification, or a change that needs a read. Without the response the
      // value may be outdated.
      return withoutEffects(state.phase !== 'live' && state.isSynced ? patch(state, { isSynced: false }) : state)
    case 'appeared':
      return withoutEffects(patch(state, { ...DISCONNECTED, phase: 'live' }))
    case 'registered':
      return state.phase === 'registering' ? sendRead(state) : withoutEffects(state)
    case 'read':
      return state.phase === 'reading' ? applyRead(state, event.reading) : withoutEffects(state)
    case 'notified':
      return state.phase === 'offline' ? withoutEffects(state) : applyChange(state, event)
  }
}

const withoutEffects = (state: WatchState): Step => ({ state, emit: NO_ENTRIES, send: undefined })

/** Sends GET, whose response will be newer than any change received before. */
const sendRead = (state: WatchState): Step => ({
  state: patch(state, {
    phase: 'reading',
    hasRaced: false,
    needsRead: false,
    held: NO_CHANGES,
    unverified: state.held.at(-1)?.change ?? state.unverified,
  }),
  emit: NO_ENTRIES,
  send: 'GET',
})

function applyRead(state: WatchState, reading: ReadResult): Step {
  const { value, version } = reading
  // An applied change overtook this response. If there is no entry, the change was the deletion of a key that was never
  // shown.
  if (state.hasRaced && isOlder(version, state.floor))
    return state.entry ? finishRead(state, NO_ENTRIES) : emitAbsent(state)
  if (value === undefined && version === undefined) return applyNotFound(state)
  // The read was sent after all earlier changes were received, so the response is newer whatever its version.
  const isVerified = state.isVerified && !isOlder(version, state.floor)
  const next = patch(state, {
    isVerified,
    floor: version,
    isFloorInferred: false,
    isUnordered: version === undefined,
  })
  if (value === undefined) return emitAbsent(next)
  if (isShown(state.entry, value, version)) return finishRead(next, NO_ENTRIES)
  const entry: RawEntry = { op: 'set', value, version, source: sourceOf(state) }
  return finishRead(patch(next, { entry }), [entry])
}

/** Handles a key that was not found. Without a version, the time of the read is unknown. */
function applyNotFound(state: WatchState): Step {
  // Certain changes include everything since the registration, and therefore the deletion that the read may have seen.
  if (state.hasRaced && state.entry) return finishRead(state, NO_ENTRIES)
  if (state.needsRead || state.held.some(({ change }) => isVisible(state, change))) return sendRead(state)
  return emitAbsent(patch(state, { isUnordered: true, held: NO_CHANGES }))
}

function emitAbsent(state: WatchState): Step {
  if (state.entry && state.entry.op !== 'set') return finishRead(state, NO_ENTRIES)
  const entry: RawEntry = {
    op: 'absent',
    value: undefined,
    version: undefined,
    source: sourceOf(state),
    reason: 'unknown',
  }
  return finishRead(patch(state, { entry }), [entry])
}

/**
 * Becomes live. Emits the held changes that the read proved newer, and reads again for the changes that it could not
 * order.
 */
function finishRead(state: WatchState, emitted: readonly RawEntry[]): Step {
  const { held } = state
  const live = patch(state, {
    phase: 'live',
    isSynced: true,
    isKnown: true,
    hasRaced: false,
    held: NO_CHANGES,
    unverified: undefined,
  })
  if (state.needsRead) return { ...sendRead(patch(live, { held })), emit: emitted }
  const firstMatch = held.findIndex(({ change }) => matchesFloor(state, change))
  const isVerified =
    state.isVerified || firstMatch >= 0 || (state.unverified !== undefined && matchesFloor(state, state.unverified))
  let step: Step = { state: patch(live, { isVerified }), emit: emitted, send: undefined }
  for (const change of held.slice(Math.max(firstMatch, 0))) {
    const { state: next, emit, send } = applyChange(step.state, change)
    step = { state: next, emit: [...step.emit, ...emit], send: send ?? step.send }
  }
  // All held changes precede the GET that is now sent, so its response orders them.
  return step.send ? { ...step, state: sendRead(patch(step.state, { held })).state } : step
}

function applyChange(state: WatchState, { change, certain }: ReceivedChange): Step {
  const { version } = change
  if (version === undefined || (change.op === 'set' && change.value === undefined)) return requestRead(state)
  const isCertain = certain || state.isVerified
  if (state.isUnordered || !isCertain) return verifyChange(state, { change, certain })
  if (isOlderOrSame(version, state.floor)) return state.isFloorInferred ? requestRead(state) : withoutEffects(state)
  // The state becomes synced only with this change: an entry shown before it is from an earlier connection.
  const hasAppeared = state.phase === 'live' && !state.isSynced
  const next = patch(state, {
    hasRaced: state.phase === 'reading' || state.hasRaced,
    floor: version,
    isFloorInferred: !certain,
    isSynced: state.isSynced || hasAppeared,
    isKnown: state.isKnown || hasAppeared,
  })
  // Deleting a key that is absent or not read yet changes nothing visible.
  if (change.op === 'delete' && state.entry?.op !== 'set') return withoutEffects(next)
  const source = hasAppeared && state.isKnown ? 'resync' : 'notification'
  const entry: RawEntry = { op: change.op, value: change.value, version, source, reason: change.reason }
  return { state: patch(next, { entry }), emit: [entry], send: undefined }
}

const requestRead = (state: WatchState): Step =>
  state.phase === 'live' ? sendRead(state) : withoutEffects(patch(state, { needsRead: true }))

/** Handles a change that cannot be ordered. Only a read that is sent after the change can confirm it. */
function verifyChange(state: WatchState, received: ReceivedChange): Step {
  const { version } = received.change
  if (state.phase !== 'live')
    return withoutEffects(patch(state, { held: [...state.held, received].slice(-MAX_HELD_CHANGES) }))
  if (matchesFloor(state, received.change)) return withoutEffects(patch(state, { isVerified: true }))
  if (isOlderOrSame(version, state.floor) || !isVisible(state, received.change)) return withoutEffects(state)
  return sendRead(patch(state, { held: [received] }))
}

/**
 * Returns whether a change is the last one that was read or applied; always false for a deletion, which has no value to
 * compare.
 */
const matchesFloor = ({ floor, entry }: WatchState, { value, version }: NotifiedChange): boolean =>
  value !== undefined && isSame(version, floor) && isShown(entry, value, version)

const isVisible = (state: WatchState, change: NotifiedChange): boolean =>
  change.op === 'set' || state.entry?.op === 'set'

// Uses a literal with all fields in one order, because spreading would give every object a different hidden class.
const patch = (state: WatchState, changes: Partial<WatchState>): WatchState =>
  Object.assign(
    {
      phase: state.phase,
      isSynced: state.isSynced,
      isKnown: state.isKnown,
      isVerified: state.isVerified,
      isUnordered: state.isUnordered,
      hasRaced: state.hasRaced,
      needsRead: state.needsRead,
      held: state.held,
      unverified: state.unverified,
      floor: state.floor,
      isFloorInferred: state.isFloorInferred,
      entry: state.entry,
    },
    changes,
  )

// Compares the value too, because a store that lost its data and whose clock went back may reuse a version.
const isShown = (entry: RawEntry | undefined, value: Uint8Array, version: Hlc | undefined): boolean =>
  entry !== undefined && isSame(entry.version, version) && sameBytes(entry.value, value)

function sourceOf({ isSynced, isKnown }: WatchState): RawEntry['source'] {
  if (isSynced) return 'notification'
  return isKnown ? 'resync' : 'snapshot'
}

const isSame = (version: Hlc | undefined, other: Hlc | undefined): boolean =>
  version !== undefined && other !== undefined && version.compareTo(other) === 0

const isOlder = (version: Hlc | undefined, than: Hlc | undefined): boolean =>
  version !== undefined && than !== undefined && version.compareTo(than) < 0

const isOlderOrSame = (version: Hlc | undefined, than: Hlc | undefined): boolean =>
  version !== undefined && than !== undefined && version.compareTo(than) <= 0
