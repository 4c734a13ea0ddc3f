import type { Hlc } from '../../core/hlc/hlc.js'
import { sameBytes } from '../../core/util/bytes.js'
import type { Reading } from '../requests/commands.js'
import {
  type Change,
  FRESH,
  NONE,
  type RawEntry,
  type ReceivedChange,
  type WatchEvent,
  type WatchState,
} from './watch-state.js'

/** The next state, what to emit, in order, and whether to send KEYNOTIFY or GET. */
export interface Step {
  readonly state: WatchState
  readonly emit: readonly RawEntry[]
  readonly send: 'KEYNOTIFY' | 'GET' | undefined
}

/** So many changes of one key wait for a read; with more, the oldest are merged into the newer. */
const MOST_HELD = 64
const NOTHING: readonly RawEntry[] = []

/**
 * The heart of a watch, pure: (state, event) to (next state, entries to emit, request to send).
 *
 * Order on every connection: KEYNOTIFY, its answer, GET, its answer, then changes; so no change falls between snapshot
 * and notifications (state store protocol, "KEYNOTIFY notification topics and lifecycle"). On one connection there is one
 * store, whose versions rise: they place what is told among what is read. Two things have no place and are read again
 * instead of believed: a change that may have been queued before, for it may be of another life of the store, and a
 * change after an answer without a version. `docs/decisions/stale-or-fresh.md` has the reasons.
 */
export function reconcile(state: WatchState, event: WatchEvent): Step {
  switch (event.type) {
    case 'connected':
      return {
        state: patch(state, { ...FRESH, phase: 'registering', placeless: event.rejoined }),
        emit: NOTHING,
        send: 'KEYNOTIFY',
      }
    case 'disconnected':
      return quiet(patch(state, { ...FRESH, phase: 'offline' }))
    case 'verify':
      return state.phase === 'live'
        ? { state: patch(state, { phase: 'registering' }), emit: NOTHING, send: 'KEYNOTIFY' }
        : quiet(state)
    case 'unanswered':
      // Only a watch that is verified registers while it is live, and now it is not known whether it is.
      return quiet(state.phase === 'registering' && state.synced ? patch(state, { synced: false }) : state)
    case 'appeared':
      return quiet(patch(state, { ...FRESH, phase: 'live' }))
    case 'registered':
      return state.phase === 'registering' ? readAgain(state) : quiet(state)
    case 'read':
      return state.phase === 'reading' ? read(state, event.reading) : quiet(state)
    case 'notified':
      return state.phase === 'offline' ? quiet(state) : notified(state, event)
  }
}

const quiet = (state: WatchState): Step => ({ state, emit: NOTHING, send: undefined })

/** What came until now is older than the answer to come. */
const readAgain = (state: WatchState): Step => ({
  state: patch(state, {
    phase: 'reading',
    raced: false,
    recheck: false,
    held: NONE,
    doubted: state.held.at(-1)?.change ?? state.doubted,
  }),
  emit: NOTHING,
  send: 'GET',
})

function read(state: WatchState, reading: Reading): Step {
  const { value, version } = reading
  // Overtaken by a change that was taken: one that was shown, or the deletion of a key that never was.
  if (state.raced && isOlder(version, state.floor)) return state.entry ? settle(state, NOTHING) : gone(state)
  if (value === undefined && version === undefined) return absent(state)
  // It was asked for after all that came before, so it is newer, whatever its version.
  const proved = state.proved && !isOlder(version, state.floor)
  const next = patch(state, { proved, floor: version, floorInferred: false, placeless: version === undefined })
  if (value === undefined) return gone(next)
  if (isShown(state.entry, value, version)) return settle(next, NOTHING)
  const entry: RawEntry = { op: 'set', value, version, source: sourceOf(state) }
  return settle(patch(next, { entry }), [entry])
}

/** There was no such key, at a time that is not known. */
function absent(state: WatchState): Step {
  // Certain changes tell all that happened since the registration, so also what the answer saw, if that was later.
  if (state.raced && state.entry) return settle(state, NOTHING)
  if (state.recheck || state.held.some(({ change }) => isVisible(state, change))) return readAgain(state)
  return gone(patch(state, { placeless: true, held: NONE }))
}

function gone(state: WatchState): Step {
  if (state.entry && state.entry.op !== 'set') return settle(state, NOTHING)
  const entry: RawEntry = {
    op: 'absent',
    value: undefined,
    version: undefined,
    source: sourceOf(state),
    reason: 'unknown',
  }
  return settle(patch(state, { entry }), [entry])
}

/** The read told what it could: what it proved new is emitted, what it could not judge is read again. */
function settle(state: WatchState, emitted: readonly RawEntry[]): Step {
  const { held } = state
  const live = patch(state, { phase: 'live', synced: true, known: true, raced: false, held: NONE, doubted: undefined })
  if (state.recheck) return { ...readAgain(patch(live, { held })), emit: emitted }
  const witness = held.findIndex(({ change }) => isKnown(state, change))
  const proved = state.proved || witness >= 0 || (state.doubted !== undefined && isKnown(state, state.doubted))
  let step: Step = { state: patch(live, { proved }), emit: emitted, send: undefined }
  for (const heard of held.slice(Math.max(witness, 0))) {
    const { state: next, emit, send } = notified(step.state, heard)
    step = { state: next, emit: [...step.emit, ...emit], send: send ?? step.send }
  }
  // They all came before the GET that may be sent now.
  return step.send ? { ...step, state: readAgain(patch(step.state, { held })).state } : step
}

function notified(state: WatchState, { change, certain }: ReceivedChange): Step {
  const { version } = change
  if (version === undefined || (change.op === 'set' && change.value === undefined)) return recheck(state)
  const isCertain = certain || state.proved
  if (state.placeless || !isCertain) return doubtful(state, { change, certain })
  if (isOlderOrSame(version, state.floor)) return state.floorInferred ? recheck(state) : quiet(state)
  // Known with the change that appeared, and not before: what is shown until then is of an earlier connection.
  const appeared = state.phase === 'live' && !state.synced
  const next = patch(state, {
    raced: state.phase === 'reading' || state.raced,
    floor: version,
    floorInferred: !certain,
    synced: state.synced || appeared,
    known: state.known || appeared,
  })
  // A key that is not there, or not known yet, cannot be seen to go.
  if (change.op === 'delete' && state.entry?.op !== 'set') return quiet(next)
  const source = appeared && state.known ? 'resync' : 'notification'
  const entry: RawEntry = { op: change.op, value: change.value, version, source, reason: change.reason }
  return { state: patch(next, { entry }), emit: [entry], send: undefined }
}

const recheck = (state: WatchState): Step =>
  state.phase === 'live' ? readAgain(state) : quiet(patch(state, { recheck: true }))

/** A change that cannot be placed: only a read that was sent after it tells what it was worth. */
function doubtful(state: WatchState, heard: ReceivedChange): Step {
  const { version } = heard.change
  if (state.phase !== 'live') return quiet(patch(state, { held: [...state.held, heard].slice(-MOST_HELD) }))
  if (isKnown(state, heard.change)) return quiet(patch(state, { proved: true }))
  if (isOlderOrSame(version, state.floor) || !isVisible(state, heard.change)) return quiet(state)
  return readAgain(patch(state, { held: [heard] }))
}

/**
 * Whether it is what the store has on this connection. By its value, too, for a store that lost its data may give a
 * version again; a deletion has no value to tell it by.
 */
const isKnown = ({ floor, entry }: WatchState, { value, version }: Change): boolean =>
  value !== undefined && isSame(version, floor) && isShown(entry, value, version)

/** A deletion of what is not shown changes nothing. */
const isVisible = (state: WatchState, change: Change): boolean => change.op === 'set' || state.entry?.op === 'set'

// A literal with all its fields in their order, for objects spread from others would each get a shape of their own.
const patch = (state: WatchState, changes: Partial<WatchState>): WatchState =>
  Object.assign(
    {
      phase: state.phase,
      synced: state.synced,
      known: state.known,
      proved: state.proved,
      placeless: state.placeless,
      raced: state.raced,
      recheck: state.recheck,
      held: state.held,
      doubted: state.doubted,
      floor: state.floor,
      floorInferred: state.floorInferred,
      entry: state.entry,
    },
    changes,
  )

// With its value: a store that lost its data and whose clock went back may give the same version again.
const isShown = (entry: RawEntry | undefined, value: Uint8Array, version: Hlc | undefined): boolean =>
  entry?.value !== undefined && isSame(entry.version, version) && sameBytes(entry.value, value)

function sourceOf({ synced, known }: WatchState): RawEntry['source'] {
  if (synced) return 'notification'
  return known ? 'resync' : 'snapshot'
}

const isSame = (version: Hlc | undefined, other: Hlc | undefined): boolean =>
  version !== undefined && other !== undefined && version.compareTo(other) === 0

const isOlder = (version: Hlc | undefined, than: Hlc | undefined): boolean =>
  version !== undefined && than !== undefined && version.compareTo(than) < 0

const isOlderOrSame = (version: Hlc | undefined, than: Hlc | undefined): boolean =>
  version !== undefined && than !== undefined && version.compareTo(than) <= 0
