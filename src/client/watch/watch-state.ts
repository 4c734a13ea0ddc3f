import type { Hlc } from '../../core/hlc/hlc.js'
import type { GoneReason } from '../../core/protocol/properties.js'
import type { DecodeError } from '../../core/util/errors.js'
import type { Reading } from '../requests/commands.js'

/** What a watch knows of its key. `version` is missing where the protocol gives none: for a key that was not found. */
export interface RawEntry {
  readonly op: 'set' | 'delete' | 'absent'
  readonly value: Uint8Array | undefined
  readonly version: Hlc | undefined
  readonly source: 'snapshot' | 'notification' | 'resync'
  /** Why there is no value; of a value there is none. */
  readonly reason?: GoneReason | undefined
}

/** A change as a notification tells it; an old store may leave out version or value. */
export interface Change {
  readonly op: 'set' | 'delete'
  readonly value: Uint8Array | undefined
  readonly version: Hlc | undefined
  /** Of a deletion. */
  readonly reason?: GoneReason | undefined
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
   * A notification that may have been queued before this connection told what the store has on it: those behind it are
   * of this store and later, for notifications of a key come in their order (MQTT 5.0, section 4.6).
   */
  readonly proved: boolean
  /** The last answer has no place among the notifications: a change that is told now may be older than it. */
  readonly placeless: boolean
  /** A certain change was taken since GET was sent, so that the answer may be older. */
  readonly raced: boolean
  /** A change came without its value or version: only a GET sent after it can show it. */
  readonly recheck: boolean
  /** Changes that came since GET was sent and that only its answer can judge. */
  readonly held: readonly ReceivedChange[]
  /** The last change of those that the read under way has to judge. */
  readonly doubted: Change | undefined
  /** Newest version known to be of this connection; nothing older is emitted on it. */
  readonly floor: Hlc | undefined
  /** The floor was told by a change that had nothing but its place to show for itself. */
  readonly floorInferred: boolean
  /** What was emitted last. */
  readonly entry: RawEntry | undefined
}

/** A change, and whether it was certainly told on this connection. */
export interface ReceivedChange {
  readonly change: Change
  readonly certain: boolean
}

/** What happens to a watch. */
export type WatchEvent =
  /** `rejoined`: changes told to an earlier watch of the key, on this connection or before, may still come. */
  | { readonly type: 'connected'; readonly rejoined: boolean }
  | { readonly type: 'disconnected' }
  /** It is time to see whether the store still knows of the watch. */
  | { readonly type: 'verify' }
  /** A request was not answered. */
  | { readonly type: 'unanswered' }
  /** A change of the key is about to be told, the first since the store tells all of them. */
  | { readonly type: 'appeared' }
  /** KEYNOTIFY was answered. */
  | { readonly type: 'registered' }
  /** GET was answered. */
  | { readonly type: 'read'; readonly reading: Reading }
  /** `certain`: it was told on this connection, and not queued before. */
  | { readonly type: 'notified'; readonly change: Change; readonly certain: boolean }

/** Nothing waits for a read. */
export const NONE: readonly ReceivedChange[] = []

/** What is forgotten with a connection. */
export const FRESH = {
  synced: false,
  proved: false,
  placeless: false,
  raced: false,
  recheck: false,
  held: NONE,
  doubted: undefined,
  floor: undefined,
  floorInferred: false,
} as const

/** A watch before its first connection. */
export const INITIAL: WatchState = { ...FRESH, phase: 'offline', known: false, entry: undefined }

/**
 * Whether the value of a watched key can be relied on: not read yet, current, current until the connection was lost
 * (`since`, ms since the Unix epoch), or being read again after a reconnect.
 */
export type Freshness =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  | { readonly state: 'stale'; readonly since: number }
  | { readonly state: 'resyncing' }

const CONNECTING: Freshness = { state: 'connecting' }
const LIVE: Freshness = { state: 'live' }
const RESYNCING: Freshness = { state: 'resyncing' }

/** Freshness of a watch, given when its connection was lost. */
export function freshnessOf({ phase, synced, known }: WatchState, lostAt: number): Freshness {
  if (synced) return LIVE
  if (!known) return CONNECTING
  return phase === 'offline' ? { state: 'stale', since: lostAt } : RESYNCING
}

/** Freshness of a watch that has ended: nothing will come any more. */
export const endedFreshness = ({ known }: WatchState, lostAt: number): Freshness =>
  known ? { state: 'stale', since: lostAt } : CONNECTING

/**
 * What is known of a key at a time. `op` is `set` for a value, `delete` for a deletion that was notified, `absent` when
 * a read found no key, `invalid` for a value the codec cannot decode. `source` says where it comes from: the first read,
 * a notification, or the read after a reconnect. `reason` says why there is no value: see {@link GoneReason}; that of an
 * absent key is not known.
 */
export type Entry<T> =
  | (EntryBase & { readonly op: 'set'; readonly value: T })
  | (EntryBase & { readonly op: 'delete' | 'absent'; readonly value: undefined; readonly reason: GoneReason })
  | (EntryBase & { readonly op: 'invalid'; readonly value: undefined; readonly error: DecodeError })

interface EntryBase {
  readonly key: string
  /** Missing for an absent key: the protocol gives it none. */
  readonly version: Hlc | undefined
  readonly source: 'snapshot' | 'notification' | 'resync'
}
