import type { Observable } from 'rxjs'
import type { DumpLine } from '../../node/dump/codec.js'
import type { AuditEvent } from '../../node/net/audit.js'
import type { TlsMaterial } from '../../node/net/tls.js'
import type { RequestReport } from '../service/store-service.js'
import type { ClusterStatus } from '../storage/storage.js'
import type { AddressUsage, Usage } from './usage.js'

/** The keys, clients and requests of a store. */
export interface StoreStats {
  readonly keys: number
  /** The number of keys that all clients watch. */
  readonly watches: number
  readonly connections: number
  /** The number of MQTT sessions, offline clients included. */
  readonly sessions: number
  readonly retained: number
  /** The size of all retained messages in bytes. */
  readonly retainedBytes: number
  /** The number of subscriptions of all sessions. */
  readonly subscriptions: number
  /** The number of shared subscriptions among them. */
  readonly sharedSubscriptions: number
  /** The number of wills: those of connected clients and delayed ones. */
  readonly wills: number
  /** The buffered bytes. See {@link ServeOptions.maxBufferedBytes}. */
  readonly bufferedBytes: number
  /** The store's size in bytes. See {@link ServeOptions.maxBytes}. */
  readonly bytes: number
  /** The number of network connections. Those in excess of `connections` are not accepted, or not yet. */
  readonly networkConnections: number
  /** The number of rejected logins since `serve`. */
  readonly refusedLogins: number
  /** The number of connections refused because of a limit. See {@link ServeOptions.maxConnections}. */
  readonly refusedConnections: number
  /** The number of requests since the start. */
  readonly requests: number
  readonly errors: number
  readonly notifications: number
}

/** A store's limits. See {@link QuotaOptions}. */
export interface StoreLimits {
  readonly keys: number
  readonly bytes: number
  readonly bufferedBytes: number
  readonly connections: number
  readonly subscriptions: number
  readonly watches: number
  readonly retained: number
  readonly retainedBytes: number
}

/** A client with an open connection. */
export interface ConnectedClient {
  readonly clientId: string
  /** The time when the client connected, in ms since the Unix epoch. */
  readonly since: number
  /** The number of keys that the client watches. */
  readonly watches: number
}

/** An error of the store or of `authenticate`. It ends at most the connection of the client concerned. */
export interface Fault {
  /** The client id, or an empty string if no client is known. */
  readonly clientId: string
  readonly error: unknown
}

/** A key's details. See {@link StoreServer.peek}. */
export interface StoredKey {
  readonly value: Uint8Array
  /** The version, such as `1696374425000:1:StateStore`. */
  readonly version: string
  /** The expiry in ms since the Unix epoch, or `undefined` for a key without expiry. */
  readonly expiresAt: number | undefined
  /** The fencing token of the key. Writes must carry this token or a newer one. */
  readonly fencingToken: string | undefined
  /** The number of clients that watch the key. */
  readonly watchers: number
}

/** The options of {@link StoreServer.restart}. */
export interface RestartOptions {
  /**
   * The keys after the restart. `kept`: all keys with their versions, expiries and fencing tokens, as in a store with
   * data on disk. A store with `data` reads the keys from disk, and a node replays the log. `lost`: no keys, as in a
   * store without `data`. The content of `data` is deleted. A node cannot lose the keys that all nodes share.
   */
  readonly keys: 'kept' | 'lost'
}

/** The changes for {@link StoreServer.reload}. */
export interface Reloaded {
  readonly policy?: string
  /** The TLS material for new connections. */
  readonly tls?: TlsMaterial
}

/** The options of {@link StoreServer.load}. */
export interface LoadOptions {
  /** Deletes every key that is not in the dump. Default: `false`. */
  readonly replace?: boolean | undefined
}

/** The result of {@link StoreServer.load}, in numbers of keys. */
export interface LoadResult {
  readonly loaded: number
  /** The number of loaded keys that kept the version in their line. */
  readonly versionsKept: number
  /** The number of keys that were not loaded because they had already expired. */
  readonly expired: number
  /** The number of keys that `replace` deleted. */
  readonly deleted: number
}

/** A running store. See {@link serve}. */
export interface StoreServer extends AsyncDisposable {
  /** The URL `mqtt://host:port`, or `mqtts://host:port` with TLS. */
  readonly url: string
  /** The URL `ws://host:port`, or `wss://host:port` with TLS. */
  readonly wsUrl: string
  /** The time of the start or the latest restart, in ms since the Unix epoch. */
  readonly startedAt: number
  /** The statistics, which a restart resets. */
  readonly stats: StoreStats
  /** The limits for the same values in {@link StoreServer.stats}. */
  readonly limits: StoreLimits
  /** Whether clients must log in, or a policy limits their rights. */
  readonly hasAccessControl: boolean
  /** Why clients with valid credentials may be rejected, such as an outage of the server with the keys of tokens. */
  readonly loginProblem: string | undefined
  /**
   * The time when the first certificate in the chain of `tls.cert` expires, in ms since the Unix epoch. `undefined`
   * without TLS.
   */
  readonly certificateExpiresAt: number | undefined
  /**
   * Whether the store listens and admits clients. `false` during a restart and a freeze, after a failed restart and
   * `close`, and while a node cannot reach the log.
   */
  readonly isAccepting: boolean
  /**
   * A counter that increases when a key is created or removed, and restarts when all keys are lost. A change means that
   * the list of keys is outdated.
   */
  readonly keyspace: number
  /** Emits every answered request. Hot. */
  readonly requests$: Observable<RequestReport>
  /**
   * The time in ms by which the wall clock is behind the store's time after the clock was set back by more than a
   * minute, otherwise 0. The store continues from its last known time for an hour. Then its time runs an eighth more
   * slowly until the clock has caught up, and {@link isRejectingClocks} becomes true if that affects clients.
   */
  readonly drift: number
  /**
   * Whether the clock was set back, and requests of the last five minutes were rejected because the clocks of their
   * clients are more than a minute ahead of the store's time. The store is not ready then.
   */
  readonly isRejectingClocks: boolean
  /** Emits the drift in ms when it begins, and 0 when it ends, as detected by the next request. Hot. */
  readonly drift$: Observable<number>
  /** Emits errors of the store itself and of `authenticate`, for the operator to report. Hot. */
  readonly faults$: Observable<Fault>
  /** Emits logins and rejections if the store authenticates clients or has a policy. Hot. */
  readonly audit$: Observable<AuditEvent>
  /** The status of the storage, which is always `kept` for a store in memory. */
  readonly storage: StorageStatus
  /** Emits when {@link StoreServer.storage} changes, as detected by the next write. Hot. */
  readonly storage$: Observable<StorageStatus>
  /** The cluster, or `undefined` for a store without `log`. */
  readonly cluster: ClusterStatus | undefined
  /** The client ids of the open connections. */
  readonly clientIds: readonly string[]
  readonly clients: readonly ConnectedClient[]
  /**
   * The usage of each quota by principal, for principals with usage now or recently. Can be iterated once.
   *
   * @example
   * ```ts
   * for (const { principal, keys, bytes } of store.usage)
   *   console.log(principal, keys, bytes)
   * ```
   */
  readonly usage: Iterable<Usage>
  /**
   * The connections and recently failed logins by address, with at most 10,000 addresses that have no connection. Can
   * be iterated once.
   *
   * @example
   * ```ts
   * for (const { address, failedLogins } of store.addresses)
   *   if (failedLogins > 5) console.log(address, failedLogins)
   * ```
   */
  readonly addresses: Iterable<AddressUsage>
  /** The time when a frozen store resumes, in ms since the Unix epoch, or `undefined` if the store is not frozen. */
  readonly frozenUntil: number | undefined

  /**
   * Returns a key's details, or `undefined` if the key does not exist. The call does not count as a request, and
   * clients do not notice it.
   */
  peek(key: string | Uint8Array): StoredKey | undefined

  /** Returns the keys that a connected client watches, in the order of its requests. */
  watchedBy(clientId: string): Iterable<Uint8Array>

  /**
   * Closes the network connections of a client without DISCONNECT, to test reconnects. Returns whether the client had
   * any.
   */
  cut(clientId: string): boolean

  /**
   * Suspends the store for `ms`, as if its process were stopped. Connections stay open, but nothing is read, answered,
   * notified or expired, and new connections wait. Afterwards the store continues with its pending work. 0 resumes the
   * store immediately. Timeouts on the client's side still apply: requests time out, and a client whose ping is not
   * answered reconnects. Throws `argument` if `ms` is not a whole number from 0, and `closed` after `close` and during
   * a restart.
   *
   * @example
   * ```ts
   * // The app under test shows that it waits, and gets its answers in three
   * // seconds
   * store.freeze(3_000)
   * ```
   */
  freeze(ms: number): void

  /**
   * Restarts the store on the same ports, as if its process had been killed. All connections end without DISCONNECT,
   * and MQTT sessions, their queued messages and the registrations of watches are lost. Resolves when the store listens
   * again. Rejects with `argument` for invalid options, `closed` after `close`, or the system's error when another
   * process has taken a port. After such an error, the call may be retried. A node also rejects if it cannot read the
   * log, reports `broken` as its storage status, and retries every 5 s.
   *
   * @example
   * ```ts
   * // The app under test reconnects, and sees that its keys are absent
   * await store.restart({ keys: 'lost' })
   * ```
   */
  restart(options: RestartOptions): Promise<void>

  /**
   * Returns a snapshot of all keys, one object for each key. `JSON.stringify` turns each object into a line of NDJSON.
   * Can be iterated once.
   *
   * @example
   * ```ts
   * expect([...store.dump()]).toMatchObject([
   *   { key: 'setPoint', value: '21.5' },
   * ])
   * ```
   */
  dump(): Iterable<DumpLine>

  /**
   * Loads a dump's keys, given as lines of text or objects, in one atomic step, and notifies watchers. A key keeps
   * the version of its line if that is newer than every version that the store has issued. Otherwise the key gets a new
   * version, so that watchers never see an older version after a newer one. A new store that loads a dump is therefore
   * equal to the dumped one. A key takes the fencing token of its line unless the key has a newer token. The load
   * itself needs no token. Rejects with `argument` and the line number for an invalid line or a truncated dump,
   * `quota-exceeded` for too many keys, `overflow` for more than 1 GiB, `closed` after `close`, or an error thrown by
   * `lines`. If the store restarts first, rejects with `closed`, or with `outcome-unknown` when the log may already
   * contain the records.
   *
   * @example
   * ```ts
   * // Initial state of a test
   * await store.load([{ key: 'setPoint', value: '21.5' }], {
   *   replace: true,
   * })
   * ```
   */
  load(
    lines: Iterable<DumpLine | string> | AsyncIterable<DumpLine | string>,
    options?: LoadOptions,
  ): Promise<LoadResult>

  /**
   * Replaces the policy or the certificate of a store that was started with a policy or a certificate. Disconnects
   * clients with a subscription or watch that is no longer permitted, and clients that watch globs and may now read
   * other keys. These clients may reconnect, and other clients are not affected. Throws `argument` for an invalid
   * policy or certificate, and keeps the previous ones.
   *
   * @example
   * ```ts
   * store.reload({ policy: readFileSync('policy.yaml', 'utf8') })
   * ```
   */
  reload(changes: Reloaded): void

  /** Disconnects all clients and frees the ports. The keys are lost unless {@link ServeOptions.data} is set. */
  close(): Promise<void>
}

/** The status of the storage. See {@link StoreServer.storage}. */
export interface StorageStatus {
  /**
   * `kept`: normal operation. `full`: writes are rejected with `quota-exceeded` until the disk has space. `broken`:
   * writes are rejected (status 503) until the store is restarted, because the content of the disk is unknown. With the
   * error `in-use`, another process has taken over the directory, and clients are disconnected. On a node, `waiting`:
   * the shared log is unreachable or has no quorum. Nothing is acknowledged, and clients are disconnected if that state
   * lasts too long. `degraded`: the node works, but the log has a gap or is not kept on all servers. `broken`: the node
   * has stopped permanently or could not restart, and accepts no clients.
   */
  readonly state: 'kept' | 'full' | 'broken' | 'waiting' | 'degraded'
  /** The cause of a status other than `kept`. */
  readonly error: unknown
}
