import type { Hlc } from '../../core/hlc/hlc.js'
import type { GoneReason } from '../../core/protocol/properties.js'
import type { DecodeError } from '../../core/util/errors.js'
import type { ReadResult } from '../requests/commands.js'

/**
 * An entry before decoding. `version` is missing for a key that was not found, because the protocol gives such a key no
 * version.
 */
export interface RawEntry {
  readonly op: 'set' | 'delete' | 'absent'
  readonly value: Uint8Array | undefined
  readonly version: Hlc | undefined
  readonly source: 'snapshot' | 'notification' | 'resync'
  readonly reason?: GoneReason | undefined
}

/** A notified change; an old store may omit the version or the value. */
export interface NotifiedChange {
  readonly op: 'set' | 'delete'
  readonly value: Uint8Array | undefined
  readonly version: Hlc | undefined
  readonly reason?: GoneReason | undefined
}

export interface WatchState {
  /** The watch awaits a connection, the KEYNOTIFY response, the GET response, or changes. */
  readonly phase: 'offline' | 'registering' | 'reading' | 'live'
  /** Whether the value was read on this connection. */
  readonly isSynced: boolean
  /** Whether the value was ever read. */
  readonly isKnown: boolean
  /**
   * Whether a possibly queued notification matched a value read on this connection. The notifications behind it are
   * from this store instance and newer, because notifications of a key arrive in order (MQTT 5.0, section 4.6).
   */
  readonly isVerified: boolean
  /** Whether the last read cannot be ordered relative to notifications, so that a change received now may be older. */
  readonly isUnordered: boolean
  /** Whether a certain change was applied since GET was sent, so the response may be older. */
  readonly hasRaced: boolean
  /** Whether a change lacked its value or version, so that only a GET sent after it can show the change. */
  readonly needsRead: boolean
  /** Changes that were received after GET was sent and that only the response to it can order. */
  readonly held: readonly ReceivedChange[]
  /** The last change that the pending read has to confirm. */
  readonly unverified: NotifiedChange | undefined
  /** Newest version known on this connection; older changes are not emitted. */
  readonly floor: Hlc | undefined
  /** Whether the floor comes from a change that was trusted only because it followed a verified one. */
  readonly isFloorInferred: boolean
  readonly entry: RawEntry | undefined
}

/** A received change. `certain` means that it was sent on this connection and not queued before. */
export interface ReceivedChange {
  readonly change: NotifiedChange
  readonly certain: boolean
}

export type WatchEvent =
  /** `rejoined`: whether changes that were notified to an earlier watch of the key may still arrive. */
  | { readonly type: 'connected'; readonly rejoined: boolean }
  | { readonly type: 'disconnected' }
  /** The watch must verify that the store still has the registration. */
  | { readonly type: 'verify' }
  | { readonly type: 'unanswered' }
  /** The first change of the key since its glob's registration is about to be applied. */
  | { readonly type: 'appeared' }
  | { readonly type: 'registered' }
  | { readonly type: 'read'; readonly reading: ReadResult }
  /** `certain`: whether the change was sent on this connection and not queued before. */
  | { readonly type: 'notified'; readonly change: NotifiedChange; readonly certain: boolean }

export const NO_CHANGES: readonly ReceivedChange[] = []

export const DISCONNECTED = {
  isSynced: false,
  isVerified: false,
  isUnordered: false,
  hasRaced: false,
  needsRead: false,
  held: NO_CHANGES,
  unverified: undefined,
  floor: undefined,
  isFloorInferred: false,
} as const

export const INITIAL: WatchState = { ...DISCONNECTED, phase: 'offline', isKnown: false, entry: undefined }

/**
 * A key's state. `op` is `set` for a value, `delete` for a notified deletion, `absent` when a read found no key,
 * `invalid` for a value the codec cannot decode. `source` is the first read, a notification, or the read after a
 * reconnect. `reason` is the reason why the value is missing; see {@link GoneReason}. It is `unknown` for an absent
 * key.
 */
export type Entry<T> =
  | (EntryBase & { readonly op: 'set'; readonly value: T })
  | (EntryBase & { readonly op: 'delete' | 'absent'; readonly value: undefined; readonly reason: GoneReason })
  | (EntryBase & { readonly op: 'invalid'; readonly value: undefined; readonly error: DecodeError })

interface EntryBase {
  readonly key: string
  /** Version of the value. `undefined` for an absent key, because the protocol has no version for it. */
  readonly version: Hlc | undefined
  readonly source: 'snapshot' | 'notification' | 'resync'
}
