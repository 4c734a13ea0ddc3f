import type { Connect, Incoming, UserProperties } from '../../../core/mqtt5/packets.js'
import type { Client, PublishRejection } from '../../../core/mqtt5/peer.js'
import type { ReasonCode } from '../../../core/mqtt5/reason-codes.js'
import type { Disconnection } from '../../../node/net/audit.js'
import type { Link } from './link.js'

/** The credentials of a client that connects or reauthenticates. */
export interface ConnectCredentials {
  readonly connect: Connect
  readonly link: Pick<Link, 'remoteAddress' | 'transport' | 'secure'>
  /** The authentication data of this step (MQTT 5.0, section 4.12). */
  readonly data: Uint8Array | undefined
  /** The state returned by the previous step, or `undefined` in the first step. */
  readonly state: unknown
  /** Aborted when the connection ends. */
  readonly signal: AbortSignal
}

/** A session's principal. Only a client with the same id can resume it. */
export interface SessionOwner {
  readonly id: string
  readonly canConnect: boolean
  /** Returns whether the current policy, which may have changed since the subscription, permits the filter. */
  maySubscribe(filter: string): boolean
  /** Returns whether the current policy permits the delivery of a queued message. */
  canReceive(topic: string): boolean
  /** Returns whether this owner has the same rights as an earlier one, whose sessions need no further check. */
  hasSameRights?(earlier: SessionOwner): boolean
}

export interface Accepted {
  readonly type: 'accepted'
  readonly data?: Uint8Array | undefined
  /**
   * The owner of the client's session. Without an owner, all clients have the same rights, and any client can resume a
   * session by its client id.
   */
  readonly owner?: SessionOwner | undefined
  /**
   * The time at which the connection ends unless the client reauthenticates, in ms since the Unix epoch. Default:
   * never.
   */
  readonly expiresAt?: number | undefined
}

export interface Refused {
  readonly type: 'refused'
  readonly reasonCode: ReasonCode
  readonly reason: string
  /** The server to use instead, with the reasons `useAnotherServer` and `serverMoved` (MQTT 5.0, section 4.11). */
  readonly serverReference?: string
}

export type Verdict =
  | Accepted
  /** Another step follows. `data` is sent to the client, and `state` is passed to the next step. */
  | { readonly type: 'continue'; readonly data: Uint8Array; readonly state: unknown }
  | Refused

/** The service behind a broker, which decides on clients and messages, and receives the messages to its topic. */
export interface BrokerHandler {
  /** The topic whose messages go to {@link handlePublish} and not to subscribers. */
  readonly topic: string
  /**
   * Authenticates a client. Without this method, every client is admitted except those that use enhanced
   * authentication.
   */
  authenticate?(client: Client, credentials: ConnectCredentials): Verdict | Promise<Verdict>
  /** Returns why a PUBLISH is rejected. A will is checked both when the client connects and before publication. */
  checkPublish(client: Client, message: Incoming): PublishRejection | undefined
  /**
   * Handles a PUBLISH to {@link topic}. The message's bytes are views of the receive buffer. Returns whether a
   * response will be sent once the current input is processed. Other packets to the client are then sent with it.
   */
  handlePublish(client: Client, message: Incoming): boolean
  maySubscribe(client: Client, filter: string): boolean
  /** Returns the topic prefix of responses for clients that request this information (MQTT 5.0, section 3.2.2.3.15). */
  responseInformation?(clientId: string): string
  /** Returns user properties for CONNACK. Clients also work without them. */
  connackProperties?(connect: Connect): UserProperties | undefined
  onConnected(client: Client): void
  /** Called when a client is authenticated but not admitted. */
  onAdmissionRejected?(client: Client, reason: string): void
  /**
   * Searches for a watch of a client that the policy no longer permits. Yields true for the first one, which ends the
   * client's connection, and false where the search can pause.
   */
  findForbiddenWatch?(client: Client): Iterator<boolean>
  onDisconnected(client: Client): void
  onQuotaExceeded?(client: Client, action: 'connect' | 'publish' | 'subscribe', target: string): void
  /**
   * Called when a network connection is closed at a limit.
   *
   * @param client - set if the connection had been accepted
   */
  onConnectionCut?(cut: Disconnection, client?: Client): void
  /** Called with an internal error after the connection has ended. */
  onError(error: unknown, clientId: string): void
}
