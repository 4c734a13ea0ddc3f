import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import type { Clock } from '../../core/util/clock.js'
import type { StateStoreError } from '../../core/util/errors.js'
import type { StoreCommands } from '../requests/commands.js'
import type { Freshness } from './freshness.js'
import type { Emission, SharedRegistration, Watch, WatchObserver } from './watch.js'
import type { RawEntry, ReceivedChange } from './watch-state.js'

/**
 * How a glob discovered a key: `found` by a scan, `changed` by a change before which others may have been missed, or
 * `appeared` with the first change since the glob was registered, which makes a read unnecessary.
 */
export type Discovery = 'found' | 'changed' | 'appeared'

export interface JoinDetails {
  readonly registration: SharedRegistration | undefined
  readonly discovery: Discovery
}

/** The interface of a client's watched globs for its key watches. */
export interface WatchedGlobs {
  connected(): void
  /** @param lostAt - ms since the Unix epoch */
  disconnected(lostAt: number): void
  close(error: StateStoreError | undefined, stop: boolean): void
  onChange(change: UnmatchedChange): void
}

/** The interface of a client's key watches for its watched globs. */
export interface KeyWatches {
  /** Joins a key's watch. A new watch uses the shared registration. */
  joinShared(key: KeyName, observer: WatchObserver, details: JoinDetails): Watch | undefined
  /** Handles the store's confirmation of the shared registration, which includes this key. */
  confirmShared(key: KeyName, registration: SharedRegistration): void
  /** Replaces the shared registration of a key by another shared one, or by a private one if there is none. */
  replaceShared(key: KeyName, registration: SharedRegistration, other: SharedRegistration | undefined): void
  /** Ends the observer if the client was closed or rejected, and returns whether it did so. */
  endIfClosed(observer: Pick<WatchObserver, 'error' | 'complete'>): boolean
  report(error: StateStoreError): void
  /** Leaves a key's watch. @param stopDelay - time until a watch without other observers ends, ms */
  leave(key: KeyName, observer: WatchObserver, stopDelay?: number): void
  /** Returns the newest version of a key known on this connection, or `unsettled` during a read. */
  floorOf(key: KeyName): Hlc | undefined | 'unsettled'
}

export interface GlobObserver {
  readonly emits: Emission
  entry(key: KeyName, raw: RawEntry): void
  freshness(freshness: Freshness): void
  error(error: StateStoreError): void
  complete(): void
}

export interface UnmatchedChange extends ReceivedChange {
  readonly key: KeyName
}

export interface RegistryOptions {
  readonly store: StoreCommands
  readonly clock: Clock
  readonly clientId: string
  readonly notificationPrefix: string
  /** Timeout after which a KEYNOTIFY or GET of a watch is retried, ms. */
  readonly timeout: number
  /** Time that a registration outlives its last subscriber, ms. */
  readonly stopDelay: number
  /** Interval at which each watched key is registered and read again, ms; 0 for never. */
  readonly verifyEvery: number
  /** Called when the number of watched or synced keys has changed. */
  readonly changed: () => void
  /** Reports errors that do not end a stream: malformed notifications, retried requests and failed STOPs. */
  readonly report: (error: StateStoreError) => void
}
