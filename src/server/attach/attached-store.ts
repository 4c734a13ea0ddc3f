import type { Observable } from 'rxjs'
import type { StateStoreError } from '../../core/util/errors.js'
import type { DumpLine } from '../../node/dump/codec.js'
import type { AuditEvent } from '../../node/net/audit.js'
import type {
  ConnectedClient,
  Fault,
  LoadOptions,
  LoadResult,
  Reloaded,
  StorageStatus,
  StoreServer,
} from '../host/store-server.js'
import type { ClusterStatus } from '../storage/storage.js'

/** The state of a store that `attach` runs beside a broker. */
export type AttachedState =
  /** The store is connecting to the broker, or checking whether another store serves. */
  | { readonly state: 'connecting' }
  /** Another store serves. This store takes over when the other store stops. */
  | { readonly state: 'standby' }
  /** The store serves. `life` changes with every start, and whenever registrations may have been lost. */
  | { readonly state: 'serving'; readonly life: string }
  | { readonly state: 'reconnecting'; readonly cause: StateStoreError }
  /**
   * The store has stopped permanently. The cause is `undefined` after `close`, and otherwise an error of this library,
   * or an error of the operating system about the directory.
   */
  | { readonly state: 'closed'; readonly cause: unknown }

/** The keys, the memory and the requests of a store beside a broker, counted since it became active. */
export interface AttachedStats {
  readonly keys: number
  /** The memory in use, in bytes. */
  readonly bytes: number
  readonly watches: number
  /** The number of requests since the store started serving. */
  readonly requests: number
  readonly errors: number
  readonly notifications: number
}

/**
 * A store that serves through an existing broker. See {@link attach}. The store has keys and clients while it serves,
 * even while it reconnects. A standby has none.
 */
export interface AttachedStore
  extends AsyncDisposable,
    Pick<StoreServer, 'drift' | 'isRejectingClocks' | 'requests$' | 'drift$' | 'storage$' | 'peek' | 'watchedBy'> {
  readonly clientId: string
  /** The URL of the broker, without user name and password. */
  readonly url: string
  readonly state: AttachedState
  /** Emits the current state on subscription and every later state. Completes after `closed`. */
  readonly state$: Observable<AttachedState>
  /** The statistics, which are all 0 while the store does not serve. */
  readonly stats: AttachedStats
  /**
   * The time at which the store started serving, in ms since the Unix epoch, or `undefined` while it does not serve.
   */
  readonly startedAt: number | undefined
  /** A counter that increases when a key is created or removed. It is 0 while the store does not serve. */
  readonly keyspace: number
  /** The limits for the same values in {@link AttachedStore.stats}. */
  readonly limits: Pick<AttachedStats, 'keys' | 'bytes' | 'watches'>
  /** The current status of the storage. It is `kept` on standby without `log`, where the store has no open storage. */
  readonly storage: StorageStatus
  /** The nodes of a store with `log`, available also on standby. */
  readonly cluster: ClusterStatus | undefined
  /**
   * The clients that watch keys or sent a request in the last minute. `since` is the time of the first request. Brokers
   * report nothing else about clients.
   */
  readonly clients: readonly ConnectedClient[]
  /** Emits the errors of the store itself. Hot. */
  readonly faults$: Observable<Fault>
  /**
   * Emits keys that the policy denied, requests that a limit rejected, and responses that would have gone to another
   * client. Hot.
   */
  readonly audit$: Observable<AuditEvent>
  /** Returns a snapshot of all keys, one line for each key. The snapshot is empty while the store does not serve. */
  dump(): Iterable<DumpLine>
  /**
   * Loads a dump's keys, as {@link StoreServer.load} does. In addition, rejects with `closed` if the store does
   * not serve or stops serving before anything is loaded, and with `outcome-unknown` if it stops during the load.
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
  /**
   * Replaces the policy of a store that was attached with a policy. If a client watches keys that it must no longer
   * read, or globs and may now read other keys, its watches end, and the `life` of its state changes so that clients
   * register again. Throws `argument` for an invalid policy, and keeps the previous one. Throws `closed` after `close`.
   *
   * @example
   * ```ts
   * store.reload({ policy: readFileSync('policy.yaml', 'utf8') })
   * ```
   */
  reload(changes: Pick<Reloaded, 'policy'>): void
  /** Announces the departure and disconnects from the broker. The keys are lost unless `data` is set. */
  close(): Promise<void>
}
