import type { Hlc } from '../hlc/hlc.js'
import type { PropertiesByName } from '../mqtt5/packets.js'
import type { Command } from '../protocol/commands.js'
import type { StateStoreError } from '../util/errors.js'

/**
 * A request of a client, the context of the tracing channel `rx-statestore:request`: from the call until the client
 * has the response. Requests of watches and leases are included.
 */
export interface RequestTrace {
  readonly clientId: string
  /** The address of the broker, without user, password and query. */
  readonly url: string | undefined
  readonly verb: Command['verb']
  /** Undefined for SCAN and GLOBNOTIFY. */
  readonly key: string | undefined
  /** User properties to send with the request, such as `traceparent`. A subscriber of `start` may set them. */
  readonly properties: Record<string, string>
  outcome: 'pending' | 'succeeded' | 'failed' | 'cancelled'
  /** Why it failed. */
  error: StateStoreError | undefined
}

/** A change of a client's connection, on `rx-statestore:connection`. */
export interface ConnectionEvent {
  readonly type: 'connected' | 'disconnected' | 'closed'
  readonly clientId: string
  readonly url: string | undefined
  /** Why the connection was lost, or an attempt to connect failed. */
  readonly cause: StateStoreError | undefined
}

/** A watched key, on `rx-statestore:watch`. */
export type ClientWatchEvent =
  /** `from` is missing when the watch starts, `to` when it has ended. */
  | {
      readonly type: 'freshness'
      readonly clientId: string
      readonly key: string
      readonly from: WatchFreshness | undefined
      readonly to: WatchFreshness | undefined
    }
  /** The store notified the client of a change; the watch may still find that it is outdated. */
  | {
      readonly type: 'notification'
      readonly clientId: string
      readonly key: string
      /** Of the message, such as `traceparent`. */
      readonly userProperties: PropertiesByName
    }

export type WatchFreshness = 'connecting' | 'live' | 'stale' | 'resyncing'

/** A lease of a client, on `rx-statestore:lease`. */
export type LeaseEvent = {
  readonly clientId: string
  readonly key: string
} & (
  | { readonly status: 'waiting'; readonly holder: string }
  /** Acquired or renewed. The fencing token stays the same with renewals. */
  | { readonly status: 'held'; readonly holder: string; readonly token: Hlc }
  | { readonly status: 'lost'; readonly cause: StateStoreError }
)
