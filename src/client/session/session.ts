import type { Publish } from '../../core/mqtt5/packets.js'
import type { RequestRejectedError, StateStoreError } from '../../core/util/errors.js'

export interface InboundMessage extends Publish {
  /** Subscription identifiers; empty if the broker does not send any. */
  readonly subscriptionIds: readonly number[]
  /**
   * `packetId` and `qos` are set in a {@link ServiceSession}, which acknowledges by `packetId`. With Retain As
   * Published, live messages keep their `retain` flag.
   */
  readonly packetId?: number
  readonly qos?: 0 | 1 | 2
  readonly dup?: boolean
  readonly retain?: boolean
}

export interface OutboundRequest extends Publish {
  readonly responseTopic: string
  readonly correlationData: Uint8Array
  /** The message expiry, s. */
  readonly messageExpiry: number
  readonly contentType: string
  readonly userProperties: Record<string, string>
}

/** Called on PUBACK, with an error if its reason code is a refusal. */
export type Done = (refusal: RequestRejectedError | undefined) => void

export interface ConnectionInfo {
  /** Whether the broker resumed the MQTT session, so that earlier responses and notifications may still arrive. */
  readonly sessionPresent: boolean
  /** Maximum number of publishes that await PUBACK. */
  readonly receiveMaximum: number
  /** Maximum packet size of the broker, bytes; `undefined` for no limit. */
  readonly maximumPacketSize: number | undefined
  /** Whether the broker supports subscription identifiers (MQTT 5.0, section 3.2.2.3.12). */
  readonly hasSubscriptionIds: boolean
  /** Whether the broker supports wildcards in filters (MQTT 5.0, section 3.2.2.3.11). */
  readonly hasWildcards: boolean
  /** Whether the broker supports retained messages (MQTT 5.0, section 3.2.2.3.7). */
  readonly canRetain: boolean
  /** Time of the store, ms since the Unix epoch; only the broker of this package sends it. */
  readonly storeTime?: number | undefined
}

export interface Retry {
  /** Number of the attempt, 1 for the first one after a loss. */
  readonly attempt: number
  /** Wall time of the attempt, ms since the Unix epoch. */
  readonly at: number
}

/** Events of a session. No event follows `closed`. */
export interface SessionListener {
  connected(info: ConnectionInfo): void
  disconnected(cause: StateStoreError, retry: Retry | undefined): void
  /**
   * Called for a failure that does not end the connection and is retried: a credential renewal, or a subscription
   * over a caller's connection.
   */
  failed(error: StateStoreError): void
  /** Called last: after `close`, without a cause, or when retrying is pointless. */
  closed(cause: StateStoreError | undefined): void
  message(message: InboundMessage): void
}

/**
 * The MQTT 5 client that the library needs, implemented by mqtt.js or a simulation. It reconnects automatically and
 * never resends anything automatically.
 */
export interface MqttSession {
  readonly clientId: string
  /** Whether the caller owns the connection and keeps it open, so that `close` only unsubscribes. */
  readonly isShared: boolean
  /** The address in use or tried next, without secrets; `undefined` if unknown. */
  readonly url?: string | undefined
  /** A number that grows with the data read from the connection; `undefined` if unknown. */
  readonly received?: number | undefined
  open(listener: SessionListener): void
  /** Returns the packet size of a {@link publish}, bytes. */
  sizeOf(request: OutboundRequest): number
  /** Publishes while connected. `done` is never called if the connection is lost first. */
  publish(request: OutboundRequest, done: Done): void
  /**
   * Subscribes with QoS 1, and an identifier (1 to 268,435,455) if given, replacing earlier subscriptions to the same
   * filters. Calls `done` on SUBACK with one MQTT 5 reason code per filter; a code below 128 grants the filter. Does
   * not call `done` if the connection is lost first.
   */
  subscribe(
    filters: readonly string[],
    subscriptionId: number | undefined,
    done: (reasonCodes: readonly number[]) => void,
  ): void
  /**
   * Verifies the connection after an expected message has not arrived: replaces a resumed session without messages by a
   * new session. Has no effect on a caller's connection.
   */
  verifyConnection(): void
  /** Tries to connect now, if an attempt is waiting. Missing if the session does not decide when to connect. */
  retryNow?(): void
  close(): void
}

/** A service's session, which acknowledges QoS 1 messages itself. */
export interface ServiceSession extends Pick<MqttSession, 'clientId' | 'open' | 'subscribe' | 'verifyConnection'> {
  /** Unsubscribes, and calls `done` on UNSUBACK unless the connection is lost first. */
  unsubscribe(filters: readonly string[], done: () => void): void
  acknowledge(packetId: number): void
  sizeOf(message: Publish): number
  /** Publishes with QoS 1 while connected. `done` is never called if the connection is lost first. */
  publish(message: Publish, done: Done, retain?: boolean): void
  /** @param keep - whether the broker keeps the session for the next client with this id */
  close(keep?: boolean): void
}
