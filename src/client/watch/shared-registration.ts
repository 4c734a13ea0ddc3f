import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import type { Clock } from '../../core/util/clock.js'
import type { StateStoreError } from '../../core/util/errors.js'
import type { StoreCommands } from '../requests/commands.js'
import type { SharedRegistration, Watch, WatchObserver } from './watch.js'
import type { Freshness, RawEntry, ReceivedChange } from './watch-state.js'

/**
 * How a key came to a glob: by a scan; by a change of which nobody knows what was before it; or by a change that is the
 * first since the glob is registered, so that nothing has to be read.
 */
export type Arrival = 'found' | 'heard' | 'appeared'

/** How a glob joins a key of it. */
export interface Covering {
  /** Missing where the store does not notify by globs. */
  readonly cover: SharedRegistration | undefined
  readonly arrival: Arrival
}

/** The watched globs of a client, as the watches of its keys see them. */
export interface WatchedGlobs {
  connected(): void
  /** @param lostAt - ms since the Unix epoch */
  disconnected(lostAt: number): void
  close(error: StateStoreError | undefined, stop: boolean): void
  stray(stray: UnmatchedChange): void
}

/** What the watches of globs need of those of keys. */
export interface CoveredWatches {
  /** Joins a key, whose registration the cover is if there is none yet. */
  cover(key: KeyName, observer: WatchObserver, how: Covering): Watch | undefined
  /** The store has the registration of a cover, for this key of it as well. */
  covered(key: KeyName, cover: SharedRegistration): void
  /** A cover is none any more for a key, but the other one, if it is given. */
  uncover(key: KeyName, cover: SharedRegistration, other: SharedRegistration | undefined): void
  /** Tells somebody who comes too late that it is over, if it is. */
  ended(observer: Pick<WatchObserver, 'error' | 'complete'>): boolean
  /** Tells of a fault that ends nothing. */
  report(error: StateStoreError): void
  /** Leaves a key. @param stopDelay - ms until it is over, if nobody else listens */
  leave(key: KeyName, observer: WatchObserver, stopDelay?: number): void
  /** Newest version of a key that is known to be of this connection; `unsettled` while it is read. */
  floorOf(key: KeyName): Hlc | undefined | 'unsettled'
}

/** Who listens to a glob. */
export interface GlobObserver {
  entry(key: KeyName, raw: RawEntry): void
  freshness(freshness: Freshness): void
  error(error: StateStoreError): void
  complete(): void
}

/** What came for a key that may be one of a glob, and new to it. */
export interface UnmatchedChange extends ReceivedChange {
  readonly key: KeyName
}

/** What a registry needs to know. */
export interface RegistryOptions {
  readonly store: StoreCommands
  readonly clock: Clock
  /** Everything of a notification topic before the key. */
  readonly notificationPrefix: string
  /** ms a KEYNOTIFY or GET of a watch may take before it is tried again. */
  readonly timeout: number
  /** ms a registration outlives its last subscriber. */
  readonly stopDelay: number
  /** ms in which each watched key is registered and read once more; 0 for never. */
  readonly verifyEvery: number
  /** The number of watched keys changed, or of those that are synced. */
  readonly changed: () => void
  /** Faults that end no stream: malformed notifications, requests that are tried again, failed STOPs. */
  readonly report: (error: StateStoreError) => void
}
