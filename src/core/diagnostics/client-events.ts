import type { Hlc } from '../hlc/hlc.js'
import type { PropertiesByName } from '../mqtt5/packets.js'
import type { Command } from '../protocol/commands.js'
import type { StateStoreError } from '../util/errors.js'

/**
 * A request of a client, from the call until the client has the response. This is the context of the tracing channel
 * `rx-statestore:request`. Requests of watches and leases are included.
 */
export interface RequestTrace {
  readonly clientId: string
  /** The broker's address, without user, password and query. */
  readonly url: string | undefined
  readonly verb: Command['verb']
  /** The key; undefined for SCAN and GLOBNOTIFY. */
  readonly key: string | undefined
  /** The glob of SCAN and GLOBNOTIFY. */
  readonly glob: string | undefined
  /**
   * User properties to send with the request, such as `traceparent`. A subscriber of `start` may set them, to strings of
   * at most 65,535 bytes without control characters.
   */
  readonly properties: Record<string, string>
  outcome: 'pending' | 'succeeded' | 'failed' | 'cancelled'
  /** Why the request failed. */
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

/** An event of a watched key, on `rx-statestore:watch`. */
export type ClientWatchEvent =
  /** `from` is missing when the watch starts, `to` when it has ended. */
  | {
      readonly type: 'freshness'
      readonly clientId: string
      readonly key: string
      readonly from: WatchFreshness | undefined
      readonly to: WatchFreshness | undefined
    }
  /** The store notified the client of a change. The watch may still find that the change is outdated. */
  | {
      readonly type: 'notification'
      readonly clientId: string
      readonly key: string
      /** User properties of the notification, such as `traceparent`. */
      readonly userProperties: PropertiesByName
    }

/** Whether a watch's value is current, as in `freshness$`. */
export type WatchFreshness = 'connecting' | 'live' | 'stale' | 'resyncing'

/** An event of a client's lease, on `rx-statestore:lease`. */
export type LeaseEvent = {
  readonly clientId: string
  readonly key: string
} & (
  | { readonly status: 'waiting'; readonly holder: string }
  /** The lease was acquired or renewed. Renewals do not change the fencing token. */
  | { readonly status: 'held'; readonly holder: string; readonly token: Hlc }
  | { readonly status: 'lost'; readonly cause: StateStoreError }
)
