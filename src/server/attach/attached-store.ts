import type { Observable } from 'rxjs'
import type { StateStoreError } from '../../core/util/errors.js'
import type { DumpLine } from '../../node/dump/codec.js'
import type { AuditEvent } from '../../node/net/audit.js'
import type { ConnectedClient, Fault, LoadOptions, LoadResult, StorageStatus, StoredKey } from '../host/store-server.js'
import type { RequestReport } from '../service/store-service.js'
import type { ClusterStatus } from '../storage/storage.js'

/** What an attached store does. */
export type AttachedState =
  /** On its way to the broker, or finding out whether another store serves there. */
  | { readonly state: 'connecting' }
  /** Another store serves; this one takes over when it is gone. */
  | { readonly state: 'standby' }
  /** `life` is another one after every start, and whenever registrations of before are not known any more. */
  | { readonly state: 'serving'; readonly life: string }
  | { readonly state: 'reconnecting'; readonly cause: StateStoreError }
  /** For good; without a cause by `close`. Anything but an error of ours is one of the system, about the directory. */
  | { readonly state: 'closed'; readonly cause: unknown }

/** A glance at an attached store. */
export interface AttachedStats {
  readonly keys: number
  /** What keys, values and watched keys take, bytes. */
  readonly bytes: number
  readonly watches: number
  /** Counts since it began to serve. */
  readonly requests: number
  readonly errors: number
  readonly notifications: number
}

/**
 * A store that serves at a broker of somebody else; see {@link attach}. It has keys and clients of its own while it serves,
 * through cuts of its connection as well, and none as a standby.
 */
export interface AttachedStore extends AsyncDisposable {
  readonly clientId: string
  /** Of the broker, without user name and password. */
  readonly url: string
  readonly state: AttachedState
  /** The latest first; completes after `closed`. */
  readonly state$: Observable<AttachedState>
  /** All 0 while it does not serve. */
  readonly stats: AttachedStats
  /** Since when it has been serving, ms since the Unix epoch; `undefined` while it does not. */
  readonly startedAt: number | undefined
  /** Rises when a key is made or removed; 0 while it does not serve. */
  readonly keyspace: number
  /** How far versions are ahead of the wall clock, ms, because that was set back by more than a minute; else 0. */
  readonly drift: number
  /** The nodes that share the log, of a store with a `log`; as a standby, too. */
  readonly cluster: ClusterStatus | undefined
  /** Who watches, or asked in the last minute; `since` is when it was heard first. No broker tells more. */
  readonly clients: readonly ConnectedClient[]
  /** Every request, as it is answered. Hot. */
  readonly requests$: Observable<RequestReport>
  /** How far versions are ahead of the wall clock, ms, when that begins, and 0 when it is over. Hot. */
  readonly drift$: Observable<number>
  /** Errors of the store itself. Hot. */
  readonly faults$: Observable<Fault>
  /** Refusals: keys by the policy, and answers that would have gone to another client. Hot. */
  readonly audit$: Observable<AuditEvent>
  /** Whether what is written is kept on the disk, when it changes. Hot. */
  readonly storage$: Observable<StorageStatus>
  /** What the store holds of a key, if anything. No request: it counts nowhere, and no client sees it. */
  peek(key: string | Uint8Array): StoredKey | undefined
  /** The keys a client watches, in the order it asked for them. */
  watchedBy(clientId: string): Iterable<Uint8Array>
  /** All keys as they are at this moment, one line for each; none while it does not serve. */
  dump(): Iterable<DumpLine>
  /**
   * Sets the keys of a dump, as {@link StoreServer.load} does. Rejects besides with `closed` while it does not serve, and
   * when it stops to serve before anything is loaded; with `outcome-unknown` when it stops meanwhile.
   *
   * @example
   * ```ts
   * await store.load([{ key: 'setPoint', value: '21.5' }])
   * ```
   */
  load(
    lines: Iterable<DumpLine | string> | AsyncIterable<DumpLine | string>,
    options?: LoadOptions,
  ): Promise<LoadResult>
  /** Says that it is away, and leaves the broker. What `data` does not hold is lost. */
  close(): Promise<void>
}
