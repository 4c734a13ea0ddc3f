import type { Observable } from 'rxjs'
import type { StateStoreError } from '../../core/util/errors.js'
import type { DumpLine } from '../../node/dump/codec.js'
import type { AuditEvent } from '../../node/net/audit.js'
import type { ConnectedClient, Fault, LoadOptions, LoadResult, StorageStatus, StoredKey } from '../host/store-server.js'
import type { RequestReport } from '../service/store-service.js'
import type { ClusterStatus } from '../storage/storage.js'

/** State of an attached store. */
export type AttachedState =
  /** Connecting to the broker, or checking whether another store serves. */
  | { readonly state: 'connecting' }
  /** Another store serves; this one takes over when that stops. */
  | { readonly state: 'standby' }
  /** `life` changes with every start, and whenever registrations may have been lost. */
  | { readonly state: 'serving'; readonly life: string }
  | { readonly state: 'reconnecting'; readonly cause: StateStoreError }
  /** Permanent. No cause after `close`; otherwise an error of this library, or of the system about the directory. */
  | { readonly state: 'closed'; readonly cause: unknown }

/** Statistics of an attached store. */
export interface AttachedStats {
  readonly keys: number
  /** Bytes. */
  readonly bytes: number
  readonly watches: number
  /** Counted since the store started serving. */
  readonly requests: number
  readonly errors: number
  readonly notifications: number
}

/**
 * A store that serves through an existing broker; see {@link attach}. It has keys and clients while it serves, even
 * while it reconnects; on standby it has none.
 */
export interface AttachedStore extends AsyncDisposable {
  readonly clientId: string
  /** URL of the broker, without user name and password. */
  readonly url: string
  readonly state: AttachedState
  /** Replays the current state; completes after `closed`. */
  readonly state$: Observable<AttachedState>
  /** All 0 while it does not serve. */
  readonly stats: AttachedStats
  /** When it started serving, ms since the Unix epoch; `undefined` while it does not serve. */
  readonly startedAt: number | undefined
  /** Increases when a key is created or removed; 0 while it does not serve. */
  readonly keyspace: number
  /** How far versions are ahead of the wall clock, ms, after it was set back by more than a minute; otherwise 0. */
  readonly drift: number
  /** Nodes of a store with `log`, also on standby. */
  readonly cluster: ClusterStatus | undefined
  /**
   * Clients that watch or sent a request in the last minute; `since` is the time of the first request. Brokers report
   * nothing else.
   */
  readonly clients: readonly ConnectedClient[]
  /** Every answered request. Hot. */
  readonly requests$: Observable<RequestReport>
  /** Emits the drift when it begins, ms, and 0 when it ends. Hot. */
  readonly drift$: Observable<number>
  /** Errors of the store itself. Hot. */
  readonly faults$: Observable<Fault>
  /** Keys denied by the policy, and responses that would have gone to another client. Hot. */
  readonly audit$: Observable<AuditEvent>
  /** Emits when the storage status changes. Hot. */
  readonly storage$: Observable<StorageStatus>
  /** Returns the details of a key, or `undefined`. Not a request: it is not counted, and clients do not notice. */
  peek(key: string | Uint8Array): StoredKey | undefined
  /** Returns the keys that a client watches, in the order of its requests. */
  watchedBy(clientId: string): Iterable<Uint8Array>
  /** Returns a snapshot of all keys, one line for each; none while it does not serve. */
  dump(): Iterable<DumpLine>
  /**
   * Loads the keys of a dump, like {@link StoreServer.load}. Also rejects with `closed` while it does not serve or if
   * it stops serving before anything is loaded, and with `outcome-unknown` if it stops during the load.
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
  /** Announces the departure and disconnects from the broker. Keys are lost unless `data` is set. */
  close(): Promise<void>
}
