import type { Hlc } from '../hlc/hlc.js'
import type { Command } from '../protocol/commands.js'
import type { Reply } from '../protocol/replies.js'

/**
 * A request at a store, from its arrival until its response and the notifications of its change are sent. This is the
 * context of the tracing channel `rx-statestore:server:request`.
 */
export interface ServerRequestTrace {
  readonly clientId: string
  /** When the request arrived, in ms of the store's monotonic clock. */
  readonly startedAt: number
  /** The verb; undefined for a payload that is not a command. */
  readonly verb: Command['verb'] | undefined
  /** The key; undefined for SCAN and GLOBNOTIFY. The bytes are a view that must be copied to be kept. */
  readonly key: Uint8Array | undefined
  /** The glob of SCAN and GLOBNOTIFY, a view like the key. */
  readonly glob: Uint8Array | undefined
  readonly requestBytes: number
  /** User properties of the request (W3C Trace Context). */
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
  /**
   * User properties for the notifications of the change. A subscriber of `start` may set them, to strings of at most
   * 65,535 bytes without control characters.
   */
  readonly notificationProperties: Record<string, string>
  /**
   * Type of the reply; `rejected` if the request did not reach the engine; `unknown` if the outcome is unknown and no
   * response is sent.
   */
  outcome: Reply['type'] | 'rejected' | 'unknown' | 'pending'
  /** Code of an error reply, such as `not-authorized`; the status of a rejected request, such as `503`. */
  error: string | undefined
  /** Whether the request is a redelivered write, which was not applied again. */
  isRepeated: boolean
  responseBytes: number
}

/**
 * A change of a key, on `rx-statestore:server:change`. The cause is a request, another node, a loaded dump, or the
 * expiry of the key.
 */
export interface ServerChangeEvent {
  /** The key. The bytes are a view that must be copied to be kept. */
  readonly key: Uint8Array
  readonly type: 'inserted' | 'modified' | 'deleted' | 'expired'
  readonly version: Hlc
  /** Number of clients that this node notified. */
  readonly notified: number
}

interface ConnectionOrigin {
  readonly address: string | undefined
  /** The listener: `mqtt`, `mqtts`, `ws` or `wss`; for cut connections also `console` or `hub`. */
  readonly listener: string
}

/** An event of a connection to the broker, on `rx-statestore:server:connection`. */
export type ServerConnectionEvent =
  /** The client was authenticated and admitted. */
  | (ConnectionOrigin & {
      readonly type: 'opened'
      readonly clientId: string
      readonly isSessionPresent: boolean
      /** The user property `metriccategory` of CONNECT. */
      readonly category: string | undefined
    })
  /** `isAdmitted` is false for a connection that ends before it is opened, such as an aborted login. */
  | (ConnectionOrigin & {
      readonly type: 'closed'
      readonly clientId: string
      readonly isAdmitted: boolean
      /** The side that closed the connection. `network` means that neither side sent a DISCONNECT. */
      readonly by: 'client' | 'broker' | 'network'
      /** The reason code of DISCONNECT or CONNACK (MQTT 5.0, section 2.4). */
      readonly reasonCode: number | undefined
      readonly reason: string | undefined
    })
  /** The TLS handshake failed. `reason` is a code such as `ECONNRESET` or `ERR_SSL_NO_SHARED_CIPHER`. */
  | (ConnectionOrigin & { readonly type: 'handshake-failed'; readonly reason: string })
  /** The connection was closed because of a limit. If a client was connected, `closed` follows. */
  | (ConnectionOrigin & {
      readonly type: 'cut'
      readonly limit: ConnectionLimit
      readonly reason: string
      readonly clientId: string | undefined
    })

/** The limit that ended a connection. `origin`: a page of another origin or host name tried to connect. */
export type ConnectionLimit =
  | 'connections'
  | 'connections-per-address'
  | 'unauthenticated-connections'
  | 'origin'
  | 'login-time'
  | 'packet-time'
  | 'receive-maximum'
  | 'packet-size'
  | 'message-rate'
  | 'quota'
  | 'other'

/** A PUBLISH at the broker, on `rx-statestore:server:publish`. Requests, responses and notifications are included. */
export interface ServerPublishEvent {
  readonly direction: 'received' | 'sent'
  readonly clientId: string
  readonly qos: 0 | 1 | 2
  readonly payloadBytes: number
}

/** A message that the broker does not deliver to a client, on `rx-statestore:server:drop`. */
export interface ServerDropEvent {
  /** `slow-client`: a message with QoS 0 that exceeds the unsent data of the client. `too-large`: see Maximum Packet Size. */
  readonly reason: 'expired' | 'slow-client' | 'too-large'
  readonly clientId: string
  readonly qos: 0 | 1 | 2
}

/**
 * A login, or an action that was rejected, on `rx-statestore:server:access`. Permitted actions are not published,
 * because they are the requests and messages without a rejection. Clients determine the length of the texts.
 */
export interface ServerAccessEvent {
  /**
   * `order`: an operation by a user of the console. `keys-unavailable`: the keys of tokens could not be fetched, for the
   * given reason.
   */
  readonly event: 'login' | 'refused' | 'order' | 'takeover' | 'keys-unavailable'
  readonly outcome?: 'accepted' | 'refused' | undefined
  readonly action?: 'connect' | 'publish' | 'subscribe' | 'read' | 'write' | undefined
  /** `quota` if a permitted action was rejected by a limit. */
  readonly reason?: string | undefined
  readonly clientId?: string | undefined
  readonly username?: string | undefined
  readonly address?: string | undefined
  readonly listener?: string | undefined
  /** Topic, filter, key, hub name or path of an operation, as text. */
  readonly target?: string | undefined
}

/** An event of the log of a store with a directory or a shared log, on `rx-statestore:log`. Durations are in ms. */
export type LogEvent =
  /** An entry of this node has become durable. `duration` counts from its append. */
  | { readonly type: 'committed'; readonly commands: number; readonly bytes: number; readonly duration: number }
  | { readonly type: 'rejected'; readonly commands: number; readonly problem: string }
  /** An entry of another node was applied. */
  | { readonly type: 'foreign'; readonly commands: number }
  /** A frame was written to the disk and flushed. */
  | { readonly type: 'flushed'; readonly duration: number; readonly bytes: number; readonly position: number }
  /** `duration` is missing for a snapshot in a shared log. */
  | { readonly type: 'snapshot'; readonly position: number; readonly duration: number | undefined }
  /** A snapshot could not be written. No data is lost, but the log grows until a snapshot succeeds. */
  | { readonly type: 'snapshot-failed'; readonly error: unknown }
  /** Whether the shared log is reachable for this node: `kept`, `waiting`, or `away`. */
  | { readonly type: 'availability'; readonly node: string; readonly state: 'kept' | 'waiting' | 'away' }
  /**
   * Published twice a second, with the last applied position of the shared log and the last position known to exist.
   */
  | { readonly type: 'progress'; readonly node: string; readonly position: number; readonly knownEnd: number }
  /** This node asked to write the next snapshot, for which one node is elected. */
  | { readonly type: 'election'; readonly node: string; readonly isElected: boolean }
