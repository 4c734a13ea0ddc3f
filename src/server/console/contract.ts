import type { AttachedState } from '../attach/attached-store.js'
import type { StoreStats } from '../host/store-server.js'
import type { AddressUsage, Usage } from '../host/usage.js'
import type { ClusterStatus } from '../storage/storage.js'

/**
 * What the console's page and the process that serves it say to each other over HTTP, below `/api/`. It carries what the
 * state store protocol does not; keys and values go over MQTT. Types alone, so that the page can share them.
 *
 * Every request has `Authorization: Bearer` and the token printed at start; without it the answer is 401, for what is
 * wrong otherwise 4xx, when there is too much under way, or no store, 503; all with {@link Problem}. A request without an
 * answer of its own is answered with `{}`. Times are ms since the Unix epoch on the store's clock; binary keys are Base16,
 * as in {@link Key.id}.
 */

/** GET /api/store: what does not change while the store runs. */
export interface StoreFacts {
  /** `mqtt://` and `ws://` addresses of the broker. */
  readonly url: string
  readonly wsUrl: string
  /** At a broker of somebody else, which can be neither frozen nor restarted, cuts nobody and tells no usage. */
  readonly attached?: true
  /** How the page logs in at the broker. Without it as `console`, by its token; at a broker of somebody else as nobody. */
  readonly brokerLogin?: BrokerLogin
  /** Whether there is a seed to reset to. */
  readonly seeded: boolean
  /** Version of this package. */
  readonly version: string
}

/** User name and password for a broker. */
export interface BrokerLogin {
  readonly username: string
  readonly password?: string
}

/**
 * GET /api/stream: an answer that does not end, one JSON object per line (`application/x-ndjson`): a pulse at once and
 * then every second, clients at once and whenever they or their number of watches are different, at most once a second.
 */
export type StreamLine = StatsSample | Clients

/** The last second of the store. */
export interface StatsSample {
  readonly type: 'pulse'
  readonly at: number
  /** Missing while an attached store does not serve: then it has no keys and no clients to tell of, and counts nothing. */
  readonly startedAt?: number
  /** Of an attached store. */
  readonly attached?: AttachedFacts
  /** Until when the store is frozen, if it is. */
  readonly frozenUntil?: number
  /** How far versions are ahead of the store's clock, ms, when that was set back. */
  readonly drift?: number
  readonly keys: number
  readonly watches: number
  /** Of an attached store the clients that watch, or asked in the last minute. */
  readonly connections: number
  /** With those of clients that are not let in; a console of an older version does not tell, nor what was refused. */
  readonly networkConnections?: number
  /** Connections and logins that were refused, since the start. */
  readonly refusedConnections?: number
  readonly refusedLogins?: number
  /** Counts of the second before. */
  readonly requests: number
  readonly errors: number
  readonly notifications: number
  /** Rises when a key is made or removed, and starts over when the store does: time to list the keys again. */
  readonly keyspace: number
  /** Of a store of several nodes. */
  readonly cluster?: ClusterFacts
}

/** What an attached store does at its broker. */
export interface AttachedFacts {
  readonly state: AttachedState['state']
  /** What keeps it from knowing whether anybody serves, in words. */
  readonly why?: string
}

/** The nodes of a store, 100 at most, as the one with the console sees them. */
export type ClusterFacts = ClusterStatus

/** Who is connected; of more than 1,000 those that came first. */
export interface Clients {
  readonly type: 'clients'
  readonly clients: readonly ClientFacts[]
}

export interface ClientFacts {
  readonly clientId: string
  /** When it connected, or, by an attached store, was heard first. */
  readonly since: number
  /** Number of keys it watches. */
  readonly watches: number
}

/** POST /api/keys `{ ids }`, at most 1,000 of them: what a GET does not tell. Keys that do not exist are left out. */
export interface KeysAnswer {
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
export interface ClientAnswer {
  readonly clientId: string
  readonly watches: number
  readonly ids: readonly string[]
}

/** GET /api/usage: what there is of what there are quotas of, in all, of each principal and each address, 1,000 at most. */
export interface UsageAnswer {
  readonly total: StoreStats
  readonly principals: readonly Usage[]
  readonly addresses: readonly AddressUsage[]
}

/** POST /api/cut `{ clientId }`: cuts its network connection without a word. 404 when there is no such client. */
export interface CutRequest {
  readonly clientId: string
}

/** POST /api/freeze `{ ms }`, 0 to go on at once, at most 600,000: connections stay open, and nothing moves. */
export interface FreezeRequest {
  readonly ms: number
}

/** POST /api/restart `{ keys }`: ends all connections and starts anew on the same ports. */
export interface RestartRequest {
  /** `kept`: as a store with its data on disk does; `lost`: as one without. */
  readonly keys: 'kept' | 'lost'
}

/** POST /api/reset: deletes what is not in the seed, and sets what is. 409 when there is no seed. */
export interface ResetAnswer {
  readonly deleted: number
  readonly set: number
}

/**
 * GET /api/dump, and the body of POST /api/load: a line per key. `value` is text, `bytes` Base64 where it is not valid UTF-8; so
 * are `key` and `keyBytes`. A load is all or nothing; {@link Problem.message} names the line that is wrong.
 */
export type { DumpLine } from '../../node/dump/codec.js'

/** The answer to POST /api/load. */
export interface LoadAnswer {
  readonly loaded: number
  /** How many of them kept the version of the dump; the others were older than what the store has given out. */
  readonly versionsKept: number
  /** How many were expired already. */
  readonly expired: number
}

/** Why a request was refused. */
export interface Problem {
  /**
   * `token`, `rate`, `host`, `origin`, `argument`, `not-found`, `method`, `payload`, `busy`, `no-seed`, `attached` (409: the
   * broker would have to do it, which is somebody else's), or a code of the library.
   */
  readonly code: string
  readonly message: string
}
