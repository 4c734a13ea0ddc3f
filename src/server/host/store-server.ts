import type { Observable } from 'rxjs'
import type { DumpLine } from '../../node/dump/codec.js'
import type { AuditEvent } from '../../node/net/audit.js'
import type { TlsMaterial } from '../../node/net/tls.js'
import type { RequestReport } from '../service/store-service.js'
import type { ClusterStatus } from '../storage/storage.js'
import type { AddressUsage, Usage } from './usage.js'

/** Statistics of a running store. */
export interface StoreStats {
  readonly keys: number
  /** Watched keys of all clients. */
  readonly watches: number
  readonly connections: number
  /** MQTT sessions, offline clients included. */
  readonly sessions: number
  /** Number of retained messages. */
  readonly retained: number
  /** Bytes. */
  readonly retainedBytes: number
  /** Subscriptions of all sessions. */
  readonly subscriptions: number
  /** Bytes; see {@link ServeOptions.maxBufferedBytes}. */
  readonly bufferedBytes: number
  /** Bytes; see {@link ServeOptions.maxBytes}. */
  readonly bytes: number
  /** Network connections. Those in excess of `connections` are not accepted, or not yet. */
  readonly networkConnections: number
  /** Rejected logins since `serve`. */
  readonly refusedLogins: number
  /** Connections refused because of a limit; see {@link ServeOptions.maxConnections}. */
  readonly refusedConnections: number
  /** Counted since the start. */
  readonly requests: number
  readonly errors: number
  readonly notifications: number
}

/** A client with an open connection. */
export interface ConnectedClient {
  readonly clientId: string
  /** Time of the connection, ms since the Unix epoch. */
  readonly since: number
  /** Number of keys that it watches. */
  readonly watches: number
}

/** An error of the store or of `authenticate`. It ended the connection of the client concerned, and no other. */
export interface Fault {
  /** Empty if no client is known. */
  readonly clientId: string
  readonly error: unknown
}

/** Details of a key; see {@link StoreServer.peek}. */
export interface StoredKey {
  readonly value: Uint8Array
  /** Such as `1696374425000:1:StateStore`. */
  readonly version: string
  /** Expiry, ms since the Unix epoch; `undefined` for a key without one. */
  readonly expiresAt: number | undefined
  /** Writes must carry this token or a newer one. */
  readonly fencingToken: string | undefined
  /** Number of clients that watch it. */
  readonly watchers: number
}

/** Options of {@link StoreServer.restart}. */
export interface RestartOptions {
  /**
   * `kept`: with all keys, their versions, expiry and fencing tokens, like a store with data on disk; a store with
   * `data` reads them back, and a node replays the log. `lost`: empty, like a store without `data`; the content of
   * `data` is deleted. A node cannot lose the keys that all nodes share.
   */
  readonly keys: 'kept' | 'lost'
}

/** Changes for {@link StoreServer.reload}. */
export interface Reloaded {
  readonly policy?: string
  /** Applies to new connections. */
  readonly tls?: TlsMaterial
}

/** Options of {@link StoreServer.load}. */
export interface LoadOptions {
  /** Deletes every key that is not in the dump. Default `false`. */
  readonly replace?: boolean | undefined
}

/** Result of {@link StoreServer.load}, in numbers of keys. */
export interface LoadResult {
  readonly loaded: number
  /** Loaded keys that kept the version in their line. */
  readonly versionsKept: number
  /** Keys that had expired already; not loaded. */
  readonly expired: number
  /** Number of keys deleted by `replace`. */
  readonly deleted: number
}

/** A running store; see {@link serve}. */
export interface StoreServer extends AsyncDisposable {
  /** `mqtt://host:port`, or `mqtts://` with TLS */
  readonly url: string
  /** `ws://host:port`, or `wss://` with TLS */
  readonly wsUrl: string
  /** Time of the start or latest restart, ms since the Unix epoch. */
  readonly startedAt: number
  /** Reset by a restart. */
  readonly stats: StoreStats
  /**
   * Increases when a key is created or removed, and restarts when all keys are lost. A change means: list the keys
   * again.
   */
  readonly keyspace: number
  /** Every answered request. Hot. */
  readonly requests$: Observable<RequestReport>
  /**
   * How far versions are ahead of the wall clock, ms, after it was set back by more than a minute; otherwise 0.
   * Versions never decrease, so they continue from the old time until the clock has caught up. Requests still succeed
   * in that time; keys written with a time to live before the change live longer by the drift.
   */
  readonly drift: number
  /** Emits the drift when it begins, and 0 when it ends, as detected by the next request. Hot. */
  readonly drift$: Observable<number>
  /** Errors of the store itself and of `authenticate`, for the operator to report. Hot. */
  readonly faults$: Observable<Fault>
  /** Logins and rejections, if the store authenticates clients or has a policy. Hot. */
  readonly audit$: Observable<AuditEvent>
  /** Whether writes are kept on disk; `kept` for a store in memory. */
  readonly storage: StorageStatus
  /** Emits when {@link StoreServer.storage} changes, as detected by the next write. Hot. */
  readonly storage$: Observable<StorageStatus>
  /** Undefined for a store without `log`. */
  readonly cluster: ClusterStatus | undefined
  /** Client ids of the open connections. */
  readonly clientIds: readonly string[]
  /** The open connections. */
  readonly clients: readonly ConnectedClient[]
  /**
   * Usage of each quota by principal, of those with usage now or recently. Can be iterated once.
   *
   * @example
   * ```ts
   * for (const { principal, keys, bytes } of store.usage) console.log(principal, keys, bytes)
   * ```
   */
  readonly usage: Iterable<Usage>
  /**
   * Connections and recently failed logins by address; at most 10,000 addresses without a connection. Can be iterated
   * once.
   *
   * @example
   * ```ts
   * for (const { address, failedLogins } of store.addresses) if (failedLogins > 5) console.log(address, failedLogins)
   * ```
   */
  readonly addresses: Iterable<AddressUsage>
  /** When a frozen store resumes, ms since the Unix epoch; `undefined` if it is not frozen. */
  readonly frozenUntil: number | undefined

  /** Returns the details of a key, or `undefined`. Not a request: it is not counted, and clients do not notice. */
  peek(key: string | Uint8Array): StoredKey | undefined

  /** Returns the keys that a connected client watches, in the order of its requests. */
  watchedBy(clientId: string): Iterable<Uint8Array>

  /** Closes the network connections of a client without DISCONNECT, to test reconnects. Returns whether it had any. */
  cut(clientId: string): boolean

  /**
   * Suspends the store for `ms`, like a stopped process: connections stay open, but nothing is read, answered, notified
   * or expired; new connections are accepted and wait. Then it resumes where it was. 0 resumes immediately. Timeouts on
   * the client's side still apply: requests time out, and a client whose ping is not answered reconnects. Throws
   * `argument` unless `ms` is a whole number from 0, `closed` after `close` and during a restart.
   *
   * @example
   * ```ts
   * store.freeze(3_000) // the app under test shows that it waits, and gets its answers in three seconds
   * ```
   */
  freeze(ms: number): void

  /**
   * Restarts the store on the same ports like a killed process: all connections end without DISCONNECT; MQTT sessions,
   * their queued messages and the registrations of watches are lost. Resolves when the store listens again. Rejects
   * with `argument` for invalid options, `closed` after `close`, or the system's error when a port is in use by then;
   * the call may be retried.
   *
   * @example
   * ```ts
   * await store.restart({ keys: 'lost' }) // the app under test reconnects, and sees that its keys are absent
   * ```
   */
  restart(options: RestartOptions): Promise<void>

  /**
   * Returns a snapshot of all keys, one line for each; `JSON.stringify` turns them into NDJSON. Can be iterated once.
   *
   * @example
   * ```ts
   * expect([...store.dump()]).toMatchObject([{ key: 'setPoint', value: '21.5' }])
   * ```
   */
  dump(): Iterable<DumpLine>

  /**
   * Loads the keys of a dump, given as lines of text or objects, in one atomic step, and notifies watchers. A key keeps
   * the version of its line if that is newer than every version the store has issued; otherwise it gets a new one, so
   * that watchers never see a version go backwards. A new store that loads a dump is therefore equal to the dumped one.
   * A key takes the fencing token of its line unless it has a newer one; the load itself needs none. Rejects with
   * `argument` and the line number for an invalid line or a truncated dump, `quota-exceeded` for too many keys,
   * `overflow` for more than 1 GiB, `closed` after `close`, or an error raised by `lines`. If a restart comes first, it
   * rejects with `closed`, or with `outcome-unknown` when the log may already contain the records.
   *
   * @example
   * ```ts
   * await store.load([{ key: 'setPoint', value: '21.5' }], { replace: true }) // initial state of a test
   * ```
   */
  load(
    lines: Iterable<DumpLine | string> | AsyncIterable<DumpLine | string>,
    options?: LoadOptions,
  ): Promise<LoadResult>

  /**
   * Replaces the policy or the certificate of a store that has one. Disconnects clients with a subscription or watch
   * that is no longer permitted; they may reconnect. Other clients are not affected. Throws `argument` for an invalid
   * policy or certificate; then the previous ones stay in force.
   *
   * @example
   * ```ts
   * store.reload({ policy: readFileSync('policy.yaml', 'utf8') })
   * ```
   */
  reload(changes: Reloaded): void

  /** Disconnects all clients and frees the ports. Keys are lost unless {@link ServeOptions.data} is set. */
  close(): Promise<void>
}

/** Status of the storage; see {@link StoreServer.storage}. */
export interface StorageStatus {
  /**
   * `kept`: normal operation. `full`: writes are rejected with `quota-exceeded` until the disk has space. `broken`:
   * writes are rejected (status 503) until the store is restarted, because the content of the disk is unknown; with an
   * error `in-use`, another process has taken over the directory, and clients are disconnected. On a node, `waiting`:
   * the shared log is unreachable or has no quorum; nothing is acknowledged, and clients are disconnected if that lasts
   * too long. `degraded`: the node works, but the log has a gap or is not kept on all servers. `broken`: the node has
   * stopped permanently and accepts no clients.
   */
  readonly state: 'kept' | 'full' | 'broken' | 'waiting' | 'degraded'
  /** Cause of a status other than `kept`. */
  readonly error: unknown
}
