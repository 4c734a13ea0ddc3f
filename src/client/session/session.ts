import type { Publish } from '../../core/mqtt5/packets.js'
import type { RequestRejectedError, StateStoreError } from '../../core/util/errors.js'

/** A message that arrived. */
export interface InboundMessage extends Publish {
  /** Identifiers of the subscriptions it was sent for; empty where the broker adds none. */
  readonly subscriptionIds: readonly number[]
  /** Of a {@link ServiceSession}: what has to be acknowledged, and how it came; `retain` also when it is retained from now on, if that was asked for. */
  readonly packetId?: number
  readonly qos?: 0 | 1 | 2
  readonly dup?: boolean
  readonly retain?: boolean
}

/** What is published, QoS 1, to be answered. */
export interface OutboundRequest extends Publish {
  readonly responseTopic: string
  readonly correlationData: Uint8Array
  /** s */
  readonly messageExpiry: number
  readonly contentType: string
  readonly userProperties: Record<string, string>
}

/** Told on the PUBACK, with an error if it carries a reason for refusal. */
export type Done = (refusal: RequestRejectedError | undefined) => void

/** What the broker said when it took the connection. */
export interface ConnectionInfo {
  /** Whether it kept the MQTT session: answers and notifications of before may still come. */
  readonly sessionPresent: boolean
  /** How many publishes may await their PUBACK. */
  readonly receiveMaximum: number
  /** Largest packet the broker takes, bytes; `undefined` for no limit. */
  readonly maximumPacketSize: number | undefined
  /** Whether subscriptions may have an identifier (MQTT 5.0, section 3.2.2.3.12). */
  readonly subscriptionIds: boolean
  /** Whether filters may have wildcards (MQTT 5.0, section 3.2.2.3.11). */
  readonly wildcards: boolean
  /** Whether messages may be retained (MQTT 5.0, section 3.2.2.3.7). */
  readonly retain: boolean
}

/** When the session tries again. */
export interface Retry {
  /** 1 for the first attempt after the connection was lost. */
  readonly attempt: number
  /** Wall time of the attempt, ms since the Unix epoch. */
  readonly at: number
}

/** What a session tells. After `closed` it is silent. */
export interface SessionListener {
  connected(info: ConnectionInfo): void
  disconnected(cause: StateStoreError, retry: Retry | undefined): void
  /** For good: by `close` (no cause), or because trying again is pointless. */
  closed(cause: StateStoreError | undefined): void
  message(message: InboundMessage): void
}

/**
 * What the client needs of an MQTT 5 client: the port behind which mqtt.js stands, or a simulation.
 * It reconnects by itself and never sends anything again by itself.
 */
export interface MqttSession {
  readonly clientId: string
  /** Whether the connection is somebody else's, and outlives us: then we clean up behind us. */
  readonly shared: boolean
  /** The address in use, or tried next, without what is secret in it; `undefined` where it is not known. */
  readonly url?: string | undefined
  /** Grows by what is read from the connection; `undefined` where it is not known. */
  readonly received?: number | undefined
  /** Starts to tell; called once. */
  open(listener: SessionListener): void
  /** What {@link publish} would send, bytes. */
  sizeOf(request: OutboundRequest): number
  /**
   * Publishes while connected. `done` is never called when the connection is lost first.
   */
  publish(request: OutboundRequest, done: Done): void
  /**
   * Subscribes with QoS 1, and with an identifier (1 to 268,435,455) if there is one, in the place of what was subscribed
   * before. Calls `done` on the SUBACK with one MQTT 5 reason code per filter (below 128 is granted); never when the
   * connection is lost first.
   */
  subscribe(
    filters: readonly string[],
    subscriptionId: number | undefined,
    done: (reasonCodes: readonly number[]) => void,
  ): void
  /**
   * Something that had to come over this connection did not. A session that the broker kept, and in which nothing has come
   * since, is given up for a new one. Does nothing on a connection of somebody else.
   */
  doubt(): void
  /** Ends it; `closed` follows. */
  close(): void
}

/** A session of one who answers: it says itself when a message with QoS 1 is dealt with. */
export interface ServiceSession extends Pick<MqttSession, 'clientId' | 'open' | 'subscribe' | 'doubt'> {
  /** Ends subscriptions; calls `done` on the UNSUBACK, and never when the connection is lost first. */
  unsubscribe(filters: readonly string[], done: () => void): void
  /** Sends the PUBACK. */
  acknowledge(packetId: number): void
  sizeOf(message: Publish): number
  /** Publishes with QoS 1 while connected; `done` is never called when the connection is lost first. */
  publish(message: Publish, done: Done, retain?: boolean): void
  /** Ends it; `closed` follows. @param keep - whether the broker is to keep the session for whoever comes with this client id */
  close(keep?: boolean): void
}
