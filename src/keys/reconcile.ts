import type { Hlc } from '../hlc/hlc.js'

/** What a watch knows of its key. `version` is missing where the protocol gives none: for a key that was not found. */
export interface RawEntry {
  readonly op: 'set' | 'delete' | 'absent'
  readonly value: Uint8Array | undefined
  readonly version: Hlc | undefined
  readonly source: 'snapshot' | 'notification' | 'resync'
}

/** A change as a notification tells it; an old store may leave out version or value. */
export interface Change {
  readonly op: 'set' | 'delete'
  readonly value: Uint8Array | undefined
  readonly version: Hlc | undefined
}

/** State of a watch. Immutable. */
export interface WatchState {
  /** What the watch waits for: a connection, the answer to KEYNOTIFY, the answer to GET, or a change. */
  readonly phase: 'offline' | 'registering' | 'reading' | 'live'
  /** Whether the value was read since the connection is there. */
  readonly synced: boolean
  /** Whether it was read ever. */
  readonly known: boolean
  /**
   * Whether a notification is certainly newer than what was read. Not so where one may come that was queued before:
   * in a resumed session, or after an earlier watch of the key on this connection.
   */
  readonly trusted: boolean
  /** A notification came since GET was sent, so that an answer "no such key" proves nothing. */
  readonly raced: boolean
  /** A change came without its value or version: only a GET sent after it can show it. */
  readonly recheck: boolean
  /** Changes that wait for a read to prove them new. */
  readonly held: readonly Change[]
  /** Newest version seen on this connection; nothing older is emitted on it. */
  readonly floor: Hlc | undefined
  /** Newest version ever emitted. */
  readonly newest: Hlc | undefined
  /** What was emitted last. */
  readonly entry: RawEntry | undefined
}

/** What happens to a watch. */
export type WatchEvent =
  | { readonly type: 'connected'; readonly trusted: boolean }
  | { readonly type: 'disconnected' }
  /** KEYNOTIFY was answered. */
  | { readonly type: 'registered' }
  /** GET was answered. */
  | {
      readonly type: 'read'
      readonly found: { readonly value: Uint8Array; readonly version: Hlc | undefined } | undefined
    }
  | { readonly type: 'notified'; readonly change: Change }

/** The next state, what to emit, in order, and whether to send KEYNOTIFY or GET. */
export interface Step {
  readonly state: WatchState
  readonly emit: readonly RawEntry[]
  readonly send: 'KEYNOTIFY' | 'GET' | undefined
}

const NONE: readonly Change[] = []

/** A watch before its first connection. */
export const INITIAL: WatchState = {
  phase: 'offline',
  synced: false,
  known: false,
  trusted: false,
  raced: false,
  recheck: false,
  held: NONE,
  floor: undefined,
  newest: undefined,
  entry: undefined,
}

/** So many changes of one key wait for a read; with more, the oldest are merged into the newer. */
const MOST_HELD = 64
const NOTHING: readonly RawEntry[] = []

/**
 * The heart of a watch, pure: (state, event) to (next state, entries to emit, request to send).
 *
 * Order on every connection: KEYNOTIFY, its answer, GET, its answer, then changes; so no change falls between snapshot
 * and notifications (state store protocol, "KEYNOTIFY notification topics and lifecycle"). What is merged is decided by
 * version. Two things carry none and need care: "no such key", and notifications queued before a connection broke.
 */
export function reconcile(state: WatchState, event: WatchEvent): Step {
  switch (event.type) {
    case 'connected':
      return {
        state: patch(state, { ...FRESH, phase: 'registering', trusted: event.trusted }),
        emit: NOTHING,
        send: 'KEYNOTIFY',
      }
    case 'disconnected':
      return quiet(patch(state, { ...FRESH, phase: 'offline' }))
    case 'registered':
      return state.phase === 'registering' ? readAgain(state) : quiet(state)
    case 'read':
      return state.phase === 'reading' ? (event.found ? found(state, event.found) : absent(state)) : quiet(state)
    case 'notified':
      return state.phase === 'offline' ? quiet(state) : notified(state, event.change)
  }
}

const FRESH = { synced: false, raced: false, recheck: false, held: NONE, floor: undefined } as const

const quiet = (state: WatchState): Step => ({ state, emit: NOTHING, send: undefined })

const readAgain = (state: WatchState): Step => ({
  state: patch(state, { phase: 'reading', raced: false, recheck: false }),
  emit: NOTHING,
  send: 'GET',
})

function found(state: WatchState, { value, version }: { value: Uint8Array; version: Hlc | undefined }): Step {
  // Overtaken by a change: one that was shown, or the deletion of a key that never was.
  if (isOlder(version, state.floor)) return state.entry ? settle(state, NOTHING) : gone(state)
  // A store that lost its data may start over with older versions. Then it is right, and we have to follow; but in a
  // resumed session changes of its former life may still be on their way.
  const regressed = isOlder(version, state.newest)
  const trusted = state.trusted || (version !== undefined && !regressed)
  const fresh = !isShown(state.entry, version)
  const entry: RawEntry = { op: 'set', value, version, source: sourceOf(state) }
  const next = patch(state, { trusted, floor: version ?? state.floor })
  return settle(fresh ? shown(next, entry) : next, fresh ? [entry] : NOTHING)
}

function absent(state: WatchState): Step {
  if (state.raced || state.recheck) return readAgain(patch(state, { held: NONE }))
  return gone(patch(state, { held: NONE }))
}

function gone(state: WatchState): Step {
  if (state.entry && state.entry.op !== 'set') return settle(state, NOTHING)
  const entry: RawEntry = { op: 'absent', value: undefined, version: undefined, source: sourceOf(state) }
  return settle(shown(state, entry), [entry])
}

/** The read told what it could: what it proved new is emitted, what it could not show is read again. */
function settle(state: WatchState, emitted: readonly RawEntry[]): Step {
  const newer = state.held.filter(({ version }) => !isOlderOrSame(version, state.floor))
  const live = patch(state, { phase: 'live', synced: true, known: true, raced: false, held: NONE })
  if (state.recheck || (newer.length > 0 && !state.trusted)) return { ...readAgain(live), emit: emitted }
  let step: Step = { state: live, emit: emitted, send: undefined }
  for (const change of newer) {
    const { state: next, emit, send } = notified(step.state, change)
    step = { state: next, emit: [...step.emit, ...emit], send: send ?? step.send }
  }
  return step
}

function notified(state: WatchState, change: Change): Step {
  const { version } = change
  if (version === undefined || (change.op === 'set' && change.value === undefined))
    return confirm(patch(state, { recheck: true }))
  if (isOlderOrSame(version, state.floor)) return quiet(state)
  const raced = state.phase === 'reading' || state.raced
  if (!state.trusted) return confirm(patch(state, { raced, held: [...state.held, change].slice(-MOST_HELD) }))
  const next = patch(state, { raced, floor: version })
  // A key that is not there, or not known yet, cannot be seen to go.
  if (change.op === 'delete' && state.entry?.op !== 'set') return quiet(next)
  const entry: RawEntry = { op: change.op, value: change.value, version, source: 'notification' }
  return { state: shown(next, entry), emit: [entry], send: undefined }
}

const confirm = (state: WatchState): Step => (state.phase === 'live' ? readAgain(state) : quiet(state))

const shown = (state: WatchState, entry: RawEntry): WatchState => {
  const newest = isOlder(entry.version, state.newest) ? state.newest : (entry.version ?? state.newest)
  return patch(state, { entry, newest })
}

// A literal with all its fields in their order, for objects spread from others would each get a shape of their own.
const patch = (state: WatchState, changes: Partial<WatchState>): WatchState =>
  Object.assign(
    {
      phase: state.phase,
      synced: state.synced,
      known: state.known,
      trusted: state.trusted,
      raced: state.raced,
      recheck: state.recheck,
      held: state.held,
      floor: state.floor,
      newest: state.newest,
      entry: state.entry,
    },
    changes,
  )

const isShown = (entry: RawEntry | undefined, version: Hlc | undefined): boolean =>
  entry?.op === 'set' && entry.version !== undefined && version !== undefined && entry.version.compareTo(version) === 0

function sourceOf({ synced, known }: WatchState): RawEntry['source'] {
  if (synced) return 'notification'
  return known ? 'resync' : 'snapshot'
}

const isOlder = (version: Hlc | undefined, than: Hlc | undefined): boolean =>
  version !== undefined && than !== undefined && version.compareTo(than) < 0

const isOlderOrSame = (version: Hlc | undefined, than: Hlc | undefined): boolean =>
  version !== undefined && than !== undefined && version.compareTo(than) <= 0
