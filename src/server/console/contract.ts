import type { AttachedState } from '../attach/attached-store.js'
import type { StoreStats } from '../host/store-server.js'
import type { AddressUsage, Usage } from '../host/usage.js'
import type { ClusterStatus } from '../storage/storage.js'

/**
 * The HTTP API between the console page and its server, below `/api/`. It carries only the data that the state store
 * protocol lacks, because the page reads and writes keys over MQTT. This file contains only types, so that the page can
 * share them.
 *
 * Every request requires `Authorization: Bearer` with the token printed at start. Errors have a {@link Problem} as
 * body: 401 without the token, 4xx for an invalid request, 503 at a concurrency limit or without a store. Requests
 * without a documented response are answered with `{}`. Times are in ms since the Unix epoch on the store's clock.
 * Binary keys are Base16, as in {@link Key.id}.
 */

/** The response of GET /api/store, which is constant while the store runs. */
export interface StoreFacts {
  /** The `mqtt://` and `ws://` URLs of the broker. */
  readonly url: string
  readonly wsUrl: string
  /**
   * Whether the store is attached to an external broker. If so, it cannot be frozen or restarted, and reports no usage.
   */
  readonly attached?: true
  /**
   * The page's login at the broker. Default: the user `console` with the token, or an anonymous login for an attached
   * store.
   */
  readonly brokerLogin?: BrokerLogin
  readonly seeded: boolean
  /** Whether the console can cause faults. Without it, cut, freeze and restart are rejected with 403 (`faults`). */
  readonly faults?: true
  readonly version: string
}

/** The user name and password of the page at the broker. */
export interface BrokerLogin {
  readonly username: string
  readonly password?: string
}

/**
 * A line of GET /api/stream, an endless response with one JSON object per line (`application/x-ndjson`). The response
 * begins with the rates of the last two minutes, unless the console has just started. It contains a sample at the
 * beginning and every second, and the clients at the beginning and whenever they or their watches change, at most once a
 * second.
 */
export type StreamLine = Rates | StatsSample | Clients

/** The counts of each second before the first sample, oldest first, at most of two minutes. */
export interface Rates {
  readonly type: 'rates'
  readonly requests: readonly number[]
  readonly errors: readonly number[]
  readonly notifications: readonly number[]
}

export interface StatsSample {
  readonly type: 'pulse'
  readonly at: number
  /**
   * The time of the start. It is missing while an attached store does not serve, because the store then has no keys,
   * clients or counts.
   */
  readonly startedAt?: number
  readonly attached?: AttachedFacts
  /** Whether a serving node cannot reach the log, so that requests wait and its keys may be outdated. */
  readonly isWaitingForLog?: true
  /** The end of the freeze, if the store is frozen. */
  readonly frozenUntil?: number
  /** The time in ms by which versions are ahead of the store's clock after the clock was set back. */
  readonly drift?: number
  readonly keys: number
  readonly watches: number
  /**
   * The number of connections. For an attached store, the number of clients that watch keys or sent a request in the
   * last minute.
   */
  readonly connections: number
  /**
   * The number of connections, unauthenticated connections included. Older versions send neither this field nor the
   * next two.
   */
  readonly networkConnections?: number
  /** The numbers of refused connections and rejected logins since the start. */
  readonly refusedConnections?: number
  readonly refusedLogins?: number
  /** The counts of the last full second. */
  readonly requests: number
  readonly errors: number
  readonly notifications: number
  /**
   * A counter that increases when a key is created or deleted, and restarts with the store. A change means that the key
   * list is outdated.
   */
  readonly keyspace: number
  readonly cluster?: ClusterFacts
}

export interface AttachedFacts {
  readonly state: AttachedState['state']
  /** The reason, as text, why the store cannot detect the active service. */
  readonly why?: string
}

/** The cluster as seen by the node that serves the console, with at most 100 nodes. */
export type ClusterFacts = ClusterStatus

/**
 * The response of GET /api/history: metrics of the last hour, sampled every `period` ms since the console was started,
 * also while no page is open. With `?since=`, only samples after this time.
 */
export interface HistoryResponse {
  readonly period: number
  /** The samples, oldest first, at most 360. A longer distance means that the process did not run in between. */
  readonly samples: readonly MetricsSample[]
  /** The limits of the memory. Missing for an attached store. */
  readonly limits?: { readonly bytes: number; readonly bufferedBytes: number }
  /** The share of a memory limit above which the store is not ready. */
  readonly memoryMark: number
}

/** The metrics of a period. A field is missing if its value is unknown, because nothing was measured. */
export interface MetricsSample {
  /** The end of the period. */
  readonly at: number
  /** The delays of the event loop. */
  readonly eventLoop: Percentiles
  /** The commands per second, or nothing if an attached store does not serve. */
  readonly requests?: number
  /** The durations from the arrival of a request until its response is sent. */
  readonly latency?: Percentiles
  /** The durations of writing an entry to the disk and flushing it. */
  readonly flush?: Percentiles
  /** The durations from the append of an entry to a shared log until it is committed. */
  readonly commit?: Percentiles
  /** The memory of the keys, and of buffers. See {@link StoreStats}. */
  readonly memory?: { readonly bytes: number; readonly bufferedBytes: number }
  /** The messages of the shared log that are not applied yet, the nodes that are present, and all known nodes. */
  readonly cluster?: { readonly lag: number; readonly present: number; readonly nodes: number }
}

/** Percentiles of durations and the longest duration, in ms. */
export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

/** The connected clients, at most the first 1,000. */
export interface Clients {
  readonly type: 'clients'
  readonly clients: readonly ClientFacts[]
}

export interface ClientFacts {
  readonly clientId: string
  /** The time when the client connected or, for an attached store, when its first request arrived. */
  readonly since: number
  readonly watches: number
}

/**
 * The response of POST /api/keys `{ ids }`, with at most 1,000 ids. It contains the metadata that a GET lacks, and
 * omits missing keys.
 */
export interface KeysResponse {
  readonly keys: readonly KeyFacts[]
}

export interface KeyFacts {
  readonly id: string
  readonly version: string
  /** The length of the value in bytes. */
  readonly size: number
  readonly expiresAt?: number
  readonly fencingToken?: string
  readonly watchers: number
}

/** The response of POST /api/client `{ clientId }`, with at most 1,000 of the keys that the client watches. */
export interface ClientResponse {
  readonly clientId: string
  readonly watches: number
  readonly ids: readonly string[]
}

/**
 * The response of GET /api/usage: the total usage, and the usage per principal and per address, at most 1,000 of each.
 */
export interface UsageResponse {
  readonly total: StoreStats
  readonly principals: readonly Usage[]
  readonly addresses: readonly AddressUsage[]
}

/**
 * The body of POST /api/cut. Drops the network connection without a DISCONNECT. The response is 404 for an unknown
 * client.
 */
export interface DisconnectRequest {
  readonly clientId: string
}

/**
 * The body of POST /api/freeze, with at most 600,000 ms. 0 resumes the store. A frozen store keeps connections open but
 * processes nothing.
 */
export interface FreezeRequest {
  readonly ms: number
}

/** The body of POST /api/restart. Closes all connections and starts the store again on the same ports. */
export interface RestartRequest {
  /** `kept`: the store restarts with its keys, as if they were on disk. `lost`: the store restarts without keys. */
  readonly keys: 'kept' | 'lost'
}

/**
 * The response of POST /api/reset, which deletes the keys that are not in the seed and sets the others. The response is
 * 409 without a seed.
 */
export interface ResetResponse {
  readonly deleted: number
  readonly set: number
}

/**
 * A line of GET /api/dump, and of the body of POST /api/load and POST /api/replace. Each line holds one key. `value` is
 * text, and `bytes` is Base64 for values that are not valid UTF-8. The same applies to `key` and `keyBytes`. A load is
 * atomic, and {@link Problem.message} names the invalid line.
 */
export type { DumpLine } from '../../node/dump/codec.js'

export interface LoadResponse {
  readonly loaded: number
  /**
   * The number of keys that kept the dump's version. The versions of the other keys were older than the newest
   * version assigned by the store.
   */
  readonly versionsKept: number
  readonly expired: number
  /** The number of keys that POST /api/replace deleted, because the dump does not contain them. */
  readonly deleted: number
}

/** The body of an error response. */
export interface Problem {
  /**
   * `token`, `rate`, `host`, `origin`, `argument`, `not-found`, `method`, `payload`, `busy`, `no-seed`, `attached`
   * (409: not available with an external broker), `faults` (403: see {@link StoreFacts.faults}), or an error code of the library.
   */
  readonly code: string
  readonly message: string
}
