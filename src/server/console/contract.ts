import type { AttachedState } from '../attach/attached-store.js'
import type { StoreStats } from '../host/store-server.js'
import type { AddressUsage, Usage } from '../host/usage.js'
import type { ClusterStatus } from '../storage/storage.js'

/**
 * The HTTP API between the console page and its server, below `/api/`. It carries what the state store protocol lacks;
 * keys and values use MQTT. Types only, so that the page can share them.
 *
 * Every request requires `Authorization: Bearer` with the token printed at start. Errors have a {@link Problem} as
 * body: 401 without the token, 4xx for an invalid request, 503 at a concurrency limit or without a store. Requests
 * without a documented response are answered with `{}`. Times are ms since the Unix epoch on the store's clock; binary
 * keys are Base16, as in {@link Key.id}.
 */

/** GET /api/store: constant while the store runs. */
export interface StoreFacts {
  /** `mqtt://` and `ws://` URLs of the broker. */
  readonly url: string
  readonly wsUrl: string
  /**
   * Whether the store is attached to an external broker: then it cannot be frozen or restarted, and there is no usage.
   */
  readonly attached?: true
  /** The page's login at the broker. Default the user `console` with the token; with an attached store, anonymous. */
  readonly brokerLogin?: BrokerLogin
  readonly seeded: boolean
  readonly version: string
}

/** User name and password of the page at the broker. */
export interface BrokerLogin {
  readonly username: string
  readonly password?: string
}

/**
 * GET /api/stream: an endless response with one JSON object per line (`application/x-ndjson`): a pulse first and then
 * every second; the clients first and whenever they or their watches change, at most once a second.
 */
export type StreamLine = StatsSample | Clients

export interface StatsSample {
  readonly type: 'pulse'
  readonly at: number
  /** Missing while an attached store is not active: then it has no keys, clients or counts. */
  readonly startedAt?: number
  readonly attached?: AttachedFacts
  /** End of a freeze, if the store is frozen. */
  readonly frozenUntil?: number
  /** How far versions are ahead of the store's clock after it was set back, ms. */
  readonly drift?: number
  readonly keys: number
  readonly watches: number
  /** For an attached store, the clients that watch or sent a request in the last minute. */
  readonly connections: number
  /** Includes connections that are not authenticated. Older versions send neither this nor the next two. */
  readonly networkConnections?: number
  /** Refused connections and rejected logins since the start. */
  readonly refusedConnections?: number
  readonly refusedLogins?: number
  /** Counts of the last second. */
  readonly requests: number
  readonly errors: number
  readonly notifications: number
  /**
   * Increases when a key is created or deleted, and restarts with the store: a change means that the key list is
   * outdated.
   */
  readonly keyspace: number
  readonly cluster?: ClusterFacts
}

export interface AttachedFacts {
  readonly state: AttachedState['state']
  /** Why it cannot detect the active service, as text. */
  readonly why?: string
}

/** At most 100 nodes, as seen by the node that serves the console. */
export type ClusterFacts = ClusterStatus

/** Connected clients, at most the first 1,000. */
export interface Clients {
  readonly type: 'clients'
  readonly clients: readonly ClientFacts[]
}

export interface ClientFacts {
  readonly clientId: string
  /** When it connected; for an attached store, when its first request arrived. */
  readonly since: number
  readonly watches: number
}

/** POST /api/keys `{ ids }`, at most 1,000: metadata that a GET lacks. Missing keys are omitted. */
export interface KeysResponse {
  readonly keys: readonly KeyFacts[]
}

export interface KeyFacts {
  readonly id: string
  readonly version: string
  /** Length of the value, bytes. */
  readonly size: number
  readonly expiresAt?: number
  readonly fencingToken?: string
  readonly watchers: number
}

/** POST /api/client `{ clientId }`: the keys a client watches, at most 1,000 of `watches`. */
export interface ClientResponse {
  readonly clientId: string
  readonly watches: number
  readonly ids: readonly string[]
}

/** GET /api/usage: total usage, and usage per principal and address, at most 1,000 each. */
export interface UsageResponse {
  readonly total: StoreStats
  readonly principals: readonly Usage[]
  readonly addresses: readonly AddressUsage[]
}

/** POST /api/cut `{ clientId }`: drops the network connection without a DISCONNECT. 404 for an unknown client. */
export interface DisconnectRequest {
  readonly clientId: string
}

/**
 * POST /api/freeze `{ ms }`, at most 600,000; 0 resumes. A frozen store keeps connections open but processes nothing.
 */
export interface FreezeRequest {
  readonly ms: number
}

/** POST /api/restart `{ keys }`: closes all connections and starts again on the same ports. */
export interface RestartRequest {
  /** `kept`: like a store with data on disk; `lost`: like one without. */
  readonly keys: 'kept' | 'lost'
}

/** POST /api/reset: deletes keys that are not in the seed and sets the others. 409 without a seed. */
export interface ResetResponse {
  readonly deleted: number
  readonly set: number
}

/**
 * GET /api/dump, and the body of POST /api/load: one line per key. `value` is text; `bytes` is Base64, used if the
 * value is not valid UTF-8. The same applies to `key` and `keyBytes`. A load is atomic; {@link Problem.message} names
 * the invalid line.
 */
export type { DumpLine } from '../../node/dump/codec.js'

export interface LoadResponse {
  readonly loaded: number
  /** Keys that kept the version of the dump; the others were older than the newest version assigned by the store. */
  readonly versionsKept: number
  readonly expired: number
}

/** Body of an error response. */
export interface Problem {
  /**
   * `token`, `rate`, `host`, `origin`, `argument`, `not-found`, `method`, `payload`, `busy`, `no-seed`, `attached`
   * (409: not available with an external broker), or an error code of the library.
   */
  readonly code: string
  readonly message: string
}
