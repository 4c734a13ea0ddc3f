import type { Observable } from 'rxjs'
import type { DumpLine } from '../../node/dump/codec.js'
import type { AuditEvent } from '../../node/net/audit.js'
import type { TlsMaterial } from '../../node/net/tls.js'
import type { RequestReport } from '../service/store-service.js'
import type { ClusterStatus } from '../storage/storage.js'
import type { AddressUsage, Usage } from './usage.js'

/** A glance at a running store. */
export interface StoreStats {
  readonly keys: number
  readonly watches: number
  readonly connections: number
  /** MQTT sessions, with those whose client is away. */
  readonly sessions: number
  /** Retained messages. */
  readonly retained: number
  /** Of retained messages. */
  readonly retainedBytes: number
  /** Subscriptions of all sessions. */
  readonly subscriptions: number
  /** What the broker holds for all clients together, bytes; see {@link ServeOptions.maxBufferedBytes}. */
  readonly bufferedBytes: number
  /** What keys, values and watched keys take, bytes; see {@link ServeOptions.maxBytes}. */
  readonly bytes: number
  /** Network connections, also of clients that are not let in: so many more than `connections` are not, or not yet. */
  readonly networkConnections: number
  /** Logins that were turned away, since `serve`. */
  readonly refusedLogins: number
  /** Connections that were cut because there were too many; see {@link ServeOptions.maxConnections}. */
  readonly refusedConnections: number
  /** Counts since the start. */
  readonly requests: number
  readonly errors: number
  readonly notifications: number
}

/** A client that is connected. */
export interface ConnectedClient {
  readonly clientId: string
  /** Since when it is connected, ms since the Unix epoch. */
  readonly since: number
  /** Number of keys it watches. */
  readonly watches: number
}

/**
 * An error of the store itself, or what `authenticate` has thrown; it ended the connection of the client it happened with,
 * and nothing else.
 */
export interface Fault {
  /** Empty when the client was not known yet. */
  readonly clientId: string
  readonly error: unknown
}

/** What the store holds of a key. */
export interface StoredKey {
  readonly value: Uint8Array
  /** Such as `1696374425000:1:StateStore`. */
  readonly version: string
  /** When the key is gone, ms since the Unix epoch. */
  readonly expiresAt: number | undefined
  /** Writes must carry this token or a newer one. */
  readonly fencingToken: string | undefined
  /** Number of clients that watch it. */
  readonly watchers: number
}

/** How a store comes back; see {@link StoreServer.restart}. */
export interface RestartOptions {
  /**
   * `kept`: with all keys, their versions, expiry and fencing tokens, as a store with its data on disk; one with `data`
   * reads them back, and a node follows the log anew. `lost`: empty, as a store without; what `data` holds is deleted. A
   * node cannot lose what all nodes have.
   */
  readonly keys: 'kept' | 'lost'
}

/** What changes while a store runs; see {@link StoreServer.reload}. */
export interface Reloaded {
  readonly policy?: string
  /** For clients that connect from now on. */
  readonly tls?: TlsMaterial
}

/** How lines are loaded; see {@link StoreServer.load}. */
export interface LoadOptions {
  /** Delete every key that is not among the lines. Default `false`. */
  readonly replace?: boolean | undefined
}

/** What {@link StoreServer.load} came to, in keys. */
export interface LoadResult {
  readonly loaded: number
  /** How many of them kept the version of their line. */
  readonly versionsKept: number
  /** Those whose time was over already; they were left alone. */
  readonly expired: number
  /** Those that were deleted because of `replace`. */
  readonly deleted: number
}

/** A running store; see {@link serve}. */
export interface StoreServer extends AsyncDisposable {
  /** `mqtt://host:port`, or `mqtts://` with TLS */
  readonly url: string
  /** `ws://host:port`, or `wss://` with TLS */
  readonly wsUrl: string
  /** When it started, or was restarted last, ms since the Unix epoch. */
  readonly startedAt: number
  /** Starts over with a restart. */
  readonly stats: StoreStats
  /** Rises when a key is made or removed, and starts over when all keys are lost: time to list the keys again. */
  readonly keyspace: number
  /** Every request, as it is answered. Hot. */
  readonly requests$: Observable<RequestReport>
  /**
   * How far versions are ahead of the wall clock, ms, because that was set back by more than a minute; else 0. They only
   * rise, so they count on from where they were until it has caught up. Nothing is refused meanwhile; what was written
   * with a time to live before stays as much longer.
   */
  readonly drift: number
  /** The drift when it begins, and 0 when it is over, as the next request finds it. Hot. */
  readonly drift$: Observable<number>
  /**
   * What must not happen, for the operator of the store to report: errors of the store itself, and of
   * `authenticate`. Hot.
   */
  readonly faults$: Observable<Fault>
  /** Logins and refusals, of a store that asks who somebody is or has a policy. Hot. */
  readonly audit$: Observable<AuditEvent>
  /** Whether what is written is kept on the disk; `kept` for a store that keeps nothing. */
  readonly storage: StorageStatus
  /** The same when it changes, as the next write finds it. Hot. */
  readonly storage$: Observable<StorageStatus>
  /** The nodes of the store and their log, of a store with a `log`. */
  readonly cluster: ClusterStatus | undefined
  /** Client ids of the open connections. */
  readonly clientIds: readonly string[]
  /** The open connections. */
  readonly clients: readonly ConnectedClient[]
  /**
   * What each principal has of what there are quotas of: of those who have something, or had lately. For one iteration.
   *
   * @example
   * ```ts
   * for (const { principal, keys, bytes } of store.usage) console.log(principal, keys, bytes)
   * ```
   */
  readonly usage: Iterable<Usage>
  /**
   * Who is connected from where, and from where logins failed lately; at most 10,000 addresses that are not connected. For
   * one iteration.
   *
   * @example
   * ```ts
   * for (const { address, failedLogins } of store.addresses) if (failedLogins > 5) console.log(address, failedLogins)
   * ```
   */
  readonly addresses: Iterable<AddressUsage>
  /** Until when it is frozen, ms since the Unix epoch, if it is. */
  readonly frozenUntil: number | undefined

  /** What the store holds of a key, if anything. No request: it counts nowhere, and no client sees it. */
  peek(key: string | Uint8Array): StoredKey | undefined

  /** The keys a client watches, in the order it asked for them; none for a client that is not connected. */
  watchedBy(clientId: string): Iterable<Uint8Array>

  /** Cuts the network connections of a client without a word; whether there was one. For trying out reconnects. */
  cut(clientId: string): boolean

  /**
   * Lets the store stand still for so many ms, as a process that is stopped: connections stay open, but nothing is read,
   * answered, notified or expires; new connections are taken and wait. Then it goes on where it stood. 0 lets it go on at
   * once. What ends meanwhile for want of an answer ends on the client's side: requests time out, and a client that pings
   * gives up and connects anew. Throws `argument` for anything but a whole number of ms, `closed` after `close` and
   * during a restart.
   *
   * @example
   * ```ts
   * store.freeze(3_000) // the app under test shows that it waits, and gets its answers in three seconds
   * ```
   */
  freeze(ms: number): void

  /**
   * Lets the store die and start anew on the same ports: all connections end without a word, MQTT sessions and what waits
   * in them are gone, and so are the registrations of watches. Resolves when it listens again. Rejects with `argument`
   * for wrong options, `closed` after `close`, or the system's error when a port was taken meanwhile; then it may be
   * tried again.
   *
   * @example
   * ```ts
   * await store.restart({ keys: 'lost' }) // the app under test connects anew, and sees that its keys are absent
   * ```
   */
  restart(options: RestartOptions): Promise<void>

  /**
   * All keys as they are at this moment, one line for each; `JSON.stringify` makes NDJSON of them. For one iteration.
   *
   * @example
   * ```ts
   * expect([...store.dump()]).toMatchObject([{ key: 'setPoint', value: '21.5' }])
   * ```
   */
  dump(): Iterable<DumpLine>

  /**
   * Sets the keys of a dump: lines as text, or as objects. All or nothing, in one step, and all who watch the keys are
   * told. A key keeps the version of its line if that is newer than every version the store has given out; else it gets
   * a new one, so that no watch sees versions go back. So a new store that loads a dump is what the dumped one was. A
   * key's fencing token becomes that of its line, unless its own is newer; none is asked for. Rejects with `argument`
   * and the number of the line for a line that does not belong in a dump and for a dump that was cut, `quota-exceeded` when
   * that would be too many keys, `overflow` for more than 1 GiB, `closed` after `close`, or with what the lines raise. A
   * restart that comes first has it reject with `closed`, or with `outcome-unknown` once the records are on their way to
   * the log.
   *
   * @example
   * ```ts
   * await store.load([{ key: 'setPoint', value: '21.5' }], { replace: true }) // what a test begins with
   * ```
   */
  load(
    lines: Iterable<DumpLine | string> | AsyncIterable<DumpLine | string>,
    options?: LoadOptions,
  ): Promise<LoadResult>

  /**
   * Takes another policy or certificate, of a store that has one. A client with a subscription or a watch that is not
   * allowed any more is disconnected, and may come back; the others notice nothing. Throws `argument` for what cannot be
   * read, and then what was before stays in force.
   *
   * @example
   * ```ts
   * store.reload({ policy: readFileSync('policy.yaml', 'utf8') })
   * ```
   */
  reload(changes: Reloaded): void

  /** Disconnects all clients and frees the ports. All keys are lost, but for those in {@link ServeOptions.data}. */
  close(): Promise<void>
}

/** Whether what is written is kept; see {@link StoreServer.storage}. */
export interface StorageStatus {
  /**
   * `kept`: as it should be. `full`: writes are refused with `quota-exceeded` until there is room on the disk. `broken`:
   * writes are refused (status 503) until the store is started again, as it is not known what the disk has; with an error `in-use`, another
   * process has taken the directory, and clients are sent away. Of a node:
   * `waiting`: the log that the nodes share cannot be reached, or has no quorum; nothing is acknowledged, and clients are sent
   * away when it takes too long. `degraded`: all goes on, and the log is not kept on all servers, or has a hole. `broken`: it
   * has stopped for good, and takes no clients.
   */
  readonly state: 'kept' | 'full' | 'broken' | 'waiting' | 'degraded'
  /** The system's error, if it is not well. */
  readonly error: unknown
}
